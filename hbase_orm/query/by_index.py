"""Reading by an index: which indexes can answer a statement, how, and whether without the rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from hbase_orm.codecs import Codec
from hbase_orm.errors import CodecError, QueryError
from hbase_orm.ops import KeyRange
from hbase_orm.query.access import Search
from hbase_orm.query.alternatives import Option, united
from hbase_orm.query.bounds import Bounds, End
from hbase_orm.query.candidates import Candidate
from hbase_orm.query.implied import is_implied
from hbase_orm.query.plans import IndexPlan
from hbase_orm.query.selection import fields_read
from hbase_orm.query.statement import AnyIndex, Select
from hbase_orm.rowkey import Part
from hbase_orm.rowkey.nulls import OrNone
from hbase_orm.rowkey.salting import bucket_of
from hbase_orm.schema import (
    FUNCTIONS,
    ColumnSchema,
    EntryExpr,
    Expr,
    FunctionExpr,
    Index,
    IndexSchema,
    TableSchema,
    codec_of,
    column_field,
)

SALT_BYTES: Final = 1
"""What stands in front of the entries of a salted index."""

_NOTHING: Final = Bounds()


def candidates_by_index(
    statement: Select[Any], schema: TableSchema, options: Sequence[Option], whole: Option
) -> list[Candidate]:
    """Return the ways to read a statement's rows by the indexes that it may use.

    Args:
        statement: What is asked.
        schema: The table.
        options: The alternatives.
        whole: What holds in all of them: what an index is read by where they are far too many.

    Raises:
        QueryError: The index that the statement names is none of the model, or lacks rows that can
            match.
    """
    asked = statement.index
    if isinstance(asked, AnyIndex):
        wanted = [index for index in schema.indexes if index.maintained == "always"]
        found = [_candidate(schema, index, options, whole) for index in wanted]
        return [one for one in found if one is not None and one.access.narrows]
    assert asked is not None
    return [_named(statement, schema, asked, options, whole)]


def _named(
    statement: Select[Any],
    schema: TableSchema,
    index: Index,
    options: Sequence[Option],
    whole: Option,
) -> Candidate:
    if getattr(statement.model, index.name, None) is not index:
        raise QueryError("the model has no such index", index=repr(index), model=schema.model_name)
    declared = next(each for each in schema.indexes if each.name == index.name)
    found = _candidate(schema, declared, options, whole)
    if found is not None:
        return found
    if not all(is_implied(schema, option, declared.where) for option in options):
        raise QueryError(
            "the index has no entry for rows that do not fulfil its condition",
            index=index.name,
            where=repr(index.where),
            fix="add the index's condition, or one that implies it, to the statement",
        )
    raise QueryError(
        "the index has no entry for rows where an indexed field is None",
        index=index.name,
        fix="add conditions that exclude None on every indexed field that is nullable, and a "
        "condition on func.each(...); or declare the index with nulls=True",
    )


def _candidate(
    schema: TableSchema, index: IndexSchema, options: Sequence[Option], whole: Option
) -> Candidate | None:
    """Return how an index is read, or None if rows that can match have no entry."""
    if not all(_covers(schema, index, option) for option in options):
        return None
    layout = index.layout
    searches = [Search(layout, index_bounds(schema, index, each.bounds)) for each in options]
    found = united([search.access() for search in searches], are_whole_keys=index.unique)
    if found is None:
        found = Search(layout, index_bounds(schema, index, whole.bounds)).access()
    # Behind a part that spreads keys, entries of equal values are in no order of the key's parts.
    behind = () if schema.layout.spread is not None or index.unique else schema.layout.parts
    return Candidate(index, layout, (*layout.parts, *behind), found)


def _covers(schema: TableSchema, index: IndexSchema, option: Option) -> bool:
    """Say whether every row of an alternative has an entry."""
    parts = zip(index.layout.parts, index.expressions, strict=True)
    return is_implied(schema, option, index.where) and all(
        _has_value(schema, part, of, option.bounds) for part, of in parts
    )


def _has_value(
    schema: TableSchema, part: Part, of: Expr[Any], bounds: Mapping[str, Bounds]
) -> bool:
    if isinstance(part.codec, OrNone):
        return True
    own = bounds.get(part.name, _NOTHING)
    if None in (own.equals or ()):
        return False
    if isinstance(of, FunctionExpr) and of.is_each:
        return own.excludes_none
    field = column_field(of)
    column = schema.column_by_name.get(field.name)
    if not isinstance(field, EntryExpr) and (column is None or not column.nullable):
        return True
    return own.excludes_none or bounds.get(field.name, _NOTHING).excludes_none


def index_bounds(
    schema: TableSchema, index: IndexSchema, bounds: Mapping[str, Bounds]
) -> dict[str, Bounds]:
    """Return what is known of the parts of an index: of a function's value, or in other bytes."""
    found = dict(bounds)
    for part, of in zip(index.layout.parts, index.expressions, strict=True):
        own = bounds.get(part.name)
        if own is None and isinstance(of, FunctionExpr) and not of.is_each:
            own = _of_function(schema, of, bounds.get(of.of.name))
        if own is None:
            continue
        codec = part.codec.part.codec if isinstance(part.codec, OrNone) else part.codec
        stored = codec_of(schema, of)
        is_same = replace(codec, desc=False) == replace(stored, desc=False)
        found[part.name] = own if is_same else _in_codec(own, codec)
    return found


def _of_function(
    schema: TableSchema, of: FunctionExpr[Any], bounds: Bounds | None
) -> Bounds | None:
    """Return what equal values of a field say of a function of it."""
    if bounds is None or bounds.equals is None:
        return None
    codec, function = codec_of(schema, of), FUNCTIONS[of.function].of
    made = tuple(dict.fromkeys(map(function, bounds.equals)))
    return _in_codec(Bounds(equals=made, excludes_none=bounds.excludes_none), codec)


def _in_codec(bounds: Bounds, codec: Codec[Any]) -> Bounds:
    """Return bounds by values that a codec can store; what it cannot is no entry's."""
    equals = None
    if bounds.equals is not None:
        equals = tuple(v for v in bounds.equals if v is None or _stores(codec, v))
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


# --- what is read ---------------------------------------------------------------------------------


def bucket_before(index: IndexSchema, key: bytes) -> bytes:
    """Return an entry's key with its bucket in front, if the index is salted."""
    return bytes((bucket_of(key, index.salt),)) + key if index.salt else key


def in_buckets(index: IndexSchema, ranges: Sequence[KeyRange]) -> list[list[KeyRange]]:
    """Return ranges of entries as they are in each bucket of a salted index."""
    return [[_behind(bytes((n,)), each) for each in ranges] for n in range(index.salt)]


def _behind(bucket: bytes, key_range: KeyRange) -> KeyRange:
    last = KeyRange.prefix(bucket).stop
    stop = last if key_range.stop is None else bucket + key_range.stop
    return KeyRange(bucket + key_range.start, stop)


def read_anew(drawn: IndexPlan, ranges: Sequence[KeyRange], key: bytes) -> dict[str, Any]:
    """Return what a plan of the same shape reads for other values.

    Args:
        drawn: The plan.
        ranges: The entries, without buckets.
        key: The values, where the plan asks for one claim.
    """
    if drawn.keys:
        return {"keys": (bucket_before(drawn.index, key),)}
    if drawn.buckets:
        return {"buckets": tuple(map(tuple, in_buckets(drawn.index, ranges)))}
    return {"ranges": tuple(ranges)}


def is_covered(statement: Select[Any], schema: TableSchema, index: IndexSchema) -> bool:
    """Say whether entries alone answer a statement: all it reads stands in them.

    Objects are whole rows; values are read of the row key, of indexed columns whose bytes the
    entry gives back, and of included ones. Of several entries of a row one counts, and which is
    known of the row alone.
    """
    if (
        index.is_multi_valued
        or not index.covering
        or statement.selection is None
        or schema.packed_bytes
    ):
        return False
    names = {column.name for column in index.included} | set(schema.layout.decoded)
    names |= told_columns(index).keys()
    return all(field.name in names for field in fields_read(statement))


def told_columns(index: IndexSchema) -> dict[str, ColumnSchema]:
    """Return the columns whose values an entry's key gives back, by the name of their part."""
    plain = {of.name for of in index.expressions if not isinstance(of, FunctionExpr)}
    return {column.name: column for column in index.columns if column.name in plain}
