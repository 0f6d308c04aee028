"""Generates functions that make the index entries of many flat rows, for loads.

They compute the same keys as the functions of `index_entries`, but only for simple indexes. They
are faster: one call makes the keys of a whole batch in one loop, which contains the expressions of
the codecs.

A generated function returns None if a value of any row does not fit. The caller then calls the
general function of `index_entries`, which raises the error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from hbase_orm.codecs import Codec
from hbase_orm.codecs.inline import decode_source
from hbase_orm.codecs.numbers import (
    Boolean,
    Float64,
    Int8,
    Int16,
    Int32,
    Int64,
    UInt8,
    UInt16,
    UInt32,
    UInt64,
)
from hbase_orm.codecs.source import MISFITS, Scope, literal
from hbase_orm.codecs.text import Raw, Text
from hbase_orm.codecs.times import Micros, Millis
from hbase_orm.ops import longest_row_key_bytes
from hbase_orm.rowkey import Framing, KeyLayout, Part
from hbase_orm.rowkey.compiler import part_source
from hbase_orm.rowkey.layout import part_bytes
from hbase_orm.rowkey.nulls import OrNone
from hbase_orm.rowkey.salting import bucket_source
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

_INTEGERS: Final = (Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64)
_READS_BACK: Final = frozenset((*_INTEGERS, Boolean, Float64, Micros, Millis, Raw, Text))
"""Codecs that decode whatever they have encoded, and then encode it ascending or descending."""


@dataclass(frozen=True, slots=True)
class FlatKeys:
    """Makes the entry keys of flat rows in one index.

    Attributes:
        of: A function that returns the entry keys of many flat rows, in the order of the rows. A
            row without an entry is left out. The result is None if only the general function of
            `index_entries` can compute the keys.
        fits_all: Whether `of` never returns None for rows whose values were encoded by their
            codecs, if the key and the values of each row have at most `SURELY_SHORT_BYTES`
            together. So such rows need no check before they are sent.
    """

    of: Callable[[Iterable[FlatRow]], list[bytes] | None]
    fits_all: bool


def keys_of_flat(
    schema: TableSchema, index: IndexSchema, columns: Sequence[bytes]
) -> FlatKeys | None:
    """Return what computes the entry keys of flat rows, for a simple index.

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
        lines.append(f"if {' or '.join(entry_lines.nones)}: continue")
    lines.append(f"entry = {' + '.join([*filter(None, pieces), 'key'])}")
    if index.salt:
        lines.append(f"entry = {bucket_source('entry', index.salt, 'phoenix', scope)} + entry")
    longest = longest_row_key_bytes(index.table)
    lines += [f"if len(entry) > {longest}: return None", "add(entry)"]
    scope.values["MISFITS"] = MISFITS
    source = [
        "def keys(rows):",
        "    entries = []",
        "    add = entries.append",
        "    try:",
        "        for row in rows:",
        "            key = row[0]",
        *(f"            {line}" for line in lines),
        "    except MISFITS:",
        "        return None",
        "    return entries",
    ]
    return FlatKeys(scope.compiled(source, "keys"), entry_lines.fits_all)


class _EntryKeyLines:
    """Source lines that compute the parts of an entry from the variables `row` and `key`.

    `row` is a flat row and `key` its row key.

    Attributes:
        lines: The source lines.
        nones: The source of conditions to test after `lines`. If any of them is true, the row has
            no entry.
        fits_all: As for `FlatKeys`.
    """

    def __init__(self, schema: TableSchema, columns: Sequence[bytes]) -> None:
        self.scope = Scope()
        self.lines: list[str] = []
        self.nones: list[str] = []
        self.fits_all = True
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
        self.fits_all &= _fits_all(part, column.codec)
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
        self.fits_all &= _fits_all(part, own.codec)
        data, value = self.scope.local("data"), self.scope.local("value")
        if own.framing is Framing.FIXED:
            read = decode_source(own.codec, data, self.scope)
        else:
            read = f"{self.scope.bind(own.value_of, 'value_of')}({data})"
        self.lines += [f"{data} = {cut}", f"{value} = {read}"]
        return f"({part_source(part, value, self.scope)})"


def _fits_all(part: Part, stored: Codec[Any]) -> bool:
    """Return whether `part` encodes every value that the codec `stored` has encoded."""
    if isinstance(part.codec, OrNone):
        part = part.codec.part
    if part.is_filled or type(stored) not in _READS_BACK:
        return False
    return replace(part.codec, desc=False) == replace(stored, desc=False)


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
