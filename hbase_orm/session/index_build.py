"""Builds an index while other processes write its table: round by round, and resumable.

A round reads a page of each range that is not done, scrubs its rows side by side, and notes in the
catalog how far it came; whoever goes on after a crash does that much again at most. Once nobody can
write who does not know the index, every row is compared with its entries.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from hbase_orm.errors import CatalogLeaseError
from hbase_orm.index import build
from hbase_orm.index.catalog import refuse_other_protocol
from hbase_orm.index.catalog_entry import BuildRange, CatalogEntry, CatalogIndex, IndexState
from hbase_orm.index.fill import fill_page
from hbase_orm.index.pages import scan_page
from hbase_orm.index.registration import newest_epoch, overtake
from hbase_orm.index.targets import GuardedTable, IndexTarget
from hbase_orm.ops import KeyRange, ListRegions, Protocol, Row, ask
from hbase_orm.session import tables
from hbase_orm.session.binding import BoundModel
from hbase_orm.session.catalog_checks import check_indexes
from hbase_orm.session.existing_tables import described
from hbase_orm.session.index_catch_up import CatchUp
from hbase_orm.session.runtime import Runtime
from hbase_orm.session.scrubbing import Scrubber

ROUND_ROWS: Final = 2000
"""Rows between two checkpoints, over all ranges."""

LEAST_PAGE_ROWS: Final = 20
_LONGEST_NAP_S: Final = 1.0

_KEY_BYTES: Final = 16
"""So many leading bytes of a row key count for the fraction that is done."""

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class BuildProgress:
    """How far a build is.

    Attributes:
        phase: "rows" while every row's entries are put; "wait" until no process acts on what the
            catalog said before; "check" while every row is compared with its entries, and those
            that such a process wrote meanwhile are put right.
        rows: Rows that this process has done.
        fraction: How much of the table's key range is done, from 0 to 1, whoever did it; rows are
            taken to be spread evenly in each region.
    """

    phase: str
    rows: int
    fraction: float


Tell = Callable[[BuildProgress], None]


class IndexBuild:
    """One process's build of one index."""

    def __init__(
        self,
        bound: BoundModel,
        name: str,
        runtime: Runtime,
        *,
        settle_s: float,
        rows_per_second: float | None,
        tell: Tell,
    ) -> None:
        """Prepare; nothing is sent.

        Args:
            bound: The model.
            name: The index.
            runtime: Where requests go.
            settle_s: How long a process may act on what the catalog said before, and a request of
                it be under way.
            rows_per_second: At most so many rows, on average; None for no limit.
            tell: Called after each round.
        """
        if bound.guarded is None:
            raise AssertionError(bound)
        self._bound = bound
        self._name = name
        self._runtime = runtime
        self._settle_s = settle_s
        self._rows_per_second = rows_per_second
        self._tell = tell
        self._declared: IndexTarget = next(i for i in bound.guarded.indexes if i.name == name)
        self._scrubber = Scrubber(bound, runtime, needs=name)
        self._run = runtime.run
        self._rows = self._paced_rows = 0
        self._begun_s = runtime.monotonic_s()
        self._writers_know_s = self._begun_s

    @property
    def _table(self) -> str:
        return self._bound.schema.table

    def run(self, *, rebuild: bool) -> None:
        """Build the index, going on where another build of it stopped.

        Raises:
            ConflictError: The index is being dropped, was dropped meanwhile, or its table is being
                loaded; or rows lack entries afterwards.
            SchemaError: Writers keep the indexes with other declarations, or rows have guards that
                this program does not write, or none; the catalog is as it was.
            HBaseORMError: A read or a write failed; built again, it goes on from there.
        """
        try:
            self._build(rebuild=rebuild)
        except CatalogLeaseError as error:
            if "row_epoch" not in error.details or not self._overtake():
                raise
            self._build(rebuild=rebuild)

    def _overtake(self) -> bool:
        """Raise the catalog's epoch above those of the rows; say whether it was below."""
        newest = self._run(newest_epoch(self._table, known_epoch=self._refreshed().epoch))
        self._scrubber.forget()
        if self._is_lww or self._refreshed().epoch >= newest:
            return False
        self._run(overtake(self._table, newest))
        self._runtime.forget(self._table)
        self._scrubber.forget()
        return True

    def _build(self, *, rebuild: bool) -> None:
        entry = self._refreshed()
        self._refuse_other_writers(entry)
        self._replace_lost_tables(entry)
        found = self._index_of(entry)
        if found is not None and found.state is IndexState.READABLE and not found.build:
            is_there = self._exists(found.table or self._declared.table)
            if is_there and not rebuild and not found.is_manual:
                return
            if not found.is_manual:
                self._stop_reading(has_readers=is_there)
        index = self._begin()
        is_lww = self._is_lww
        if is_lww and not index.is_manual:
            self._wait()  # no epoch in the rows would tell of those written meanwhile
        is_finished = self._backfill(index)
        if not is_finished and not index.is_manual:
            if not is_lww:
                self._wait()
            CatchUp(
                self._bound,
                self._target_of(index),
                index,
                self._runtime,
                self._scrubber,
                page_rows=self._round_rows,
                tell=self._caught_up,
            ).run()
        self._run(
            build.finish_build(self._table, self._name, self._declared.table, index.incarnation)
        )
        self._runtime.forget(self._table)
        self._drop_retired()

    def _refuse_other_writers(self, entry: CatalogEntry) -> None:
        """Refuse, before the catalog is changed, what the first scrub would be refused."""
        if self._declared.maintained_by_writes:
            check_indexes(self._bound, entry)
            return
        model = self._bound.schema.model_name
        refuse_other_protocol(self._table, entry, is_lww=self._is_lww, model=model)

    def _replace_lost_tables(self, entry: CatalogEntry) -> None:
        """Let rows be written though the tables of other indexes are gone, which must be built."""
        lost = [
            index
            for index in self._whole_table().maintained
            if index.name != self._name
            and index.name in entry.indexes
            and entry.indexes[index.name].is_kept
            and not self._exists(entry.indexes[index.name].table or index.table)
        ]
        for index in lost:
            self._run(build.stop_reading(self._table, index.name, is_lww=self._is_lww))
        if not lost:
            return
        self._runtime.forget(self._table)
        self._scrubber.forget()
        self._runtime.sleep(self._runtime.lease_s)  # no reader takes an empty table for the index
        for index in lost:
            table = entry.indexes[index.name].table or index.table
            is_covering = bool(index.included)
            self._run(tables.ensure_index_table(self._bound, table, is_covering=is_covering))

    # --- steps ------------------------------------------------------------------------------------

    def _begin(self) -> CatalogIndex:
        regions = self._run(ask(ListRegions(self._table)))
        declared = self._declared.table
        found = self._run(tables.index_tables([declared]))
        entry = self._run(
            build.begin_build(
                self._table,
                self._name,
                self._bound.indexes[self._name],
                build.ranges_of(regions),
                is_manual=not self._declared.maintained_by_writes,
                is_lww=self._is_lww,
                newest_table=max([0, *(build.incarnation_of(declared, each) for each in found)]),
            )
        )
        index = entry.indexes[self._name]
        new_table = build.table_of(self._declared.table, index.incarnation)
        is_covering = bool(self._declared.included)
        self._run(tables.ensure_index_table(self._bound, new_table, is_covering=is_covering))
        if not index.is_manual:
            entry = self._run(
                build.start_writing(
                    self._table, self._name, self._declared.table, index.incarnation
                )
            )
        self._writers_know_s = self._runtime.monotonic_s()
        self._runtime.forget(self._table)
        self._scrubber.forget()
        return entry.indexes[self._name]

    def _stop_reading(self, *, has_readers: bool) -> None:
        self._run(build.stop_reading(self._table, self._name, is_lww=self._is_lww))
        self._runtime.forget(self._table)
        if has_readers:
            self._runtime.sleep(self._runtime.lease_s)

    def _backfill(self, index: CatalogIndex) -> bool:
        """Do all rows; say whether another builder has finished the build meanwhile."""
        incarnation = index.incarnation
        while todo := [each for each in index.build if each.next is not None]:
            self._report("rows", index.build)
            done = self._round(index, todo[: self._runtime.parallel])
            entry = self._run(build.checkpoint(self._table, self._name, incarnation, done))
            index = entry.indexes[self._name]
        if not build.is_built(index, incarnation):
            self._report("rows", index.build)
            return False
        return True

    def _round(self, index: CatalogIndex, ranges: Sequence[BuildRange]) -> list[BuildRange]:
        """Do a page of each range; return how far they are then."""
        page_rows = max(LEAST_PAGE_ROWS, self._round_rows // len(ranges))
        context = self._runtime.guard_context
        if index.is_manual:
            target = self._target_of(index)
            table = self._whole_table()
            pages = self._run_many(
                [fill_page(table, target, _left(each), page_rows, context) for each in ranges]
            )
        else:
            columns = tuple(sorted(self._whole_table().existence_columns))
            pages = self._run_many(
                [
                    scan_page(self._table, columns, _left(each), page_rows, context)
                    for each in ranges
                ]
            )
            self._scrubber.scrub([row.key for page in pages for row in page])
        self._count(sum(len(page) for page in pages))
        return [_after(each, page) for each, page in zip(ranges, pages, strict=True)]

    def _wait(self) -> None:
        until_s = self._writers_know_s + self._settle_s
        while (left_s := until_s - self._runtime.monotonic_s()) > 0:
            self._tell(BuildProgress("wait", self._rows, 1.0))
            self._runtime.sleep(min(left_s, _LONGEST_NAP_S))

    def _drop_retired(self) -> None:
        index = self._index_of(self._refreshed())
        if index is None or not index.retired:
            return
        # Readers and writers by what the catalog said before may still use it.
        self._runtime.sleep(self._runtime.lease_s)
        self._run(tables.drop_table(index.retired))
        self._run(build.forget_retired(self._table, self._name, index.retired))

    # --- rows -------------------------------------------------------------------------------------

    def _whole_table(self) -> GuardedTable:
        if self._bound.guarded is None:
            raise AssertionError(self._bound)
        return self._bound.guarded

    @property
    def _is_lww(self) -> bool:
        return self._whole_table().is_lww

    def _target_of(self, index: CatalogIndex) -> IndexTarget:
        table = build.table_of(self._declared.table, index.incarnation)
        return replace(self._declared, table=table)

    # --- the rest ---------------------------------------------------------------------------------

    @property
    def _round_rows(self) -> int:
        if self._rows_per_second is None:
            return ROUND_ROWS
        return max(1, min(ROUND_ROWS, int(self._rows_per_second)))

    def _caught_up(self, scrubbed: int, seen: int) -> None:
        self._count(scrubbed)
        self._keep_pace(seen)
        self._tell(BuildProgress("check", self._rows, 1.0))

    def _count(self, rows: int) -> None:
        """Count rows that are done."""
        self._rows += rows
        self._keep_pace(rows)

    def _keep_pace(self, rows: int) -> None:
        """Wait while rows were written and compared faster than they may be."""
        self._paced_rows += rows
        if self._rows_per_second is None:
            return
        taken_s = self._runtime.monotonic_s() - self._begun_s
        early_s = self._paced_rows / self._rows_per_second - taken_s
        if early_s > 0:
            self._runtime.sleep(early_s)

    def _report(self, phase: str, ranges: Sequence[BuildRange]) -> None:
        done = sum(fraction_of(each) for each in ranges)
        self._tell(BuildProgress(phase, self._rows, done / len(ranges)))

    def _run_many(self, protocols: Sequence[Protocol[R]]) -> list[R]:
        return [outcome.result() for outcome in self._runtime.run_many(protocols)]

    def _exists(self, table: str) -> bool:
        return self._run(described(table)) is not None

    def _refreshed(self) -> CatalogEntry:
        return self._scrubber.refreshed()

    def _index_of(self, entry: CatalogEntry) -> CatalogIndex | None:
        return entry.indexes.get(self._name)


def _left(each: BuildRange) -> KeyRange:
    return KeyRange(each.start if each.next is None else each.next, each.stop or None)


def _after(each: BuildRange, page: Sequence[Row]) -> BuildRange:
    """Return how far a range is when a page of it is done; only an empty page is its end."""
    return replace(each, next=page[-1].key + b"\x00" if page else None)


def fraction_of(each: BuildRange) -> float:
    """Return which part of a range is done, as if its row keys were spread evenly.

    Examples:
        >>> fraction_of(BuildRange(b"a", b"c", b"b"))
        0.5
    """
    if each.next is None:
        return 1.0
    start, stop = _number(each.start), _number(each.stop) if each.stop else 1 << 8 * _KEY_BYTES
    return (_number(each.next) - start) / max(1, stop - start)


def _number(key: bytes) -> int:
    return int.from_bytes(key[:_KEY_BYTES].ljust(_KEY_BYTES, b"\x00"), "big")
