"""What reads through an index put right after their rows, and what they leave."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeVar

import pytest

from hbase_orm import Engine, Family, Index, Key, Mapped, Model, codecs, column, key, select
from hbase_orm.binding.runtime import Runtime
from hbase_orm.binding.url import parse_url
from hbase_orm.errors import ConnectionLostError
from hbase_orm.gateway.memory.gateway import MemoryGateway
from hbase_orm.index.entries.targets import ENTRY_COLUMN
from hbase_orm.index.upkeep.repair import MIN_AGE_MS
from hbase_orm.ops import GetRows, MutateRows, Operation

R = TypeVar("R")
T0_MS = 1_700_000_000_000


class Part(Model, table="parts"):
    d = Family()
    n: Key[int] = key(codecs.uint8())
    size: Mapped[int] = column(d, codec=codecs.uint8())
    maker: Mapped[str] = column(d)
    by_size = Index(size, include=[maker], covering=True)
    by_hand = Index(size, maintained="manual")


@dataclass
class Shop:
    """A gateway with a clock of its own, which may lose the requests that verify entries."""

    inner: MemoryGateway
    now_ms: int = T0_MS
    loses_verifications: bool = False
    looked_up: int = 0
    engine: Engine = field(init=False)

    def __post_init__(self) -> None:
        gateway: Any = self
        self.engine = Engine(gateway, parse_url("memory://"))
        self.engine._runtime = Runtime(
            gateway, parallel=1, repairs_on_read=True, now_ms=lambda: self.now_ms
        )

    @property
    def features(self) -> Any:
        return self.inner.features

    def execute(self, operation: Operation[R], /) -> R:
        if self.loses_verifications and isinstance(operation, MutateRows):
            puts = [put for each in operation.mutations for put in each.puts]
            if any(put.column == ENTRY_COLUMN and put.value[:1] == b"v" for put in puts):
                raise ConnectionLostError("the gateway is gone", table=operation.table)
        if isinstance(operation, GetRows) and operation.table == "parts":
            self.looked_up += 1
        return self.inner.execute(operation)

    def close(self) -> None:
        """Leave the gateway open."""


@pytest.fixture
def shop() -> Shop:
    shop = Shop(MemoryGateway(lambda: T0_MS))
    shop.engine.create_tables(Part)
    return shop


MAKERS = select(Part.maker).where(Part.size == 4)
BY_HAND = select(Part).where(Part.size == 4).using(Part.by_hand)


def unverified(shop: Shop) -> None:
    shop.loses_verifications = True
    with shop.engine.session() as session:
        session.insert(Part(n=1, size=4, maker="Ada"))
    shop.loses_verifications = False


def test_an_entry_that_a_crash_left_unverified_is_looked_up_once(shop: Shop) -> None:
    unverified(shop)
    shop.now_ms += MIN_AGE_MS + 1_000
    with shop.engine.session() as session:
        first = session.all(MAKERS)
        shop.looked_up = 0

        assert (first, session.all(MAKERS), shop.looked_up) == (["Ada"], ["Ada"], 0)


def test_a_young_unverified_entry_is_left_to_its_write(shop: Shop) -> None:
    unverified(shop)
    with shop.engine.session() as session:
        session.all(MAKERS)
        shop.looked_up = 0

        assert (session.all(MAKERS), shop.looked_up) == (["Ada"], 1)


def test_analyzing_counts_no_unverified_entry_as_stale(shop: Shop) -> None:
    unverified(shop)
    with shop.engine.session() as session:
        measured = session.explain(MAKERS, analyze=True).measured

    assert measured is not None
    assert (measured.entries, measured.stale) == (1, 0)


def test_reads_leave_the_entries_of_a_manual_index_to_its_builds(shop: Shop) -> None:
    with shop.engine.session() as session:
        session.insert(Part(n=1, size=4, maker="Ada"))
        shop.engine.build_index(Part, "by_hand", gateway_timeout_s=0)
        shop.now_ms += 2 * MIN_AGE_MS
        session.put_row(Part, Part.size.to(5), n=1)
        assert session.all(BY_HAND) == []

        session.put_row(Part, Part.size.to(4), n=1)

        assert [part.n for part in session.all(BY_HAND)] == [1]
