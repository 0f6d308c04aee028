"""Compares the indexes in the catalog and the index tables with the declarations of models."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Final

from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.binding.table_creation.existing_tables import described, is_unknown
from hbase_orm.binding.table_creation.table_descriptors import bare, index_table
from hbase_orm.index.catalog.declaration_text import copies_columns
from hbase_orm.index.catalog.differences import difference_of
from hbase_orm.index.catalog.entry import (
    HOW_TO_FINISH,
    VERSION_COLUMN,
    CatalogEntry,
    CatalogIndex,
    IndexState,
)
from hbase_orm.ops import FamilyDescriptor, Protocol, RenewTimeLimit, TableDescriptor, ask
from hbase_orm.schema import IndexSchema
from hbase_orm.table_admin.changes import shown_value
from hbase_orm.table_admin.option_drift import (
    TtlRange,
    own_family_differences,
    table_differences,
)
from hbase_orm.table_admin.region_drift import region_notes
from hbase_orm.table_admin.table_check import Drift, TableDifference

_BUILD: Final = "build the index: engine.build_index(model, name), or 'hbase-orm index build'"
_DROP_AND_BUILD: Final = (
    "declare the index as it was; or drop it ('hbase-orm index drop') and build it again"
)
_DROP: Final = (
    "declare the index in the models that write the table, or drop it: 'hbase-orm index drop'"
)
_OTHER_KEY: Final = (
    "declare the row key as it was; for another key, write the rows into a new table"
)
_CREATE: Final = "call engine.create_tables, or run 'hbase-orm tables create'"


class IndexComparison:
    """Compares the indexes of one guarded model with the catalog and with the index tables."""

    def __init__(
        self,
        bound: BoundModel,
        entry: CatalogEntry | None,
        ttl: TtlRange,
        decidable: Collection[str],
        *,
        shows_table_options: bool,
    ) -> None:
        """Prepare the comparison.

        Args:
            bound: The bound model.
            entry: The catalog's entry of the table, or None.
            ttl: The right TTLs of entries.
            decidable: The options of families that the gateway shows.
            shows_table_options: Whether the gateway shows the options of tables.
        """
        self._bound = bound
        self._entry = entry
        self._ttl = ttl
        self._decidable = decidable
        self._shows_table_options = shows_table_options

    def differences(self) -> Protocol[list[TableDifference]]:
        """Return the differences of the model's indexes, and of its version column and guards."""
        entry, table = self._entry, self._bound.schema.table
        if entry is None or is_unknown(entry):
            missing = TableDifference(
                table, "catalog", "", "an entry of the table", Drift.MISSING, _CREATE
            )
            return [missing]
        differing = [*self._of_entry(entry)]
        for index in self._bound.schema.indexes:
            yield from ask(RenewTimeLimit())
            differing += yield from self._of_index(index, entry.indexes.get(index.name))
        return differing

    @property
    def _build(self) -> str:
        """How an index gets its entries; no build begins while the table is loaded or truncated."""
        state = None if self._entry is None else self._entry.state_without_hold
        return _BUILD if state is None else HOW_TO_FINISH.get(state, _BUILD)

    def _of_entry(self, entry: CatalogEntry) -> Iterator[TableDifference]:
        table, guarded = self._bound.schema.table, self._bound.guarded
        if guarded is not None and entry.is_lww != guarded.is_lww:
            texts = {True: "rows without guards", False: "rows with guards"}
            yield TableDifference(
                table,
                "guards",
                texts[entry.is_lww],
                texts[guarded.is_lww],
                Drift.CONTRADICTION,
                "leave thrift2 out of the URL"
                if entry.is_lww
                else "add thrift2=host:9091 to the URL",
            )
        state = entry.state_without_hold
        if state is not None and state in HOW_TO_FINISH:
            fix = HOW_TO_FINISH[state]
            yield TableDifference(table, "catalog", state.value, "READABLE", Drift.NOTE, fix)
        declared = self._bound.indexes
        known = entry.indexes.get(VERSION_COLUMN)
        own = declared.get(VERSION_COLUMN)
        if (known.entries if known else None) != own:
            yield TableDifference(
                table,
                VERSION_COLUMN,
                known.entries if known else "",
                own or "",
                Drift.DIFFERENT,
                "declare the version column as it was",
            )

    def _of_index(
        self, index: IndexSchema, known: CatalogIndex | None
    ) -> Protocol[list[TableDifference]]:
        table, subject = self._bound.schema.table, f"index {index.name}"
        if known is None or known.state is IndexState.ABSENT:
            if index.maintained == "manual":
                fix = "build the index before it is queried: 'hbase-orm index build'"
                return [TableDifference(table, subject, "", "manual", Drift.NOTE, fix)]
            return [TableDifference(table, subject, "", "declared", Drift.MISSING, self._build)]
        differs = difference_of(index.name, self._bound.indexes, known.entries)
        if differs is not None:
            fix = _OTHER_KEY if differs == "another row key" else _DROP_AND_BUILD
            own = self._bound.indexes[index.name]
            return [TableDifference(table, subject, known.entries, own, Drift.DIFFERENT, fix)]
        differing = []
        if known.state is not IndexState.READABLE:
            is_built = known.state is IndexState.WRITE_ONLY
            fix = self._build if is_built else "finish the drop: 'hbase-orm index drop'"
            differing.append(
                TableDifference(table, subject, known.state.value, "READABLE", Drift.MISSING, fix)
            )
        name = known.table or index.table
        existing = yield from described(name)
        if existing is None:
            missing = TableDifference(
                name, f"{subject}: table", "", name, Drift.MISSING, self._build
            )
            return [*differing, missing]
        return [
            *differing,
            *self._of_table(existing, index),
            *(yield from self._regions(name, index)),
        ]

    def _of_table(self, existing: TableDescriptor, index: IndexSchema) -> Iterator[TableDifference]:
        wanted = index_table(self._bound.schema, existing.name, is_covering=bool(index.included))
        guarded = self._bound.guarded
        if guarded is not None and guarded.is_lww:
            wanted = bare(wanted)
        (family,) = wanted.families
        actual = next((each for each in existing.families if each.name == family.name), None)
        if actual is None:
            yield TableDifference(
                existing.name,
                f"index {index.name}: table",
                "without the family of entries",
                existing.name,
                Drift.DIFFERENT,
                _DROP_AND_BUILD,
            )
            return
        yield from own_family_differences(existing.name, actual, self._ttl, self._decidable)
        if self._shows_table_options:
            yield from table_differences(existing, wanted, ("durability",))

    def _regions(self, table: str, index: IndexSchema) -> Protocol[list[TableDifference]]:
        return (yield from region_notes(table, index.split_keys))


def undeclared_indexes(
    table: str, bounds: Collection[BoundModel], entry: CatalogEntry | None
) -> Iterator[TableDifference]:
    """Yield the indexes that writes must maintain, but that no guarded model of a table declares.

    As long as such an index exists, the writes of the models are refused.
    """
    declared = {name for bound in bounds for name in bound.indexes}
    indexes = {} if entry is None or is_unknown(entry) else entry.indexes
    for name, index in indexes.items():
        if bounds and index.is_kept and name not in {*declared, VERSION_COLUMN}:
            yield TableDifference(
                table, f"index {name}", index.state.value, "", Drift.DIFFERENT, _DROP
            )


def refused_ttls(
    table: str,
    declared: Collection[FamilyDescriptor],
    actual: TableDescriptor,
    others: Mapping[str, CatalogIndex],
    *,
    is_lww: bool,
) -> Iterator[TableDifference]:
    """Yield a contradiction for each new TTL that indexes of other models do not allow.

    Queries would return expired rows out of entries that copy columns. Without guards, an indexed
    cell could expire before its row.

    Args:
        table: The name of the table.
        declared: The families as the models declare them.
        actual: The table as HBase has it.
        others: The indexes of the catalog that the models do not declare.
        is_lww: Whether rows have no guards.
    """
    named = [name for name, index in others.items() if is_lww or copies_columns(index.entries)]
    existing = {family.name: family for family in actual.families}
    for family in declared if named else ():
        before = existing.get(family.name)
        expires = family.ttl_s is not None and (is_lww or not family.min_versions)
        if expires and (before is None or before.ttl_s != family.ttl_s):
            yield TableDifference(
                table,
                f"ttl of family {family.name.decode('utf-8', 'backslashreplace')}",
                f"none, because of index {named[0]}",
                shown_value("ttl_s", family.ttl_s),
                Drift.CONTRADICTION,
                "leave out the ttl, or drop the index first: 'hbase-orm index drop'",
            )
