"""From a model's schema to what the index protocols are told: tables, columns, entry keys.

An entry's key is the indexed values, each delimited and in its declared direction, followed by the
row key of its row. A row where one of the indexed fields is None has no entry.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from hbase_orm.errors import CodecError, CorruptRowError, RowKeyError
from hbase_orm.index.targets import GuardedTable, IndexTarget
from hbase_orm.ops import longest_row_key_bytes
from hbase_orm.rowkey import Framing, Part
from hbase_orm.rowkey.derivations import SaltOf
from hbase_orm.rowkey.layout import part_bytes
from hbase_orm.schema import ColumnSchema, IndexSchema, TableSchema

EntryKeys = Callable[[bytes, Mapping[bytes, bytes]], frozenset[bytes]]
_VERSION: Final = "version column"

Piece = Callable[[bytes, Mapping[bytes, bytes]], bytes | None]


def guarded_table(schema: TableSchema) -> GuardedTable:
    """Return what the guarded write needs to know of a model's table."""
    anchor = schema.anchor
    return GuardedTable(
        table=schema.table,
        families=schema.family_names,
        anchor=None if anchor is None else anchor.column,
        marker=schema.marker,
        counters=frozenset(column.column for column in schema.counters),
        columns=frozenset(column.column for column in schema.columns),
        indexes=tuple(index_target(schema, index) for index in schema.indexes),
        expires=any(f.ttl_s is not None and f.min_versions == 0 for f in schema.families),
        version=None if schema.version is None else schema.version.column,
    )


def described_key(schema: TableSchema) -> str:
    """Return, in words, all that decides what a row key's bytes are."""
    shown = [described_part(part) for part in schema.layout.parts]
    return " ".join(shown)


def described_indexes(schema: TableSchema) -> dict[str, str]:
    """Return, by index, in words, all that decides which entries a row has and what they are.

    A version column stands among them, under a name that no index has. Programs that
    write one table must agree on it: kept in the catalog, it tells them apart.
    """
    by_name = schema.column_by_name
    base_key = described_key(schema)
    found = {}
    for index in schema.indexes:
        parts = " ".join(_described(part, by_name.get(part.name)) for part in index.layout.parts)
        found[index.name] = f"{index.table}: {parts} | {base_key}"
    if schema.version is not None:
        found[_VERSION] = schema.version.column.decode()
    return found


def described_part(part: Part) -> str:
    """Return, in words, all that decides what the bytes of a part of a row key are."""
    derivation = part.derivation
    if isinstance(derivation, SaltOf):
        of = " ".join(source.name for source in derivation.inputs) or "rest"
        return f"[salt {len(derivation.numbers)} {derivation.hash_name} of {of}]"
    return _described(part, None)


def _described(part: Part, column: ColumnSchema | None) -> str:
    direction = " desc" if part.is_descending else ""
    end = part.end.hex() or (part.codec.width_bytes or "rest")
    stored = ""
    if column is not None:
        default = "" if column.nullable or not column.has_default else " default"
        stored = f" of {column.column.decode()}{' nullable' if column.nullable else default}"
    return f"[{part.name} {part.codec.name}{direction} {end}{stored}]"


def index_target(schema: TableSchema, index: IndexSchema) -> IndexTarget:
    """Return one index as the protocols see it."""
    by_name = schema.column_by_name
    columns = {part.name: by_name[part.name] for part in index.layout.parts if part.name in by_name}
    return IndexTarget(
        name=index.name,
        table=index.table,
        columns=frozenset(column.column for column in columns.values()),
        entry_keys=_entry_keys(schema, index, columns),
    )


def _entry_keys(
    schema: TableSchema, index: IndexSchema, columns: Mapping[str, ColumnSchema]
) -> EntryKeys:
    pieces = [
        _from_column(part, columns[part.name]) if part.name in columns else _from_key(schema, part)
        for part in index.layout.parts
    ]

    def entry_keys(row: bytes, cells: Mapping[bytes, bytes]) -> frozenset[bytes]:
        try:
            found = [piece(row, cells) for piece in pieces]
        except CodecError as error:
            raise CorruptRowError(
                "an indexed value does not decode as the model declares",
                table=schema.table,
                row=row,
                index=index.name,
                codec=error.details.get("codec"),
                fix="write the field anew, or delete the row",
            ) from error
        if None in found:
            return frozenset()
        return frozenset((_checked(index, b"".join([*filter(None, found), row])),))

    return entry_keys


def _from_column(part: Part, column: ColumnSchema) -> Piece:
    """Return how a part of an entry is made from a stored column."""
    name, decode, encode = column.column, column.codec.decode, part.encode
    if part.framing is Framing.FIXED and part.codec == column.codec:
        width_bytes = part.codec.width_bytes

        def same_bytes(_: bytes, cells: Mapping[bytes, bytes]) -> bytes | None:
            stored = cells.get(name)
            if stored is not None and len(stored) != width_bytes:
                raise part.codec.corrupt(stored)
            return stored

        return same_bytes

    def piece(_: bytes, cells: Mapping[bytes, bytes]) -> bytes | None:
        stored = cells.get(name)
        return None if stored is None else encode(decode(stored))

    return piece


def _from_key(schema: TableSchema, part: Part) -> Piece:
    """Return how a part of an entry is made from a field of the row key."""
    layout = schema.layout
    in_key = layout.part(part.name)
    if in_key is None:  # joined of several parts
        number = layout.decoded.index(part.name)
        return lambda row, _: part.encode(layout.decode_parts(row)[number])
    own_bytes = part_bytes(layout, part.name)
    if (in_key.codec, in_key.framing) == (part.codec, part.framing):
        return lambda row, _: own_bytes(row)  # the same bytes
    value_of, encode = in_key.value_of, part.encode
    return lambda row, _: encode(value_of(own_bytes(row)))


def _checked(index: IndexSchema, key: bytes) -> bytes:
    if len(key) > longest_row_key_bytes(index.table):
        raise RowKeyError(
            "the index entry's row key is longer than HBase stores",
            index=index.name,
            length_bytes=len(key),
            limit_bytes=longest_row_key_bytes(index.table),
            fix="index a shorter field",
        )
    return key


def base_key_of(index: IndexSchema) -> Callable[[bytes], bytes]:
    """Return a function from an entry's key to the row key that it ends with."""
    parts = index.layout.parts

    def base_key(entry_key: bytes) -> bytes:
        position = 0
        try:
            for part in parts:
                _, position = part.take(entry_key, position)
        except CodecError as error:
            raise CorruptRowError(
                "the index table holds a row that is no entry",
                table=index.table,
                row=entry_key,
                fix="delete it: nothing but this library writes index tables",
            ) from error
        return entry_key[position:]

    return base_key
