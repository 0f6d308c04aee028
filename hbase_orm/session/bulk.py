"""Writes any number of rows in constant memory.

Rows are encoded by the caller's thread and sent in batches by a few others, so that encoding and
waiting overlap; at most `IN_FLIGHT` batches are under way, in loads `LOADS_IN_FLIGHT`, each of at
most `BATCH_BYTES` or of one row, and at most `WAITING_BATCHES` more wait, whatever number of tables
they are for. Rows with guards go through the index protocol, or, while their table is being loaded,
as plain batches that carry their guards.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import timedelta
from types import TracebackType
from typing import Any, Final, Self

from hbase_orm.errors import (
    DuplicateRowError,
    FlushError,
    QueryError,
    RowKeyError,
    ValidationError,
)
from hbase_orm.gateway.team import Team
from hbase_orm.index import catalog
from hbase_orm.model import Model
from hbase_orm.session.binding import BoundModel
from hbase_orm.session.bulk_block import BulkBlock
from hbase_orm.session.carriers import FlatCarrier, Load, begin_load, carriers_of
from hbase_orm.session.hooks import prepare
from hbase_orm.session.lanes import Lane, Lanes, Sent
from hbase_orm.session.options import options_of
from hbase_orm.session.origins import refuse_incomplete
from hbase_orm.session.pending import number_names
from hbase_orm.session.runtime import Runtime
from hbase_orm.session.unit_of_work import (
    FlushReport,
    Outcome,
    RowWrite,
    check_entries,
    described,
)
from hbase_orm.session.without_guards import refuse_without_guards

IN_FLIGHT: Final = 3
"""How many batches are under way at once, unless it is said."""

LOADS_IN_FLIGHT: Final = 6
"""The same of a load, whose batches are two requests one after the other: entries, then rows."""

NAMES_AHEAD: Final = 100
"""Objects held at once so that their new names are numbered by few requests."""

Progress = Callable[[FlushReport], None]
"""Told after each batch what was written so far."""


class Bulk:
    """A bulk writer; use it as a context manager, for its rows are all sent only at the end.

    Attributes:
        report: What was written so far.
    """

    def __init__(
        self,
        runtime: Runtime,
        bound_of: Callable[[type[Model]], BoundModel],
        refuse_closed: Callable[[], None],
        *,
        batch_rows: int,
        insert_only: bool,
        parallel: int | None = None,
        progress: Progress | None = None,
    ) -> None:
        """Prepare; nothing is sent.

        Raises:
            QueryError: `batch_rows` or `parallel` is not a positive integer.
        """
        sizes = {"batch_rows": batch_rows, "parallel": IN_FLIGHT if parallel is None else parallel}
        for name, number in sizes.items():
            if not isinstance(number, int) or isinstance(number, bool) or number < 1:
                raise QueryError(
                    "the argument must be a positive integer",
                    argument=name,
                    got=number,
                    fix="write bulk(batch_rows=1000, parallel=3)",
                )
        self.report = FlushReport()
        self._runtime = runtime
        self._bound_of = bound_of
        self._refuse_closed = refuse_closed
        self._batch_rows = batch_rows
        self._insert_only = insert_only
        self._lanes = Lanes(batch_rows)
        self._parallel = parallel
        self._progress = progress
        self._flat: dict[type[Model], tuple[Lane, FlatCarrier]] = {}
        self._at_hand: tuple[Lane, Any] | None = None
        self._ahead: deque[Model] = deque()
        self._block = BulkBlock()
        self._threads: Team
        self._under_way: deque[Sent] = deque()
        self._failed = Outcome()

    def add(self, obj: Model, /, *, ttl: timedelta | None = None) -> None:
        """Take one object to write: its non-None cells are put.

        Deferred fields that it was read without are left alone, where they are not required.
        Its `before_put` is called; `after_put` is not, for objects are not kept.

        Args:
            obj: The object.
            ttl: How long its cells live, if that is shorter than their family's ttl. Plain models
                only.

        Raises:
            ValidationError, RowKeyError: The object cannot be encoded, or it lacks deferred fields:
                required ones, or any if it is to be inserted, its row was deleted, or it is of the
                past; the others are not touched.
            CorruptRowError: In a load, the codec of an indexed field does not read what it wrote;
                elsewhere the flush of the batch reports it. The others are not touched.
            DuplicateRowError: The row was just added to a load; this one is not written.
            FlushError: Rows taken before were not all written. That ends the bulk writer.
            QueryError: The block has not begun, or it has ended, also by an error; another thread,
                or in this thread a hook or the progress function, calls while a row is taken; this
                is a forked child. The object is not taken, and the others are not touched.
            ConfigurationError: The session is closed. The object is not taken.
        """
        with self._block:
            self._refuse_closed()
            self._take_ahead()
            self._encode(obj, ttl)

    def _encode(self, obj: Model, ttl: timedelta | None = None) -> None:
        known = self._flat.get(type(obj))
        if known is None or ttl is not None or not self._take_flat(*known, obj):
            self._add_write(obj, ttl)

    def _take_flat(self, lane: Lane, carrier: FlatCarrier, obj: Model) -> bool:
        """Take an object as a flat row; say whether it could be made one."""
        key = carrier.shape.encode_key(obj.__dict__)
        flat = carrier.item(obj, key)
        if flat is None:
            return False
        self._take(lane, key, *flat)
        return True

    def _add_write(self, obj: Model, ttl: timedelta | None) -> None:
        lane = self._lanes.get(type(obj))
        bound = self._bound_of(type(obj)) if lane is None else lane.bound
        if bound.schema.layout.table_period is not None:
            bound = self._bound_of(type(obj)).placed(obj.__dict__)
            lane = self._lanes.get(bound.schema.table)
        if self._insert_only:
            refuse_without_guards(bound.schema, bound.guarded, "bulk(insert_only=True)")
        prepare(bound, obj, "whole")
        refuse_incomplete(bound, obj, is_new=self._insert_only)
        key = bound.key(obj)
        cells = bound.cells(obj, key)
        check_entries(bound, key, cells)
        if lane is None:
            lane = self._lane(bound)
            known = self._flat.get(type(obj))
            if known is not None and ttl is None and self._take_flat(*known, obj):
                return
        write = RowWrite(bound, None, key, "insert" if self._insert_only else "put", cells)
        if ttl is not None:
            write = options_of(bound, ttl, None).of(write)
        carrier = lane.carrier
        item = carrier.item(write) if isinstance(carrier, Load) else write
        self._take(lane, key, item, write.size_bytes)

    def _take(self, lane: Lane, key: bytes, item: Any, size_bytes: int) -> None:
        """Let a row wait in a lane; send what is full, and what must be written before it.

        What is raised here may leave rows unsent, so that it ends the bulk writer; but not the
        refusal of a row that stands twice in a load.
        """
        waiting, is_under_way = self._earlier(lane, key)
        try:
            self._at_hand = lane, item
            self._keep_order(waiting, is_under_way=is_under_way)
            while full := self._lanes.too_full(lane, size_bytes):
                self._submit(full)
            self._lanes.put(lane, key, item, size_bytes)
            self._at_hand = None
            if len(lane.batch) >= self._batch_rows:
                self._submit(lane)
        except BaseException as error:
            self._block.end(error)
            raise

    def add_all(self, objects: Iterable[Model], /) -> None:
        """Take many objects, one after the other.

        Names that need a number get theirs up to `NAMES_AHEAD` objects at a time. What was read is
        taken, also if `objects` raises, or one that was read before does not fit. A generator may
        call `add` of this bulk writer.

        Raises:
            HBaseORMError: As `add`.
        """
        self._block.check()
        try:
            for obj in objects:
                # A model that has a lane and no names to look up needs no more questions.
                if self._ahead or self._has_new_name(obj):
                    self._read_ahead(obj)
                else:
                    self.add(obj)
        finally:
            if self._ahead and self._block.ended_by is None:
                with self._block:
                    self._take_ahead()

    def _read_ahead(self, obj: Model) -> None:
        """Let an object wait until the names of many are numbered at once."""
        self._block.check()
        self._ahead.append(obj)
        if len(self._ahead) >= NAMES_AHEAD:
            with self._block:
                self._take_ahead()

    def _take_ahead(self) -> None:
        """Number the names of the objects read ahead and take them, also behind a misfit."""
        if not self._ahead or self._block.ended_by is not None:
            return
        try:
            with suppress(RowKeyError, ValidationError):  # the misfit is refused below
                number_names([(obj, "put") for obj in self._ahead], self._bound_of)
        except BaseException as error:
            self._block.end(error)
            raise
        try:
            while self._ahead:
                self._encode(self._ahead.popleft())
        finally:
            self._take_ahead()

    def _has_new_name(self, obj: Model) -> bool:
        model = type(obj)
        if model in self._flat:
            return False  # such a model has no names to look up
        lane = self._lanes.get(model)
        bound = self._bound_of(model) if lane is None else lane.bound
        return bool(bound.schema.layout.lookups) and not bound.knows_names(obj.__dict__)

    def __enter__(self) -> Self:
        """Begin the block and return the writer.

        Raises:
            QueryError: It had its block before.
        """
        self._block.begin()
        self._threads = Team(self._parallel or LOADS_IN_FLIGHT, "hbase-orm-bulk")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> None:
        """Send what is left and wait for every answer; after an exception send nothing more.

        In a forked child nothing is sent: the rows are the parent's.

        Raises:
            FlushError: Some rows were not written, or their outcome is unknown.
        """
        if not self._block.close():
            return
        try:
            if kind is None:
                self._finish()
            else:
                self._progress = None
                self._settle()
        finally:
            self._threads.close()

    def _earlier(self, lane: Lane, key: bytes) -> tuple[list[Lane], bool]:
        """Return the lanes where earlier writes of a row wait, and whether one is under way.

        Raises:
            DuplicateRowError: The row is in a load, whose entries of both would have one timestamp.
        """
        waiting = self._lanes.holding(lane.table, key)
        under_way = False
        for sent in self._under_way:
            under_way |= key in sent.rows and sent.lane.table == lane.table
        if lane.carrier.ticket is not None and (waiting or under_way):
            raise DuplicateRowError(
                "the row stands twice in a load",
                table=lane.table,
                row=key,
                fix="load each row once, or leave out insert_only",
            )
        return waiting, under_way

    def _keep_order(self, waiting: list[Lane], *, is_under_way: bool) -> None:
        """Let earlier writes of a row end first: batches run side by side."""
        for other in waiting:
            self._submit(other)
        if waiting or is_under_way:
            self._settle()

    def _finish(self) -> None:
        try:
            self._take_ahead()
        finally:
            self._send_rest()

    def _send_rest(self) -> None:
        for lane in self._lanes:
            self._submit(lane)
        self._settle()
        self._refuse_failed()
        loads = {
            lane.table: lane.carrier.ticket
            for lane in self._lanes
            if lane.carrier.ticket is not None
        }
        for table, ticket in loads.items():
            self._runtime.run(catalog.finish_loading(table, ticket))

    def _lane(self, bound: BoundModel) -> Lane:
        """Make the lanes of a model; return the one that takes any row."""
        load = begin_load(bound, self._runtime) if self._insert_only else None
        any_row, flat_rows = carriers_of(bound, load, self._runtime)
        lane = Lane(bound, any_row)
        self._lanes.add(lane)
        if flat_rows is not None:
            flat_lane = Lane(bound, flat_rows)
            self._lanes.add(flat_lane)
            self._flat[bound.model] = flat_lane, flat_rows
        return lane

    def _submit(self, lane: Lane) -> None:
        if not lane.batch:
            return
        most = IN_FLIGHT if lane.carrier.ticket is None else LOADS_IN_FLIGHT
        while len(self._under_way) >= (self._parallel or most):
            self._collect(self._under_way.popleft())
        self._refuse_failed()
        rows = lane.batch
        sending = self._threads.begin(lane.carrier.send, tuple(rows.values()))
        self._under_way.append(Sent(sending, lane, rows))
        self._lanes.cut(lane)

    def _settle(self) -> None:
        while self._under_way:
            self._collect(self._under_way.popleft())

    def _collect(self, sent: Sent) -> None:
        outcome = sent.outcome()
        written = len(sent.rows) - len(outcome.not_written) - len(outcome.unknown)
        self.report = FlushReport(written=self.report.written + written)
        self._failed.not_written += outcome.not_written
        self._failed.unknown += outcome.unknown
        if self._progress is not None and self._block.ended_by is None:
            self._progress(self.report)

    def _refuse_failed(self) -> None:
        ended_by = self._block.ended_by
        if self._failed.not_written or self._failed.unknown or ended_by is not None:
            self._settle()
            raise FlushError(
                "not all rows were written",
                written=self.report.written,
                not_written=described([*self._failed.not_written, *self._held_back()]),
                unknown=described(self._failed.unknown),
                fix="mend the cause and write these rows again",
            ) from self._failed.unexpected or ended_by

    def _held_back(self) -> list[tuple[RowWrite, Any]]:
        """Return the rows that were taken and not sent, because of the first error."""
        failed = [error for _, error in (*self._failed.not_written, *self._failed.unknown)]
        reason = (*failed, self._block.ended_by)[0]
        writes = self._lanes.waiting()
        if self._at_hand is not None:
            lane, item = self._at_hand
            writes += lane.carrier.writes((item,))
        writes += [self._unencoded(obj) for obj in self._ahead]
        return [(write, reason) for write in writes if reason is not None]

    def _unencoded(self, obj: Model) -> RowWrite:
        """Return the write of an object that was read ahead; without a row key if it has none."""
        bound, key = self._bound_of(type(obj)), b""
        with suppress(RowKeyError, ValidationError):
            bound = bound.placed(obj.__dict__)
            key = bound.known_key(obj) or b""
        return RowWrite(bound, None, key, "put")
