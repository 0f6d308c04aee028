"""Conditional deletes of plain rows, and the puts that come right after them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hbase_orm import Family, Key, Mapped, Model, column, connect, key
from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.binding.runtime import Runtime
from hbase_orm.binding.write_clock import TIE_S
from hbase_orm.errors import ConnectionLostError
from hbase_orm.ops import CheckAndMutate
from hbase_orm.writing.conditional import write_if
from hbase_orm.writing.row_write import RowWrite
from tests.support.recording import LosesAnswers, gateway_of


class Host(Model, table="hosts"):
    d = Family()
    name: Key[str] = key()
    city: Mapped[str] = column(d)
    note: Mapped[str | None] = column(d, default=None)


class Clock:
    """A clock that moves when somebody sleeps."""

    def __init__(self) -> None:
        self.now_s = 100.0
        self.slept: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.slept.append(round(seconds, 6))
        self.now_s += seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def gateway() -> Iterator[LosesAnswers]:
    """Yield a gateway with one host, which loses the answers of conditional writes."""
    with connect("memory://") as engine:
        engine.create_tables(Host)
        with engine.session() as session:
            session.add(Host(name="a", city="Oslo", note="x"))
        yield LosesAnswers(gateway_of(engine), lambda request: isinstance(request, CheckAndMutate))


@pytest.fixture
def runtime(gateway: LosesAnswers, clock: Clock) -> Runtime:
    return Runtime(gateway, parallel=1, monotonic_s=lambda: clock.now_s, sleep=clock.sleep)


@pytest.fixture
def bound() -> BoundModel:
    return connect("memory://")._bound_of(Host)


def write_of(bound: BoundModel, change: str) -> RowWrite:
    """Return a delete of the row, or of one of its columns, or a put."""
    if change == "delete":
        return RowWrite(bound, None, b"a", "delete")
    if change == "clear":
        return RowWrite(bound, None, b"a", "put", clears=frozenset({b"d:note"}))
    return RowWrite(bound, None, b"a", "put", {b"d:note": b"y"})


@pytest.mark.parametrize(
    ("change", "waits_s"), [("delete", [TIE_S]), ("clear", [TIE_S]), ("put", [])]
)
def test_a_put_waits_for_a_delete_whose_answer_was_lost(
    runtime: Runtime, bound: BoundModel, clock: Clock, change: str, waits_s: list[float]
) -> None:
    write = write_of(bound, change)
    with pytest.raises(ConnectionLostError):
        runtime.run(write_if(write, [Host.city == "Oslo"], runtime.writer))

    runtime.run(runtime.clock.wait_out_tombstone_tie([write.row_id]))

    assert clock.slept == waits_s


@pytest.mark.parametrize(("city", "waits_s"), [("Oslo", [TIE_S]), ("Rome", [])])
def test_a_put_waits_for_a_delete_that_was_made_and_for_no_other(
    gateway: LosesAnswers,
    runtime: Runtime,
    bound: BoundModel,
    clock: Clock,
    *,
    city: str,
    waits_s: list[float],
) -> None:
    gateway.loses = lambda _request: False
    write = write_of(bound, "delete")
    runtime.run(write_if(write, [Host.city == city], runtime.writer))

    runtime.run(runtime.clock.wait_out_tombstone_tie([write.row_id]))

    assert clock.slept == waits_s
