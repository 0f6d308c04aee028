"""How large rows are, told by those read before: what one multi-get may ask for hangs on it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from hbase_orm.ops import GetRows, Row

WHOLE_ROW_BYTES: Final = 200 * 1024
"""What a row is expected to have whose families are read whole, until some have been seen."""

_MOST_KINDS: Final = 1000

Kind = tuple[str, tuple[bytes, ...]]


class ReadSizes:
    """The mean size of the rows last read, by table and columns. Threads may share it."""

    def __init__(self) -> None:
        """Start knowing nothing."""
        self._row_bytes: dict[Kind, int] = {}

    def __repr__(self) -> str:
        """Show the bytes a row by table and columns."""
        return f"ReadSizes({self._row_bytes})"

    def expected_bytes(self, operation: GetRows) -> int:
        """Return how many bytes of cells the answer may have; 0 where nothing tells it."""
        row_bytes = self._row_bytes.get((operation.table, operation.columns))
        if row_bytes is None:
            row_bytes = WHOLE_ROW_BYTES if _is_whole(operation) else 0
        return row_bytes * len(operation.keys)

    def note(self, operation: GetRows, answer: Sequence[Row | None]) -> None:
        """Remember how large the rows of an answer are; without any, what was known stays."""
        found = [row for row in answer if row is not None]
        if not found:
            return
        size_bytes = sum(
            len(column) + len(cell.value) for row in found for column, cell in row.cells.items()
        )
        if len(self._row_bytes) >= _MOST_KINDS:
            self._row_bytes.clear()
        self._row_bytes[operation.table, operation.columns] = size_bytes // len(found)


def _is_whole(operation: GetRows) -> bool:
    return not operation.columns or any(b":" not in column for column in operation.columns)
