"""Generates functions that make index entries from flat rows, for loads.

They compute the same keys as the functions of `index_entries`, but only for simple indexes. They
are faster, because they contain the expressions of the codecs.

A generated function returns None for a row with a value that does not fit. The caller then calls
the general function of `index_entries`, which raises the error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from hbase_orm.codecs.inline import decode_source
from hbase_orm.codecs.source import MISFITS, Scope, literal
from hbase_orm.ops import longest_row_key_bytes
from hbase_orm.rowkey import Framing, KeyLayout, Part
from hbase_orm.rowkey.compiler import part_source
from hbase_orm.rowkey.layout import part_bytes
from hbase_orm.rowkey.nulls import OrNone
from hbase_orm.rowkey.salting import ENTRY_HASH, bucket_source
from hbase_orm.schema import (
    ColumnSchema,
    Expr,
    FunctionExpr,
    IndexSchema,
    TableSchema,
    absent_value_in_entries,
    stored_column,
)

FlatRow = tuple[bytes | None, ...]
"""A row key, followed by a value for each column; None if the row has no such cell."""

KeysOfFlat = Callable[[FlatRow], tuple[bytes, ...] | None]
"""A function that returns the entry keys of a flat row in one index.

It returns None if only the general function of `index_entries` can compute them.
"""


def keys_of_flat(
    schema: TableSchema, index: IndexSchema, columns: Sequence[bytes]
) -> KeysOfFlat | None:
    """Return a function that computes the entry keys of flat rows, for a simple index.

    None if no function can be generated. Callers then use the general function of `index_entries`.

    Args:
        schema: The table.
        index: The index.
        columns: The columns of the values in a flat row.
    """
    if index.where or index.is_multi_valued or index.unique:
        return None
    if any(isinstance(of, FunctionExpr) for of in index.expressions):
        return None
    entry_lines = _EntryKeyLines(schema, columns)
    parts = zip(index.layout.parts, index.expressions, strict=True)
    pieces = [entry_lines.piece(part, of) for part, of in parts]
    if None in pieces:
        return None
    scope, lines = entry_lines.scope, [*entry_lines.lines]
    if entry_lines.nones:
        lines.append(f"if {' or '.join(entry_lines.nones)}: return ()")
    lines.append(f"entry = {' + '.join([*filter(None, pieces), 'key'])}")
    if index.salt:
        lines.append(f"entry = {bucket_source('entry', index.salt, ENTRY_HASH, scope)} + entry")
    longest = longest_row_key_bytes(index.table)
    lines.append(f"if len(entry) <= {longest}: return (entry,)")
    scope.values["MISFITS"] = MISFITS
    source = [
        "def keys(row):",
        "    try:",
        "        key = row[0]",
        *(f"        {line}" for line in lines),
        "    except MISFITS:",
        "        pass",
        "    return None",
    ]
    keys: KeysOfFlat = scope.compiled(source, "keys")
    return keys


class _EntryKeyLines:
    """Source lines that compute the parts of an entry from the variables `row` and `key`.

    `row` is a flat row and `key` its row key.

    Attributes:
        lines: The source lines.
        nones: The source of conditions to test after `lines`. If any of them is true, the row has
            no entry.
    """

    def __init__(self, schema: TableSchema, columns: Sequence[bytes]) -> None:
        self.scope = Scope()
        self.lines: list[str] = []
        self.nones: list[str] = []
        self._schema = schema
        self._places = {column: place for place, column in enumerate(columns, 1)}

    def piece(self, part: Part, of: Expr[Any]) -> str | None:
        """Return the source of an expression for the bytes of `part`; add the lines it needs.

        None if only the general function can compute the bytes.
        """
        column = stored_column(self._schema, of)
        if column is None:
            return self._from_key(part)
        place = self._places.get(column.column)
        return None if place is None else self._from_column(part, column, place)

    def _from_column(self, part: Part, column: ColumnSchema, place: int) -> str:
        data, piece = self.scope.local("data"), self.scope.local("piece")
        self.lines.append(f"{data} = row[{place}]")
        absent, has_null = absent_value_in_entries(column), isinstance(part.codec, OrNone)
        width_bytes = column.codec.width_bytes
        if part.codec == column.codec and width_bytes is not None:  # the same bytes
            present = [
                f"if len({data}) != {literal(width_bytes)}: return None",
                f"{piece} = {data}",
            ]
        else:
            value = self.scope.local("value")
            present = [
                f"{value} = {decode_source(column.codec, data, self.scope)}",
                f"{piece} = {part_source(part, value, self.scope)}",
            ]
        if absent is None and not has_null:
            # The other parts are made all the same: what does not fit must be refused.
            otherwise = "None"
            self.nones.append(f"{piece} is None")
        else:
            otherwise = literal(part.encode(absent))
        self.lines += [
            f"if {data} is None: {piece} = {otherwise}",
            "else:",
            *(f"    {line}" for line in present),
        ]
        return piece

    def _from_key(self, part: Part) -> str | None:
        layout = self._schema.layout
        own = layout.part(part.name)
        if own is None:  # joined of several parts
            return None
        cut = _cut(layout, own) or f"{self.scope.bind(part_bytes(layout, own.name), 'cut')}(key)"
        if (own.codec, own.framing) == (part.codec, part.framing):  # the same bytes
            return cut
        data, value = self.scope.local("data"), self.scope.local("value")
        if own.framing is Framing.FIXED:
            read = decode_source(own.codec, data, self.scope)
        else:
            read = f"{self.scope.bind(own.value_of, 'value_of')}({data})"
        self.lines += [f"{data} = {cut}", f"{value} = {read}"]
        return f"({part_source(part, value, self.scope)})"


def _cut(layout: KeyLayout, part: Part) -> str | None:
    """Return the source of the slice of `key` that holds `part`.

    None if the position or the width of `part` varies.
    """
    if part.framing is not Framing.FIXED:
        return None
    number = layout.parts.index(part)
    before, rest = _width_bytes(layout.parts[:number]), _width_bytes(layout.parts[number:])
    width_bytes = int(part.codec.width_bytes or 0)
    if before is not None:
        return f"key[{before}:{before + width_bytes}]"
    if rest is not None:
        return f"key[-{rest}:{width_bytes - rest or ''}]"
    return None


def _width_bytes(parts: Sequence[Part]) -> int | None:
    """Return how many bytes `parts` have together.

    None if the width of any of them varies.
    """
    widths = [part.codec.width_bytes for part in parts if part.framing is Framing.FIXED]
    return sum(int(width or 0) for width in widths) if len(widths) == len(parts) else None
