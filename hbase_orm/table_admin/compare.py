"""Compares tables with the models that declare them: one protocol that only reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.binding.table_creation.existing_tables import KEY_ATTRIBUTE, described, is_unknown
from hbase_orm.binding.table_creation.table_descriptors import SLOP
from hbase_orm.errors import RecordError, RejectedError
from hbase_orm.gateway.base import Feature
from hbase_orm.index.catalog import catalog
from hbase_orm.index.catalog.declaration_text import declaration_texts, key_text
from hbase_orm.index.catalog.entry import VERSION_COLUMN, CatalogEntry, IndexState
from hbase_orm.index.entries.targets import GUARD_FAMILY
from hbase_orm.numbering.create_tables import FORMAT_ATTRIBUTE
from hbase_orm.ops import Protocol, RenewTimeLimit, TableDescriptor, ask
from hbase_orm.record.declaration import TableRecord
from hbase_orm.record.recorded_schema import recorded_names
from hbase_orm.record.store import ID_ATTRIBUTE
from hbase_orm.table_admin.declared_tables import DeclaredTable
from hbase_orm.table_admin.index_drift import (
    IndexComparison,
    refused_ttls,
    undeclared_indexes,
)
from hbase_orm.table_admin.option_drift import (
    ALL_OPTIONS,
    THRIFT1_OPTIONS,
    family_differences,
    missing_family,
    own_family_differences,
    table_differences,
)
from hbase_orm.table_admin.record_drift import RecordRead, read, record_differences
from hbase_orm.table_admin.region_drift import region_notes
from hbase_orm.table_admin.table_check import Drift, TableCheck, TableDifference

_CREATE: Final = "call engine.create_tables, or run 'hbase-orm tables create'"
_THRIFT2: Final = "add thrift2=host:9091 to the URL"


@dataclass(frozen=True, slots=True)
class ComparedTable:
    """The comparison of one declared table.

    Attributes:
        declared: The declared table.
        checks: One check. With a table for each period, the check of their record, and then one
            check for each table.
        record: The record of the table, which an alteration updates. None if no table exists or the
            record is missing, damaged or of an earlier table; then nothing is updated.
        record_error: The error of a damaged record, or of one of a newer release; else None.
    """

    declared: DeclaredTable
    checks: tuple[TableCheck, ...]
    record: TableRecord | None
    record_error: RecordError | None = None

    @property
    def differences(self) -> Iterator[TableDifference]:
        """All differences."""
        return (difference for check in self.checks for difference in check.differences)


class TableComparison:
    """Compares declared tables with existing tables, as far as the gateway shows them."""

    def __init__(self, features: frozenset[Feature]) -> None:
        """Prepare the comparison; `features` are those of the gateway."""
        self._features = features
        self._is_complete = Feature.SCHEMA in features
        self._decidable = ALL_OPTIONS if self._is_complete else THRIFT1_OPTIONS

    def run(
        self, tables: Iterable[DeclaredTable], periods: tuple[datetime, datetime] | None
    ) -> Protocol[list[ComparedTable]]:
        """Return the comparisons of declared tables."""
        comparisons = []
        for declared in tables:
            yield from ask(RenewTimeLimit())
            comparisons.append((yield from self._of_declared(declared, periods)))
        return comparisons

    def _of_declared(
        self, declared: DeclaredTable, periods: tuple[datetime, datetime] | None
    ) -> Protocol[ComparedTable]:
        known = yield from read(declared, self._features)
        names = yield from declared.names(periods)
        exists = False
        checks = []
        for name in names:
            yield from ask(RenewTimeLimit())
            actual = yield from described(name)
            exists = exists or actual is not None
            differing = yield from self._of_table(declared.in_table(name), actual, known)
            checks.append(TableCheck(name, declared.models, tuple(differing)))
        reported = {each.subject for check in checks for each in check.differences}
        of_record = tuple(record_differences(declared, known, reported)) if exists else ()
        if declared.first.tables.is_only:
            (check,) = checks
            whole = (*check.differences, *of_record)
            checks = [TableCheck(check.table, check.models, whole)]
        else:
            checks.insert(0, TableCheck(declared.table, declared.models, of_record))
        if not exists:
            return ComparedTable(declared, tuple(checks), None)
        return ComparedTable(declared, tuple(checks), known.record, known.error)

    def _of_table(
        self, declared: DeclaredTable, actual: TableDescriptor | None, known: RecordRead
    ) -> Protocol[list[TableDifference]]:
        if actual is None:
            return [TableDifference(declared.table, "table", "", "a table", Drift.MISSING, _CREATE)]
        if FORMAT_ATTRIBUTE in actual.attributes:
            return [_of_numbers(declared.table)]
        entry, undecided = yield from self._read_entry(declared)
        differing = [*undecided]
        differing += self._of_families(declared, actual, known)
        differing += self._of_options(declared, actual, known, entry)
        differing += yield from region_notes(declared.table, declared.first.schema.split_keys)
        differing += yield from _of_dictionaries(declared)
        if not undecided:
            differing += yield from self._of_indexes(declared, actual, known, entry)
            differing += yield from self._of_other_indexes(declared, actual, entry)
        if not self._is_complete:
            differing.append(_undecided_options(declared.table))
        return differing

    def _read_entry(
        self, declared: DeclaredTable
    ) -> Protocol[tuple[CatalogEntry | None, list[TableDifference]]]:
        if declared.is_foreign and not declared.guarded:
            return None, []
        try:
            return (yield from catalog.read_entry(declared.table)), []
        except RejectedError as error:
            if not declared.guarded:
                return None, []  # the record, in the same row, is reported as undecided
            fix = "ask for the permission to read the catalog"
            undecided = TableDifference(
                declared.table, "catalog", str(error), "an entry", Drift.UNDECIDED, fix
            )
            return None, [undecided]

    def _of_families(
        self, declared: DeclaredTable, actual: TableDescriptor, known: RecordRead
    ) -> list[TableDifference]:
        there = {family.name: family for family in actual.families}
        recorded, table = known.families(), declared.table
        differing: list[TableDifference] = []
        for family in declared.descriptor().families:
            if family.name not in there:
                differing.append(missing_family(table, family))
            elif family.name == GUARD_FAMILY:
                ttl = declared.ttl_range(actual)
                differing += own_family_differences(
                    table, there[GUARD_FAMILY], ttl, self._decidable
                )
            else:
                differing += family_differences(
                    table,
                    there[family.name],
                    family,
                    recorded.get(family.name),
                    self._decidable,
                )
        return differing

    def _of_options(
        self,
        declared: DeclaredTable,
        actual: TableDescriptor,
        known: RecordRead,
        entry: CatalogEntry | None,
    ) -> list[TableDifference]:
        if not self._is_complete:
            return []
        wanted = declared.descriptor()
        # The record knows better than the text of the key; the id is compared with the record's.
        unchanged = {KEY_ATTRIBUTE, ID_ATTRIBUTE}
        if is_unknown(entry) and KEY_ATTRIBUTE in actual.attributes:
            # Together they show that no program without indexes wrote the table: nobody knows now.
            unchanged |= SLOP.keys()
        attributes = {k: v for k, v in wanted.attributes.items() if k not in unchanged}
        differing = [*table_differences(actual, replace(wanted, attributes=attributes))]
        key = actual.attributes.get(KEY_ATTRIBUTE)
        declared_keys = [key_text(schema) for schema in declared.schemas]
        if known.record is None and key is not None and key not in declared_keys:
            fix = "declare the row key of the rows; for another key, write them into a new table"
            differing.append(
                TableDifference(
                    declared.table, "row key", key, declared_keys[0], Drift.DIFFERENT, fix
                )
            )
        return differing

    def _of_indexes(
        self,
        declared: DeclaredTable,
        actual: TableDescriptor,
        known: RecordRead,
        entry: CatalogEntry | None,
    ) -> Protocol[list[TableDifference]]:
        ttl = declared.ttl_range(actual)
        differing: list[TableDifference] = []
        for bound in declared.guarded:
            comparison = IndexComparison(
                _described(bound, known.record),
                entry,
                ttl,
                self._decidable,
                shows_table_options=self._is_complete,
            )
            differing += yield from comparison.differences()
        differing += undeclared_indexes(declared.table, declared.guarded, entry)
        return list(dict.fromkeys(differing))

    def _of_other_indexes(
        self, declared: DeclaredTable, actual: TableDescriptor, entry: CatalogEntry | None
    ) -> Protocol[list[TableDifference]]:
        """Return what is wrong with guards and indexes that no given model declares."""
        if entry is None or entry.is_unregistered:
            return []
        own = {index.name for schema in declared.schemas for index in schema.indexes}
        others = {
            name: index
            for name, index in entry.indexes.items()
            if name not in {*own, VERSION_COLUMN} and index.state is not IndexState.ABSENT
        }
        differing = [
            *refused_ttls(declared.table, declared.families, actual, others, is_lww=entry.is_lww)
        ]
        ttl = declared.ttl_range(actual)
        guards = next((f for f in actual.families if f.name == GUARD_FAMILY), None)
        if guards is not None and not declared.first.schema.is_guarded:
            differing += own_family_differences(declared.table, guards, ttl, self._decidable)
        for name, index in others.items():
            yield from ask(RenewTimeLimit())
            existing = yield from described(index.table or f"{declared.table}_ix_{name}")
            if existing is None:
                continue
            for family in existing.families:
                differing += own_family_differences(existing.name, family, ttl, self._decidable)
        return differing


def _described(bound: BoundModel, record: TableRecord | None) -> BoundModel:
    """Return a model whose indexes are described by the recorded names of fields."""
    names = {} if record is None else recorded_names(bound.schema, record.current)
    return replace(bound, indexes=declaration_texts(bound.schema, names)) if names else bound


def _of_dictionaries(declared: DeclaredTable) -> Protocol[list[TableDifference]]:
    names = {
        table: None
        for creation in declared.creations
        if creation.bound.keys.names is not None
        for table in creation.bound.keys.names.tables
    }
    differing: list[TableDifference] = []
    for name in names:
        existing = yield from described(name)
        missing = TableDifference(name, "dictionary", "", "a table", Drift.MISSING, _CREATE)
        differing += [] if existing else [missing]
    return differing


def _of_numbers(table: str) -> TableDifference:
    return TableDifference(
        table,
        "table",
        "a table of a dictionary or of sequences",
        "a table of rows",
        Drift.CONTRADICTION,
        "give the model another table",
    )


def _undecided_options(table: str) -> TableDifference:
    return TableDifference(
        table,
        "other options",
        "not shown by Thrift1",
        "all but versions, ttl, compression, bloom filter, block_cache and in_memory",
        Drift.UNDECIDED,
        _THRIFT2,
    )
