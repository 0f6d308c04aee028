"""The descriptors of the tables that this library creates for models: options and families."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from hbase_orm.binding.table_creation.existing_tables import KEY_ATTRIBUTE
from hbase_orm.index.catalog.declaration_text import key_text
from hbase_orm.index.entries.targets import ENTRY_FAMILY, GUARD_FAMILY
from hbase_orm.index.protocol.attempt import DEAD_GUARD_TTL_MS
from hbase_orm.ops import FamilyDescriptor, TableDescriptor
from hbase_orm.record.store import ID_ATTRIBUTE
from hbase_orm.schema import TableSchema

SLOP: Final = {"hbase.hregion.keyvalue.timestamp.slop.millisecs": "7200000"}
"""The attribute of tables with guards or entries: a put in the future is refused.

HRegion refuses puts whose timestamp lies so far in the future of the server's clock: a client with
a wrong clock is stopped before its cells outrank everybody else's for good.
"""

LASTING_TOMBSTONES: Final = {"hbase.hstore.time.to.purge.deletes": str(DEAD_GUARD_TTL_MS)}
"""The attribute of the tables of covering indexes: tombstones outlive major compactions.

Queries trust the copies of columns in index entries. So a late put of an entry must find the
tombstone of the entry: major compactions keep tombstones as long as the guards of deleted rows.
"""

_DEAD_GUARD_TTL_S: Final = DEAD_GUARD_TTL_MS // 1000


def base_table(schema: TableSchema, table_id: str) -> TableDescriptor:
    """Return the descriptor of the model's table, with the id that its record has."""
    guards = (guard_family(schema),) if schema.has_guards else ()
    return TableDescriptor(
        name=schema.table,
        families=(*schema.families, *guards),
        attributes={
            **schema.attributes,
            KEY_ATTRIBUTE: key_text(schema),
            ID_ATTRIBUTE: table_id,
            **(SLOP if schema.has_guards else {}),
        },
        durability=schema.durability,
        region_replication=schema.region_replication,
    )


def index_table(schema: TableSchema, table: str, *, is_covering: bool) -> TableDescriptor:
    """Return the descriptor of an index table.

    Args:
        schema: The schema of the model.
        table: The name of the index table.
        is_covering: Whether entries have copies of columns.
    """
    family = FamilyDescriptor(ENTRY_FAMILY, ttl_s=longest_ttl_s(schema))
    attributes = {**SLOP, **(LASTING_TOMBSTONES if is_covering else {})}
    return TableDescriptor(
        name=table, families=(family,), attributes=attributes, durability=schema.durability
    )


def bare(descriptor: TableDescriptor) -> TableDescriptor:
    """Return a table descriptor without attributes, which Thrift1 cannot set."""
    return replace(descriptor, attributes={})


def guard_family(schema: TableSchema) -> FamilyDescriptor:
    """Return the descriptor of the family for the guards of rows."""
    return FamilyDescriptor(GUARD_FAMILY, ttl_s=longest_ttl_s(schema))


def longest_ttl_s(schema: TableSchema) -> int | None:
    """Return the TTL of guards and index entries: longer than the TTL of every data family.

    None (no TTL) if a data family may keep cells without limit.
    """
    return lasting_ttl_s(schema.families)


def lasting_ttl_s(families: Iterable[FamilyDescriptor]) -> int | None:
    """Return the TTL of guards and index entries for rows with these families, as above."""
    ttls = [
        None if family.min_versions else family.ttl_s for family in families
    ]  # MIN_VERSIONS keeps cells visible after their TTL
    known = [ttl for ttl in ttls if ttl is not None]
    return max(known) + _DEAD_GUARD_TTL_S if len(known) == len(ttls) else None
