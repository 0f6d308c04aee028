"""Scans of salt buckets, answered from lists of numbers, that keep requests and ends."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

from hbase_orm import Family, Key, Model, Salt, codecs, key, rowkey
from hbase_orm.errors import ConnectionLostError
from hbase_orm.execute import rows_of
from hbase_orm.execute.steps import Rows
from hbase_orm.ops import (
    CloseScanner,
    FetchRows,
    OpenScanner,
    Operation,
    Row,
    Scan,
    ScannerId,
)
from hbase_orm.query import plan, select


class Salted(Model, table="salted"):
    d = Family()
    n: Key[int] = key(codecs.uint8())
    __rowkey__ = rowkey(Salt(3), n)


def all_rows(*, reverse: bool = False) -> Rows:
    """Return what reads every bucket of `Salted` in one order."""
    stmt = select(Salted).where(Salted.n >= 0).allow_full_scan()
    if reverse:
        stmt = stmt.order_by(Salted.n.desc())
    return rows_of(plan(stmt, Salted.__schema__), None)


def numbers(pages: Iterator[Any]) -> list[int]:
    return [row.key[-1] for page in pages for row in page]


class BucketServer:
    """Executes scans over buckets of numbers; several threads may use it.

    Attributes:
        before: Called with each request before it is answered; may wait or raise.
        lose_next_fetch: Lets the next fetch, and only that, end as a cut connection does.
    """

    def __init__(self, *buckets: list[int], page: int = 1) -> None:
        self.buckets = buckets
        self.page = page
        self.asked: list[Operation[Any]] = []
        self.open: dict[ScannerId, Iterator[list[Row]]] = {}
        self.salts: dict[ScannerId, int] = {}
        self.closed: list[ScannerId] = []
        self.before: Callable[[Operation[Any]], None] = lambda _: None
        self.lose_next_fetch = False
        self._lock = threading.Lock()

    def __call__(self, step: Operation[Any]) -> Any:
        self.before(step)
        with self._lock:
            return self._answer(step)

    def _answer(self, step: Operation[Any]) -> Any:
        self.asked.append(step)
        match step:
            case OpenScanner(scan=scan):
                scanner = ScannerId(len(self.asked), self)
                self.salts[scanner] = scan.key_range.start[0]
                self.open[scanner] = iter(self._pages(scan))
                return scanner
            case FetchRows(scanner=scanner):
                if self.lose_next_fetch:
                    self.lose_next_fetch = False
                    raise ConnectionLostError("cut")
                return next(self.open[scanner], [])
            case CloseScanner(scanner=scanner):
                self.closed.append(scanner)
        return None

    def _pages(self, scan: Scan) -> list[list[Row]]:
        salt = scan.key_range.start[0]
        inside = [k for n in self.buckets[salt] if (k := bytes((salt, n))) in scan.key_range]
        starts = range(0, len(inside), self.page)
        return [[Row(k, {}) for k in inside[i : i + self.page]] for i in starts]

    @property
    def fetched_salts(self) -> list[int]:
        """The buckets that were fetched from, in order."""
        return [self.salts[step.scanner] for step in self.asked if isinstance(step, FetchRows)]

    def is_each_closed_once(self) -> bool:
        return sorted(self.closed) == sorted(self.open)
