"""Writers that print rows for people: tables, records, and cells as HBase's shell shows them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from hbase_orm.cli.frame import table
from hbase_orm.cli.row_commands.cell_texts import cell_text, printable, typed_text
from hbase_orm.cli.row_commands.shown_fields import ShownFields
from hbase_orm.cli.row_commands.stored_places import stored_column, stored_row
from hbase_orm.rowkey.notation import to_string_binary

_MEASURED_ROWS: Final = 100
"""The rows by which a table's columns get their widths: more of them are not kept in memory."""


class AlignedWriter:
    """Aligned columns, as wide as the first 100 rows need them."""

    def __init__(self, fields: ShownFields, write: Callable[[str], object]) -> None:
        """Print nothing yet."""
        self._fields = fields
        self._write = write
        self._waiting: list[list[str]] = []
        self._widths: Sequence[int] = ()

    def add(self, result: Any) -> None:
        """Print a row, or keep it until there are enough rows for the widths."""
        values = self._fields.values(result)
        cells = [cell_text(values.get(name)) for name in self._fields.names]
        if self._widths:
            texts = (c.ljust(w) for c, w in zip(cells, self._widths, strict=True))
            self._write("  ".join(texts).rstrip() + "\n")
            return
        self._waiting.append(cells)
        if len(self._waiting) == _MEASURED_ROWS:
            self._show_waiting()

    def finish(self) -> None:
        """Print the rows that are kept, or that there are none."""
        if not self._widths:
            self._show_waiting()

    def _show_waiting(self) -> None:
        names, rows = self._fields.names, self._waiting
        lines = table(names, rows) if rows else ["no rows"]
        self._write("".join(f"{line}\n" for line in lines))
        self._widths = [max(map(len, column)) for column in zip(names, *rows, strict=True)]
        self._waiting = []


class RecordWriter:
    """A line for each field, and an empty line between two rows."""

    def __init__(self, fields: ShownFields, write: Callable[[str], object]) -> None:
        """Print nothing yet."""
        self._fields = fields
        self._write = write
        self._width = max(map(len, fields.names), default=0)
        self._between = ""

    def add(self, result: Any) -> None:
        """Print a row; its values are not cut."""
        values = self._fields.values(result)
        lines = [
            f"{name.ljust(self._width)}  {_whole(values[name])}\n"
            for name in self._fields.names
            if name in values
        ]
        self._write(self._between + "".join(lines))
        self._between = "\n"

    def finish(self) -> None:
        """Print nothing more."""


class CellWriter:
    """A line for each cell: row key, column, timestamp and value, as HBase's shell escapes them."""

    def __init__(self, fields: ShownFields, write: Callable[[str], object]) -> None:
        """Print nothing yet."""
        self._fields = fields
        self._write = write
        self._head = "ROW  COLUMN+CELL\n"

    def add(self, result: Any) -> None:
        """Print the cells of the row that an object was read from."""
        key, is_shown = to_string_binary(stored_row(result)), self._fields.columns
        lines = [
            f"{key}  column={to_string_binary(stored_column(result, column))}, "
            f"timestamp={cell.timestamp_ms}, value={to_string_binary(cell.value)}\n"
            for column, cell in sorted(result.__state__.row.cells.items())
            if is_shown is None or is_shown(column)
        ]
        self._write(self._head + "".join(lines))
        self._head = ""

    def finish(self) -> None:
        """Print the first line, if there were no rows."""
        self._write(self._head)


def _whole(value: Any) -> str:
    return "-" if value is None else printable(typed_text(value))
