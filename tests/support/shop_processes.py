"""Processes of one shop, on one gateway and one clock, for tests of an index's life."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import TypeVar, cast

from hbase_orm import Engine, Family, Index, Key, Mapped, Model, codecs, column, key
from hbase_orm.binding.runtime import Runtime
from hbase_orm.binding.url import parse_url
from hbase_orm.gateway.base import Feature, Gateway
from hbase_orm.gateway.memory.gateway import MemoryGateway
from hbase_orm.ops import ListRegions, Operation, RegionRange

R = TypeVar("R")

OPTIONS = replace(parse_url("memory://"), scheme="hbase", timeout_s=5.0, pool=1)


class OldOrder(Model, table="orders"):
    """The orders as a program declares them that was started before the index was."""

    d = Family()
    number: Key[int] = key(codecs.uint16())
    customer: Mapped[str | None] = column(d, default=None)
    state: Mapped[str] = column(d)
    by_state = Index(state)


class Order(Model, table="orders"):
    d = Family()
    number: Key[int] = key(codecs.uint16())
    customer: Mapped[str | None] = column(d, default=None)
    state: Mapped[str] = column(d)
    by_state = Index(state)
    by_customer = Index(customer)


class RenamedOrder(Model, table="orders"):
    """The orders with another name of an indexed field."""

    d = Family()
    number: Key[int] = key(codecs.uint16())
    customer: Mapped[str | None] = column(d, default=None)
    status: Mapped[str] = column(d, "state")
    by_state = Index(status)


class TurnedOrder(Model, table="orders"):
    """The orders with another declaration of an index."""

    d = Family()
    number: Key[int] = key(codecs.uint16())
    customer: Mapped[str | None] = column(d, default=None)
    state: Mapped[str] = column(d)
    by_state = Index(state)
    by_customer = Index(customer.desc())


class OrderByShop(Model, table="orders"):
    """The orders with another row key."""

    d = Family()
    shop: Key[str] = key()
    number: Key[int] = key(codecs.uint16())
    customer: Mapped[str | None] = column(d, default=None)
    state: Mapped[str] = column(d)
    by_state = Index(state)
    by_customer = Index(customer)


@dataclass
class Clock:
    """Stands still but for sleepers; `on_sleep` is told of each."""

    now_s: float = 0.0
    on_sleep: list[Callable[[], None]] = field(default_factory=list)

    def __call__(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds
        for each in self.on_sleep:
            each()


class CrashError(BaseException):
    """Ends a process: no `except Exception` of the code under test holds it back."""


class Process:
    """One process's gateway: counts its requests, and does something before each."""

    def __init__(self, inner: Gateway, before: Callable[[int], None] = lambda _: None) -> None:
        self._inner = inner
        self._before = before
        self.requests = 0

    @property
    def features(self) -> frozenset[Feature]:
        return self._inner.features

    def execute(self, operation: Operation[R], /) -> R:
        self._before(self.requests)
        self.requests += 1
        if isinstance(operation, ListRegions):
            return cast("R", self._regions())
        return self._inner.execute(operation)

    def _regions(self) -> list[RegionRange]:
        edges = (b"", b"\x00\x0a", b"\x00\x14", None)
        return [RegionRange(start or b"", stop, "here") for start, stop in pairwise(edges)]

    def close(self) -> None:
        """Leave the shared gateway open."""


def crash_at(number: int) -> Callable[[int], None]:
    """Return what ends a process before its request of this number, from 0."""

    def before(request: int) -> None:
        if request >= number:
            raise CrashError

    return before


def engine_on(gateway: Gateway, clock: Clock) -> Engine:
    """Return the engine of a process of its own."""
    engine = Engine(gateway, OPTIONS)
    engine._runtime = Runtime(
        gateway,
        parallel=1,
        monotonic_s=clock,
        sleep=clock.sleep,
        repairs_on_read=True,
    )
    return engine


def orders(count: int = 30) -> MemoryGateway:
    """Return a gateway with so many orders that were written before the index was declared."""
    gateway = MemoryGateway()
    engine = engine_on(gateway, Clock())
    engine.create_tables(OldOrder)
    with engine.session() as session:
        session.add_all(
            OldOrder(number=n, customer=f"c{n % 4}" if n % 5 else None, state="new")
            for n in range(count)
        )
    return gateway
