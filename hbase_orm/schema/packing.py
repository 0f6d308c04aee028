"""Cells as rows: what a model whose objects are cells asks for, and what HBase has.

Such a model's key ends with the qualifier of its one column (`TableSchema.packed_bytes` of it).
Sessions and plans work with that key as if each cell were a row of its own; here whole keys become
row and qualifier, and rows become cells again. Every part of the row key shows where it ends, since
the offset follows it, so no row key is the beginning of another one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from hbase_orm.errors import CodecError, CorruptRowError
from hbase_orm.ops import Delete, GetRows, KeyRange, Put, Row, RowMutation
from hbase_orm.schema.tables import TableSchema


def packed_mutations(schema: TableSchema, mutations: Iterable[RowMutation]) -> list[RowMutation]:
    """Return the mutations of the rows that hold these cells, each row once for each cell TTL."""
    width = schema.packed_bytes
    by_row: dict[tuple[bytes, int | None], RowMutation] = {}
    for mutation in mutations:
        row, qualifier = mutation.row[:-width], mutation.row[-width:]
        column = schema.columns[0].column + qualifier
        puts = tuple(Put(p.column + qualifier, p.value, p.timestamp_ms) for p in mutation.puts)
        deletes = tuple(Delete(column, each.timestamp_ms) for each in mutation.deletes)
        ttl_ms = mutation.ttl_ms
        known = by_row.get((row, ttl_ms), RowMutation(row))
        by_row[row, ttl_ms] = RowMutation(row, known.puts + puts, known.deletes + deletes, ttl_ms)
    return list(by_row.values())


def packed_get(schema: TableSchema, keys: Sequence[bytes]) -> GetRows:
    """Return the request for the rows that hold these cells, and perhaps others of them."""
    width, column = schema.packed_bytes, schema.columns[0].column
    rows = dict.fromkeys(key[:-width] for key in keys)
    qualifiers = dict.fromkeys(key[-width:] for key in keys)
    return GetRows(schema.table, tuple(rows), tuple(column + each for each in qualifiers))


def packed_range(schema: TableSchema, key_range: KeyRange) -> KeyRange:
    """Return the range of the rows that hold the cells of a range of whole keys."""
    start, stop = key_range.start, key_range.stop
    row = _row_of(schema, start)
    last = None if stop is None else _row_of(schema, stop)
    return KeyRange(start if row is None else row, stop if last is None else last + b"\x00")


def _row_of(schema: TableSchema, key: bytes) -> bytes | None:
    """Return the row key that `key` begins with if it goes on behind it."""
    position = 0
    try:
        for part in schema.layout.parts[:-1]:
            position = part.span(key, position)
    except CodecError:
        return None
    return key[:position] if position < len(key) else None


def cells_as_rows(
    schema: TableSchema, rows: Iterable[Row | None], *, reverse: bool = False
) -> Iterator[Row]:
    """Yield each cell as a row with its whole key, in order of the qualifiers within a row.

    Raises:
        CorruptRowError: A qualifier is no offset of the model's.
    """
    column = schema.columns[0].column
    for row in rows:
        if row is None:
            continue
        for name in sorted(row.cells, reverse=reverse):
            qualifier = name[len(column) :]
            if len(qualifier) != schema.packed_bytes:
                raise CorruptRowError(
                    "a qualifier is no offset as the model declares it",
                    model=schema.model_name,
                    row=row.key,
                    column=name,
                    width_bytes=schema.packed_bytes,
                    fix="let nothing else write this family, or give the model another one",
                )
            yield Row(row.key + qualifier, {column: row.cells[name]})
