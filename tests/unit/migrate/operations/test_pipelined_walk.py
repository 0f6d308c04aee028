"""Pipelined walks read and compute the next pages while they write the present ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

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
from hbase_orm.index.upkeep.table_pages import scan_page
from hbase_orm.migrate.operations.migrated_table import MigratedTable
from hbase_orm.migrate.operations.rows.pipelined_walk import PageWrites, PipelinedWalk, ReadPage
from hbase_orm.migrate.operations.rows.row_edits import after_page
from hbase_orm.migrate.operations.rows.row_walk import PageOutcome
from hbase_orm.ops import KeyRange, Operation, Protocol, PutStampedRows, Row, StampedRows
from tests.support.migrated_tables import Revision, Saved
from tests.support.recording import RecordsRequests, gateway_of

R = TypeVar("R")

ROWS = 20


class Step(Model, table=Table("stepped", splits=[b"\x00\x0f"])):
    d = Family()
    n: Key[int] = key(codecs.uint16())
    unit: Mapped[str] = column(d, "u")


@pytest.fixture
def engine() -> Iterator[Engine]:
    with connect("memory://") as engine:
        engine.create_tables(Step)
        with engine.session() as session, session.bulk() as bulk:
            bulk.add_all(Step(n=n, unit="c") for n in range(ROWS))
        yield engine


@dataclass
class Traced:
    """A walk that rewrites every row, and the order of what it does."""

    engine: Engine
    page_rows: int
    parallel: int

    def __post_init__(self) -> None:
        traced = self

        class Notes(RecordsRequests):
            def execute(self, operation: Operation[R], /) -> R:
                if isinstance(operation, PutStampedRows):
                    traced.events.append(("write", operation.groups[0].rows[0][0]))
                return super().execute(operation)

        self.events: list[tuple[str, bytes]] = []
        self.engine._runtime = Runtime(Notes(gateway_of(self.engine)), parallel=self.parallel)
        self.table = MigratedTable(Revision(self.engine, (Step,), (Step,)).migration(), "stepped")

    def limit(self, rows_per_second: float, clock: list[float]) -> None:
        """Let the walk keep a rate by a clock, on which only its own waits pass."""

        def sleep(seconds: float) -> None:
            clock[0] += seconds

        self.engine._runtime = Runtime(
            gateway_of(self.engine), parallel=2, monotonic_s=lambda: clock[0], sleep=sleep
        )
        migration = Revision(self.engine, (Step,), (Step,)).migration(
            rows_per_second=rows_per_second
        )
        self.table = MigratedTable(migration, "stepped")

    def read(self, name: str, key_range: KeyRange, rows: int) -> Protocol[ReadPage]:
        context = self.table.runtime.guard_context
        page = yield from scan_page(name, (), key_range, min(rows, self.page_rows), context)
        self._note("read", page)
        return ReadPage(after_page(page), self.computed(name, page))

    def computed(self, name: str, page: list[Row]) -> Protocol[PageWrites]:
        yield from ()
        self._note("compute", page)
        rows = tuple((row.key, b"new") for row in page)
        group = StampedRows((b"d:u",), rows, ((2**50,),) * len(rows))
        writes = (PutStampedRows(name, (group,)),) if page else ()
        return PageWrites(PageOutcome(len(page), after_page(page), len(page)), writes)

    def _note(self, event: str, page: list[Row]) -> None:
        if page:
            self.events.append((event, page[0].key))

    def run(self, saved: Saved) -> Any:
        return PipelinedWalk(self.table, "step", self.read, saved).run(["stepped"])


@pytest.mark.parametrize("parallel", [1, 3])
def test_every_row_is_written_once(engine: Engine, parallel: int) -> None:
    traced = Traced(engine, page_rows=3, parallel=parallel)

    position = traced.run(Saved())

    assert (position.rows, position.changed, position.is_done) == (ROWS, ROWS, True)
    written = [key for event, key in traced.events if event == "write"]
    assert len(written) == len(set(written)) == 5 + 2  # pages of 15 and of 5 rows
    with engine.session() as session:
        rows = session.all(select(Step).allow_full_scan())
        assert [row.unit for row in rows] == ["new"] * ROWS


def test_the_page_after_the_next_is_read_before_a_page_is_written(engine: Engine) -> None:
    traced = Traced(engine, page_rows=5, parallel=1)

    traced.run(Saved())

    first, second, third = (bytes([0, n]) for n in (0, 5, 10))
    of_first_range = [each for each in traced.events if each[1] < b"\x00\x0f"]
    assert of_first_range == [
        ("read", first),
        ("compute", first),
        ("read", second),
        ("compute", second),
        ("read", third),
        ("write", first),
        ("compute", third),
        ("write", second),
        ("write", third),
    ]


def test_rows_per_second_are_kept_within_a_tenth(engine: Engine) -> None:
    traced, clock = Traced(engine, page_rows=100, parallel=2), [0.0]
    traced.limit(4, clock)

    traced.run(Saved())

    assert clock[0] == pytest.approx(ROWS / 4, rel=0.1)


def test_a_position_covers_only_what_was_written(engine: Engine) -> None:
    traced = Traced(engine, page_rows=3, parallel=3)

    class Compares(Saved):
        def save(self, position: Mapping[str, str]) -> None:
            super().save(position)
            with engine.session() as session:
                rows = session.all(select(Step).allow_full_scan())
            saved_rows.append(int(position["rows"]))
            assert [row.unit for row in rows].count("new") == saved_rows[-1]

    saved_rows: list[int] = []
    traced.run(Compares())
    assert saved_rows == [0, 6, 11, 14, 17, 20, 20]
