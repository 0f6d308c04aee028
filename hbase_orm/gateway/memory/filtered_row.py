"""Lets a filter check the cells of one row, as a region server does."""

from __future__ import annotations

from collections.abc import Iterable

from hbase_orm.gateway.memory.filter_lists import Skipping
from hbase_orm.gateway.memory.filters import CellVerdict, FilterCell, ServerFilter
from hbase_orm.ops import Cell, Row


def filtered_row(
    key: bytes, cells: Iterable[tuple[FilterCell, int]], row_filter: ServerFilter
) -> Row | None:
    """Return a row with the cells that a filter passes; None if no cell passes.

    Args:
        key: The row key.
        cells: The visible cells that the scan reads, each with its timestamp: in the order of
            families and qualifiers, and newest first within a column.
        row_filter: The filter, which has checked the rows before this row.
    """
    row_filter.reset()
    if row_filter.refuses_key(key):
        return None
    passed: dict[bytes, Cell] = {}
    skipping = Skipping()
    for cell, timestamp_ms in cells:
        if skipping.skips(cell):
            continue
        if row_filter.is_done():
            break
        column = cell.family + b":" + cell.qualifier
        verdict = row_filter.judge(cell)
        if verdict is CellVerdict.INCLUDE and column in passed:
            verdict = CellVerdict.NEXT_COLUMN
        skipping.note(verdict, cell, row_filter.seek_to)
        if verdict is CellVerdict.INCLUDE:
            passed[column] = Cell(row_filter.transform(cell.value), timestamp_ms)
    return Row(key, passed) if passed and not row_filter.refuses_row() else None
