"""Verifies a whole index, several ranges in parallel, and repairs the differences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Final, Literal

from hbase_orm.errors import CorruptRowError
from hbase_orm.index.catalog.catalog import read_entry
from hbase_orm.index.entries.guard_cell import MAX_EPOCH
from hbase_orm.index.entries.targets import GuardContext, GuardedTable, IndexTarget
from hbase_orm.index.upkeep.compare import (
    EVER,
    FAULTS,
    Finding,
    PageFindings,
    RowPair,
    TimeSpan,
    verify_entries,
    verify_rows,
)
from hbase_orm.index.upkeep.repair import (
    EntryState,
    RepairCounts,
    remove_corrupt,
    repair_entry,
    repair_pass,
)
from hbase_orm.index.upkeep.table_pages import PAGE_ROWS, read_in_rounds
from hbase_orm.index_admin.lease import TableLease
from hbase_orm.index_admin.reindex import RowReindexer
from hbase_orm.ops import KeyRange, ListRegions, Protocol, RenewTimeLimit, ask

Source = Literal["data", "index"]
BOTH: Final[tuple[Source, ...]] = ("data", "index")

MOST_PAIRS: Final = 1000
"""The largest number of pairs that a verification keeps; further pairs are only counted."""


@dataclass(frozen=True, slots=True)
class Verification:
    """The result of a comparison of an index with its rows.

    Attributes:
        index: The index's name.
        rows: The number of entries that rows should have, for each `Finding`.
        entries: The number of entries that exist, for each `Finding`.
        foreign: The number of rows that programs without this library have written.
        repaired: The number of repaired rows and entries.
        pairs: The first `MOST_PAIRS` rows and entries that do not agree.
        unrepaired: The first `MOST_PAIRS` rows that could not be repaired, each row key with the
            reason. For example, a value does not fit the index, another row has the same unique
            value, or the timestamps are far in the future. Corrupt claims that must not be deleted
            are listed by their entry key.
        newer_epoch: Normally 0. If the catalog was restored from an earlier time, the newest epoch
            in the rows' guards. `create_tables` then raises the catalog's epoch above it.
    """

    index: str
    rows: Counter[Finding] = field(default_factory=Counter[Finding])
    entries: Counter[Finding] = field(default_factory=Counter[Finding])
    foreign: int = 0
    repaired: int = 0
    pairs: tuple[RowPair, ...] = ()
    unrepaired: Mapping[bytes, str] = field(default_factory=dict[bytes, str])
    newer_epoch: int = 0

    @property
    def scanned(self) -> int:
        """The number of comparisons of an entry with its row, in both directions together."""
        return self.rows.total() + self.entries.total()

    @property
    def missing(self) -> int:
        """The number of missing entries."""
        return self.rows[Finding.MISSING]

    @property
    def invalid(self) -> int:
        """The number of covering entries that differ from their row."""
        return self.rows[Finding.INVALID] + self.entries[Finding.INVALID]

    @property
    def stale(self) -> int:
        """The number of entries that their rows do not have; queries skip them."""
        kinds = (Finding.OLD, Finding.EXTRA, Finding.EXPIRED, Finding.IN_FLIGHT)
        return sum(self.entries[kind] for kind in kinds)

    @property
    def is_sound(self) -> bool:
        """Whether crashes of processes that use this library can explain all differences."""
        faults = sum(self.rows[kind] + self.entries[kind] for kind in FAULTS)
        return not faults and not self.newer_epoch

    def __repr__(self) -> str:
        """Return the counts that are not 0, without rows."""
        counts = {
            "rows": {kind.name: count for kind, count in self.rows.items() if count},
            "entries": {kind.name: count for kind, count in self.entries.items() if count},
            "foreign": self.foreign,
            "repaired": self.repaired,
            "unrepaired": len(self.unrepaired),
            "newer_epoch": self.newer_epoch,
        }
        shown = [f"{name}={value}" for name, value in counts.items() if value]
        return f"Verification({', '.join([repr(self.index), f'is_sound={self.is_sound}', *shown])})"

    def counters(self) -> dict[str, dict[str, int]]:
        """Return the counters of both directions, under the names that Phoenix uses."""
        return {"rows": _named(self.rows), "entries": _named(self.entries)}


def _named(counts: Counter[Finding]) -> dict[str, int]:
    return {"SCANNED": counts.total(), **{kind.name: counts[kind] for kind in Finding}}


OnProgress = Callable[[int], None]


class IndexVerify:
    """One verification of one index, optionally with repair."""

    def __init__(
        self,
        table: GuardedTable,
        target: IndexTarget,
        base_key_of: Callable[[bytes], bytes],
        reindexer: RowReindexer,
        context: GuardContext,
        *,
        parallel: int = 1,
        page_rows: int = PAGE_ROWS,
        span: TimeSpan = EVER,
        min_age_ms: int | None = None,
        on_progress: OnProgress = lambda _: None,
    ) -> None:
        """Prepare the verification; nothing is sent.

        Args:
            table: The table of the rows.
            target: The index, with its current table.
            base_key_of: A function that returns the row key at the end of an entry's key.
            reindexer: The object that puts the entries of rows. Its lease is also used to delete
                entries.
            context: The source of the pauses between attempts.
            parallel: The largest number of pages that are read in parallel.
            page_rows: The number of rows or entries of a page.
            span: The time range of the rows and entries to compare.
            min_age_ms: Repair the differences, but not entries younger than this if their repair
                needs a fence; None repairs nothing.
            on_progress: A function that is called after each round with the number of entries
                compared so far.
        """
        self._table = table
        self._target = target
        self._base_key_of = base_key_of
        self._reindexer = reindexer
        self._context = context
        self._parallel = parallel
        self._page_rows = page_rows
        self._span = span
        self._min_age_ms = min_age_ms
        self._on_progress = on_progress
        self._scanned = 0
        self._pairs: list[RowPair] = []
        self._foreign = 0
        self._newest_epoch = 0
        self._known_epoch = MAX_EPOCH
        self._repaired = 0
        self._unrepaired: dict[bytes, str] = {}
        self._sources: Collection[Source] = ()
        self._unclaimed: set[bytes] = set()

    def run(self, sources: Collection[Source] = BOTH) -> Protocol[Verification]:
        """Verify the index, in the directions that `sources` names; return the result.

        Raises:
            HBaseORMError: A read or a repair failed.
        """
        self._sources = sources
        entry = yield from read_entry(self._table.table)
        self._known_epoch = MAX_EPOCH if entry is None else entry.epoch
        rows, entries = Counter[Finding](), Counter[Finding]()
        if "data" in sources:
            rows = yield from self._direction("data", self._table.table, self._rows_page)
        if "index" in sources:
            entries = yield from self._direction("index", self._target.table, self._entries_page)
        return Verification(
            self._target.name,
            rows,
            entries,
            self._foreign,
            self._repaired,
            tuple(self._pairs[:MOST_PAIRS]),
            self._unrepaired,
            (yield from self._newer_epoch()),
        )

    def _newer_epoch(self) -> Protocol[int]:
        # Rows are written under an epoch that stands in the catalog before: read it after them.
        yield from ask(RenewTimeLimit())
        entry = yield from read_entry(self._table.table)
        return 0 if entry is not None and entry.epoch >= self._newest_epoch else self._newest_epoch

    def _direction(
        self, source: Source, table: str, read_page: Callable[[KeyRange], Protocol[PageFindings]]
    ) -> Protocol[Counter[Finding]]:
        counts = Counter[Finding]()

        def use(pages: Sequence[PageFindings]) -> Protocol[None]:
            for page in pages:
                counts.update(page.counts)
                yield from self._note(page, source)
            self._scanned += sum(page.counts.total() for page in pages)
            self._on_progress(self._scanned)

        regions = yield from ask(ListRegions(table))
        ranges = [KeyRange(region.start, region.stop) for region in regions]
        yield from read_in_rounds(read_page, ranges, use, parallel=self._parallel)
        return counts

    def _rows_page(self, key_range: KeyRange) -> Protocol[PageFindings]:
        return verify_rows(
            self._table,
            self._target,
            key_range,
            self._context,
            page_rows=self._page_rows,
            span=self._span,
            known_epoch=self._known_epoch,
        )

    def _entries_page(self, key_range: KeyRange) -> Protocol[PageFindings]:
        return verify_entries(
            self._table,
            self._target,
            self._base_key_of,
            key_range,
            self._context,
            page_rows=self._page_rows,
            span=self._span,
        )

    def _note(self, page: PageFindings, source: Source) -> Protocol[None]:
        self._pairs += page.pairs[: MOST_PAIRS - len(self._pairs)]
        self._foreign += len(page.foreign)
        self._newest_epoch = max([self._newest_epoch, *page.epochs.values()])
        if self._min_age_ms is None:
            return
        if source == "index":
            yield from self._repair_entries(page.pairs, self._min_age_ms)
        elif self._target.maintained_by_writes:
            yield from self._repair_rows(page)

    def _repair_rows(self, page: PageFindings) -> Protocol[None]:
        pairs = [pair for pair in page.pairs if pair.finding is not Finding.UNKNOWN]
        keys = dict.fromkeys([*(pair.row for pair in pairs), *page.foreign])
        rejected = dict[bytes, str]()
        yield from ask(RenewTimeLimit())
        yield from self._reindexer.reindex(tuple(keys), rejected)
        self._repaired += len(keys) - len(rejected)
        self._unclaimed.update(pair.entry for pair in pairs if pair.row in rejected)
        self._leave(rejected)

    def _repair_entries(self, pairs: Sequence[RowPair], min_age_ms: int) -> Protocol[None]:
        for pair in pairs:
            yield from ask(
                RenewTimeLimit()
            )  # a repair whose fence was not answered holds up no other
            if pair.finding is Finding.UNKNOWN and not pair.row:
                yield from self._remove(pair)
            else:
                yield from self._repair_entry(pair, min_age_ms)

    def _repair_entry(self, pair: RowPair, min_age_ms: int) -> Protocol[None]:
        target, context = yield from self._reindexer.lease.renewable()
        repair = repair_entry(
            target,
            self._target,
            context,
            entry_key=pair.entry,
            entry_timestamp_ms=pair.entry_ms,
            base_key=pair.row,
            min_age_ms=min_age_ms,
        )
        try:
            state = yield from repair
        except CorruptRowError as error:
            self._leave({pair.row: str(error)})
        else:
            self._repaired += state in {EntryState.REPAIRED, EntryState.VERIFIED}

    def _remove(self, pair: RowPair) -> Protocol[None]:
        """Delete a row of the index table that is not an entry.

        A corrupt claim may belong to a row that has the value. If all rows were compared and
        repaired before, no row can have the value, and the claim is released. Otherwise the claim
        is recorded as unrepaired.
        """
        has_seen_rows = "data" in self._sources and self._span == EVER
        if self._target.unique and (not has_seen_rows or pair.entry in self._unclaimed):
            why = f"a claim that does not decode [index={self._target.name} entry={pair.entry!r}]: "
            self._leave({pair.entry: why + "a row that was not repaired may have the value"})
            return
        _, context = yield from self._reindexer.lease.renewable()
        yield from remove_corrupt(self._target, pair.entry, pair.entry_ms, context)
        self._repaired += 1

    def _leave(self, rejected: Mapping[bytes, str]) -> None:
        """Record up to `MOST_PAIRS` rows that cannot be repaired, with the reasons."""
        room = MOST_PAIRS - len(self._unrepaired)
        self._unrepaired.update(islice(rejected.items(), room))


def repair_entries(
    lease: TableLease, base_keys: Mapping[str, Callable[[bytes], bytes]], min_age_ms: int
) -> Protocol[dict[str, RepairCounts]]:
    """Repair every entry of the maintained indexes; return the counts by index.

    Args:
        lease: The permission to write the table.
        base_keys: For each index name, a function that returns the row key at the end of an entry's
            key.
        min_age_ms: Entries younger than this are not repaired if the repair needs a fence.
    """
    table, context = yield from lease.renewable()
    counts: dict[str, RepairCounts] = {}
    for index in table.indexes:
        yield from ask(RenewTimeLimit())
        counts[index.name] = yield from repair_pass(
            table, index, base_keys[index.name], context, min_age_ms=min_age_ms
        )
    return counts


def in_table(target: IndexTarget, table: str) -> IndexTarget:
    """Return `target` with `table` as its index table; return it unchanged if `table` is empty."""
    return replace(target, table=table or target.table)
