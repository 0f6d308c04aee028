"""Runs a statement and measures it: what was sent, what came back, what the client dropped."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any, Final, overload

from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.binding.runtime import Runtime
from hbase_orm.execute import DoubtfulEntry, Meter
from hbase_orm.model import Model
from hbase_orm.ops import Row
from hbase_orm.query import IndexPlan, Measured, Plan, Select
from hbase_orm.reading.related_objects import loader, unattached, with_related
from hbase_orm.reading.stream import planned, rows_in_pages, selected
from hbase_orm.reading.wide_rows import ReadObserver

_MS: Final = 1000.0

BoundOf = Callable[[type[Model]], BoundModel]


def analyzed(stmt: Select[Any], bound_of: BoundOf, runtime: Runtime) -> Plan:
    """Run a statement as `reading.stream` does, and return its plan with what was measured.

    Raises:
        QueryError: The statement cannot be planned.
        GatewayError: A read failed.
    """
    meter = Meter()
    begun_s = time.perf_counter()
    with runtime.through(meter.gateway(runtime.gateway, "plan")) as planning:
        bound = bound_of(stmt.model)
        chosen = planned(stmt, bound, planning)
    planned_s, look_up_ms = time.perf_counter(), meter.waiting_ms
    with (
        runtime.through(meter.gateway(runtime.gateway, "read")) as reading,
        runtime.through(meter.gateway(runtime.gateway, "related")) as relating,
    ):
        load = loader(stmt, bound_of, relating, unattached)
        watched = _Watched()
        with closing(
            rows_in_pages(stmt, chosen, bound, reading, observer=watched, note=watched.note)
        ) as pages:
            results = sum(1 for _ in _results(watched, pages, bound, stmt, load))
    waiting_ms = meter.waiting_ms - look_up_ms
    measured = _measured(chosen, results, watched, meter)
    plan_ms = (planned_s - begun_s) * _MS
    client_ms = max(0.0, (time.perf_counter() - planned_s) * _MS - waiting_ms)
    return replace(
        chosen,
        measured=replace(measured, plan_ms=plan_ms, waiting_ms=waiting_ms, client_ms=client_ms),
    )


def _results(
    watched: _Watched,
    pages: Iterator[Sequence[Row]],
    bound: BoundModel,
    stmt: Select[Any],
    load: Any,
) -> Iterator[Any]:
    seen = pages if stmt.entries is not None else watched.pages(pages)
    if stmt.related:
        return with_related(seen, bound, stmt, load, watched.rows)
    return selected(seen, bound, stmt, watched.rows)


def _measured(chosen: Plan, results: int, watched: _Watched, meter: Meter) -> Measured:
    requests = meter.requests()
    # Of rows that go into groups or a sort there are others than of results.
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
        dropped=watched.checked - kept,
        entries=entries,
        stale=watched.stale,
        requests=requests,
        plan_ms=0.0,
        waiting_ms=0.0,
        client_ms=0.0,
    )


@dataclass(slots=True)
class _Watched(ReadObserver):
    """Sees rows on their way to the conditions.

    Attributes:
        stale: Entries that no row has.
        before: Rows of the pages before the last one.
        kept: Rows that went into groups or a sort; None if there are none of these.
        again: Rows that came once more, for their entries.
    """

    stale: int = 0
    before: int = 0
    kept: int | None = None
    again: int = 0
    _last: _Page | None = None

    def rows(self, rows: Iterable[Any]) -> Iterator[Any]:
        """Yield the rows that fulfil every condition."""
        self.kept = 0
        for row in rows:
            self.kept += 1
            yield row

    @property
    def checked(self) -> int:
        """How many of them were checked against the conditions: a limit leaves out the rest."""
        return self.before + (0 if self._last is None else self._last.reached)

    def note(self, doubtful: Sequence[DoubtfulEntry]) -> None:
        """Note entries that no row has."""
        self.stale += sum(entry.is_stale for entry in doubtful)

    def note_extra_rows(self, rows: int) -> None:
        """Note that rows came once more."""
        self.again += rows

    def pages(self, pages: Iterator[Sequence[Row]]) -> Generator[Sequence[Row], None, None]:
        """Yield the pages."""
        for page in pages:
            yield self.page(page)

    def page(self, rows: Sequence[Row]) -> Sequence[Row]:
        """Return a page that knows how many of its rows were checked."""
        self.before = self.checked
        self._last = _Page(rows)
        return self._last


class _Page(Sequence[Row]):
    """A page of rows that knows how far the last walk through it came."""

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
