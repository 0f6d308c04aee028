"""Making and dropping a model's tables: the base table, its index tables, its catalog entry.

All protocols here are safe to repeat. Index tables are made first: a base table that exists has
all index tables that writes keep, or it was not made by this library.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Final

from hbase_orm.errors import (
    NamespaceNotFoundError,
    SchemaError,
    TableNotFoundError,
)
from hbase_orm.index import catalog
from hbase_orm.index.attempt import DEAD_GUARD_TTL_MS
from hbase_orm.index.build import table_of
from hbase_orm.index.catalog_entry import VERSION_COLUMN, CatalogEntry, IndexState, TableState
from hbase_orm.index.described import described_key
from hbase_orm.index.targets import ENTRY_FAMILY, GUARD_FAMILY, GuardedTable
from hbase_orm.numbering.dictionary import ensure_dictionary
from hbase_orm.numbering.tables import FORMAT_ATTRIBUTE, create_if_missing, ensure_namespace
from hbase_orm.ops import (
    AddFamily,
    CloseScanner,
    CreateTable,
    DescribeTable,
    DropTable,
    FamilyDescriptor,
    FetchRows,
    OpenScanner,
    Protocol,
    Scan,
    TableDescriptor,
    ask,
)
from hbase_orm.schema import TableSchema
from hbase_orm.session.binding import BoundModel

logger = logging.getLogger("hbase_orm.session")

# HRegion refuses puts whose timestamp lies so far ahead of the server's clock: a client with a
# wrong clock is stopped before its cells outrank everybody else's for good.
_SLOP: Final = {"hbase.hregion.keyvalue.timestamp.slop.millisecs": "7200000"}
# Entries that repeat columns are believed, so a late put of one must find the tombstone of its row
# however long it was under way: major compactions keep tombstones as long as guards live.
_LASTING_TOMBSTONES: Final = {"hbase.hstore.time.to.purge.deletes": str(DEAD_GUARD_TTL_MS)}
# What a table was made for: a program that declares another key is warned.
KEY_ATTRIBUTE: Final = "hbase_orm.row_key"
_DEAD_GUARD_TTL_S: Final = DEAD_GUARD_TTL_MS // 1000


def create(bound: BoundModel) -> Protocol[list[str]]:
    """Create what is missing of a model's tables and return the names of what was made.

    An index that is new to a table with rows is left absent: `engine.build_index` makes its table.

    Raises:
        SchemaError: The base table exists but the table of a kept index does not: its rows have no
            entries. Or the base table is a dictionary, or holds sequences.
        TableExistsError never: an existing table is left as it is.
    """
    schema, is_lww = bound.schema, bound.guarded is not None and bound.guarded.is_lww
    existing = yield from described(schema.table)
    entry = yield from _known_entry(bound, existing)
    if existing is not None:
        _refuse_numbers(schema, existing)
        _warn_of_differences(schema, existing)
        yield from _check_index_tables(schema, existing, entry)
    elif not is_lww:  # without Thrift2 nobody can say which namespaces there are
        yield from ensure_namespace(schema.table)
    made: list[str] = []
    for dictionary in dict.fromkeys(lookup.dictionary for lookup in schema.layout.lookups):
        made += yield from ensure_dictionary(bound.names.table(dictionary))
    has_rows = False
    if bound.guarded is not None:
        made += yield from create_if_missing(CreateTable(catalog.catalog_descriptor()))
        has_rows = existing is not None and (yield from _has_rows(schema))
        if _is_unwritten(entry) and not has_rows:
            for index in schema.indexes:
                made += yield from ensure_index_table(
                    bound, index.table, is_covering=bool(index.included)
                )
    made_base: list[str] = []
    if existing is None:
        wanted = base_table(schema) if not is_lww else _bare(base_table(schema))
        made_base = yield from create_if_missing(CreateTable(wanted, schema.split_keys))
    if bound.guarded is not None:
        manual = manual_indexes(bound.guarded)
        yield from catalog.register(
            schema.table,
            bound.indexes,
            is_new=bool(made_base),
            has_rows=has_rows,
            manual=manual,
            is_lww=is_lww,
        )
    return made + made_base


def manual_indexes(guarded: GuardedTable) -> frozenset[str]:
    """Return the names of the indexes that builds alone write."""
    return frozenset(i.name for i in guarded.indexes if not i.maintained_by_writes)


def _known_entry(
    bound: BoundModel, existing: TableDescriptor | None
) -> Protocol[CatalogEntry | None]:
    """Return what the catalog says of a table that exists."""
    if bound.guarded is None or existing is None:
        return None
    try:
        return (yield from catalog.read_entry(bound.schema.table))
    except TableNotFoundError:
        return None


def _is_unwritten(entry: CatalogEntry | None) -> bool:
    """Say whether the catalog knows of no writer of a table."""
    return entry is None or entry.state in {TableState.NEW, TableState.DROPPED}


def _has_rows(schema: TableSchema) -> Protocol[bool]:
    scanner = yield from ask(OpenScanner(Scan(schema.table, caching_rows=1)))
    rows = yield from ask(FetchRows(scanner, 1))
    yield from ask(CloseScanner(scanner))
    return bool(rows)


def drop(bound: BoundModel) -> Protocol[list[str]]:
    """Drop a model's tables with all their rows; return the names of those that existed."""
    schema = bound.schema
    indexes = {index.table for index in schema.indexes}
    is_catalogued = bound.guarded is not None and (yield from described(catalog.CATALOG_TABLE))
    if is_catalogued:
        entry = yield from catalog.read_entry(schema.table)
        for name, index in (entry.indexes if entry else {}).items():
            if name != VERSION_COLUMN:  # it has no table
                indexes |= {*filter(None, (index.table, index.retired))}
                indexes.add(table_of(f"{schema.table}_ix_{name}", index.incarnation))
    dropped = yield from drop_table(schema.table)
    for table in sorted(indexes):
        dropped += yield from drop_table(table)
    if is_catalogued:
        yield from catalog.unregister(schema.table)
    return dropped


def add_guard_family(bound: BoundModel) -> Protocol[None]:
    """Add the guards' family to an existing table, online."""
    yield from ask(AddFamily(bound.schema.table, _guard_family(bound.schema)))


def base_table(schema: TableSchema) -> TableDescriptor:
    """Return the model's table as HBase shall know it."""
    guards = (_guard_family(schema),) if schema.is_guarded else ()
    return TableDescriptor(
        name=schema.table,
        families=(*schema.families, *guards),
        attributes={KEY_ATTRIBUTE: described_key(schema), **(_SLOP if schema.is_guarded else {})},
        durability=schema.durability,
        region_replication=schema.region_replication,
    )


def _index_table(schema: TableSchema, table: str, *, is_covering: bool) -> TableDescriptor:
    family = FamilyDescriptor(ENTRY_FAMILY, ttl_s=_longest_ttl_s(schema))
    attributes = {**_SLOP, **(_LASTING_TOMBSTONES if is_covering else {})}
    return TableDescriptor(
        name=table, families=(family,), attributes=attributes, durability=schema.durability
    )


def _bare(descriptor: TableDescriptor) -> TableDescriptor:
    """Return a table without attributes, which Thrift1 cannot give it."""
    return replace(descriptor, attributes={})


def ensure_index_table(bound: BoundModel, table: str, *, is_covering: bool) -> Protocol[list[str]]:
    """Create an index table of the model's if it is missing; return its name, or nothing."""
    wanted = _index_table(bound.schema, table, is_covering=is_covering)
    if bound.guarded is not None and bound.guarded.is_lww:
        wanted = _bare(wanted)
    return (yield from create_if_missing(CreateTable(wanted)))


def _guard_family(schema: TableSchema) -> FamilyDescriptor:
    return FamilyDescriptor(GUARD_FAMILY, ttl_s=_longest_ttl_s(schema))


def _longest_ttl_s(schema: TableSchema) -> int | None:
    """Return how long guards and entries live: longer than any data, for ever if some does."""
    ttls = [
        None if family.min_versions else family.ttl_s for family in schema.families
    ]  # MIN_VERSIONS keeps cells visible after their TTL
    known = [ttl for ttl in ttls if ttl is not None]
    return max(known) + _DEAD_GUARD_TTL_S if len(known) == len(ttls) else None


def drop_table(table: str) -> Protocol[list[str]]:
    """Drop a table if it exists; return its name, or nothing."""
    try:
        yield from ask(DropTable(table))
    except (TableNotFoundError, NamespaceNotFoundError):
        return []
    return [table]


def described(table: str) -> Protocol[TableDescriptor | None]:
    """Return what a table is made of; None if there is none."""
    try:
        return (yield from ask(DescribeTable(table)))
    except TableNotFoundError:
        return None


def _refuse_numbers(schema: TableSchema, existing: TableDescriptor) -> None:
    """Refuse a table of this library's own: a model's rows would mix with names and counters.

    Raises:
        SchemaError: It is a dictionary, or holds sequences.
    """
    own_format = existing.attributes.get(FORMAT_ATTRIBUTE)
    if own_format is not None:
        raise SchemaError(
            "the table holds the numbers of a dictionary or of sequences, and no model's rows",
            model=schema.model_name,
            table=schema.table,
            found=own_format,
            fix="give the model another table",
        )


def _warn_of_differences(schema: TableSchema, existing: TableDescriptor) -> None:
    """Log what makes an existing table unfit for the model; it is no error and nothing is altered.

    Other differences (TTL, versions, splits) lose nothing.
    """
    known = {family.name for family in existing.families}
    missing = [name for name in schema.family_names if name not in known]
    if missing:
        logger.warning(
            "table %s lacks families of %s: %r; writes to them will fail",
            schema.table,
            schema.model_name,
            missing,
        )
    key = existing.attributes.get(KEY_ATTRIBUTE, described_key(schema))
    if key != described_key(schema):
        logger.warning(
            "table %s was made for another row key than %s declares: %s instead of %s; "
            "rows written by one are not found by the other",
            schema.table,
            schema.model_name,
            key,
            described_key(schema),
        )


def _check_index_tables(
    schema: TableSchema, existing: TableDescriptor, entry: CatalogEntry | None
) -> Protocol[None]:
    """Refuse a table without the guards' family, or one that lacks a table of a kept index."""
    if schema.is_guarded and GUARD_FAMILY not in {family.name for family in existing.families}:
        raise SchemaError(
            "the existing table has no family for the guards of rows",
            table=schema.table,
            fix="call engine.add_guard_family(model); it works online",
        )
    if entry is None or _is_unwritten(entry):
        return
    for index in schema.indexes:
        known = entry.indexes.get(index.name)
        if known is None or known.state in {IndexState.ABSENT, IndexState.DROPPING}:
            continue
        if (yield from described(known.table or index.table)) is None:
            raise SchemaError(
                "the index's table was dropped: rows have no entries, and no row can be written",
                table=schema.table,
                index=index.name,
                fix="build it again: engine.build_index(model, name), 'hbase-orm index build'",
            )
