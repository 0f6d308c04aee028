"""Writes any number of rows in constant memory.

Rows are encoded by the caller's thread and sent in batches by a few others, so that encoding and
waiting overlap; at most `IN_FLIGHT` batches are under way, each of at most `BATCH_BYTES` or of one
row, and at most `WAITING_BATCHES` more wait, whatever number of tables they are for. Rows with
guards go through the index protocol, or, while their table is being loaded, as plain batches that
carry their guards.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from types import TracebackType
from typing import Any, Final, Self

from hbase_orm.errors import (
    ConflictError,
    DuplicateRowError,
    FlushError,
    GatewayError,
    QueryError,
    RowKeyError,
    ValidationError,
)
from hbase_orm.index import catalog
from hbase_orm.index.loading import LoadedRow, LoadTicket, guarded_load
from hbase_orm.index.targets import RowChange
from hbase_orm.model import Model
from hbase_orm.ops import MutateRows, Protocol, RowMutation, ask, ask_all
from hbase_orm.session.binding import BoundModel
from hbase_orm.session.flush import check_indexes, emit, place
from hbase_orm.session.hooks import prepare
from hbase_orm.session.lanes import Item, Lane, Lanes, Sender
from hbase_orm.session.options import options_of
from hbase_orm.session.pending import number_names
from hbase_orm.session.runtime import Runtime
from hbase_orm.session.unit_of_work import (
    FlushReport,
    Outcome,
    RowWrite,
    check_entries,
    described,
)

IN_FLIGHT: Final = 3

NAMES_AHEAD: Final = 100
"""Objects held at once so that their new names are numbered by few requests."""


@dataclass(frozen=True, slots=True)
class _Sent:
    """A batch under way."""

    future: Future[Outcome]
    lane: Lane
    rows: Mapping[bytes, Item]


class Bulk:
    """A bulk writer; use it as a context manager, for its rows are all sent only at the end.

    Attributes:
        report: What was written so far.
    """

    def __init__(
        self,
        runtime: Runtime,
        bound_of: Callable[[type[Model]], BoundModel],
        *,
        batch_rows: int,
        insert_only: bool,
    ) -> None:
        """Prepare; nothing is sent.

        Raises:
            QueryError: `batch_rows` is not a positive integer.
        """
        if not isinstance(batch_rows, int) or batch_rows < 1:
            raise QueryError(
                "batch_rows must be a positive integer", got=batch_rows, fix="write batch_rows=1000"
            )
        self.report = FlushReport()
        self._runtime = runtime
        self._bound_of = bound_of
        self._batch_rows = batch_rows
        self._insert_only = insert_only
        self._lanes = Lanes(batch_rows)
        self._at_hand: RowWrite | None = None
        self._threads = ThreadPoolExecutor(IN_FLIGHT, thread_name_prefix="hbase-orm-bulk")
        self._under_way: deque[_Sent] = deque()
        self._failed = Outcome()

    def add(self, obj: Model, /, *, ttl: timedelta | None = None) -> None:
        """Take one object to write: its non-None cells are put.

        Args:
            obj: The object.
            ttl: How long its cells live, if that is shorter than their family's ttl. Plain models
                only.

        Raises:
            ValidationError, RowKeyError: The object cannot be encoded; the others are not touched.
            DuplicateRowError: The row was just added to a load; this one is not written.
            FlushError: Rows taken before were not all written.
        """
        lane = self._lanes.get(type(obj))
        bound = self._bound_of(type(obj)) if lane is None else lane.bound
        if bound.schema.layout.table_period is not None:
            bound = self._bound_of(type(obj)).placed(obj.__dict__)
            lane = self._lanes.get(bound.schema.table)
        prepare(bound, obj, "whole")
        key = bound.key(obj)
        cells = bound.cells(obj, key)
        check_entries(bound, key, cells)
        if lane is None:
            lane = self._lane(bound)
        write = RowWrite(bound, None, key, "insert" if self._insert_only else "put", cells)
        if ttl is not None:
            write = options_of(bound, ttl, None).of(write)
        item = (write, None if lane.ticket is None else _loaded(write, lane.ticket))
        self._at_hand = write
        try:
            self._keep_order(lane, key)
            while full := self._lanes.too_full(lane, write.size_bytes):
                self._submit(full)
        finally:
            self._at_hand = None
        self._lanes.put(lane, item)
        if len(lane.batch) >= self._batch_rows:
            self._submit(lane)

    def add_all(self, objects: Iterable[Model], /) -> None:
        """Take many objects, one after the other.

        Names that need a number get theirs up to `NAMES_AHEAD` objects at a time.
        """
        for obj in self._numbered(objects):
            self.add(obj)

    def _numbered(self, objects: Iterable[Model]) -> Iterator[Model]:
        """Yield the objects; from one with a new name on, read ahead and number many at once."""
        ahead: list[Model] = []
        for obj in objects:
            # A model that has a lane and no names to look up needs no more questions.
            lane = self._lanes.get(type(obj))
            has_names = lane is None or lane.bound.schema.layout.lookups
            if not ahead and not (has_names and self._has_new_name(obj)):
                yield obj
                continue
            ahead.append(obj)
            if len(ahead) == NAMES_AHEAD:
                yield from self._with_numbers(ahead)
                ahead = []
        yield from self._with_numbers(ahead)

    def _has_new_name(self, obj: Model) -> bool:
        return not self._bound_of(type(obj)).knows_names(obj.__dict__)

    def _with_numbers(self, objects: Sequence[Model]) -> Sequence[Model]:
        with suppress(RowKeyError, ValidationError):  # `add` tells of the one that does not fit
            number_names([(obj, "put") for obj in objects], self._bound_of)
        return objects

    def __enter__(self) -> Self:
        """Return the writer."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> None:
        """Send what is left and wait for every answer; after an exception send nothing more.

        Raises:
            FlushError: Some rows were not written, or their outcome is unknown.
        """
        try:
            if kind is None:
                self._finish()
            else:
                self._settle()
        finally:
            self._threads.shutdown()

    def _keep_order(self, lane: Lane, key: bytes) -> None:
        """Let earlier writes of a row end first: batches run side by side.

        Raises:
            DuplicateRowError: The row is in a load, whose entries of both would have one timestamp.
        """
        waiting = self._lanes.holding(lane.table, key)
        under_way = False
        for sent in self._under_way:
            under_way |= key in sent.rows and sent.lane.table == lane.table
        if lane.ticket is not None and (waiting or under_way):
            raise DuplicateRowError(
                "the row stands twice in a load",
                table=lane.table,
                row=key,
                fix="load each row once, or leave out insert_only",
            )
        for other in waiting:
            self._submit(other)
        if waiting or under_way:
            self._settle()

    def _finish(self) -> None:
        for lane in self._lanes:
            self._submit(lane)
        self._settle()
        self._refuse_failed()
        for lane in self._lanes:
            if lane.ticket is not None:
                table = lane.bound.schema.table
                self._runtime.run(catalog.finish_loading(table, lane.ticket))

    def _lane(self, bound: BoundModel) -> Lane:
        ticket = self._ticket(bound) if self._insert_only and bound.guarded is not None else None
        lane = Lane(bound, self._sender(ticket), ticket)
        self._lanes.add(lane)
        return lane

    def _sender(self, ticket: LoadTicket | None) -> Sender:
        if ticket is None:
            return lambda items: emit([write for write, _ in items], self._runtime)
        return lambda items: send_load(items, self._runtime)

    def _ticket(self, bound: BoundModel) -> LoadTicket | None:
        context = self._runtime.guard_context
        entry = self._runtime.run(catalog.read_entry(bound.schema.table))
        if entry is not None:
            check_indexes(bound, entry)
        begin = catalog.begin_loading(
            bound.schema.table, now_ms=context.now_ms(), nonce=context.nonce()
        )
        try:
            return self._runtime.run(begin)
        except ConflictError:
            return None  # guarded writers are at work: each row is checked

    def _submit(self, lane: Lane) -> None:
        if not lane.batch:
            return
        while len(self._under_way) >= IN_FLIGHT:
            self._collect(self._under_way.popleft().future)
        self._refuse_failed()
        rows = self._lanes.cut(lane)
        future = self._threads.submit(lane.send, tuple(rows.values()))
        self._under_way.append(_Sent(future, lane, rows))

    def _settle(self) -> None:
        while self._under_way:
            self._collect(self._under_way.popleft().future)

    def _collect(self, future: Future[Outcome]) -> None:
        outcome = future.result()
        self.report = FlushReport(written=self.report.written + len(outcome.written))
        self._failed.not_written += outcome.not_written
        self._failed.unknown += outcome.unknown

    def _refuse_failed(self) -> None:
        if self._failed.not_written or self._failed.unknown:
            self._settle()
            raise FlushError(
                "not all rows were written",
                written=self.report.written,
                not_written=described([*self._failed.not_written, *self._held_back()]),
                unknown=described(self._failed.unknown),
                fix="mend the cause and write these rows again",
            ) from self._failed.unexpected

    def _held_back(self) -> list[tuple[RowWrite, Exception]]:
        """Return the rows that were taken and not sent, because of the first error."""
        _, reason = [*self._failed.not_written, *self._failed.unknown][0]
        writes = self._lanes.waiting()
        if self._at_hand is not None:
            writes.append(self._at_hand)
        return [(write, reason) for write in writes]


def send_load(items: Sequence[Item], runtime: Runtime) -> Outcome:
    """Send rows of a table that is being loaded: entries first, then rows with their guards.

    Everything carries the load's timestamp, so what fails may be sent again, by the same or by
    another process.
    """
    outcome = Outcome()
    writes = [write for write, _ in items]
    table = writes[0].bound.schema.table
    try:
        runtime.run(_load(table, [loaded for _, loaded in items if loaded is not None]))
    except GatewayError as error:
        for write in writes:
            place(write, error, outcome, batch_rows=len(writes))
    else:
        outcome.written += writes
    return outcome


def _loaded(write: RowWrite, ticket: LoadTicket) -> LoadedRow:
    guarded: Any = write.bound.guarded  # a lane with a ticket is a guarded table's
    return guarded_load(guarded, RowChange(write.key, write.puts), ticket)


def _load(table: str, rows: Sequence[LoadedRow]) -> Protocol[None]:
    entries: dict[str, list[RowMutation]] = {}
    for row in rows:
        for index_table, puts in row.entries.items():
            entries.setdefault(index_table, []).extend(puts)
    batches = [MutateRows(index_table, tuple(puts)) for index_table, puts in entries.items()]
    if batches:
        yield from ask_all(batches)
    yield from ask(MutateRows(table, tuple(row.data for row in rows)))
