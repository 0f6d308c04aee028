"""Verifies an index from end to end, range by range side by side, and puts right what it finds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Final, Literal

from hbase_orm.errors import CorruptRowError
from hbase_orm.index.catalog import read_entry
from hbase_orm.index.entries import base_key_of
from hbase_orm.index.guard_cell import MAX_EPOCH
from hbase_orm.index.repair import EntryState, remove_corrupt, repair_entry
from hbase_orm.index.targets import IndexTarget
from hbase_orm.index.verify import (
    EVER,
    FAULTS,
    Finding,
    PageFindings,
    RowPair,
    TimeSpan,
    verify_entries,
    verify_rows,
)
from hbase_orm.ops import KeyRange, ListRegions, Protocol, ask
from hbase_orm.session.binding import BoundModel
from hbase_orm.session.runtime import Runtime
from hbase_orm.session.scrubbing import Scrubber

Source = Literal["data", "index"]

MOST_PAIRS: Final = 1000
"""Pairs that a verification keeps; more are counted only."""

PAGE_ROWS: Final = 500


@dataclass(frozen=True, slots=True)
class Verification:
    """How an index compares with its rows.

    Attributes:
        index: The index's name.
        rows: What was found from the rows: how many entries they should have, by finding.
        entries: What was found from the entries: how many there are, by finding.
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
        """How many entries were looked for and looked at."""
        return self.rows.total() + self.entries.total()

    @property
    def missing(self) -> int:
        """How many entries rows should have and have not."""
        return self.rows[Finding.MISSING]

    @property
    def invalid(self) -> int:
        """How many entries say something else of their row than the row does."""
        return self.rows[Finding.INVALID] + self.entries[Finding.INVALID]

    @property
    def stale(self) -> int:
        """How many entries their rows do not have; queries skip them."""
        kinds = (Finding.OLD, Finding.EXTRA, Finding.EXPIRED, Finding.IN_FLIGHT)
        return sum(self.entries[kind] for kind in kinds)

    @property
    def is_sound(self) -> bool:
        """Whether there is nothing that no crash of a process of this library leaves behind."""
        faults = sum(self.rows[kind] + self.entries[kind] for kind in FAULTS)
        return not faults and not self.newer_epoch

    def counters(self) -> dict[str, dict[str, int]]:
        """Return the counters of both directions, with Phoenix's names."""
        return {"rows": _named(self.rows), "entries": _named(self.entries)}


def _named(counts: Counter[Finding]) -> dict[str, int]:
    return {"SCANNED": counts.total(), **{kind.name: counts[kind] for kind in Finding}}


Tell = Callable[[int], None]


class IndexVerify:
    """One verification of one index, which may put right what it finds."""

    def __init__(
        self,
        bound: BoundModel,
        target: IndexTarget,
        runtime: Runtime,
        *,
        span: TimeSpan = EVER,
        min_age_ms: int | None = None,
        tell: Tell = lambda _: None,
    ) -> None:
        """Prepare; nothing is sent.

        Args:
            bound: The model.
            target: The index, with the table it has now.
            runtime: Where requests go.
            span: Look at rows and entries written in that time only.
            min_age_ms: Put right what is found, but for entries younger than this where that
                needs a fence; None changes nothing.
            tell: Called with how many entries were looked at so far.
        """
        if bound.guarded is None:
            raise AssertionError(bound)
        self._bound = bound
        self._table = bound.guarded
        self._target = target
        self._schema = next(i for i in bound.schema.indexes if i.name == target.name)
        self._runtime = runtime
        self._span = span
        self._min_age_ms = min_age_ms
        self._tell = tell
        self._scrubber = Scrubber(bound, runtime)
        self._scanned = 0
        self._pairs: list[RowPair] = []
        self._foreign = 0
        self._newest_epoch = 0
        self._known_epoch = MAX_EPOCH
        self._repaired = 0
        self._unrepaired: dict[bytes, str] = {}
        self._sources: Sequence[Source] = ()
        self._unclaimed: set[bytes] = set()

    def run(self, sources: Sequence[Source] = ("data", "index")) -> Verification:
        """Verify in the directions asked for.

        Raises:
            HBaseORMError: A read, or a repair, failed.
        """
        self._sources = sources
        entry = self._runtime.run(read_entry(self._table.table))
        self._known_epoch = MAX_EPOCH if entry is None else entry.epoch
        counts = {source: self._direction(source) for source in sources}
        return Verification(
            self._target.name,
            counts.get("data", Counter[Finding]()),
            counts.get("index", Counter[Finding]()),
            self._foreign,
            self._repaired,
            tuple(self._pairs[:MOST_PAIRS]),
            self._unrepaired,
            self._newer_epoch(),
        )

    def _newer_epoch(self) -> int:
        # Rows are written under an epoch that stands in the catalog before: read it after them.
        entry = self._runtime.run(read_entry(self._table.table))
        return 0 if entry is not None and entry.epoch >= self._newest_epoch else self._newest_epoch

    def _direction(self, source: Source) -> Counter[Finding]:
        counts = Counter[Finding]()
        todo = self._ranges(self._table.table if source == "data" else self._target.table)
        parallel = self._runtime.parallel
        while todo:
            some, todo = todo[:parallel], todo[parallel:]
            outcomes = self._runtime.run_many([self._page(source, each) for each in some])
            for each, outcome in zip(some, outcomes, strict=True):
                found = outcome.result()
                counts += found.counts
                self._note(found, source)
                if found.next is not None:
                    todo.append(KeyRange(found.next, each.stop))
            self._scanned += sum(o.result().counts.total() for o in outcomes)
            self._tell(self._scanned)
        return counts

    def _ranges(self, table: str) -> list[KeyRange]:
        regions = self._runtime.run(ask(ListRegions(table)))
        return [KeyRange(region.start, region.stop) for region in regions]

    def _page(self, source: Source, key_range: KeyRange) -> Protocol[PageFindings]:
        context, span = self._runtime.guard_context, self._span
        if source == "data":
            return verify_rows(
                self._table,
                self._target,
                key_range,
                context,
                page_rows=PAGE_ROWS,
                span=span,
                known_epoch=self._known_epoch,
            )
        base_key = base_key_of(self._schema)
        return verify_entries(
            self._table,
            self._target,
            base_key,
            key_range,
            context,
            page_rows=PAGE_ROWS,
            span=span,
        )

    def _note(self, found: PageFindings, source: Source) -> None:
        self._pairs += found.pairs[: MOST_PAIRS - len(self._pairs)]
        self._foreign += len(found.foreign)
        self._newest_epoch = max([self._newest_epoch, *found.epochs.values()])
        if self._min_age_ms is not None:
            self._repair(found, source, self._min_age_ms)

    def _repair(self, found: PageFindings, source: Source, min_age_ms: int) -> None:
        if source == "data":
            if self._target.maintained_by_writes:
                self._repair_rows(found)
            return
        for pair in found.pairs:
            if pair.finding is Finding.UNKNOWN:
                self._remove(pair)
            else:
                self._repair_entry(pair, min_age_ms)

    def _repair_rows(self, found: PageFindings) -> None:
        pairs = [pair for pair in found.pairs if pair.finding is not Finding.UNKNOWN]
        keys = dict.fromkeys([*(pair.row for pair in pairs), *found.foreign])
        refused = dict[bytes, str]()
        self._scrubber.scrub(tuple(keys), refused)
        self._repaired += len(keys) - len(refused)
        self._unclaimed.update(pair.entry for pair in pairs if pair.row in refused)
        self._leave(refused)

    def _repair_entry(self, pair: RowPair, min_age_ms: int) -> None:
        target, context = self._scrubber.renewing()
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
            state = self._runtime.run(repair)
        except CorruptRowError as error:
            self._leave({pair.row: str(error)})
        else:
            self._repaired += state in {EntryState.REPAIRED, EntryState.VERIFIED}

    def _remove(self, pair: RowPair) -> None:
        """Remove what is no entry; a claim only where no row can have the value.

        A scrub of the row that has it has put its claim in the place of one that does not decode.
        """
        has_seen_rows = "data" in self._sources and self._span == EVER
        if self._target.unique and (not has_seen_rows or pair.entry in self._unclaimed):
            why = f"a claim that does not decode [index={self._target.name} entry={pair.entry!r}]: "
            self._leave({pair.entry: why + "a row that was not repaired may have the value"})
            return
        _, context = self._scrubber.renewing()
        self._runtime.run(remove_corrupt(self._target, pair.entry, pair.entry_ms, context))
        self._repaired += 1

    def _leave(self, refused: Mapping[bytes, str]) -> None:
        """Note rows that cannot be put right, as far as there is room."""
        room = MOST_PAIRS - len(self._unrepaired)
        self._unrepaired.update(islice(refused.items(), room))


def in_table(target: IndexTarget, table: str) -> IndexTarget:
    """Return an index with the table it has now."""
    return replace(target, table=table or target.table)
