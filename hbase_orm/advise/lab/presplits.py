"""The split keys of a design's new tables: as declared, or for a number of regions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from hbase_orm.advise.lab.keyed_tables import KeyedTable
from hbase_orm.errors import SchemaError
from hbase_orm.rowkey import entry_split_keys
from hbase_orm.rowkey.splits import split_keys
from hbase_orm.schema import IndexSchema, TableSchema


def row_splits(schema: TableSchema, table: KeyedTable, regions: int | None) -> KeyedTable:
    """Return the table of the rows with its split keys."""
    if regions is None:
        return _declared(table, schema.split_keys)
    return _evenly_split(table, regions, lambda: split_keys(schema.row_layout, regions))


def entry_splits(
    schema: TableSchema, index: IndexSchema, table: KeyedTable, regions: int | None
) -> KeyedTable:
    """Return the table of an index with its split keys."""
    if regions is None or index.salt:
        return _declared(table, index.split_keys)
    row_key = None if index.unique else schema.layout
    return _evenly_split(table, regions, lambda: entry_split_keys(index.layout, row_key, regions))


def _declared(table: KeyedTable, keys: tuple[bytes, ...]) -> KeyedTable:
    return replace(table, split_keys=tuple(sorted(keys)))


def _evenly_split(
    table: KeyedTable, regions: int, computed: Callable[[], tuple[bytes, ...]]
) -> KeyedTable:
    """Return a table that is split evenly: by its possible keys, else by the sampled ones."""
    try:
        return _declared(table, computed())
    except SchemaError:  # the beginnings of keys are unknown, or fewer than the regions
        keys = table.sorted_keys
    cuts = {keys[len(keys) * number // regions] for number in range(1, regions)} if keys else set()
    cuts -= {b"", *keys[:1]}
    remark = "split keys are those that divide this load evenly, as nothing else is known of them"
    return replace(table, split_keys=tuple(sorted(cuts)), remarks=(*table.remarks, remark))
