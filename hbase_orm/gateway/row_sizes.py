"""Estimates of row sizes from earlier reads, which limit the size of multi-gets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from hbase_orm.ops import GetRows, Row

WHOLE_ROW_BYTES: Final = 200 * 1024
"""The expected size of a row, if whole families are read and no earlier answer shows the size."""

_MOST_KINDS: Final = 1000

Kind = tuple[str, tuple[bytes, ...]]


class ReadSizes:
    """The mean row size of the last answer, for each table and combination of read columns.

    Threads may share it.
    """

    def __init__(self) -> None:
        """Start without estimates."""
        self._row_bytes: dict[Kind, int] = {}

    def __repr__(self) -> str:
        """Return the class with the bytes per row by table and columns."""
        return f"ReadSizes({self._row_bytes})"

    def expected_bytes(self, operation: GetRows) -> int:
        """Return the expected size in bytes of the cells in the answer to `operation`.

        A row of columns that were not read before is estimated as `WHOLE_ROW_BYTES` if the request
        reads a whole family. It is estimated as 0 if the request reads only single columns.
        """
        row_bytes = self._row_bytes.get((operation.table, operation.columns))
        if row_bytes is None:
            row_bytes = WHOLE_ROW_BYTES if _is_whole(operation) else 0
        return row_bytes * len(operation.keys)

    def note(self, operation: GetRows, answer: Sequence[Row | None]) -> None:
        """Record the mean size of an answer's rows; an answer without rows changes nothing."""
        rows = [row for row in answer if row is not None]
        if not rows:
            return
        size_bytes = sum(
            len(column) + len(cell.value) for row in rows for column, cell in row.cells.items()
        )
        if len(self._row_bytes) >= _MOST_KINDS:
            self._row_bytes.clear()
        self._row_bytes[operation.table, operation.columns] = size_bytes // len(rows)


def _is_whole(operation: GetRows) -> bool:
    return not operation.columns or any(b":" not in column for column in operation.columns)
