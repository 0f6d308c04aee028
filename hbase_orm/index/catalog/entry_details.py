"""Details of an index's declaration that its text did not have at first.

They follow the text, if there are any: the parameters of the index's own codecs, and the values
that rows without a cell have in entries, where a function returns them. The catalog may have texts
without details, which older versions wrote. So details are compared only if both texts have them.

New codes do not contradict old ones. `create_tables` joins the codes of all programs in the
catalog's text; see `index.catalog.entry_codes`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from functools import partial
from typing import Any, Final

from hbase_orm.codecs import Codec
from hbase_orm.codecs.choices import Code, Enumerated
from hbase_orm.errors import CodecError
from hbase_orm.index.catalog import entry_codes
from hbase_orm.index.catalog.entry_codes import CODES
from hbase_orm.index.entries.row_values import fields_in
from hbase_orm.rowkey.nulls import OrNone
from hbase_orm.schema import (
    ColumnSchema,
    FunctionExpr,
    IndexSchema,
    TableSchema,
    absent_value_in_entries,
    column_field,
    stored_column,
)
from hbase_orm.schema.canonical import value_text

_BEFORE_DETAILS: Final = ' || {"'
_CODECS: Final = "codecs"
_ABSENT: Final = "absent"

Details = dict[str, dict[str, Any]]
"""The details of one index: by their kind, and then by the place or column that they belong to."""


def details_text(schema: TableSchema, index: IndexSchema) -> str:
    """Return the text to append to an index's declaration text; empty if it has no details."""
    codecs: dict[str, Any] = {}
    for place, (codec, stored) in enumerate(zip(*_parts(schema, index), strict=True)):
        own = _own_codec(codec, stored)
        if own is not None:
            codecs[str(place)] = _parameters(own, stored)
    absent = {
        column.column.decode("utf-8", "backslashreplace"): _absent(column)
        for column in _used(schema, index)
        if column.default_factory is not None and not column.nullable
    }
    return _as_text({_CODECS: codecs, _ABSENT: absent})


def _as_text(details: Details) -> str:
    shown = {name: each for name, each in details.items() if each}
    encoded = json.dumps(shown, separators=(",", ":"), sort_keys=True)
    return f" || {encoded}" if shown else ""


def _parts(schema: TableSchema, index: IndexSchema) -> tuple[list[Any], list[Any]]:
    codecs = [part.codec for part in index.layout.parts]
    stored: list[Any] = []
    for of in index.expressions:
        column = None if isinstance(of, FunctionExpr) else stored_column(schema, of)
        stored.append(schema.codecs.get(of.name) if column is None else column.codec)
    return codecs, stored


def _own_codec(codec: Codec[Any], stored: Codec[Any] | None) -> Codec[Any] | None:
    """Return the codec of a part if it is not that of its field, but the index's own; else None.

    A part that is computed by a function has no field. Its codec is returned only if it has codes.
    """
    if isinstance(codec, OrNone):
        codec = codec.part.codec
    if stored is None:
        return codec if isinstance(codec, Code) else None
    return None if replace(codec, desc=False) == replace(stored, desc=False) else codec


def _parameters(codec: Codec[Any], stored: Codec[Any] | None) -> dict[str, Any]:
    match codec:
        case Enumerated(inner=inner):
            return _parameters(inner, None)
        case Code():
            return dict(entry_codes.codes_of(codec, partial(_stored_text, codec=stored)))
    if not is_dataclass(codec):
        return {}
    own = {each.name: getattr(codec, each.name) for each in fields(codec) if each.compare}
    return {
        name: value_text(value)
        for name, value in own.items()
        if name != "desc" and isinstance(value, (bool, int, float, str, bytes))
    }


def _stored_text(value: Any, *, codec: Codec[Any] | None) -> str:
    """Return what rows store for a value: bytes, or a text that does not have an enum's names.

    Args:
        value: The value.
        codec: The codec of the field; None for the result of a function.
    """
    try:
        if codec is not None:
            return replace(codec, desc=False).encode(value).hex()
    except CodecError:  # no row has the value
        return value_text(value)
    return value_text(value.value if isinstance(value, Enum) else value)


def _used(schema: TableSchema, index: IndexSchema) -> list[ColumnSchema]:
    """Return the columns that entries, and the condition of the index, are computed from."""
    of = (*map(column_field, index.expressions), *fields_in(index.where))
    return [column for column in (stored_column(schema, each) for each in of) if column is not None]


def _absent(column: ColumnSchema) -> str | None:
    value = absent_value_in_entries(column)
    return None if value is None else value_text(value)


def without_details(text: str) -> str:
    """Return the text of a declaration without its details."""
    return _parted(text)[0]


def _parted(text: str) -> tuple[str, Details]:
    # A text without details ends with the row key: with a bracket, or with a column's name.
    before, separator, after = text.rpartition(_BEFORE_DETAILS)
    if not separator or not text.endswith("}"):
        return text, {}
    try:
        details = json.loads(_BEFORE_DETAILS[-2:] + after)
    except ValueError:
        return text, {}
    return before, details


def same_declaration(stored: str | None, declared: str | None) -> bool:
    """Return whether two texts declare the same entries; new codes do not contradict old ones.

    None stands for no declaration.
    """
    if stored is None or declared is None or stored == declared:
        return stored == declared
    (text, details), (own_text, own) = _parted(stored), _parted(declared)
    return text == own_text and all(
        _agree(details[kind][name], own[kind][name])
        for kind in details.keys() & own.keys()
        for name in details[kind].keys() & own[kind].keys()
    )


def _agree(stored: Any, declared: Any) -> bool:
    if not isinstance(stored, Mapping) or not isinstance(declared, Mapping):
        return bool(stored == declared)
    if CODES not in stored or CODES not in declared:
        return dict(stored) == dict(declared)
    return entry_codes.is_agreed(stored, declared)


def has_same_codes(stored: str, declared: str) -> bool:
    """Return whether two texts of the same entries have the same codes.

    Codes that only one of the texts describes are not compared.
    """
    known, own = (_parted(text)[1].get(_CODECS, {}) for text in (stored, declared))
    return all(
        entry_codes.is_equal(known[place], own[place])
        for place in known.keys() & own.keys()
        if CODES in known[place] and CODES in own[place]
    )


def joined_declaration(stored: str, declared: str) -> str:
    """Return the catalog's text with the codes of both texts, which must declare the same entries.

    A text without details stays as it is, because the oldest versions compare whole texts.
    """
    (text, details), (_, own) = _parted(stored), _parted(declared)
    if not details:
        return stored
    known, new = details.get(_CODECS, {}), own.get(_CODECS, {})
    codes = {
        place: entry_codes.joined(known[place], each)
        for place, each in new.items()
        if CODES in each and CODES in known.get(place, {})
    }
    return text + _as_text({**own, **details, _CODECS: {**new, **known, **codes}})
