"""Measures requests to the gateway: their number, answers and durations."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from hbase_orm.gateway.base import Feature, Gateway, execute_within
from hbase_orm.ops import CloseScanner, FetchRows, GetRows, OpenScanner, Operation, Row, ScannerId
from hbase_orm.query.plans.measured import Requests

R = TypeVar("R")

_KINDS: Final = {OpenScanner: "open", FetchRows: "fetch", CloseScanner: "close"}
_MS: Final = 1000.0


@dataclass(slots=True)
class _Count:
    requests: int = 0
    rows: int = 0
    cells: int = 0
    size_bytes: int = 0
    time_s: float = 0.0


class Meter:
    """Counts the requests to the gateways that its method `gateway` wraps. Threads may share it."""

    def __init__(self, clock_s: Callable[[], float] = time.perf_counter) -> None:
        """Start with empty counts."""
        self._clock_s = clock_s
        self._counts: dict[tuple[str, str, str], _Count] = {}
        self._tables: dict[ScannerId, str] = {}
        self._under_way = 0
        self._busy_since_s = 0.0
        self._busy_s = 0.0
        self._lock = threading.Lock()

    def gateway(self, inner: Gateway, step: str) -> MeteredGateway:
        """Return a gateway that sends through `inner` and counts requests under a step's name."""
        return MeteredGateway(inner, self, step)

    @property
    def waiting_ms(self) -> float:
        """The time in which at least one request was in progress, in milliseconds."""
        return self._busy_s * _MS

    def requests(self) -> tuple[Requests, ...]:
        """Return the counts by step, kind and table, in the order of the first request of each."""
        return tuple(
            Requests(
                *place,
                count=counted.requests,
                rows=counted.rows,
                cells=counted.cells,
                size_bytes=counted.size_bytes,
                time_ms=counted.time_s * _MS,
            )
            for place, counted in self._counts.items()
        )

    def begin(self, operation: Operation[Any], step: str) -> tuple[_Count, float]:
        """Record the start of a request; return the value to pass to `end` as `begun`."""
        with self._lock:
            now_s = self._clock_s()
            if not self._under_way:
                self._busy_since_s = now_s
            self._under_way += 1
            place = (step, _kind(operation), self._table(operation))
            count = self._counts.setdefault(place, _Count())
            count.requests += 1
            return count, now_s

    def end(self, begun: tuple[_Count, float], operation: Operation[Any], answer: Any) -> None:
        """Record the end of a request with its `answer`, which is None after an error."""
        count, begun_s = begun
        with self._lock:
            now_s = self._clock_s()
            self._under_way -= 1
            if not self._under_way:
                self._busy_s += now_s - self._busy_since_s
            count.time_s += now_s - begun_s
            if isinstance(operation, OpenScanner) and isinstance(answer, ScannerId):
                self._tables[answer] = operation.scan.table
            rows = answer if isinstance(answer, (list, tuple)) else ()
            for row in rows:
                if isinstance(row, Row):
                    count.rows += 1
                    count.cells += len(row.cells)
                    count.size_bytes += _size_bytes(row)

    def _table(self, operation: Any) -> str:
        if isinstance(operation, OpenScanner):
            return operation.scan.table
        if isinstance(operation, (FetchRows, CloseScanner)):
            return self._tables.get(operation.scanner, "")
        table: str = getattr(operation, "table", "")
        return table


class MeteredGateway:
    """A gateway whose requests a meter counts.

    Attributes:
        step: The name of the step under which the next requests are counted.
    """

    def __init__(self, inner: Gateway, meter: Meter, step: str) -> None:
        """Send requests through `inner`; `meter` counts them under `step`."""
        self._inner = inner
        self._meter = meter
        self.step = step
        self.timeout_s: float | None = getattr(inner, "timeout_s", None)

    @property
    def features(self) -> frozenset[Feature]:
        """The features of the inner gateway."""
        return self._inner.features

    def execute(self, operation: Operation[R], /) -> R:
        """Send one request and return its answer."""
        return self._counted(operation, self._inner.execute)

    def execute_within(self, operation: Operation[R], timeout_s: float, /) -> R:
        """Send one request with a time limit of `timeout_s` seconds."""
        return self._counted(operation, lambda each: execute_within(self._inner, each, timeout_s))

    def _counted(self, operation: Operation[R], execute: Callable[[Operation[R]], R]) -> R:
        begun = self._meter.begin(operation, self.step)
        answer: R | None = None
        try:
            answer = execute(operation)
        finally:
            self._meter.end(begun, operation, answer)
        return answer

    def close(self) -> None:
        """Close the inner gateway."""
        self._inner.close()


def _kind(operation: Operation[Any]) -> str:
    if isinstance(operation, GetRows):
        return "get" if len(operation.keys) == 1 else "multi-get"
    return _KINDS.get(type(operation), type(operation).__name__)


def _size_bytes(row: Row) -> int:
    cells = sum(len(column) + len(cell.value) for column, cell in row.cells.items())
    return len(row.key) + cells
