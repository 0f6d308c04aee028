"""The options `--columns` and `--format`, and the output of rows with its progress."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final, Protocol

import click

from hbase_orm.cli.frame import settings
from hbase_orm.cli.progress import WorkLines
from hbase_orm.cli.row_commands.data_writers import CsvWriter, JsonLineWriter, JsonWriter
from hbase_orm.cli.row_commands.shown_fields import ShownFields
from hbase_orm.cli.row_commands.text_writers import AlignedWriter, CellWriter, RecordWriter

CELLS: Final = "hbase"
"""The format that shows stored cells, and so needs the objects of rows."""


class RowWriter(Protocol):
    """Prints rows in one format."""

    def add(self, result: Any, /) -> None:
        """Print a row, now or soon."""

    def finish(self) -> None:
        """Print what is left, after the last row."""


_WRITERS: Final[Mapping[str, Callable[[ShownFields, Callable[[str], object]], RowWriter]]] = (
    MappingProxyType(
        {
            "table": AlignedWriter,
            "json": JsonWriter,
            "jsonl": JsonLineWriter,
            "csv": CsvWriter,
            CELLS: CellWriter,
        }
    )
)
_RECORDS: Final = MappingProxyType({**_WRITERS, "table": RecordWriter})
_OF_JSON: Final = frozenset({"json", "jsonl"})

columns_option = click.option(
    "--columns",
    metavar="FIELD,FIELD",
    help="Show only these fields, in this order. Deferred fields are shown only if they are named.",
)


def _chosen(context: click.Context, _parameter: click.Parameter, given: str | None) -> str:
    """Return the format; errors are JSON too, if it is a format of JSON."""
    if context.resilient_parsing:
        return ""
    if settings().is_json and given not in {None, *_OF_JSON}:
        raise click.UsageError(f"--json and --format {given} exclude each other.")
    if given in _OF_JSON:
        settings().is_json = True
    return given or ("json" if settings().is_json else "table")


format_option = click.option(
    "--format",
    "row_format",
    type=click.Choice(list(_WRITERS)),
    is_eager=True,  # an error in another option is shown in the same way
    callback=_chosen,
    help="table (the default) for people; json, or jsonl with one object a line; csv; hbase for "
    "cells as HBase's shell shows them. Only a table cuts long values.",
)


@dataclass(slots=True)
class RowOutput:
    """Prints rows to standard output, and after two seconds its progress to standard error.

    Where standard output is a terminal, the first row ends the progress: the rows show it.

    Attributes:
        row_format: The name of the format.
        doing: What the command does, such as "scanning orders".
        is_of_records: Whether a table has a line for each field, and not one for each row.
        count: The number of rows so far.
    """

    row_format: str
    doing: str
    is_of_records: bool = False
    count: int = 0

    def show(self, fields: ShownFields, results: Iterable[Any]) -> None:
        """Print the results, one by one."""
        writers = _RECORDS if self.is_of_records else _WRITERS
        stream = sys.stdout
        is_terminal = stream.isatty()
        with WorkLines(self._doing) as work:

            def write(text: str) -> None:
                if is_terminal:
                    work.close()
                stream.write(text)

            writer = writers[self.row_format](fields, write)
            for result in results:
                self.count += 1
                writer.add(result)
            writer.finish()
        stream.flush()  # a reader that has seen enough shows here, and not at the end of Python

    def _doing(self) -> str:
        return f"{self.doing}, {self.count} rows" if self.count else self.doing
