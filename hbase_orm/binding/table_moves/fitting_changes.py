"""Refuses values of the old class that would not fit the table to which the rows move."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from hbase_orm.errors import CodecError, CorruptRowError, RowKeyError, ValidationError
from hbase_orm.index.entries.targets import RowBefore, RowChange
from hbase_orm.moving.translation import RowMoves
from hbase_orm.ops import Cell, Row

_MISFITS = (CodecError, CorruptRowError, RowKeyError, ValidationError)


def fitting_change(change: RowChange, moves: RowMoves) -> RowChange:
    """Return a change of the old table that is refused if its values do not fit the new one.

    Rows that do not fit are found while the rows are indexed, before any row moves. This keeps
    later writes of the old class from adding such rows.
    """

    def check(before: RowBefore) -> None:
        if change.check is not None:
            change.check(before)
        if change.decide is None:
            _refuse_misfits(moves, change.row, change.puts, before)

    def decide(before: RowBefore) -> RowChange:
        assert change.decide is not None
        decided = change.decide(before)
        _refuse_misfits(moves, change.row, decided.puts, before)
        return decided

    return replace(
        change,
        reads=change.reads | moves.key_columns,
        check=check,
        decide=None if change.decide is None else decide,
    )


def _refuse_misfits(
    moves: RowMoves, row: bytes, puts: Mapping[bytes, bytes], before: RowBefore
) -> None:
    """Raise an error if values that are put cannot be translated.

    Raises:
        ValidationError: A value does not fit the new table.
    """
    if not puts:
        return
    needed = {c: cell for c, cell in before.cells.items() if c in moves.key_columns}
    cells = needed | {column: Cell(value, 0) for column, value in puts.items()}
    if not moves.key_columns <= cells.keys():
        return  # without them the row does not exist in the new table
    where = {"table": moves.old.table, "other_table": moves.new_name, "row": row}
    try:
        moves.of_row(row).translation.to_new(Row(row, cells))
    except _MISFITS as error:
        raise ValidationError(
            "the value does not fit the table to which the rows are being moved",
            **{**error.details, **where},
            reason=error.text,
            fix="store a value that fits both tables, or give up the move: 'hbase-orm downgrade'",
        ) from error
