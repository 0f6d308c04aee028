"""Builds an index while other processes write its table; an interrupted build can be continued.

A build works in rounds. Each round reads one page of each unfinished range and reindexes the rows
in parallel. Then it stores the progress in the catalog. After a crash, a build repeats at most one
round.

When no process can write any more without maintaining the index, every row is compared with its
entries.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.binding.maintained_indexes import check_indexes
from hbase_orm.binding.table_creation import model_tables as tables
from hbase_orm.binding.table_creation.existing_tables import described
from hbase_orm.binding.table_writer import TableWriter
from hbase_orm.errors import CatalogLeaseError
from hbase_orm.index.catalog import index_steps as build
from hbase_orm.index.catalog.catalog import refuse_other_protocol
from hbase_orm.index.catalog.entry import BuildRange, CatalogEntry, CatalogIndex, IndexState
from hbase_orm.index.catalog.refused_writes import refuse_held
from hbase_orm.index.catalog.registration import newest_epoch, overtake
from hbase_orm.index.entries.index_entries import base_key_of
from hbase_orm.index.entries.targets import GuardedTable, IndexTarget
from hbase_orm.index.upkeep.build_pages import put_entries_of_page
from hbase_orm.index.upkeep.table_pages import scan_page
from hbase_orm.index_admin.catch_up import CatchUp
from hbase_orm.index_admin.lease import lease_on
from hbase_orm.index_admin.pace import RowPace, fraction_of
from hbase_orm.index_admin.reindex import RowReindexer
from hbase_orm.ops import KeyRange, ListRegions, Protocol, Row, Sleep, ask, run_all
from hbase_orm.ops.waits import wait

LEAST_PAGE_ROWS: Final = 20
_LONGEST_NAP_S: Final = 1.0


@dataclass(frozen=True, slots=True)
class BuildProgress:
    """The progress of a build.

    Attributes:
        phase: "rows" while the entries of all rows are put. "wait" until no process uses an old
            catalog entry. "check" while rows are compared with their entries and corrected.
        rows: The number of rows that this process has finished.
        fraction: The finished fraction of the table, from 0 to 1, including the work of other
            processes. It is an estimate, as if row keys were spread evenly in each region.
        left_s: How many seconds are left of the present wait; 0 in the other phases.
    """

    phase: str
    rows: int
    fraction: float
    left_s: float = 0.0


OnProgress = Callable[[BuildProgress], None]


class IndexBuild:
    """The build of one index by one process."""

    def __init__(
        self,
        bound: BoundModel,
        name: str,
        writer: TableWriter,
        *,
        parallel: int,
        settle_s: float,
        rows_per_second: float | None,
        on_progress: OnProgress,
    ) -> None:
        """Prepare the work; nothing is sent.

        Args:
            bound: The bound model.
            name: The name of the index.
            writer: The source of clocks, random numbers and the catalog's entries.
            parallel: The largest number of pages that are read in parallel.
            settle_s: How long, in seconds, another process may use an old catalog entry. This
                includes the time of the last request that it sent under this entry.
            rows_per_second: The largest average number of rows per second; None for no limit.
            on_progress: A function that is called after each round.
        """
        if bound.guarded is None:
            raise AssertionError(bound)
        self._bound = bound
        self._name = name
        self._writer = writer
        self._parallel = parallel
        self._settle_s = settle_s
        self._on_progress = on_progress
        self._whole_table: GuardedTable = bound.guarded
        self._declared: IndexTarget = next(i for i in bound.guarded.indexes if i.name == name)
        self._lease = lease_on(bound, writer, needs=name)
        self._reindexer = RowReindexer(self._lease)
        self._rows = 0
        self._pace = RowPace(rows_per_second, writer.catalog.monotonic_s)
        self._writers_know_s = writer.catalog.monotonic_s()

    @property
    def _table(self) -> str:
        return self._bound.schema.table

    def run(self, *, rebuild: bool) -> Protocol[None]:
        """Build the index; continue where an earlier build stopped.

        Raises:
            ConflictError: The index is being dropped or was dropped. Or the table is being loaded.
                Or rows still lack entries at the end.
            SchemaError: The catalog has other declarations of the indexes. Or rows have guards and
                this program does not write guards, or the reverse. The catalog was not changed.
            HBaseORMError: A read or a write failed; the next build continues where this one ended.
        """
        try:
            yield from self._build(rebuild=rebuild)
        except CatalogLeaseError as error:
            if "row_epoch" not in error.details or not (yield from self._overtake()):
                raise
            yield from self._build(rebuild=rebuild)

    def _overtake(self) -> Protocol[bool]:
        """Raise the catalog's epoch above all epochs in guards; return whether it was raised.

        Nothing is changed if no guard has a greater epoch than the catalog.
        """
        known_epoch = (yield from self._lease.refresh()).epoch
        newest = yield from newest_epoch(self._table, known_epoch=known_epoch)
        self._lease.forget()
        if self._is_lww or (yield from self._lease.refresh()).epoch >= newest:
            return False
        yield from overtake(self._table, newest)
        self._forget_catalog()
        return True

    def _build(self, *, rebuild: bool) -> Protocol[None]:
        entry = yield from self._lease.refresh()
        self._refuse_other_writers(entry)
        yield from self._replace_lost_tables(entry)
        old = entry.indexes.get(self._name)
        if old is not None and old.state is IndexState.READABLE and not old.build:
            old_table = old.table or self._declared.table
            has_table = yield from _exists(old_table)
            if has_table and not rebuild and not old.is_manual:
                return
            if not old.is_manual and not (
                yield from self._stop_reading(old_table, has_readers=has_table)
            ):  # another program has built the index, or made the table again, since it was read
                yield from self._build(rebuild=rebuild)
                return
        index = yield from self._begin()
        if self._is_lww and not index.is_manual:
            yield from self._wait()  # rows have no epoch to show which were written meanwhile
        is_finished = yield from self._backfill(index)
        if not is_finished and not index.is_manual:
            yield from self._catch_up(index)
        yield from build.finish_build(
            self._table, self._name, self._declared.table, index.incarnation
        )
        self._writer.catalog.forget(self._table)
        yield from self._drop_retired()

    def _refuse_other_writers(self, entry: CatalogEntry) -> None:
        """Raise an error if this program may not write the rows; the catalog is not changed yet."""
        refuse_held(self._table, entry, self._writer.catalog.own_holds)
        if self._declared.maintained_by_writes:
            check_indexes(self._bound, entry)
            return
        model = self._bound.schema.model_name
        refuse_other_protocol(self._table, entry, is_lww=self._is_lww, model=model)

    def _replace_lost_tables(self, entry: CatalogEntry) -> Protocol[None]:
        """Create missing tables of other indexes, so that rows can be written.

        Queries do not use these indexes until they are built again.
        """
        lost: list[tuple[IndexTarget, str]] = []
        for index in self._whole_table.maintained:
            known = entry.indexes.get(index.name)
            if index.name == self._name or known is None or not known.is_kept:
                continue
            table = known.table or index.table
            lost += [] if (yield from _exists(table)) else [(index, table)]
        # Another program may have built an index again, or made its base table again, since the
        # entry was read. Then the index has a table of another name, and nothing is missing.
        stopped = False
        for index, table in lost:
            stopped |= yield from self._stop_queries(index, table)
        if not stopped:
            return
        self._forget_catalog()
        # No reader may take an empty table for the index.
        yield from self._pause(0.0)
        for index, table in lost:
            now = yield from self._lease.refresh()
            if now.keeps(index.name, index.table, table):
                yield from tables.ensure_index_table(self._bound, index.name, table)

    def _stop_queries(self, index: IndexTarget, table: str) -> Protocol[bool]:
        """Stop queries from using an index whose table is `table`; return whether it still is."""
        now = yield from build.stop_reading(
            self._table, index.name, is_lww=self._is_lww, seen=table
        )
        return now.keeps(index.name, index.table, table)

    # --- steps ------------------------------------------------------------------------------------

    def _begin(self) -> Protocol[CatalogIndex]:
        regions = yield from ask(ListRegions(self._table))
        declared = self._declared.table
        existing = yield from tables.index_tables([declared])
        entry = yield from build.begin_build(
            self._table,
            self._name,
            self._bound.indexes[self._name],
            build.ranges_of(regions),
            is_manual=not self._declared.maintained_by_writes,
            is_lww=self._is_lww,
            newest_table=max([0, *(build.incarnation_of(declared, each) for each in existing)]),
        )
        index = entry.indexes[self._name]
        new_table = build.table_of(declared, index.incarnation)
        yield from tables.ensure_index_table(self._bound, self._name, new_table)
        if not index.is_manual:
            entry = yield from build.start_writing(
                self._table, self._name, declared, index.incarnation
            )
        self._writers_know_s = self._writer.catalog.monotonic_s()
        self._forget_catalog()
        return entry.indexes[self._name]

    def _stop_reading(self, table: str, *, has_readers: bool) -> Protocol[bool]:
        """Stop queries from using the index; return False if its table is not `table` any more."""
        is_stopped = yield from self._stop_queries(self._declared, table)
        self._writer.catalog.forget(self._table)
        if is_stopped and has_readers:
            yield from self._pause(0.0)
        return is_stopped

    def _backfill(self, index: CatalogIndex) -> Protocol[bool]:
        """Write the entries of all rows; return whether another process finished the build."""
        incarnation = index.incarnation
        while todo := [each for each in index.build if each.next is not None]:
            self._report("rows", index.build)
            done = yield from self._round(index, todo[: self._parallel])
            entry = yield from build.checkpoint(self._table, self._name, incarnation, done)
            index = entry.indexes[self._name]
        if not build.is_built(index, incarnation):
            self._report("rows", index.build)
            return False
        return True

    def _round(
        self, index: CatalogIndex, ranges: Sequence[BuildRange]
    ) -> Protocol[list[BuildRange]]:
        """Process one page of each range; return the ranges with their progress."""
        page_rows = max(LEAST_PAGE_ROWS, self._pace.round_rows // len(ranges))
        pages = yield from run_all([self._page(index, each, page_rows) for each in ranges])
        if not index.is_manual:
            yield from self._reindexer.reindex([row.key for page in pages for row in page])
        yield from self._count(sum(len(page) for page in pages))
        return [_after(each, page) for each, page in zip(ranges, pages, strict=True)]

    def _page(self, index: CatalogIndex, each: BuildRange, page_rows: int) -> Protocol[list[Row]]:
        """Return the next page of rows of a range; for a manual index, also put their entries."""
        table, context = self._whole_table, self._writer.guard_context
        if index.is_manual:
            target = self._target_of(index)
            return put_entries_of_page(table, target, _left(each), page_rows, context)
        columns = tuple(sorted(table.existence_columns))
        return scan_page(self._table, columns, _left(each), page_rows, context)

    def _catch_up(self, index: CatalogIndex) -> Protocol[None]:
        """Wait until every process maintains the index; then correct rows that were written before.

        In a table without guards, the build has already waited before `_backfill`.
        """
        if not self._is_lww:
            yield from self._wait()
        schema = next(i for i in self._bound.schema.indexes if i.name == self._name)
        yield from CatchUp(
            self._whole_table,
            self._target_of(index),
            index,
            base_key_of(schema),
            self._reindexer,
            context=self._writer.guard_context,
            parallel=self._parallel,
            page_rows=self._pace.round_rows,
            after_round=self._after_check,
        ).run()

    def _wait(self) -> Protocol[None]:
        until_s = self._writers_know_s + self._settle_s
        while (left_s := until_s - self._writer.catalog.monotonic_s()) > 0:
            self._on_progress(BuildProgress("wait", self._rows, 1.0, left_s))
            yield from ask(Sleep(min(left_s, _LONGEST_NAP_S)))

    def _pause(self, fraction: float) -> Protocol[None]:
        """Wait for a lease: until no process uses an older catalog entry for queries."""

        def report(left_s: float) -> None:
            self._on_progress(BuildProgress("wait", self._rows, fraction, left_s))

        yield from wait(self._writer.catalog.lease_s, report)

    def _drop_retired(self) -> Protocol[None]:
        index = (yield from self._lease.refresh()).indexes.get(self._name)
        if index is None or not index.retired:
            return
        # Processes with an older catalog entry may still read and write this table.
        yield from self._pause(1.0)
        yield from tables.drop_table(index.retired)
        yield from build.forget_retired(self._table, self._name, index.retired)

    # --- the rest ---------------------------------------------------------------------------------

    @property
    def _is_lww(self) -> bool:
        return self._whole_table.is_lww

    def _target_of(self, index: CatalogIndex) -> IndexTarget:
        table = build.table_of(self._declared.table, index.incarnation)
        return replace(self._declared, table=table)

    def _forget_catalog(self) -> None:
        self._writer.catalog.forget(self._table)
        self._lease.forget()

    def _after_check(self, reindexed: int, compared: int) -> Protocol[None]:
        yield from self._count(reindexed)
        yield from self._pace.keep(compared)
        self._on_progress(BuildProgress("check", self._rows, 1.0))

    def _count(self, rows: int) -> Protocol[None]:
        """Count finished rows, and wait if they were processed too fast."""
        self._rows += rows
        return self._pace.keep(rows)

    def _report(self, phase: str, ranges: Sequence[BuildRange]) -> None:
        done = sum(fraction_of(each) for each in ranges)
        self._on_progress(BuildProgress(phase, self._rows, done / len(ranges)))


def _exists(table: str) -> Protocol[bool]:
    return (yield from described(table)) is not None


def _left(each: BuildRange) -> KeyRange:
    return KeyRange(each.start if each.next is None else each.next, each.stop or None)


def _after(each: BuildRange, page: Sequence[Row]) -> BuildRange:
    """Return a range's progress after `page`: the range is finished if the page is empty."""
    return replace(each, next=page[-1].key + b"\x00" if page else None)
