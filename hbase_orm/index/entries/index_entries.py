"""Converts a model's schema to the targets of the index protocols: tables, columns, entry keys.

An entry's key has the indexed values, each delimited and in its declared direction. Then the row
key follows. Some indexes differ:

- In a salted index, the keys begin with one byte for the bucket.
- In a unique index, the keys do not have the row key.

A row in which an indexed value is None has no entry, unless the index has `nulls=True`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from hbase_orm.errors import CodecError, CorruptRowError, RowKeyError
from hbase_orm.index.entries.compiled import keys_of_flat
from hbase_orm.index.entries.row_values import (
    Values,
    corrupt,
    key_reader,
    row_test,
    value_reader,
)
from hbase_orm.index.entries.targets import GuardedTable, IndexTarget, family_of
from hbase_orm.index.entries.unknown_members import (
    may_be_known,
    may_get_members,
    may_have_unknown_values,
    part_of_unknown,
)
from hbase_orm.ops import MAX_ROW_KEY_BYTES, longest_row_key_bytes
from hbase_orm.rowkey import KeyLayout, Part
from hbase_orm.rowkey.layout import part_bytes
from hbase_orm.rowkey.nulls import OrNone
from hbase_orm.rowkey.salting import bucket_of
from hbase_orm.schema import (
    FUNCTIONS,
    ColumnSchema,
    Expr,
    FunctionExpr,
    IndexSchema,
    TableSchema,
    absent_value_in_entries,
    stored_column,
)

EntryKeys = Callable[[bytes, Mapping[bytes, bytes]], frozenset[bytes]]

Piece = Callable[[bytes, Mapping[bytes, bytes]], bytes | None]
Pieces = Callable[[bytes, Mapping[bytes, bytes]], frozenset[bytes]]


def guarded_table(schema: TableSchema, *, is_lww: bool = False) -> GuardedTable:
    """Return the description of a model's table and indexes that guarded writes need."""
    anchor = schema.anchor
    ttls_s = {
        family.name: family.ttl_s
        for family in schema.families
        if family.ttl_s is not None and not family.min_versions
    }
    return GuardedTable(
        table=schema.table,
        families=schema.family_names,
        anchor=None if anchor is None else anchor.column,
        marker=schema.marker,
        counters=schema.counted,
        columns=frozenset(column.column for column in schema.columns),
        indexes=tuple(index_target(schema, index) for index in schema.indexes),
        expires=bool(ttls_s),
        version=None if schema.version is None else schema.version.column,
        is_lww=is_lww,
        known=None if schema.existence is None else schema.existence.known,
        counter_ttls_s={
            column: ttls_s[family_of(column)]
            for column in schema.counted
            if family_of(column) in ttls_s
        },
    )


def index_target(schema: TableSchema, index: IndexSchema) -> IndexTarget:
    """Return the description of one index that guarded writes need."""
    return IndexTarget(
        name=index.name,
        table=index.table,
        columns=frozenset(column.column for column in index.columns),
        entry_keys=_entry_keys(schema, index),
        unique=index.unique,
        included=tuple(column.column for column in index.included),
        maintained_by_writes=index.maintained == "always",
        keys_of_flat=partial(keys_of_flat, schema, index),
        may_have_unknown_values=may_have_unknown_values(index),
    )


def _entry_keys(schema: TableSchema, index: IndexSchema) -> EntryKeys:
    """Return a function that computes the keys of a row's entries in one index."""
    keys = _several(schema, index) if index.is_multi_valued else _single(schema, index)
    is_kept = row_test(schema, index.name, index.where)
    if is_kept is None:
        return keys

    def entry_keys(row: bytes, cells: Mapping[bytes, bytes]) -> frozenset[bytes]:
        return keys(row, cells) if is_kept(row, cells) else frozenset()

    return entry_keys


def _single(schema: TableSchema, index: IndexSchema) -> EntryKeys:
    pieces, finished = _pieces(schema, index), _finisher(index)
    is_unique, nothing = index.unique, frozenset[bytes]()

    def keys(row: bytes, cells: Mapping[bytes, bytes]) -> frozenset[bytes]:
        values = [piece(row, cells) for piece in pieces]
        if None in values:
            return nothing
        data = b"".join(values)  # type: ignore[arg-type]  # there is no None among them
        return frozenset((finished(data if is_unique else data + row),))

    return keys


def _several(schema: TableSchema, index: IndexSchema) -> EntryKeys:
    """Return a function that computes one entry key for each item of a row's indexed collection."""
    pieces, finished = _pieces(schema, index), _finisher(index)
    place = next(n for n, of in enumerate(index.expressions) if is_each(of))
    items = _item_pieces(schema, index, index.layout.parts[place], index.expressions[place])

    def keys(row: bytes, cells: Mapping[bytes, bytes]) -> frozenset[bytes]:
        before = [piece(row, cells) for piece in pieces[:place]]
        after = [piece(row, cells) for piece in pieces[place + 1 :]]
        if None in before or None in after:
            return frozenset()
        start, end = b"".join(filter(None, before)), b"".join([*filter(None, after), row])
        return frozenset([finished(start + item + end) for item in items(row, cells)])

    return keys


def is_each(of: Expr[Any]) -> bool:
    """Return whether a part of an index has the items of a collection."""
    return isinstance(of, FunctionExpr) and of.is_each


def _pieces(schema: TableSchema, index: IndexSchema) -> list[Piece]:
    parts = zip(index.layout.parts, index.expressions, strict=True)
    return [piece_of(schema, index, part, of) for part, of in parts]


def piece_of(schema: TableSchema, index: IndexSchema, part: Part, of: Expr[Any]) -> Piece:
    """Return a function that computes the bytes of one part of a row's entry.

    The function returns None if the row has no entry, because the value of the part is None.
    """
    if isinstance(of, FunctionExpr):
        return _from_function(schema, index, part, of)
    column = stored_column(schema, of)
    if column is not None:
        return _from_column(schema, index, part, column)
    return _from_key(schema, index, part)


def _from_function(
    schema: TableSchema, index: IndexSchema, part: Part, of: FunctionExpr[Any]
) -> Piece:
    value_of, function = value_reader(schema, index.name, of.of), FUNCTIONS[of.function].of
    has_null = isinstance(part.codec, OrNone)

    def piece(row: bytes, cells: Mapping[bytes, bytes]) -> bytes | None:
        value = function(value_of(row, cells))
        return None if value is None and not has_null else part.encode(value)

    return piece


def _item_pieces(schema: TableSchema, index: IndexSchema, part: Part, of: Any) -> Pieces:
    value_of, items = value_reader(schema, index.name, of.of), FUNCTIONS["each"].of
    return lambda row, cells: frozenset(map(part.encode, items(value_of(row, cells)) or ()))


def _from_column(
    schema: TableSchema, index: IndexSchema, part: Part, column: ColumnSchema
) -> Piece:
    """Return a function that computes a part of an entry from a stored column.

    If a row does not have the column's cell, its value is the field's constant default. Without a
    constant default, the value is None. For None the function returns None, unless the index has
    entries for None.
    """
    name, decode, encode = column.column, column.codec.decode, part.encode
    absent = absent_value_in_entries(column)
    has_null = isinstance(part.codec, OrNone)
    of_absent = None if absent is None and not has_null else encode(absent)
    width_bytes = part.codec.width_bytes if part.codec == column.codec else None

    def piece(row: bytes, cells: Mapping[bytes, bytes]) -> bytes | None:
        stored = cells.get(name)
        if stored is None:
            return of_absent
        if width_bytes is not None:  # the same bytes
            if len(stored) != width_bytes:
                error = part.codec.corrupt(stored)
                raise corrupt(schema, index.name, row, error, (column, stored))
            return stored
        try:
            value = decode(stored)
        except CodecError as error:
            unknown = part_of_unknown(part, column.codec, stored)
            if unknown is None:
                is_known, cell = may_be_known(column.codec, stored), (column, stored)
                raise corrupt(
                    schema, index.name, row, error, cell, may_be_known=is_known
                ) from error
            return unknown
        return encode(value)

    return piece


def _from_key(schema: TableSchema, index: IndexSchema, part: Part) -> Piece:
    """Return a function that computes a part of an entry from a field of the row key."""
    layout = schema.layout
    in_key = layout.part(part.name)
    if in_key is not None and (in_key.codec, in_key.framing) == (part.codec, part.framing):
        read: Values = _own_bytes(layout, part.name)  # the same bytes
        encode: Callable[[Any], bytes] = bytes
    else:
        read, encode = key_reader(schema, part.name), part.encode

    def piece(row: bytes, cells: Mapping[bytes, bytes]) -> bytes:
        try:
            value = read(row, cells)
        except CodecError as error:
            unknown = None if in_key is None else _unknown_in_key(in_key, row)
            if unknown is None:
                is_known = may_get_members(part.codec)
                raise corrupt(
                    schema, index.name, row, error, None, may_be_known=is_known
                ) from error
            return unknown
        return encode(value)

    def _unknown_in_key(own: Part, row: bytes) -> bytes | None:
        try:
            return part_of_unknown(part, own.codec, own.content(part_bytes(layout, own.name)(row)))
        except CodecError:
            return None

    return piece


def _own_bytes(layout: KeyLayout, name: str) -> Values:
    own_bytes = part_bytes(layout, name)
    return lambda row, _: own_bytes(row)


def _finisher(index: IndexSchema) -> Callable[[bytes], bytes]:
    """Return a function that adds the bucket to an entry's key and checks its length.

    The function raises RowKeyError for a key that is too long.
    """
    longest, bucket_count = longest_row_key_bytes(index.table), index.salt

    def finished(key: bytes) -> bytes:
        if bucket_count:
            key = bytes((bucket_of(key, bucket_count),)) + key
        if len(key) > longest:
            raise RowKeyError(
                "the index entry's row key is longer than HBase stores",
                index=index.name,
                length_bytes=len(key),
                limit_bytes=longest,
                fix="index a shorter field",
            )
        return key

    return finished


def base_key_of(index: IndexSchema) -> Callable[[bytes], bytes]:
    """Return a function that cuts the row key out of the end of an entry's key.

    The function raises CorruptRowError for bytes that cannot be an entry's key. In a unique index,
    the keys of entries have no row key. For such an index the function returns empty bytes.
    """
    parts = index.layout.parts
    begin = 1 if index.salt else 0
    shortest, longest = (0, 0) if index.unique else (1, MAX_ROW_KEY_BYTES)

    def base_key(entry_key: bytes) -> bytes:
        position = begin
        try:
            for part in parts:
                position = _after(part, entry_key, position)
        except CodecError as error:
            raise _no_entry(index, entry_key) from error
        if not shortest <= len(entry_key) - position <= longest:
            raise _no_entry(index, entry_key)
        return entry_key[position:]

    return base_key


def _after(part: Part, entry_key: bytes, position: int) -> int:
    """Return the position after a part of an entry's key; its value may be unknown here.

    Raises:
        CodecError: The bytes at the position are not this part.
    """
    stop = part.span(entry_key, position)
    if stop > len(entry_key) or not may_get_members(part.codec):
        part.value_of(entry_key[position:stop])
    return stop


def _no_entry(index: IndexSchema, entry_key: bytes) -> CorruptRowError:
    return CorruptRowError(
        "the index table holds a row that is not an index entry",
        table=index.table,
        index=index.name,
        entry=entry_key,
        fix="another program wrote it; delete it with engine.verify_index(M, index, repair=True)",
    )
