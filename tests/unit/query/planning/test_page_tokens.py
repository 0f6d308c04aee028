"""Page tokens are of the statement and not of the process: what tells statements apart."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta, timezone
from enum import Enum
from typing import Any

import pytest

from hbase_orm import Dynamic, Family, Key, Mapped, Model, codecs, column, dynamic, key, select
from hbase_orm.query import Select
from hbase_orm.query.planning.page_tokens import fingerprint

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
ONE_HOUR_EAST = timezone(timedelta(hours=1))


class Level(Enum):
    LOW = 1
    HIGH = 2


class Job(Model, table="jobs"):
    d = Family()
    name: Key[str] = key()
    at: Mapped[datetime] = column(d, default=NOON)
    level: Mapped[Level] = column(d, default=Level.LOW)
    roles: Mapped[frozenset[str]] = column(
        d, codec=codecs.json(frozenset[str]), default=frozenset[str]()
    )
    counts: Mapped[dict[str, int]] = column(
        d, codec=codecs.json(dict[str, int]), default_factory=dict[str, int]
    )
    tags: Dynamic[str, str] = dynamic(d, prefix="t:")


def mark(*conditions: Any) -> bytes:
    return marked(select(Job).where(*conditions))


def marked(statement: Select[Any]) -> bytes:
    return fingerprint(statement, Job.__schema__)


NAMES = [f"job-{n}" for n in range(20)]
SAME: list[tuple[Any, Any]] = [
    (Job.name.in_(NAMES), Job.name.in_(reversed(NAMES))),
    (Job.name.in_(["a", "b", "a"]), Job.name.in_(["b", "a"])),
    (Job.at > NOON, Job.at > NOON.astimezone(ONE_HOUR_EAST)),
    (Job.at.in_([NOON]), Job.at.in_([NOON.astimezone(ONE_HOUR_EAST)])),
    (Job.counts == {"a": 1, "b": 2}, Job.counts == {"b": 2, "a": 1}),
    (~Job.name.in_(["a", "b"]), ~Job.name.in_(["b", "a"])),
]
DIFFERENT: list[tuple[Any, Any]] = [
    (Job.name.in_(["a", "b"]), Job.name.in_(["a", "c"])),
    (Job.name.in_(["a, b"]), Job.name.in_(["a", "b"])),
    (Job.name == "a", Job.name != "a"),
    (Job.name == "a", Job.name.startswith("a")),
    (Job.name == "a", ~(Job.name == "a")),
    ((Job.name == "a") | (Job.name == "b"), Job.name.in_(["a", "b"])),
    (Job.at > NOON, Job.at > NOON.replace(tzinfo=ONE_HOUR_EAST)),
    (Job.level == Level.LOW, Job.level == Level.HIGH),
    (Job.roles == frozenset({"x"}), Job.roles == frozenset({"y"})),
    (Job.roles.contains("x"), Job.roles.contains("y")),
    (Job.counts == {"a": 1}, Job.counts == {"a": 2}),
    (Job.tags["a"] == "x", Job.tags["b"] == "x"),
]


@pytest.mark.parametrize(("one", "other"), SAME, ids=repr)
def test_what_asks_the_same_has_one_mark(one: Any, other: Any) -> None:
    assert mark(one) == mark(other)


@pytest.mark.parametrize(("one", "other"), DIFFERENT, ids=repr)
def test_what_asks_something_else_has_another_mark(one: Any, other: Any) -> None:
    assert mark(one) != mark(other)


def test_a_time_at_the_end_of_the_calendar_has_a_mark() -> None:
    first = datetime.min.replace(tzinfo=ONE_HOUR_EAST)

    assert mark(Job.at > first) == mark(Job.at > first)
    assert mark(Job.at > first) != mark(Job.at > NOON)


def test_ranges_of_dynamic_columns_are_told_apart() -> None:
    ranges = [
        select(Job),
        select(Job).columns_between(Job.tags, "a", "f"),
        select(Job).columns_between(Job.tags, "a", "g"),
        select(Job).columns_between(Job.tags, "a", "f", limit=3),
    ]

    assert len(set(map(marked, ranges))) == len(ranges)


IN_ANOTHER_PROCESS = """
from tests.unit.query.planning.test_page_tokens import Job, NAMES, mark
print(mark(Job.name.in_(set(NAMES)), Job.roles == frozenset(NAMES)).hex())
"""


def test_processes_that_order_sets_differently_make_one_mark() -> None:
    marks = {
        subprocess.run(
            [sys.executable, "-c", IN_ANOTHER_PROCESS],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }

    assert marks == {mark(Job.name.in_(NAMES), Job.roles == frozenset(NAMES)).hex() + "\n"}
