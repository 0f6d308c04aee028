"""Walks over rows keep their rate, continue where they stopped, and count."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from hbase_orm import (
    Engine,
    Family,
    Key,
    Mapped,
    Model,
    Table,
    codecs,
    column,
    connect,
    key,
    select,
)
from hbase_orm.binding.runtime import Runtime
from hbase_orm.errors import ConnectionLostError
from hbase_orm.index.upkeep.table_pages import scan_page
from hbase_orm.migrate.operations.migrated_table import MigratedTable
from hbase_orm.migrate.operations.rows.row_edits import after_page
from hbase_orm.migrate.operations.rows.row_walk import (
    PageOutcome,
    RowsProgress,
    RowWalk,
    WalkPosition,
)
from hbase_orm.migrate.operations.values import TransformColumn
from hbase_orm.ops import KeyRange, Protocol
from tests.support.migrated_tables import Revision, Saved
from tests.support.recording import gateway_of


class Reading(Model, table=Table("walked", splits=[b"\x00\x00\x01\x00", b"\x00\x00\x02\x00"])):
    d = Family()
    n: Key[int] = key(codecs.uint32())
    unit: Mapped[str] = column(d, "u")


class Clock:
    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds


ROWS = 900


@pytest.fixture
def engine() -> Iterator[Engine]:
    with connect("memory://") as engine:
        engine.create_tables(Reading)
        with engine.session() as session, session.bulk() as bulk:
            bulk.add_all(Reading(n=n, unit="c") for n in range(ROWS))
        yield engine


def upper(value: bytes) -> bytes:
    return value.upper()


def test_rows_per_second_are_kept_within_a_tenth(engine: Engine) -> None:
    clock = Clock()
    engine._runtime = Runtime(gateway_of(engine), parallel=2, monotonic_s=clock, sleep=clock.sleep)
    made = Revision(engine, (Reading,), (Reading,))

    made.upgrade(TransformColumn("walked", "d:u", forward=upper), rows_per_second=300)

    passes = 2  # the rows, and their marks
    assert clock.now_s == pytest.approx(passes * ROWS / 300, rel=0.1)
    last = [each for each in made.reports if isinstance(each, RowsProgress)][-1]
    assert last.fraction == 1.0


def test_a_walk_reports_its_fraction_and_the_time_that_is_left(engine: Engine) -> None:
    clock = Clock()
    engine._runtime = Runtime(gateway_of(engine), parallel=1, monotonic_s=clock, sleep=clock.sleep)
    made = Revision(engine, (Reading,), (Reading,))

    made.upgrade(TransformColumn("walked", "d:u", forward=upper), rows_per_second=100)

    first = next(each for each in made.reports if each.fraction)
    assert 0 < (first.fraction or 0) < 0.2
    assert first.seconds_left is not None
    assert first.seconds_left > 1


def test_a_walk_over_a_known_number_of_rows_reports_its_fraction_by_rows(engine: Engine) -> None:
    made = Revision(engine, (Reading,), (Reading,))
    table = MigratedTable(made.migration(), "walked")

    def read(name: str, key_range: KeyRange, rows: int) -> Protocol[PageOutcome]:
        context = table.runtime.guard_context
        page = yield from scan_page(name, (), key_range, min(rows, 100), context)
        return PageOutcome(len(page), after_page(page))

    RowWalk(table, "read", read, Saved(), expected_rows=2 * ROWS).run(["walked"])

    told = [each for each in made.reports if isinstance(each, RowsProgress)]
    fractions = [each.fraction for each in told]
    assert fractions == [min(each.rows / (2 * ROWS), 0.99) for each in told[:-1]] + [1.0]
    assert len(fractions) > 3


def lost(engine: Engine, rounds: int) -> tuple[WalkPosition, list[int], float]:
    """Walk while the first rounds lose the connection; return the position, the pages and the time.

    The time is that of the pauses, in seconds.
    """
    clock, asked = Clock(), list[int]()
    engine._runtime = Runtime(gateway_of(engine), parallel=1, monotonic_s=clock, sleep=clock.sleep)
    table = MigratedTable(Revision(engine, (Reading,), (Reading,)).migration(), "walked")

    def read(name: str, key_range: KeyRange, rows: int) -> Protocol[PageOutcome]:
        asked.append(rows)
        if len(asked) <= rounds:
            raise ConnectionLostError("the gateway was restarted")
        page = yield from scan_page(name, (), key_range, rows, table.runtime.guard_context)
        return PageOutcome(len(page), after_page(page))

    position = RowWalk(table, "read", read, Saved()).run(["walked"])
    return position, asked, clock.now_s


def test_a_round_that_loses_its_connection_is_repeated_with_fewer_rows(engine: Engine) -> None:
    position, asked, waited_s = lost(engine, 3)

    assert (position.rows, position.is_done) == (ROWS, True)
    assert asked[:4] == [asked[0], asked[0] // 2, asked[0] // 4, asked[0] // 8]
    assert waited_s == pytest.approx(0.5 + 1 + 2)


def test_a_gateway_that_does_not_come_back_ends_the_walk(engine: Engine) -> None:
    with pytest.raises(ConnectionLostError, match="restarted"):
        lost(engine, 100)


def test_a_row_is_transformed_once_although_the_function_is_not_idempotent(
    engine: Engine,
) -> None:
    calls: list[bytes] = []

    class Ended(BaseException):
        pass

    class Saves(Saved):
        def save(self, position: Any) -> None:
            if len(calls) > 400 and "has_ended" not in vars(self):
                vars(self)["has_ended"] = True
                raise Ended  # the rows are changed, and nobody noted it
            super().save(position)

    def doubled(value: bytes) -> bytes:
        calls.append(value)
        return value + value

    made, saved = Revision(engine, (Reading,), (Reading,)), Saves()
    operation = TransformColumn("walked", "d:u", forward=doubled)
    with pytest.raises(Ended):
        operation.run(made.migration(), saved)
    operation.run(made.migration(), saved)

    with engine.session() as session:
        units = {row.unit for row in session.all(select(Reading).allow_full_scan())}
    assert units == {"cc"}


def test_a_position_is_the_same_after_encoding() -> None:
    text = {
        "rows": "7",
        "changed": "5",
        "failed": "1",
        "failures": '[["t", "00ff", "why"]]',
        "digest": "6 ff",
        "range 0": "ns:t -61 done",
        "range 1": "ns:t 61- 62",
    }

    position = WalkPosition.decode(text)

    assert position is not None
    assert position.encode() == text
    assert not position.is_done
