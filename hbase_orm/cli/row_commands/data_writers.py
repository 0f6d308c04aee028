"""Writers that print rows for programs: JSON, a line of JSON for each row, and CSV."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from typing import Any

from hbase_orm.cli.row_commands.cell_texts import json_of, typed_text
from hbase_orm.cli.row_commands.shown_fields import ShownFields


class JsonWriter:
    """A JSON array with an object for each row; each object has a line of its own."""

    def __init__(self, fields: ShownFields, write: Callable[[str], object]) -> None:
        """Print nothing yet."""
        self._fields = fields
        self._write = write
        self._before = "[\n  "

    def add(self, result: Any) -> None:
        """Print a row. If an error ends the output, the array is not closed."""
        self._write(self._before + _json(self._fields, result))
        self._before = ",\n  "

    def finish(self) -> None:
        """Close the array."""
        self._write("[]\n" if self._before.startswith("[") else "\n]\n")


class JsonLineWriter:
    """A line with a JSON object for each row."""

    def __init__(self, fields: ShownFields, write: Callable[[str], object]) -> None:
        """Print nothing yet."""
        self._fields = fields
        self._write = write

    def add(self, result: Any) -> None:
        """Print a row."""
        self._write(_json(self._fields, result) + "\n")

    def finish(self) -> None:
        """Print nothing more."""


class CsvWriter:
    """A CSV file whose first line has the names of the fields; None is empty."""

    def __init__(self, fields: ShownFields, write: Callable[[str], object]) -> None:
        """Print nothing yet."""
        self._fields = fields
        self._lines = csv.writer(_Writable(write), lineterminator="\n")
        self._has_head = False

    def add(self, result: Any) -> None:
        """Print a row."""
        self._show_head()
        values = self._fields.values(result)
        self._lines.writerow([typed_text(values.get(name)) for name in self._fields.names])

    def finish(self) -> None:
        """Print the first line, if there were no rows."""
        self._show_head()

    def _show_head(self) -> None:
        if not self._has_head:
            self._has_head = True
            self._lines.writerow(self._fields.names)


class _Writable:
    """A file for `csv.writer`, which only writes."""

    def __init__(self, write: Callable[[str], object]) -> None:
        self.write = write


def _json(fields: ShownFields, result: Any) -> str:
    values = fields.values(result)
    return json.dumps({name: json_of(values[name]) for name in fields.names if name in values})
