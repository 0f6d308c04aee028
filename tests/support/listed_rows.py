"""Rows as gateways over Thrift1 return them, made of plain rows."""

from __future__ import annotations

from collections.abc import Sequence

from hbase_orm.ops import ListedRow, Row

_NO_CELL = (None, None, None)


def listed(row: Row, columns: Sequence[bytes] | None = None) -> ListedRow:
    """Return the row as a `ListedRow`.

    Args:
        row: The row.
        columns: The columns that rows like this one may have; by default those that it has.
    """
    columns = tuple(row.cells if columns is None else columns)
    fields: list[bytes | None] = [b"", row.key, b""]
    for column in columns:
        cell = row.cells.get(column)
        stamp = None if cell is None else cell.timestamp_ms.to_bytes(8, "big", signed=True)
        fields += _NO_CELL if cell is None else (b"", cell.value, stamp)
    return ListedRow(row.key, columns, tuple(fields))
