"""From a model's schema to what the index protocols are told: tables, columns, entry keys.

An entry's key is the indexed values, each delimited and in its declared direction, followed by the
row key of its row. A row where one of the indexed fields is None has no entry.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hbase_orm.errors import RowKeyError
from hbase_orm.index.targets import GuardedTable, IndexTarget
from hbase_orm.ops import longest_row_key_bytes
from hbase_orm.rowkey import FieldPart
from hbase_orm.schema import ColumnSchema, IndexSchema, TableSchema

EntryKeys = Callable[[bytes, Mapping[bytes, bytes]], frozenset[bytes]]


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
    )


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
    parts = index.layout.parts
    from_key = any(part.name not in columns for part in parts)
    steps = [(part, columns.get(part.name)) for part in parts]

    def entry_keys(row: bytes, cells: Mapping[bytes, bytes]) -> frozenset[bytes]:
        known = schema.layout.decode(row) if from_key else {}
        pieces = []
        for part, column in steps:
            piece = _piece(part, column, known, cells)
            if piece is None:
                return frozenset()
            pieces.append(piece)
        return frozenset((_checked(index, b"".join(pieces) + row),))

    return entry_keys


def _piece(
    part: FieldPart,
    column: ColumnSchema | None,
    known: Mapping[str, Any],
    cells: Mapping[bytes, bytes],
) -> bytes | None:
    if column is None:
        return part.encode(known[part.name])
    stored = cells.get(column.column)
    return None if stored is None else part.encode(column.codec.decode(stored))


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
        for part in parts:
            _, position = part.take(entry_key, position)
        return entry_key[position:]

    return base_key
