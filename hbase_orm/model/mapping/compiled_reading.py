"""Readers of encoded rows, compiled: they do what the generated functions do, with fewer steps.

A row that they do not take in, because a value does not fit or a default is needed, is given to the
generated function of Python.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hbase_orm.codecs.base import Codec
from hbase_orm.codecs.forms import form_of
from hbase_orm.codecs.source import MISFITS
from hbase_orm.compiled import EncodedRow, compiled_cells
from hbase_orm.model.state import NOTHING_RARE, InstanceState, SetState
from hbase_orm.rowkey.derivations import BucketOf, RandomBucket, SaltOf
from hbase_orm.rowkey.layout import KeyLayout
from hbase_orm.rowkey.parts import Framing, Part
from hbase_orm.schema import ColumnSchema, DynamicSchema, TableSchema

LEFT_OUT, NONE, REFUSED, ZERO = "left out", "none", "refused", "zero"
"""What is done with a field whose column has no cell."""


def object_maker(
    cls: type,
    schema: TableSchema,
    set_state: SetState,
    columns: Sequence[ColumnSchema],
    hydrate: Callable[..., Any],
) -> Any | None:
    """Return the compiled maker of objects; None if there is none for this model.

    Args:
        cls: The model.
        schema: Its description.
        set_state: A function that sets an object's `__state__`.
        columns: The columns from which fields are read.
        hydrate: The generated function, for rows that do not fit.
    """
    absent = {
        **{column: NONE if column.nullable else _without_cell(column) for column in columns},
        **dict.fromkeys(schema.numbers, LEFT_OUT),
    }
    if not is_readable(absent):
        return None
    layout = schema.layout
    return compiled_cells.ObjectMaker(
        cls,
        InstanceState,
        set_state,
        NOTHING_RARE,
        key_reader(layout),
        tuple(layout.decoded),
        cell_reader(absent),
        _entry_reader(schema.dynamics),
        tuple(each.name for each in schema.dynamics),
        hydrate,
        EncodedRow,
    )


def value_reader(
    schema: TableSchema,
    columns: Mapping[str, ColumnSchema],
    names: Sequence[str],
    read: Callable[..., tuple[Any, ...]],
) -> Any | None:
    """Return the compiled reader of a few fields; None if there is none.

    Args:
        schema: The description of the model.
        columns: The columns of the fields that are read from cells, by name.
        names: The names of the fields.
        read: The generated function, for rows that do not fit.
    """
    absent = {column: value_without_cell(schema, column) for column in columns.values()}
    if not is_readable(absent):
        return None
    layout = schema.layout
    in_cells, in_key = list(absent), [*layout.decoded]
    places = [-1 - in_cells.index(columns[n]) if n in columns else in_key.index(n) for n in names]
    decode_key = key_reader(layout) if any(place >= 0 for place in places) else None
    return compiled_cells.ValueReader(
        cell_reader(absent), decode_key, tuple(places), read, EncodedRow
    )


def key_reader(layout: KeyLayout) -> Callable[..., tuple[Any, ...]]:
    """Return the compiled reader of row keys; the generated function if there is none."""
    parts = [_key_part(part, layout.decoded) for part in layout.parts]
    known = [part for part in parts if part is not None]
    places = sorted(part.place for part in known if part.place >= 0)
    is_complete = places == [*range(len(layout.decoded))]
    if compiled_cells is None or len(known) < len(parts) or not is_complete:
        return layout.decode_parts
    if len(parts) > compiled_cells.MOST_KEY_PARTS:
        return layout.decode_parts
    values = [_cell_column(b"%d" % n, "", REFUSED, part.codec) for n, part in enumerate(known)]
    reader: Callable[..., tuple[Any, ...]] = compiled_cells.KeyReader(
        tuple((each.framing, each.size, each.end, each.place, each.allowed) for each in known),
        compiled_cells.CellReader(tuple(values), MISFITS),
        len(layout.decoded),
        layout.decode_parts,
    )
    return reader


def key_codecs(layout: KeyLayout) -> dict[str, Codec[Any]]:
    """Return the codec of each key field, as `key_reader` reads its part of the row key."""
    parts = [_key_part(part, layout.decoded) for part in layout.parts]
    names = [*layout.decoded]
    return {names[part.place]: part.codec for part in parts if part is not None and part.place >= 0}


@dataclass(frozen=True, slots=True)
class _KeyPart:
    """A part of a row key, in the words of the compiled reader."""

    framing: str
    size: int
    end: int
    place: int
    allowed: frozenset[bytes] | None
    codec: Codec[Any]


def _key_part(part: Part, decoded: Sequence[str]) -> _KeyPart | None:
    """Return a part for the compiled reader; None if only Python reads such parts."""
    width = int(part.codec.width_bytes or 0)
    derivation = part.derivation
    if derivation is not None:
        if not isinstance(derivation, (SaltOf, RandomBucket, BucketOf)) or not _is_fixed(part):
            return None
        return _KeyPart("fixed", width, -1, -1, frozenset(derivation.numbers), part.codec)
    place = [*decoded].index(part.name) if part.name in decoded else -1
    if part.framing is Framing.FIXED:
        return _KeyPart("fixed", width, -1, place, None, part.codec)
    if part.framing is Framing.SEPARATED and len(part.end) == 1 and not part.is_descending:
        return _KeyPart("ended", 0, part.end[0], place, None, part.ascending)
    is_any = part.framing is Framing.REST and not part.ending
    return _KeyPart("rest", 0, -1, place, None, part.codec) if is_any else None


def _is_fixed(part: Part) -> bool:
    return part.framing is Framing.FIXED and part.lookup is None


def _without_cell(column: ColumnSchema) -> str:
    return REFUSED if column.has_default else LEFT_OUT


def value_without_cell(schema: TableSchema, column: ColumnSchema) -> str:
    """Return what is done without the cell of a column whose value is read."""
    if column in schema.numbers:
        return ZERO
    return REFUSED if column.has_default and not column.nullable else NONE


def is_readable(columns: Iterable[ColumnSchema]) -> bool:
    """Return whether the compiled reader is in use and can read these columns."""
    if compiled_cells is None:
        return False
    names = [column.column for column in columns]
    return len(names) <= compiled_cells.MOST and len(set(names)) == len(names)


def cell_reader(absent: Mapping[ColumnSchema, str]) -> Any:
    """Return the compiled reader of cells.

    Args:
        absent: What is done without a cell, by column.
    """
    columns = [
        _cell_column(column.column, column.name, without_cell, column.codec)
        for column, without_cell in absent.items()
    ]
    return compiled_cells.CellReader(tuple(columns), MISFITS)


def _entry_reader(dynamics: Sequence[DynamicSchema]) -> Any:
    """Return the reader of dynamic columns; None if there are none."""
    if not dynamics:
        return None
    parts = [
        _cell_column(b"", each.name, REFUSED, codec)
        for each in dynamics
        for codec in (each.name_codec, each.codec)
    ]
    fields = tuple((each.prefix, each.taken) for each in dynamics)
    return compiled_cells.EntryReader(fields, compiled_cells.CellReader(tuple(parts), MISFITS))


def _cell_column(column: bytes, name: str, without_cell: str, codec: Codec[Any]) -> tuple[Any, ...]:
    form = form_of(codec)
    sizes = (form.size, form.desc, form.is_flipped, form.unit_micros)
    return (column, name, without_cell, form.name, *sizes, form.helper)
