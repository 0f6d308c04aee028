"""What the exclusive copy does with pages of both tables: it copies, compares and reads rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.binding.table_creation.existing_tables import TableWarnings, described
from hbase_orm.binding.table_creation.model_tables import create
from hbase_orm.errors import ConfigurationError
from hbase_orm.index.entries.targets import GUARD_FAMILY, GuardContext
from hbase_orm.index.upkeep.table_pages import get_rows, scan_page
from hbase_orm.migrate.operations.rows.kept_cells import KeptCells
from hbase_orm.migrate.operations.rows.pipelined_walk import PageWrites, ReadPage
from hbase_orm.migrate.operations.rows.row_copies import (
    RowCopy,
    RowsDigest,
    digest_of,
    grouped,
    puts,
    stored_copy,
)
from hbase_orm.migrate.operations.rows.row_edits import MISFITS, after_page
from hbase_orm.migrate.operations.rows.row_mapping import RowMapping
from hbase_orm.migrate.operations.rows.row_walk import PageOutcome, RowFailure, failure_text
from hbase_orm.ops import GetVersionsOfRows, KeyRange, Protocol, Row, StoredVersion, ask_with_retry

_VERSIONS: Final = 1000

_Versions = Sequence[Sequence[StoredVersion] | None]


@dataclass
class CopiedRows:
    """The rows of an exclusive copy, page by page.

    Attributes:
        mappings: The models of both tables.
        kept: Which cells the tables keep.
        with_versions: The old tables that keep several versions of a cell.
        horizon_ms: Until when cells must last to be compared; 0 if no cell expires.
        table_id: The id of the new table's record, for tables of periods.
        context: How requests are sent.
    """

    mappings: Sequence[RowMapping]
    kept: KeptCells
    with_versions: frozenset[str]
    horizon_ms: int
    table_id: str
    context: GuardContext
    _created: set[str] = field(default_factory=set[str])

    def copied_page(self, name: str, key_range: KeyRange, rows: int) -> Protocol[ReadPage]:
        """Read a page of the old table."""
        page, versions = yield from self._old_page(name, key_range, rows)
        return ReadPage(after_page(page), self._writes(name, page, versions))

    def _writes(self, name: str, page: Sequence[Row], versions: _Versions) -> Protocol[PageWrites]:
        """Return the puts of the copies of a page, and their digest."""
        mapped, failures = yield from self._mapped(name, page, versions)
        writes = [put for table, copies in mapped.items() for put in puts(table, copies)]
        if self.kept.ttl_ms is None:  # what is put is compared
            digest = digest_of(group for put in writes for group in put.groups)
        else:
            digest = self._digest(copy for copies in mapped.values() for copy in copies)
        done = sum(map(len, mapped.values()))
        outcome = PageOutcome(len(page), after_page(page), done, tuple(failures), digest=digest)
        return PageWrites(outcome, tuple(writes))

    def compared_page(self, name: str, key_range: KeyRange, rows: int) -> Protocol[PageOutcome]:
        """Compare the rows of a page of the old table with their copies, one by one."""
        page, versions = yield from self._old_page(name, key_range, rows)
        mapped, failures = yield from self._mapped(name, page, versions)
        for table, copies in mapped.items():
            stored = yield from self._stored(table, [copy.row[0] for copy in copies])
            for copy, existing in zip(copies, stored, strict=True):
                why = self._difference(copy, existing)
                if why:
                    failures.append(RowFailure(table, copy.row[0], why))
        digest = self._digest(copy for copies in mapped.values() for copy in copies)
        return PageOutcome(len(page), after_page(page), 0, tuple(failures), digest=digest)

    def _difference(self, copy: RowCopy, stored: RowCopy | None) -> str:
        """Return why a stored row is not the copy that it must be; empty if it is."""
        wanted = self.kept.compared(copy, self.horizon_ms)
        if stored is None:
            return "the new table does not have the row" if wanted.columns else ""
        is_same = self.kept.compared(stored, self.horizon_ms) == wanted
        return "" if is_same else "the copy has other cells"

    def stored_page(self, name: str, key_range: KeyRange, rows: int) -> Protocol[ReadPage]:
        """Read a page of the new table for its digest; nothing is written."""
        families = self._families(mapping.target for mapping in self.mappings)
        page = yield from scan_page(name, families, key_range, rows, self.context)
        versions: _Versions = [None] * len(page)
        if self._keeps_versions:
            versions = yield from self._versions(name, [row.key for row in page], families)
        return ReadPage(after_page(page), self._read_digest(page, versions))

    def _read_digest(self, page: Sequence[Row], versions: _Versions) -> Protocol[PageWrites]:
        digest = self._digest(map(stored_copy, page, versions))
        yield from ()
        return PageWrites(PageOutcome(len(page), after_page(page), digest=digest), ())

    def _digest(self, copies: Iterable[RowCopy]) -> RowsDigest:
        """Return the digest of the cells that are compared, without rows that have none."""
        if self.kept.ttl_ms is None:
            return digest_of(grouped(copies))
        compared = (self.kept.compared(copy, self.horizon_ms) for copy in copies)
        return digest_of(grouped(copy for copy in compared if copy.columns))

    # --- the old table ----------------------------------------------------------------------------

    def _old_page(
        self, name: str, key_range: KeyRange, rows: int
    ) -> Protocol[tuple[list[Row], _Versions]]:
        """Return the rows of a page, and all versions of their cells if there may be several."""
        families = self._families(mapping.source for mapping in self.mappings)
        page = yield from scan_page(name, families, key_range, rows, self.context)
        versions: _Versions = [None] * len(page)
        if name in self.with_versions:
            versions = yield from self._versions(name, [row.key for row in page], families)
        return page, versions

    def _mapped(
        self, name: str, page: Sequence[Row], versions: _Versions
    ) -> Protocol[tuple[dict[str, list[RowCopy]], list[RowFailure]]]:
        """Return the copies of rows by table, and the rows that do not fit."""
        mapped: dict[str, list[RowCopy]] = {}
        failures: list[RowFailure] = []
        placed = [(mapping, _placed(mapping.source, name)) for mapping in self.mappings]
        for row, stored in zip(page, versions, strict=True):
            try:
                mapping, source = _of_row(placed, row)
                if mapping.has_names:
                    bound, copy = yield from mapping.row(source, row, stored)
                else:
                    bound, copy = mapping.copy(source, row, stored)
            except ConfigurationError:
                raise
            except MISFITS as error:
                failures.append(RowFailure(name, row.key, failure_text(error)))
                continue
            copies = mapped.get(bound.schema.table)
            if copies is None:
                yield from self._ensure(bound)
                copies = mapped[bound.schema.table] = []
            copies.append(self.kept.put(copy))
        return mapped, failures

    def _ensure(self, bound: BoundModel) -> Protocol[None]:
        """Create the table of a period when its first row comes."""
        name = bound.schema.table
        if bound.tables.declared == name or name in self._created:
            return
        if (yield from described(name)) is None:
            warnings = TableWarnings()
            yield from create(bound, self.table_id, warnings)
            warnings.log()
        self._created.add(name)

    # --- stored cells -----------------------------------------------------------------------------

    @property
    def _keeps_versions(self) -> bool:
        """Whether the new table may have several versions of a cell."""
        several = any(limits.versions > 1 for limits in self.kept.limits.values())
        return several and bool(self.with_versions)

    def _stored(self, table: str, keys: Sequence[bytes]) -> Protocol[list[RowCopy | None]]:
        """Return rows of the new table by key; None for a row that it does not have."""
        families = self._families(mapping.target for mapping in self.mappings)
        rows = yield from get_rows(table, keys, self.context, families)
        versions: _Versions = [None] * len(rows)
        if self._keeps_versions:
            versions = yield from self._versions(table, keys, families)
        return [
            None if row is None else stored_copy(row, stored)
            for row, stored in zip(rows, versions, strict=True)
        ]

    def _versions(
        self, table: str, keys: Sequence[bytes], families: tuple[bytes, ...]
    ) -> Protocol[list[tuple[StoredVersion, ...]]]:
        if not keys:
            return []
        request = GetVersionsOfRows(table, tuple(keys), families, _VERSIONS)
        return (yield from ask_with_retry(request, self.context.retries))

    def _families(self, models: Iterable[BoundModel]) -> tuple[bytes, ...]:
        names = dict.fromkeys(name for model in models for name in model.schema.family_names)
        return tuple(name for name in names if name != GUARD_FAMILY)


def _placed(source: BoundModel, table: str) -> BoundModel:
    """Return a model for the table that its rows are read from."""
    start = source.tables.start_of_table(table)
    return source if start is None else source.with_table_at(start)


def _of_row(
    placed: Sequence[tuple[RowMapping, BoundModel]], row: Row
) -> tuple[RowMapping, BoundModel]:
    """Return the mapping of a row, and the model in its table.

    Raises:
        ValueError: No model has the record type of the row.
    """
    for mapping, source in placed:
        if source.is_own is None or source.is_own(row.key):
            return mapping, source
    message = "no model has the record type of the row"
    raise ValueError(message)
