"""The limits of tables without guards: which indexes and which changes of rows are possible."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from hbase_orm.errors import FeatureMissingError
from hbase_orm.index.entries.targets import GuardedTable, RowChange
from hbase_orm.schema import EntryExpr, IndexSchema, TableSchema, column_field, stored_column

CONFIGURE_THRIFT2: Final = "add thrift2=host:9091 to the URL"

KEPT_KINDS: Final = frozenset({"put", "update", "reindex"})
"""The kinds of changes after which every indexed column of an existing row still has a value."""


@dataclass(frozen=True, slots=True)
class Obstacle:
    """A reason why the rows of a model need guards.

    Attributes:
        reason: The feature that is impossible without guards, as a text.
        index: The name of the index that needs guards; None if the model itself needs them.
    """

    reason: str
    index: str | None = None


def obstacle(schema: TableSchema) -> Obstacle | None:
    """Return why a model's indexes need guards; None if they do not."""
    if schema.version is not None:
        return Obstacle("a version column is counted and compared under a guard")
    if any(family.ttl_s is not None for family in schema.families):
        return Obstacle("a family has a ttl: an indexed cell could expire before its row")
    reasons = ((index, _reason(schema, index)) for index in schema.indexes)
    return next((Obstacle(reason, index.name) for index, reason in reasons if reason), None)


def _reason(schema: TableSchema, index: IndexSchema) -> str:
    if index.unique:
        return "unique values are claimed by check-and-mutate"
    if index.covering or index.included:
        return "the copies of columns in entries (include, covering) are verified under a guard"
    if index.where:
        return "a partial index (where) must delete entries whose indexed values do not change"
    if index.is_multi_valued:
        return "in an index over a collection (func.each), a row has several entries"
    if len(index.expressions) != 1:
        return (
            "two writes may change different columns of a composite key: neither would put the "
            "entry for both values"
        )
    return _reason_of_column(schema, index)


def _reason_of_column(schema: TableSchema, index: IndexSchema) -> str:
    of = column_field(index.expressions[0])
    if isinstance(of, EntryExpr):
        return "a single dynamic column can be absent"
    column = stored_column(schema, of)
    if column is None:
        return "a field of the row key has no cell whose timestamp shows which entry is newer"
    if column.nullable:
        return "the column can be None: clearing it leaves no timestamp behind"
    if column.has_default:
        return "the column has a default: rows without its cell have no timestamp for their entry"
    return ""


def check_kept(target: GuardedTable, change: RowChange) -> None:
    """Raise an error for a change that cannot be made without a guard, before anything is sent.

    Raises:
        FeatureMissingError: The change deletes or clears indexed columns, or depends on the row.
    """
    if change.kind not in KEPT_KINDS:
        raise needs_guard(f"{change.kind} of a row", table=target.table, row=change.row)
    if change.decide is not None:
        raise needs_guard("a change that depends on the row", table=target.table, row=change.row)
    lasting = target.indexed_columns | target.existence_columns
    if cleared := sorted(change.clears & lasting):
        raise needs_guard(
            "clearing a required column", table=target.table, row=change.row, columns=cleared
        )


def needs_guard(operation: str, **details: object) -> FeatureMissingError:
    """Return the error for an operation that is impossible without guards."""
    return FeatureMissingError(
        "without a Thrift2 gateway, rows of a model with indexes can only be put and updated",
        operation=operation,
        **details,
        fix=f"{CONFIGURE_THRIFT2} of every program that writes the table, then drop the table and "
        "create it again: its rows then have guards",
    )
