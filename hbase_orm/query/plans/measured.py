"""What running a plan showed, as a frozen value that prints with it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Final

from hbase_orm.query.plans.explain import tree

_SHOWN: Final = 24
"""Most lines of requests that are printed: with a table for each day there may be hundreds."""


@dataclass(frozen=True, slots=True)
class Requests:
    """Requests of one kind to one table in one step.

    Attributes:
        step: "plan" looks names up, "read" reads what the statement selects, "related" what it
            loads with that.
        kind: "open", "fetch" and "close" a scanner, "get", "multi-get", or another request.
        table: The table.
        count: How many were sent.
        rows: Rows, or index entries, that came back.
        cells: Their cells.
        size_bytes: Their row keys, columns and values; what the wire adds is not counted.
        time_ms: How long they took, each counted by itself.
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
        """Return it as one line."""
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
    """What running a plan showed.

    Attributes:
        results: What the statement gave: objects, values or groups.
        fetched: Rows of the base table that came back, of packed cells the cells.
        kept: Rows that fulfil every condition, up to the limit.
        dropped: Rows that the client looked at and that are not selected.
        entries: Index entries that came back.
        stale: Entries whose row is gone, or no longer has the entry.
        requests: What was sent, in the order of each kind's first.
        plan_ms: Planning, its look-ups included.
        waiting_ms: Some request was under way, after planning.
        client_ms: The rest: making, checking and merging objects.
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

    @property
    def unused(self) -> int:
        """Rows that came back and were not looked at: beyond the limit, or not in a range."""
        rows = self.entries - self.stale if self.entries else self.fetched
        return max(0, rows - self.kept - self.dropped)

    @property
    def total_ms(self) -> float:
        """The whole."""
        return self.plan_ms + self.waiting_ms + self.client_ms

    @property
    def size_bytes(self) -> int:
        """Row keys, columns and values of everything that came back."""
        return sum(each.size_bytes for each in self.requests)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {
            **asdict(self),
            "unused": self.unused,
            "size_bytes": self.size_bytes,
            "total_ms": self.total_ms,
            "requests": [asdict(each) for each in self.requests],
        }

    def __str__(self) -> str:
        """Return it as a tree."""
        return tree(f"measured: {self.total_ms:.1f} ms", self._lines())

    def _lines(self) -> list[str]:
        rows = f"{self.fetched} fetched, {self.kept} kept, {self.dropped} dropped by the client"
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
