"""Lists live tables, with what the catalog knows of each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from hbase_orm.errors import (
    CorruptRowError,
    RecordError,
    RegionUnavailableError,
    TableNotFoundError,
)
from hbase_orm.gateway.base import Feature
from hbase_orm.index.catalog.catalog import CATALOG_COLUMN, CATALOG_TABLE, RECORD_COLUMN
from hbase_orm.index.catalog.entry import (
    VERSION_COLUMN,
    CatalogEntry,
    CatalogIndex,
    IndexState,
    TableState,
)
from hbase_orm.index.catalog.index_steps import table_of
from hbase_orm.numbering.create_tables import FORMAT_ATTRIBUTE
from hbase_orm.numbering.sequence import SEQUENCES_TABLE
from hbase_orm.ops import (
    DescribeTable,
    ListRegions,
    ListTables,
    Protocol,
    RegionRange,
    RenewTimeLimit,
    ResumableScan,
    Row,
    Scan,
    TableDescriptor,
    ask,
    run_all,
)
from hbase_orm.record.declaration import TableRecord
from hbase_orm.record.store import ID_ATTRIBUTE
from hbase_orm.rowkey.periods import UNITS

_PAGE_ROWS: Final = 200
_TABLES_AT_ONCE: Final = 20
_INDEX_TABLE: Final = re.compile(r"(?P<base>.+)_ix_(?P<index>[^.]+?)(\.\d+)?")


@dataclass(frozen=True, slots=True)
class Catalogued:
    """What the catalog knows of one table.

    Attributes:
        entry: The entry, or None.
        record: The record, or None.
        pattern: The name under which the record is stored: the name of the table, or with a table
            for each period the pattern of names.
        damage: Why a cell of the catalog could not be decoded; empty if there was no such cell.
    """

    entry: CatalogEntry | None = None
    record: TableRecord | None = None
    pattern: str = ""
    damage: str = ""


@dataclass(frozen=True, slots=True)
class ListedTable:
    """A table that exists in HBase.

    Attributes:
        name: The name of the table.
        kind: What it is for: "rows of models", "index by_x of t", "earlier index by_x of t" (no
            program uses the table any more), "catalog", "migrations", "sequences" or "dictionary".
            Empty if this library knows nothing of the table.
        descriptor: The descriptor. With Thrift1 alone it shows only some options.
        regions: The regions in key order, without their replicas; None if a region is on no server,
            for example because the table is disabled.
        catalogued: What the catalog has of the table.
        has_all_options: Whether the descriptor is complete: Thrift1 shows no attributes, and only
            some options of families.
        record_state: "recorded"; "none"; "of another table" (the table was made by other means
            since its record was written); or "damaged".
    """

    name: str
    kind: str
    descriptor: TableDescriptor
    regions: tuple[RegionRange, ...] | None
    catalogued: Catalogued = field(default_factory=Catalogued)
    has_all_options: bool = True
    record_state: str = "none"

    @property
    def models(self) -> tuple[str, ...]:
        """The names of the models in the record."""
        record = self.catalogued.record
        if record is None:
            return ()
        return tuple(dict.fromkeys(name for rows in record.current.rows for name in rows.models))

    @property
    def replicas(self) -> int | None:
        """The number of replicas of all regions together; None if it is not known.

        Thrift1 does not show it.
        """
        if self.regions is None or not self.has_all_options:
            return None
        return len(self.regions) * (self.descriptor.region_replication - 1)

    @property
    def state(self) -> TableState | None:
        """The state of the table in the catalog; None if the catalog has no entry for it."""
        return None if self.catalogued.entry is None else self.catalogued.entry.state


def live_tables(
    features: frozenset[Feature], names: Iterable[str] | None = None
) -> Protocol[list[ListedTable]]:
    """Return the tables that exist in HBase, sorted by name.

    Args:
        features: The features that the gateway supports.
        names: The tables to return; None for all. Names of missing tables are left out.
    """
    existing = yield from ask(ListTables())
    catalogued = yield from read_catalog()
    wanted = existing if names is None else [name for name in existing if name in set(names)]
    kinds = index_kinds(existing, catalogued)
    listed: list[ListedTable] = []
    for start in range(0, len(wanted), _TABLES_AT_ONCE):
        yield from ask(RenewTimeLimit())
        some = wanted[start : start + _TABLES_AT_ONCE]
        tables = yield from run_all([_described(name, catalogued) for name in some])
        listed += [_judged(each, kinds, features) for each in tables if each is not None]
    return listed


def _described(name: str, catalogued: Mapping[str, Catalogued]) -> Protocol[ListedTable | None]:
    """Return a table with its descriptor and regions; None if the table does not exist any more."""
    try:
        descriptor = yield from ask(DescribeTable(name))
    except TableNotFoundError:
        return None
    try:
        regions: tuple[RegionRange, ...] | None = tuple((yield from ask(ListRegions(name))))
    except TableNotFoundError:
        return None
    except RegionUnavailableError:
        regions = None
    return ListedTable(name, "", descriptor, regions, catalogued_of(name, catalogued))


def read_catalog() -> Protocol[dict[str, Catalogued]]:
    """Read the whole catalog; return what it knows of each table, by the name in the catalog.

    With a table for each period, the record is under the pattern of names.
    """
    scan = ResumableScan(
        Scan(CATALOG_TABLE, columns=(CATALOG_COLUMN, RECORD_COLUMN), caching_rows=_PAGE_ROWS)
    )
    known: dict[str, Catalogued] = {}
    try:
        while rows := (yield from scan.fetch(_PAGE_ROWS)):
            known |= {row.key.decode("utf-8", "backslashreplace"): _read(row) for row in rows}
    except TableNotFoundError:
        return {}
    return known


def _read(row: Row) -> Catalogued:
    entry = record = None
    damage = ""
    pattern = row.key.decode("utf-8", "backslashreplace")
    try:
        if CATALOG_COLUMN in row.cells:
            entry = CatalogEntry.decode(row.cells[CATALOG_COLUMN].value)
    except CorruptRowError as error:
        damage = error.text
    try:
        stored = row.cells.get(RECORD_COLUMN)
        if stored is not None and stored.value:
            record = TableRecord.decode(stored.value, pattern)
    except RecordError as error:
        damage = error.text
    return Catalogued(entry, record, pattern, damage)


def catalogued_of(name: str, catalogued: Mapping[str, Catalogued]) -> Catalogued:
    """Return what the catalog knows of a table; the record may be that of a pattern of names."""
    own = catalogued.get(name, Catalogued(pattern=name))
    if own.record is not None:
        return own
    for pattern, other in catalogued.items():
        period = "" if other.record is None else other.record.current.period
        if period in UNITS and UNITS[period].start_of(pattern, name) is not None:
            return Catalogued(own.entry, other.record, pattern, own.damage or other.damage)
    return own


def _judged(
    table: ListedTable, kinds: Mapping[str, str], features: frozenset[Feature]
) -> ListedTable:
    state = _record_state(table, features)
    kind = _kind(table, kinds)
    return ListedTable(
        table.name,
        kind,
        table.descriptor,
        table.regions,
        table.catalogued,
        has_all_options=Feature.SCHEMA in features,
        record_state=state,
    )


def _record_state(table: ListedTable, features: frozenset[Feature]) -> str:
    known = table.catalogued
    if known.record is None:
        return "damaged" if known.damage else "none"
    table_id = table.descriptor.attributes.get(ID_ATTRIBUTE, "")
    # Thrift1 neither shows nor sets the id: nobody can tell the tables apart.
    is_untied = Feature.SCHEMA not in features or not known.record.table_id
    is_same = is_untied or table_id == known.record.table_id
    return "recorded" if is_same else "of another table"


def _kind(table: ListedTable, kinds: Mapping[str, str]) -> str:
    if table.name == CATALOG_TABLE:
        return "catalog"
    table_format = table.descriptor.attributes.get(FORMAT_ATTRIBUTE, "")
    if table_format:
        return table_format.partition(" ")[0]
    if table.name.rpartition(":")[2] == SEQUENCES_TABLE:
        return "sequences"
    if table.name in kinds:
        return kinds[table.name]
    known = table.catalogued
    is_known = known.record is not None or known.damage or known.entry is not None
    return "rows of models" if is_known else ""


def index_kinds(existing: Iterable[str], catalogued: Mapping[str, Catalogued]) -> dict[str, str]:
    """Return a text for each index table, by its name: "index by_x of t".

    For a table that no program uses any more it is "earlier index by_x of t". Index tables are
    recognized by their names.
    """
    names = set(existing)
    kinds: dict[str, str] = {}
    for name in names:
        match = _INDEX_TABLE.fullmatch(name)
        if match is None or (match["base"] not in names and match["base"] not in catalogued):
            continue
        known = catalogued.get(match["base"], Catalogued()).entry
        index = None if known is None else known.indexes.get(match["index"])
        is_used = index is not None and name in used_tables(match["base"], match["index"], index)
        earlier = "" if is_used else "earlier "
        kinds[name] = f"{earlier}index {match['index']} of {match['base']}"
    return kinds


def used_tables(base: str, name: str, index: CatalogIndex) -> list[str]:
    """Return the names of the tables of an index that programs use or build."""
    declared = f"{base}_ix_{name}"
    used = [index.retired] if index.retired else []
    if index.state is not IndexState.ABSENT:
        used.append(index.table or declared)
    if index.build:
        used.append(table_of(declared, index.incarnation))
    return used


def indexes_of(entry: CatalogEntry | None) -> dict[str, CatalogIndex]:
    """Return the catalog's entries of a table's indexes by name, without the version column."""
    indexes = {} if entry is None else entry.known_indexes
    return {name: index for name, index in indexes.items() if name != VERSION_COLUMN}
