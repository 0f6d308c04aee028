"""Writes any number of rows in constant memory.

Rows are encoded by the caller's thread and sent in batches by a few others, so that encoding and
waiting overlap; at most `IN_FLIGHT` batches are under way. Rows with guards go through the index
protocol, or, while their table is being loaded, as plain batches that carry their guards.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Final, Self

from hbase_orm.errors import ConflictError, FlushError, GatewayError, QueryError
from hbase_orm.index import catalog
from hbase_orm.index.loading import LoadTicket, guarded_load
from hbase_orm.index.targets import RowChange
from hbase_orm.model import Model
from hbase_orm.ops import MutateRows, Protocol, RowMutation, ask, ask_all
from hbase_orm.session.binding import BoundModel
from hbase_orm.session.flush import emit, place
from hbase_orm.session.runtime import Runtime
from hbase_orm.session.unit_of_work import FlushReport, Outcome, RowWrite, described

IN_FLIGHT: Final = 3

Sender = Callable[[Sequence[RowWrite]], Outcome]


@dataclass(slots=True)
class _Lane:
    """The rows of one model on their way.

    Attributes:
        bound: The model.
        send: Sends a batch.
        ticket: The load under way, or None.
        batch: Rows not sent yet, by row key.
    """

    bound: BoundModel
    send: Sender
    ticket: LoadTicket | None
    batch: dict[bytes, RowWrite] = field(default_factory=dict)


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
            raise QueryError("batch_rows must be a positive integer", got=batch_rows)
        self.report = FlushReport()
        self._runtime = runtime
        self._bound_of = bound_of
        self._batch_rows = batch_rows
        self._insert_only = insert_only
        self._lanes: dict[type[Model], _Lane] = {}
        self._threads = ThreadPoolExecutor(IN_FLIGHT, thread_name_prefix="hbase-orm-bulk")
        self._under_way: deque[Future[Outcome]] = deque()
        self._failed = Outcome()

    def add(self, obj: Model, /) -> None:
        """Take one object to write: its non-None cells are put.

        Raises:
            ValidationError, RowKeyError: The object cannot be encoded; the others are not touched.
            FlushError: Rows taken before were not all written.
        """
        model = type(obj)
        lane = self._lanes.get(model) or self._lane(model)
        key = lane.bound.key(obj)
        cells = lane.bound.cells(obj)
        if key in lane.batch:
            self._submit(lane)  # the order of two writes to one row is kept
            self._settle()
        kind = "insert" if self._insert_only else "put"
        lane.batch[key] = RowWrite(lane.bound, None, key, kind, cells)  # type: ignore[arg-type]  # a literal
        if len(lane.batch) >= self._batch_rows:
            self._submit(lane)

    def add_all(self, objects: Iterable[Model], /) -> None:
        """Take many objects, one after the other."""
        for obj in objects:
            self.add(obj)

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
        finally:
            self._threads.shutdown()

    def _finish(self) -> None:
        for lane in self._lanes.values():
            self._submit(lane)
        self._settle()
        self._refuse_failed()
        for lane in self._lanes.values():
            if lane.ticket is not None:
                table = lane.bound.schema.table
                self._runtime.run(catalog.finish_loading(table, lane.ticket))

    def _lane(self, model: type[Model]) -> _Lane:
        bound = self._bound_of(model)
        ticket = self._ticket(bound) if self._insert_only and bound.guarded is not None else None
        lane = _Lane(bound, self._sender(ticket), ticket)
        self._lanes[model] = lane
        return lane

    def _sender(self, ticket: LoadTicket | None) -> Sender:
        if ticket is None:
            return lambda writes: emit(writes, self._runtime)
        return lambda writes: send_load(writes, ticket, self._runtime)

    def _ticket(self, bound: BoundModel) -> LoadTicket | None:
        context = self._runtime.guard_context
        begin = catalog.begin_loading(
            bound.schema.table, now_ms=context.now_ms(), nonce=context.nonce()
        )
        try:
            return self._runtime.run(begin)
        except ConflictError:
            return None  # guarded writers are at work: each row is checked

    def _submit(self, lane: _Lane) -> None:
        if not lane.batch:
            return
        while len(self._under_way) >= IN_FLIGHT:
            self._collect(self._under_way.popleft())
        self._refuse_failed()
        self._under_way.append(self._threads.submit(lane.send, tuple(lane.batch.values())))
        lane.batch = {}

    def _settle(self) -> None:
        while self._under_way:
            self._collect(self._under_way.popleft())

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
                not_written=described(self._failed.not_written),
                unknown=described(self._failed.unknown),
                fix="mend the cause and write these rows again",
            )


def send_load(writes: Sequence[RowWrite], ticket: LoadTicket, runtime: Runtime) -> Outcome:
    """Send rows of a table that is being loaded: entries first, then rows with their guards.

    Everything carries the load's timestamp, so what fails may be sent again, by the same or by
    another process.
    """
    outcome = Outcome()
    try:
        runtime.run(_load(writes, ticket))
    except GatewayError as error:
        for write in writes:
            place(write, error, outcome, batch_rows=len(writes))
    else:
        outcome.written += writes
    return outcome


def _load(writes: Sequence[RowWrite], ticket: LoadTicket) -> Protocol[None]:
    entries: dict[str, list[RowMutation]] = {}
    rows: list[RowMutation] = []
    table = writes[0].bound.schema.table
    for write in writes:
        guarded: Any = write.bound.guarded
        loaded = guarded_load(guarded, RowChange(write.key, write.puts), ticket)
        for index_table, puts in loaded.entries.items():
            entries.setdefault(index_table, []).extend(puts)
        rows.append(loaded.data)
    batches = [MutateRows(index_table, tuple(puts)) for index_table, puts in entries.items()]
    if batches:
        yield from ask_all(batches)
    yield from ask(MutateRows(table, tuple(rows)))
