"""The measurements of a plan that was run, as a frozen value that prints with the plan."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Final

from hbase_orm.query.plans.explain import tree

_SHOWN: Final = 24
"""The most lines of requests that are printed: a table for each day may make hundreds of them."""


@dataclass(frozen=True, slots=True)
class Requests:
    """The requests of one kind to one table, in one step of a statement.

    Attributes:
        step: "plan" (look-ups of names), "read" (the rows) or "related" (the related rows).
        kind: "open", "fetch" or "close" (of a scanner), "get", "multi-get", or another request.
        table: The table.
        count: The number of requests.
        rows: The number of rows or index entries in the answers.
        cells: The number of cells in the answers.
        size_bytes: The size of the row keys, columns and values, without the overhead of the
            protocol.
        time_ms: The sum of the requests' durations, in milliseconds.
    """

    step: str
    kind: str
    table: str
    count: int
    rows: int
    cells: int
    size_bytes: int
    time_ms: float

    def __str__(self) -> str:
        """Return the requests as one line."""
        parts = [f"{self.count} request{'' if self.count == 1 else 's'}"]
        if self.rows:
            parts.append(f"{self.rows} row{'' if self.rows == 1 else 's'}")
            parts.append(f"{self.size_bytes} bytes")
        where = f"{self.kind} {self.table}".strip()
        if self.step == "related":
            where = f"related: {where}"
        return f"{where}: {', '.join(parts)}, {self.time_ms:.1f} ms"


@dataclass(frozen=True, slots=True)
class Measured:
    """The measurements of a plan that was run.

    Attributes:
        results: The number of results: objects, values or groups.
        fetched: The rows of the base table that were fetched. For a model whose objects are single
            cells, the cells that were fetched.
        kept: The rows that fulfil every condition, up to the limit.
        dropped: The rows that the client checked and that do not fulfil every condition.
        entries: The index entries that were fetched.
        stale: The entries whose row does not exist or no longer has the entry.
        requests: The requests by kind, in the order of the first request of each kind.
        plan_ms: The time of planning, with its look-ups, in milliseconds.
        waiting_ms: The time, after planning, in which at least one request was in progress.
        client_ms: The rest of the time, in which the client made, checked and merged objects.
        corrupt: The rows that were left out because they do not decode.
    """

    results: int
    fetched: int
    kept: int
    dropped: int
    entries: int
    stale: int
    requests: tuple[Requests, ...]
    plan_ms: float
    waiting_ms: float
    client_ms: float
    corrupt: int = 0

    @property
    def unused(self) -> int:
        """The rows that were fetched but not checked: after the limit, or outside the ranges."""
        rows = self.entries - self.stale if self.entries else self.fetched
        return max(0, rows - self.kept - self.dropped - self.corrupt)

    @property
    def total_ms(self) -> float:
        """The whole time in milliseconds."""
        return self.plan_ms + self.waiting_ms + self.client_ms

    @property
    def size_bytes(self) -> int:
        """The size of the row keys, columns and values in all answers."""
        return sum(each.size_bytes for each in self.requests)

    def to_dict(self) -> dict[str, Any]:
        """Return the measurements as a dict of plain values."""
        return {
            **asdict(self),
            "unused": self.unused,
            "size_bytes": self.size_bytes,
            "total_ms": self.total_ms,
            "requests": [asdict(each) for each in self.requests],
        }

    def __str__(self) -> str:
        """Return the measurements as a tree of lines."""
        return tree(f"measured: {self.total_ms:.1f} ms", self._lines())

    def _lines(self) -> list[str]:
        rows = f"{self.fetched} fetched, {self.kept} kept, {self.dropped} dropped by the client"
        if self.corrupt:
            rows += f", {self.corrupt} corrupt"
        if self.unused:
            rows += f", {self.unused} not needed"
        lines = [f"rows: {rows}"]
        if self.results != self.kept:
            lines.append(f"results: {self.results}")
        if self.entries:
            lines.append(f"entries: {self.entries} fetched, {self.stale} stale")
        return [
            *lines,
            tree(f"plan: {self.plan_ms:.1f} ms", self._sent("plan")),
            tree(f"read: {self.waiting_ms:.1f} ms", self._sent("read", "related")),
            f"client: {self.client_ms:.1f} ms",
        ]

    def _sent(self, *steps: str) -> list[str]:
        sent = [str(each) for each in self.requests if each.step in steps]
        more = [f"… {len(sent) - _SHOWN} more"] if len(sent) > _SHOWN else []
        return sent[:_SHOWN] + more
