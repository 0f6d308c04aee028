"""How long a write waits for the clock after increments of its row."""

from __future__ import annotations

import logging

import pytest

from hbase_orm.binding.runtime import Runtime
from hbase_orm.gateway.memory.gateway import MemoryGateway

ROW = ("t", b"r")


class Clock:
    """A clock that only waits move."""

    def __init__(self) -> None:
        self.now_s = 1_000.0
        self.waits: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.now_s += seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def runtime(clock: Clock) -> Runtime:
    return Runtime(MemoryGateway(), parallel=1, monotonic_s=lambda: clock.now_s, sleep=clock.sleep)


def test_a_write_waits_a_millisecond_for_each_increment_and_only_once(
    runtime: Runtime, clock: Clock
) -> None:
    for _ in range(300):
        runtime.clock.note_increment(ROW)

    runtime.run(runtime.clock.wait_out_counter_skew([("t", b"other")]))
    runtime.run(runtime.clock.wait_out_counter_skew([ROW, ("t", b"other")]))
    runtime.run(runtime.clock.wait_out_counter_skew([ROW]))

    assert clock.waits == [pytest.approx(0.301)]


def test_increments_that_the_clock_keeps_up_with_cost_no_wait(
    runtime: Runtime, clock: Clock
) -> None:
    for _ in range(300):
        runtime.clock.note_increment(ROW)
        clock.now_s += 0.0015
    clock.now_s += 0.001

    runtime.run(runtime.clock.wait_out_counter_skew([ROW]))

    assert clock.waits == []


def test_rows_that_the_clock_has_passed_are_forgotten_and_others_are_not(
    runtime: Runtime, clock: Clock
) -> None:
    for _ in range(50_000):
        runtime.clock.note_increment(ROW)
    for number in range(30_000):
        runtime.clock.note_increment(("t", b"%d" % number))
        clock.now_s += 0.001

    assert len(runtime.clock._skew._until_s) < 20_000
    runtime.run(runtime.clock.wait_out_counter_skew([ROW]))
    assert clock.waits == [pytest.approx(20.001)]


def test_a_long_wait_is_told(runtime: Runtime, caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(1_500):
        runtime.clock.note_increment(ROW)

    with caplog.at_level(logging.WARNING, "hbase_orm.session"):
        runtime.run(runtime.clock.wait_out_counter_skew([ROW]))

    assert "waiting 1.5 s" in caplog.text
