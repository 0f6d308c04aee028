"""Creates a model's tables: the base table, index tables and the catalog entry.

All protocols here are safe to repeat. Index tables are created before the base table. So a base
table that this library created has all index tables that writes maintain.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Final

from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.binding.table_creation.existing_tables import (
    KEY_ATTRIBUTE,
    SAMPLED_ROWS,
    TableWarnings,
    check_index_tables,
    described,
    exists,
    has_cells,
    holds_rows,
    is_unknown,
    is_unwritten,
    refuse_numbers,
    warn_of_differences,
)
from hbase_orm.binding.table_creation.model_dictionaries import make_dictionaries
from hbase_orm.binding.table_creation.table_descriptors import (
    SLOP,
    bare,
    base_table,
    guard_family,
    index_table,
)
from hbase_orm.errors import (
    FeatureMissingError,
    NamespaceNotFoundError,
    RejectedError,
    TableNotFoundError,
)
from hbase_orm.gateway.base import Feature
from hbase_orm.index.catalog import catalog
from hbase_orm.index.catalog.entry import CatalogEntry, CatalogIndex
from hbase_orm.index.catalog.index_steps import incarnation_of, table_of
from hbase_orm.index.catalog.registration import (
    forget_lost,
    newest_epoch,
    overtake,
    register,
)
from hbase_orm.index.entries.targets import GUARD_FAMILY, GuardedTable
from hbase_orm.numbering.create_tables import create_if_missing, ensure_namespace
from hbase_orm.ops import (
    AddFamily,
    CreateTable,
    DropTable,
    FamilyDescriptor,
    ListTables,
    Protocol,
    TableDescriptor,
    ask,
)
from hbase_orm.schema import TableSchema

logger = logging.getLogger("hbase_orm.session")

_OF_EARLIER_ROWS: Final = (
    "%s has entries of rows that do not exist any more: it is not used, and may be dropped"
)
_OF_EARLIER_TABLE: Final = (
    "%s is of an earlier table of this name: it is not used, and may be dropped"
)


def create(
    bound: BoundModel,
    table_id: str,
    warnings: TableWarnings,
    families: tuple[FamilyDescriptor, ...] | None = None,
    own_holds: Collection[str] | None = None,
) -> Protocol[list[str]]:
    """Create a model's missing tables and return their names.

    An existing table is not changed. There are three special cases:

    - The base table has rows: no index tables are created. `engine.build_index` creates them.
    - The base table was never written, but an index table has entries of earlier rows: another
      index table is created. Its name has another number. No name of an index table of an earlier
      base table is used again, as long as the catalog has its number.
    - The guards of rows have a newer epoch than the catalog's entry: the entry gets this epoch, and
      the indexes must be built again.

    Args:
        bound: The bound model.
        table_id: The id of the table's record, which a new base table gets as an attribute.
        warnings: Gets what could lose data.
        families: The families of a new base table, including those of other models; None for the
            model's own families.
        own_holds: The ids of the exclusive uses of this program. None registers the table in the
            catalog also while another program uses it exclusively.

    Raises:
        TableHeldError: Another program has begun to use the table exclusively.
        SchemaError: The base table belongs to a dictionary or to sequences, or it does not fit its
            indexes. See `check_index_tables`.
        ConflictError: Another program has created and dropped the table at the same time.
    """
    schema, is_lww = bound.schema, bound.guarded is not None and bound.guarded.is_lww
    # The catalog is read before the table is described: see `forget_lost`.
    entry = None if bound.guarded is None else (yield from catalog.read_entry(schema.table))
    existing = yield from described(schema.table)
    has_rows = existing is not None and (yield from has_cells(schema.table))
    # A program without indexes may still write the table for a lease, so an index must be built.
    may_have_writers = has_rows or (
        is_unknown(entry) and not _is_made_here(existing, is_lww=is_lww)
    )
    if existing is not None:
        refuse_numbers(schema, existing)
        warn_of_differences(schema, existing, warnings)
        yield from check_index_tables(bound, existing, entry, has_rows=has_rows)
    elif not is_lww:  # without Thrift2, namespaces can be neither listed nor created
        yield from ensure_namespace(schema.table)
    made = yield from make_dictionaries(bound)
    if bound.guarded is None:
        return made + (
            yield from _make_base_table(schema, families, existing, table_id, is_lww=False)
        )
    made += yield from create_if_missing(CreateTable(catalog.catalog_descriptor()))
    is_lost = existing is None and not is_unknown(entry)
    if is_lost and entry is not None:
        logger.warning("table %s was dropped by other means than this library", schema.table)
        entry = yield from forget_lost(schema.table, entry)
    incarnations: dict[str, int] = {}
    if is_unwritten(entry) and not may_have_writers:
        # Another program may be dropping the table: it drops the existing index tables next.
        incarnations = yield from _make_index_tables(bound, entry, made, may_reuse=not is_lost)
    made_base = yield from _make_base_table(schema, families, existing, table_id, is_lww=is_lww)
    yield from register(
        schema.table,
        bound.indexes,
        is_new=bool(made_base),
        has_rows=may_have_writers,
        manual=manual_indexes(bound.guarded),
        is_lww=is_lww,
        newest_epoch=(yield from _epoch_of_rows(bound, entry, has_rows=has_rows)),
        incarnations=incarnations,
        own_holds=own_holds,
    )
    return made + made_base


def refuse_without_thrift2(
    bounds: Iterable[BoundModel], features: frozenset[Feature]
) -> Protocol[None]:
    """Raise an error if a missing table of a model can be created by Thrift2 only.

    With Thrift1 alone, only the tables of models with indexes without guards can be created: those
    of other models have attributes, which show later what the table is.

    Raises:
        FeatureMissingError: A missing table needs Thrift2; nothing was created.
    """
    if Feature.SCHEMA in features:
        return
    for bound in bounds:
        is_lww = bound.guarded is not None and bound.guarded.is_lww
        if is_lww and not bound.schema.split_keys:
            continue
        if (yield from described(bound.schema.table)) is None:
            raise FeatureMissingError(
                "only Thrift2 gateways create the table of this model",
                model=bound.schema.model_name,
                table=bound.schema.table,
                fix="add thrift2=host:9091 to the URL; once the table exists, programs without "
                "Thrift2 can use it",
            )


def _is_made_here(existing: TableDescriptor | None, *, is_lww: bool) -> bool:
    """Return whether a table is missing, or was created by this library for rows with guards.

    With Thrift1 only (`is_lww`) the result is True, because Thrift1 cannot set the attributes that
    mark such a table.
    """
    if existing is None or is_lww:
        return True
    # An adopted table has no row key among its attributes, also if an alteration has set the rest.
    return KEY_ATTRIBUTE in existing.attributes and SLOP.items() <= existing.attributes.items()


def _make_base_table(
    schema: TableSchema,
    families: tuple[FamilyDescriptor, ...] | None,
    existing: TableDescriptor | None,
    table_id: str,
    *,
    is_lww: bool,
) -> Protocol[list[str]]:
    if existing is not None:
        return []
    schema = schema if families is None else replace(schema, families=families)
    wanted = base_table(schema, table_id)
    wanted = bare(wanted) if is_lww else wanted
    return (yield from create_if_missing(CreateTable(wanted, schema.split_keys)))


def _make_index_tables(
    bound: BoundModel, entry: CatalogEntry | None, made: list[str], *, may_reuse: bool
) -> Protocol[dict[str, int]]:
    """Create the index tables of a base table without rows; return their numbers, by index.

    The number is part of the table's name (see `table_of`). It is greater than the numbers that the
    catalog has of earlier base tables. A number whose table has entries is skipped: these entries
    belong to rows that do not exist any more. An index that only builds write gets a number, but
    its table is not created.

    Args:
        bound: The model.
        entry: The catalog's entry of the base table, or None.
        made: A list to which the names of created tables are added.
        may_reuse: Whether an existing table without entries is used; else its number is skipped.
    """
    incarnations: dict[str, int] = {}
    manual = set() if bound.guarded is None else manual_indexes(bound.guarded)
    for index in bound.schema.indexes:
        known = None if entry is None else entry.indexes.get(index.name)
        if known is not None and known.is_kept and not is_unknown(entry):
            number = known.incarnation
        else:
            number = yield from _free_number(index.table, known, may_reuse=may_reuse)
        incarnations[index.name] = number
        if index.name not in manual:
            made += yield from ensure_index_table(bound, index.name, table_of(index.table, number))
    return incarnations


def _free_number(declared: str, known: CatalogIndex | None, *, may_reuse: bool) -> Protocol[int]:
    """Return the number of an index table for a base table without rows; log unused tables."""
    number = 0 if known is None else known.incarnation
    if not may_reuse and number and (yield from exists(table_of(declared, number))):
        logger.warning(_OF_EARLIER_TABLE, table_of(declared, number))
    number += 1
    is_taken = holds_rows if may_reuse else exists
    while (yield from is_taken(table_of(declared, number))):
        text = _OF_EARLIER_ROWS if may_reuse else _OF_EARLIER_TABLE
        logger.warning(text, table_of(declared, number))
        number += 1
    return number


def _epoch_of_rows(
    bound: BoundModel, entry: CatalogEntry | None, *, has_rows: bool
) -> Protocol[int]:
    """Return the newest epoch in the guards of a table without a catalog entry.

    The result is 0 if the table has no rows, if its rows have no guards, or if the catalog has an
    entry for it. In the last case some rows are compared with the entry. If a row has a newer
    epoch, the entry gets the newest epoch of the rows, and no index is used until it is built
    again.
    """
    table = bound.schema.table
    if not has_rows or bound.guarded is None or bound.guarded.is_lww:
        return 0
    if is_unknown(entry):
        return (yield from newest_epoch(table))
    known = 0 if entry is None else entry.epoch
    some = yield from newest_epoch(table, known_epoch=known, most_rows=SAMPLED_ROWS)
    # The catalog gets an epoch before rows are written with it: read the entry after the rows.
    now = yield from catalog.read_entry(table)
    if now is not None and now.epoch < some:
        logger.warning(
            "the catalog is older than the rows of %s: its indexes must be built again",
            table,
        )
        yield from overtake(table, (yield from newest_epoch(table, known_epoch=now.epoch)))
    return 0


def manual_indexes(guarded: GuardedTable) -> frozenset[str]:
    """Return the names of the indexes that only builds write."""
    return frozenset(i.name for i in guarded.indexes if not i.maintained_by_writes)


def index_tables(declared: Collection[str]) -> Protocol[list[str]]:
    """Return the names of all existing tables of some indexes.

    Each build of an index makes a new table; the tables of earlier builds are included.

    Args:
        declared: For each index, the name of its table as the schema declares it.
    """
    names = yield from ask(ListTables())
    return [name for name in names if any(incarnation_of(each, name) for each in declared)]


def add_guard_family(bound: BoundModel) -> Protocol[None]:
    """Add the guards' family to an existing, enabled table; safe to repeat.

    Raises:
        TableNotFoundError: The table does not exist.
    """
    table = bound.schema.table
    try:
        yield from ask(AddFamily(table, guard_family(bound.schema)))
    except RejectedError:  # another process, or a call whose answer was lost, may have added it
        existing = yield from described(table)
        if existing is None or GUARD_FAMILY not in {family.name for family in existing.families}:
            raise


def ensure_index_table(bound: BoundModel, name: str, table: str) -> Protocol[list[str]]:
    """Create an index table if it does not exist.

    Return a list with its name, or an empty list if it existed. Without Thrift2 the table gets one
    region, because Thrift1 cannot set split keys.

    Args:
        bound: The bound model.
        name: The name of the index.
        table: The name of the index table, which each build changes.
    """
    index = next(index for index in bound.schema.indexes if index.name == name)
    wanted = index_table(bound.schema, table, is_covering=bool(index.included))
    if bound.guarded is None or not bound.guarded.is_lww:
        return (yield from create_if_missing(CreateTable(wanted, index.split_keys)))
    made = yield from create_if_missing(CreateTable(bare(wanted)))
    if made and index.split_keys:
        logger.warning(
            "index table %s has one region instead of %d: only Thrift2 gateways split new tables",
            table,
            len(index.split_keys) + 1,
        )
    return made


def drop_table(table: str) -> Protocol[list[str]]:
    """Drop a table if it exists.

    Return a list with its name, or an empty list if it did not exist.
    """
    try:
        yield from ask(DropTable(table))
    except (TableNotFoundError, NamespaceNotFoundError):
        return []
    return [table]
