"""Making and dropping a model's tables: the base table, its index tables, its catalog entry.

All protocols here are safe to repeat. Index tables are made first: a base table that exists has
all its index tables, or it was not made by this library.
"""

from __future__ import annotations

import logging
from typing import Final

from hbase_orm.errors import (
    NamespaceNotFoundError,
    SchemaError,
    TableExistsError,
    TableNotFoundError,
)
from hbase_orm.index import catalog
from hbase_orm.index.attempt import DEAD_GUARD_TTL_MS
from hbase_orm.index.described import described_key
from hbase_orm.index.targets import ENTRY_FAMILY, GUARD_FAMILY
from hbase_orm.numbering.dictionary import ensure_dictionary
from hbase_orm.numbering.tables import FORMAT_ATTRIBUTE, ensure_namespace
from hbase_orm.ops import (
    AddFamily,
    CreateTable,
    DescribeTable,
    DropTable,
    FamilyDescriptor,
    Protocol,
    TableDescriptor,
    ask,
)
from hbase_orm.schema import TableSchema
from hbase_orm.session.binding import BoundModel

logger = logging.getLogger("hbase_orm.session")

# HRegion refuses puts whose timestamp lies so far ahead of the server's clock: a client with a
# wrong clock is stopped before its cells outrank everybody else's for good.
_SLOP: Final = {"hbase.hregion.keyvalue.timestamp.slop.millisecs": "7200000"}
# What a table was made for: a program that declares another key is warned.
KEY_ATTRIBUTE: Final = "hbase_orm.row_key"
_DEAD_GUARD_TTL_S: Final = DEAD_GUARD_TTL_MS // 1000


def create(bound: BoundModel) -> Protocol[list[str]]:
    """Create what is missing of a model's tables and return the names of what was made.

    Raises:
        SchemaError: The base table exists but an index table does not: its rows have no entries.
            Or the base table is a dictionary, or holds sequences.
        TableExistsError never: an existing table is left as it is.
    """
    schema = bound.schema
    existing = yield from _described(schema.table)
    if existing is not None:
        _refuse_numbers(schema, existing)
        _warn_of_differences(schema, existing)
        yield from _check_index_tables(schema, existing)
    else:
        yield from ensure_namespace(schema.table)
    made: list[str] = []
    for dictionary in dict.fromkeys(lookup.dictionary for lookup in schema.layout.lookups):
        made += yield from ensure_dictionary(bound.names.table(dictionary))
    if bound.guarded is not None:
        made += yield from _create_table(catalog.catalog_descriptor(), ())
        for index in schema.indexes:
            made += yield from _create_table(_index_table(schema, index.table), ())
    made_base: list[str] = []
    if existing is None:
        made_base = yield from _create_table(base_table(schema), schema.split_keys)
    if bound.guarded is not None:
        yield from catalog.register(schema.table, bound.indexes, is_new=bool(made_base))
    return made + made_base


def drop(bound: BoundModel) -> Protocol[list[str]]:
    """Drop a model's tables with all their rows; return the names of those that existed."""
    schema = bound.schema
    dropped = yield from _drop_table(schema.table)
    for index in schema.indexes:
        dropped += yield from _drop_table(index.table)
    if bound.guarded is not None and (yield from _described(catalog.CATALOG_TABLE)):
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


def _index_table(schema: TableSchema, table: str) -> TableDescriptor:
    family = FamilyDescriptor(ENTRY_FAMILY, ttl_s=_longest_ttl_s(schema))
    return TableDescriptor(
        name=table, families=(family,), attributes=_SLOP, durability=schema.durability
    )


def _guard_family(schema: TableSchema) -> FamilyDescriptor:
    return FamilyDescriptor(GUARD_FAMILY, ttl_s=_longest_ttl_s(schema))


def _longest_ttl_s(schema: TableSchema) -> int | None:
    """Return how long guards and entries live: longer than any data, for ever if some does."""
    ttls = [
        None if family.min_versions else family.ttl_s for family in schema.families
    ]  # MIN_VERSIONS keeps cells visible after their TTL
    known = [ttl for ttl in ttls if ttl is not None]
    return max(known) + _DEAD_GUARD_TTL_S if len(known) == len(ttls) else None


def _create_table(
    descriptor: TableDescriptor, split_keys: tuple[bytes, ...]
) -> Protocol[list[str]]:
    try:
        yield from ask(CreateTable(descriptor, split_keys))
    except TableExistsError:
        return []
    return [descriptor.name]


def _drop_table(table: str) -> Protocol[list[str]]:
    try:
        yield from ask(DropTable(table))
    except (TableNotFoundError, NamespaceNotFoundError):
        return []
    return [table]


def _described(table: str) -> Protocol[TableDescriptor | None]:
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


def _check_index_tables(schema: TableSchema, existing: TableDescriptor) -> Protocol[None]:
    for index in schema.indexes:
        if (yield from _described(index.table)) is None:
            raise SchemaError(
                "the table exists but its index table does not: its rows would have no entries",
                table=schema.table,
                index=index.name,
                fix="create the table anew with the index, or leave the index out",
            )
    if schema.is_guarded and GUARD_FAMILY not in {family.name for family in existing.families}:
        raise SchemaError(
            "the existing table has no family for the guards of rows",
            table=schema.table,
            fix="call engine.add_guard_family(model); it works online",
        )
