"""Verifies a whole index, several ranges side by side, and repairs the differences."""

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
from hbase_orm.ops import KeyRange, ListRegions, Protocol, ask

Source = Literal["data", "index"]
BOTH: Final[tuple[Source, ...]] = ("data", "index")

MOST_PAIRS: Final = 1000
"""Pairs that a verification keeps; more are counted only."""


@dataclass(frozen=True, slots=True)
class Verification:
    """How an index compares with its rows.

    Attributes:
        index: The index's name.
        rows: The findings from the rows: how many entries they should have, by finding.
        entries: The findings from the entries: how many there are, by finding.
        foreign: How many rows another program has written, since or before this library did.
        repaired: How many rows and entries were put right.
        pairs: Rows and entries that do not agree, the first `MOST_PAIRS`.
        unrepaired: Rows that could not be put right and why, the first `MOST_PAIRS`: they fit no
            entry, have a unique value that another row owns, or timestamps far ahead of the clock.
            Claims that do not decode stand here by the entry's key, where they may not be given up.
        newer_epoch: The newest epoch in the guards of the rows, if it is above the catalog's: that
            is of an earlier time, and `create_tables` raises it. Else 0.
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
        """How many entries were sought and read."""
        return self.rows.total() + self.entries.total()

    @property
    def missing(self) -> int:
        """How many entries are missing."""
        return self.rows[Finding.MISSING]

    @property
    def invalid(self) -> int:
        """How many covering entries differ from their row."""
        return self.rows[Finding.INVALID] + self.entries[Finding.INVALID]

    @property
    def stale(self) -> int:
        """How many entries their rows do not have; queries skip them."""
        kinds = (Finding.OLD, Finding.EXTRA, Finding.EXPIRED, Finding.IN_FLIGHT)
        return sum(self.entries[kind] for kind in kinds)

    @property
    def is_sound(self) -> bool:
        """Whether all differences can come from crashes of this library's processes."""
        faults = sum(self.rows[kind] + self.entries[kind] for kind in FAULTS)
        return not faults and not self.newer_epoch

    def counters(self) -> dict[str, dict[str, int]]:
        """Return the counters of both directions, with Phoenix's names."""
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
        """Prepare; nothing is sent.

        Args:
            table: The table of the rows.
            target: The index, with the table it has now.
            base_key_of: Returns the row key that an entry's key ends with.
            reindexer: Puts the entries of rows, and has the lease under which entries are deleted.
            context: For the pauses between tries.
            parallel: Most pages read side by side.
            page_rows: Rows, or entries, of a page.
            span: Look at rows and entries written in that time only.
            min_age_ms: Put right what is found, but for entries younger than this where that
                needs a fence; None changes nothing.
            on_progress: Called after each round with how many entries were compared so far.
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
        """Verify in the directions of `sources`.

        Raises:
            HBaseORMError: A read, or a repair, failed.
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
        yield from self._reindexer.reindex(tuple(keys), rejected)
        self._repaired += len(keys) - len(rejected)
        self._unclaimed.update(pair.entry for pair in pairs if pair.row in rejected)
        self._leave(rejected)

    def _repair_entries(self, pairs: Sequence[RowPair], min_age_ms: int) -> Protocol[None]:
        for pair in pairs:
            if pair.finding is Finding.UNKNOWN:
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
        """Remove what is no entry; a claim only where no row can have the value.

        Where a row has it, that row was reindexed, which replaced a claim that does not decode.
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
        """Note rows that cannot be repaired, up to a limit."""
        room = MOST_PAIRS - len(self._unrepaired)
        self._unrepaired.update(islice(rejected.items(), room))


def repair_entries(
    lease: TableLease, base_keys: Mapping[str, Callable[[bytes], bytes]], min_age_ms: int
) -> Protocol[dict[str, RepairCounts]]:
    """Repair every entry of the maintained indexes; return the counts by index.

    Args:
        lease: The permission to write the table.
        base_keys: What returns the row key that an entry's key ends with, by index.
        min_age_ms: Entries younger than this are left where putting them right needs a fence.
    """
    table, context = yield from lease.renewable()
    counts: dict[str, RepairCounts] = {}
    for index in table.indexes:
        counts[index.name] = yield from repair_pass(
            table, index, base_keys[index.name], context, min_age_ms=min_age_ms
        )
    return counts


def in_table(target: IndexTarget, table: str) -> IndexTarget:
    """Return an index with the table it has now."""
    return replace(target, table=table or target.table)
