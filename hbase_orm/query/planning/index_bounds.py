"""The bounds that a statement's conditions set for the parts of an index."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from hbase_orm.codecs import Codec
from hbase_orm.codecs.choices import Code, Enumerated
from hbase_orm.errors import CodecError
from hbase_orm.query.conditions.bounds import Bounds, End
from hbase_orm.rowkey.nulls import OrNone
from hbase_orm.schema import FUNCTIONS, FunctionExpr, IndexSchema, TableSchema, codec_of


def index_bounds(
    schema: TableSchema, index: IndexSchema, bounds: Mapping[str, Bounds]
) -> dict[str, Bounds]:
    """Return `bounds`, extended by the bounds of each part of the index, by the part's name.

    If a part is a function of a field, its bounds are computed from the values that the field may
    equal. Values that the part's codec cannot store are left out, if no entry can have them.
    """
    in_index = dict(bounds)
    for part, of in zip(index.layout.parts, index.expressions, strict=True):
        own = bounds.get(part.name)
        if own is None and isinstance(of, FunctionExpr) and not of.is_each:
            own = _of_function(schema, of, bounds.get(of.of.name))
        if own is None:
            continue
        codec = part.codec.part.codec if isinstance(part.codec, OrNone) else part.codec
        stored = codec_of(schema, of)
        is_same = replace(codec, desc=False) == replace(stored, desc=False)
        in_index[part.name] = own if is_same else _in_codec(own, codec)
    return in_index


def _of_function(
    schema: TableSchema, of: FunctionExpr[Any], bounds: Bounds | None
) -> Bounds | None:
    """Return the bounds of a function of a field; None if the field's values are not listed."""
    if bounds is None or bounds.equals is None:
        return None
    codec, function = codec_of(schema, of), FUNCTIONS[of.function].of
    made = tuple(dict.fromkeys(map(function, bounds.equals)))
    return _in_codec(Bounds(equals=made, excludes_none=bounds.excludes_none), codec)


def _in_codec(bounds: Bounds, codec: Codec[Any]) -> Bounds:
    """Return the bounds without the values and ends that the codec cannot store.

    No entry has such a value. Without the end, the range is wider than needed.

    But a newer program may have added codes or members, and have put entries of a value that has no
    code here. So if a listed value has none, the bounds list no values: any entry may have it.
    """
    equals = bounds.equals
    if equals is not None:
        equals = tuple(v for v in equals if v is None or _stores(codec, v))
        if equals != bounds.equals and isinstance(codec, (Code, Enumerated)):
            equals = None
    return Bounds(
        equals=equals,
        low=_end(bounds.low, codec),
        high=_end(bounds.high, codec),
        prefix=bounds.prefix,
        excludes_none=bounds.excludes_none,
    )


def _end(end: End | None, codec: Codec[Any]) -> End | None:
    return end if end is not None and _stores(codec, end.value) else None


def _stores(codec: Codec[Any], value: Any) -> bool:
    try:
        codec.encode(value)
    except CodecError:
        return False
    return True
