"""The check of a change, before anything of it is sent."""

from __future__ import annotations

from hbase_orm.errors import ConfigurationError, ValidationError
from hbase_orm.index.entries.targets import GuardedTable, RowChange, family_of


def check_change(target: GuardedTable, change: RowChange) -> None:
    """Raise an error for a change that the protocol cannot make, before anything is sent.

    Raises:
        ConfigurationError: The change has its own TTL. The guard would have this TTL too, and a
            late write could succeed after the guard expired.
        ValidationError: The change writes the version column, a counter of an existing row, or a
            column outside of the data families. Or it puts and clears the same column. Or a delete
            or reindex writes columns.
    """
    if change.ttl_ms is not None:
        raise ConfigurationError(
            "a row with a guard cannot have its own TTL",
            table=target.table,
            row=change.row,
            fix="give the column family a ttl",
        )
    if change.kind in {"delete", "reindex"} and (change.puts or change.clears):
        raise ValidationError(
            f"a {change.kind} cannot write columns", table=target.table, row=change.row
        )
    if not change.clears and change.puts.keys() <= target.columns:
        return  # the usual case, worth a quick answer
    for column in change.puts.keys() | change.clears:
        _check_column(target, change, column)


def _check_column(target: GuardedTable, change: RowChange, column: bytes) -> None:
    if column in target.counters and change.kind != "insert":
        raise ValidationError(
            "a counter can only be incremented", table=target.table, column=column
        )
    if column == target.version:
        raise ValidationError("a version column cannot be set", table=target.table, column=column)
    if family_of(column) not in target.families:
        raise ValidationError(
            "the column is in no data family of the table", table=target.table, column=column
        )
    if column in change.puts and column in change.clears:
        raise ValidationError("a column is both put and cleared", table=target.table, column=column)
