"""The rate of rows: how long a job waits after each of its rounds."""

from __future__ import annotations

from typing import Any

import pytest

from hbase_orm.index_admin.pace import ROUND_ROWS, RowPace
from hbase_orm.ops import Operation, Sleep, run_protocol

RATE = 300.0


class Job:
    """A job whose work takes as long as it is told; the clock moves only with work and waits."""

    def __init__(self, rate: float | None) -> None:
        self.now_s = 100.0
        self.pace = RowPace(rate, lambda: self.now_s)

    def do(self, rows: int, took_s: float) -> float:
        """Work on rows; return how long the job waits then, in seconds."""
        self.now_s += took_s
        begun_s = self.now_s
        run_protocol(self.pace.keep(rows), self._wait)
        return self.now_s - begun_s

    def _wait(self, request: Operation[Any]) -> None:
        assert isinstance(request, Sleep)
        self.now_s += request.seconds


def test_a_quick_job_keeps_the_rate() -> None:
    job = Job(RATE)

    waits = [job.do(300, took_s=0.2) for _ in range(5)]

    assert waits == pytest.approx([0.8] * 5)


def test_a_short_delay_is_made_up_for() -> None:
    job = Job(RATE)

    waits = [job.do(300, took_s=1.5), job.do(300, took_s=0.2), job.do(300, took_s=0.2)]

    assert waits == pytest.approx([0, 0.3, 0.8])


def test_after_a_stall_the_rows_of_one_second_are_made_up_for() -> None:
    job = Job(RATE)

    waits = [job.do(300, took_s=60), job.do(300, took_s=0.2), job.do(300, took_s=0.2)]

    assert waits == pytest.approx([0, 0, 0.6])


def test_without_a_rate_nothing_waits() -> None:
    job = Job(None)

    assert [job.do(10_000, took_s=0), job.pace.round_rows] == [0, ROUND_ROWS]


@pytest.mark.parametrize(
    ("rate", "rows"), [(300.0, 300), (0.5, 1), (1e6, 500)], ids=["300", "0.5", "1e6"]
)
def test_a_round_has_the_rows_of_a_second(rate: float, rows: int) -> None:
    assert Job(rate).pace.round_rows == rows


def test_rounds_get_so_many_rows_that_they_take_about_two_seconds() -> None:
    quick, slow = Job(None), Job(None)
    first = quick.pace.round_rows

    for _ in range(5):
        quick.do(quick.pace.round_rows, took_s=quick.pace.round_rows / 50_000)
        slow.do(slow.pace.round_rows, took_s=slow.pace.round_rows / 100)

    assert quick.pace.round_rows == ROUND_ROWS
    assert slow.pace.round_rows == 200
    assert 200 < first < ROUND_ROWS


def test_the_last_rows_of_a_range_do_not_change_the_rounds() -> None:
    job = Job(None)
    before = job.pace.round_rows

    job.do(3, took_s=2)

    assert job.pace.round_rows == before


def test_a_round_that_fails_makes_the_next_one_smaller() -> None:
    job = Job(None)
    before = job.pace.round_rows

    job.pace.slow_down()

    assert job.pace.round_rows == before // 2
    for _ in range(20):
        job.pace.slow_down()
    assert job.pace.round_rows == 20
