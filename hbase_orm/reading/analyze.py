"""Runs a statement and measures its requests, the fetched rows, and the rows the client drops."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, overload

from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.binding.runtime import Runtime
from hbase_orm.execute import CorruptRows, DoubtfulEntry, Emit, Meter, MeteredGateway, Rows, through
from hbase_orm.model import Model
from hbase_orm.ops import Protocol, Row
from hbase_orm.query import IndexPlan, Measured, Plan, Select
from hbase_orm.reading.related_objects import Load, loader, unattached, with_related
from hbase_orm.reading.stream import planned, read_of, selected
from hbase_orm.reading.wide_rows import ReadObserver

_MS: Final = 1000.0

BoundOf = Callable[[type[Model]], BoundModel]


def analyzed(stmt: Select[Any], bound_of: BoundOf, runtime: Runtime) -> Plan:
    """Run a statement as `reading.stream` does, and return its plan with the measurements.

    Raises:
        QueryError: The statement cannot be planned.
        GatewayError: A read failed.
    """
    meter = Meter()
    begun_s = time.perf_counter()
    metered = meter.gateway(runtime.gateway, "plan")
    with runtime.through(metered) as running:
        bound = bound_of(stmt.model)
        chosen = running.run(planned(stmt, bound, running.writer))
    planned_s, look_up_ms = time.perf_counter(), meter.waiting_ms
    metered.step = "read"
    watched = _Watched()
    rule, model = stmt.corrupt_rule, bound.schema.model_name
    corrupt, of_related = (runtime.corrupt_rows.of(rule, model) for _ in range(2))
    read = read_of(
        stmt, chosen, bound, runtime.writer, corrupt, observer=watched, note=watched.note
    )
    load = partial(_related, loader(stmt, bound_of, unattached, of_related), metered)
    with runtime.through(metered) as running:
        results = _count(running, read.rows, stmt, bound, corrupt, watched=watched, load=load)
    for each in (corrupt, of_related):
        each.report()
    waiting_ms = meter.waiting_ms - look_up_ms
    measured = _measured(chosen, results, watched, meter, corrupt.count)
    plan_ms = (planned_s - begun_s) * _MS
    client_ms = max(0.0, (time.perf_counter() - planned_s) * _MS - waiting_ms)
    return replace(
        chosen,
        measured=replace(measured, plan_ms=plan_ms, waiting_ms=waiting_ms, client_ms=client_ms),
    )


def _count(
    running: Runtime,
    rows: Rows,
    stmt: Select[Any],
    bound: BoundModel,
    corrupt: CorruptRows,
    *,
    watched: _Watched,
    load: Load,
) -> int:
    """Run a read and return how many results it has."""
    if stmt.entries is None:
        rows = through(rows, watched.pass_on)
    if stmt.related:
        rows = with_related(rows, bound, stmt, corrupt, load, kept=watched.rows)
    with closing(running.read(rows)) as pages:
        if stmt.related:
            return sum(map(len, pages))
        return sum(1 for _ in selected(pages, bound, stmt, corrupt, watched.rows))


def _related(load: Load, metered: MeteredGateway, objects: Sequence[Any]) -> Protocol[None]:
    """Load related objects, and count the requests for them under the step "related"."""
    metered.step = "related"
    try:
        yield from load(objects)
    finally:
        metered.step = "read"


def _measured(
    chosen: Plan, results: int, watched: _Watched, meter: Meter, corrupt: int
) -> Measured:
    requests = meter.requests()
    # With groups or a sort, the number of matching rows differs from the number of results.
    kept = results if watched.kept is None else watched.kept
    tables = chosen.tables
    came = [each for each in requests if each.step == "read"]
    has_own_rows = chosen.schema.storage.has_own_rows
    entries = 0
    if isinstance(chosen, IndexPlan):
        entries = sum(each.rows for each in came if each.table == chosen.index.table)
    return Measured(
        results=results,
        fetched=sum(
            each.rows if has_own_rows else each.cells for each in came if each.table in tables
        )
        - watched.again,
        kept=kept,
        dropped=watched.checked - kept - corrupt,
        entries=entries,
        stale=watched.stale,
        requests=requests,
        plan_ms=0.0,
        waiting_ms=0.0,
        client_ms=0.0,
        corrupt=corrupt,
    )


@dataclass(slots=True)
class _Watched(ReadObserver):
    """Counts the rows that a read checks, and the stale index entries that it reads.

    Attributes:
        stale: The number of stale index entries, which their rows no longer have.
        before: The number of checked rows in all pages before the last one.
        kept: The number of matching rows that were grouped or sorted; None without groups and sort.
        again: The number of rows that were read again, for a range of dynamic columns.
    """

    stale: int = 0
    before: int = 0
    kept: int | None = None
    again: int = 0
    _last: _Page | None = None

    def rows(self, rows: Iterable[Any]) -> Iterator[Any]:
        """Yield the matching rows unchanged, and count them in `kept`."""
        self.kept = self.kept or 0
        for row in rows:
            self.kept += 1
            yield row

    @property
    def checked(self) -> int:
        """The number of rows that were checked against the conditions.

        If a limit ends the read early, the remaining rows of the page are not checked.
        """
        return self.before + (0 if self._last is None else self._last.reached)

    def note(self, doubtful: Sequence[DoubtfulEntry]) -> None:
        """Count the stale entries among the doubtful ones (stale or not verified)."""
        self.stale += sum(entry.is_stale for entry in doubtful)

    def note_extra_rows(self, rows: int) -> None:
        """Add `rows`, a number of rows that were read again, to `again`."""
        self.again += rows

    def pass_on(self, emit: Emit) -> Rows:
        """Emit the rows as a page that counts how many of its rows are checked."""
        yield replace(emit, rows=self.page(emit.rows))

    def page(self, rows: Sequence[Row]) -> Sequence[Row]:
        """Return the rows as a page that counts how many of its rows are checked."""
        self.before = self.checked
        self._last = _Page(rows)
        return self._last


class _Page(Sequence[Row]):
    """A page of rows that counts how many of its rows the last iteration returned."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self._rows = rows
        self.reached = 0

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Row]: ...
    def __getitem__(self, index: int | slice) -> Row | Sequence[Row]:
        return self._rows[index]

    def __iter__(self) -> Iterator[Row]:
        for reached, row in enumerate(self._rows, 1):
            self.reached = reached
            yield row
