"""Details of an index's declaration that its text did not have at first.

They follow the text, if there are any: the parameters of the index's own codecs, and the values
that rows without a cell have in entries, where a function returns them. The catalog may have texts
without details, which older versions wrote. So details are compared only if both texts have them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, Final

from hbase_orm.codecs import Codec
from hbase_orm.codecs.choices import Code, Enumerated
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
_CODES: Final = "codes"


def details_text(schema: TableSchema, index: IndexSchema) -> str:
    """Return the text to append to an index's declaration text; empty if it has no details."""
    codecs = {
        str(place): _parameters(own)
        for place, own in enumerate(map(_own_codec, *_parts(schema, index)))
        if own is not None
    }
    absent = {
        column.column.decode("utf-8", "backslashreplace"): _absent(column)
        for column in _used(schema, index)
        if column.default_factory is not None and not column.nullable
    }
    details = {"codecs": codecs, "absent": absent}
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
    """Return the codec of a part if it is not that of its field, but the index's own; else None."""
    if isinstance(codec, OrNone):
        codec = codec.part.codec
    if stored is None or replace(codec, desc=False) == replace(stored, desc=False):
        return None
    return codec


def _parameters(codec: Codec[Any]) -> dict[str, Any]:
    match codec:
        case Enumerated(inner=inner):
            return _parameters(inner)
        case Code(pairs=pairs):
            return {_CODES: {value_text(value): data.hex() for value, data in pairs}}
    if not is_dataclass(codec):
        return {}
    own = {each.name: getattr(codec, each.name) for each in fields(codec) if each.compare}
    return {
        name: value_text(value)
        for name, value in own.items()
        if name != "desc" and isinstance(value, (bool, int, float, str, bytes))
    }


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


def _parted(text: str) -> tuple[str, dict[str, Any]]:
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
    if _CODES not in stored or _CODES not in declared:
        return dict(stored) == dict(declared)
    old, new = stored[_CODES], declared[_CODES]
    joined = {**old, **new}
    keeps_values = all(joined[value] == code for value, code in old.items())
    return keeps_values and len(set(joined.values())) == len(joined)
