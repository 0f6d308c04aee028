"""Exclusive copies that end before any request, and programs that write before the next run.

A program that ends releases nothing, and whoever takes its place releases the tables first. What
programs write then is refused, or it is moved with the rows.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Final

import pytest

from hbase_orm import (
    Engine,
    Family,
    Index,
    Key,
    Mapped,
    Model,
    TablePerPeriod,
    codecs,
    column,
    key,
    select,
)
from hbase_orm.errors import SchemaDriftError, TableHeldError
from hbase_orm.migrate import MigrationOptions, Revision
from hbase_orm.migrate.operations.copies import (
    MergeTables,
    MovingOperation,
    RekeyTable,
    SplitTable,
)
from hbase_orm.migrate.operations.refusals import TargetExistsError
from hbase_orm.migrate.operations.rows import exclusive_copy
from hbase_orm.record.closed_tables import closed_why, moved_to
from hbase_orm.record.declaration import TableRecord
from hbase_orm.record.store import read_record
from tests.support.interrupted_runs import Runs, declared, there_and_back
from tests.support.shop_processes import OPTIONS, Process, engine_on

ROWS: Final = 12
START: Final = datetime(2024, 1, 1, 12, tzinfo=UTC)
EXCLUSIVE: Final = MigrationOptions(exclusive=True)
SOAK: Final = (pytest.mark.soak, pytest.mark.timeout(7200))
DIRECTIONS: Final = ("upgrade", "downgrade")
Place = tuple[str, datetime]


def one_table(*, guarded: bool) -> Any:
    class Trip(Model, table="trips"):
        d = Family()
        at: Key[datetime] = key(codecs.millis())
        tail: Key[str] = key()
        miles: Mapped[int] = column(d, codec=codecs.uint32())
        if guarded:
            by_miles = Index(miles)

    return Trip


def another_key(*, guarded: bool) -> Any:
    class Trip(Model, table="trips_by_tail"):
        d = Family()
        tail: Key[str] = key()
        at: Key[datetime] = key(codecs.millis())
        miles: Mapped[int] = column(d, codec=codecs.int64())
        if guarded:
            by_miles = Index(miles)

    return Trip


def monthly(**_: bool) -> Any:
    """Return a class with a table for each month; its rows never have guards."""

    class Trip(Model, table=TablePerPeriod("trips_%Y%m", of="at", period="month", create=True)):
        d = Family()
        at: Key[datetime] = key(codecs.millis())
        tail: Key[str] = key()
        miles: Mapped[int] = column(d, codec=codecs.uint32())

    return Trip


@dataclass
class Writer:
    """A program of one class, which notes in a ledger what it has written."""

    engine: Engine
    model: Any
    ledger: dict[Place, int]
    refusals: list[Exception] = field(default_factory=list)
    written: int = 0

    def rows(self) -> dict[Place, int]:
        with self.engine.session() as session:
            every = session.all(select(self.model).allow_full_scan())
        assert len({(each.tail, each.at) for each in every}) == len(every)
        return {(each.tail, each.at): each.miles for each in every}

    def write(self, number: int) -> None:
        """Insert, change and delete rows at both ends of the table, unless that is refused."""
        places = sorted(self.ledger, key=lambda place: place[1])
        far = START + timedelta(days=400 + number)
        for new in (("A", START - timedelta(days=number + 1)), ("Z", far)):
            self._do(partial(self._put, new, number))
        for changed in (places[0], places[-1]):
            self._do(partial(self._put, changed, 1000 + number))
        for gone in (places[1], places[-2]):
            self._do(partial(self._delete, gone))

    def _do(self, work: Callable[[], None]) -> None:
        try:
            work()
        except (SchemaDriftError, TableHeldError) as error:
            self.refusals.append(error)
        else:
            self.written += 1

    def _put(self, place: Place, miles: int) -> None:
        tail, at = place
        with self.engine.session() as session:
            row = session.get(self.model, tail=tail, at=at)
            if row is None:
                session.add(self.model(tail=tail, at=at, miles=miles))
            else:
                row.miles = miles
        self.ledger[place] = miles

    def _delete(self, place: Place) -> None:
        tail, at = place
        with self.engine.session() as session:
            row = session.get(self.model, tail=tail, at=at)
            if row is not None:
                session.delete(row)
        self.ledger.pop(place, None)


@dataclass(frozen=True)
class Copied:
    """A revision that copies rows, and the classes before and after it."""

    operation: MovingOperation
    old: Any
    new: Any

    @property
    def revision(self) -> Revision:
        before, after = self._declared(self.old), self._declared(self.new)
        return Revision("c", operations=(self.operation,), checksum="c", before=before, after=after)

    def _declared(self, model: Any) -> dict[str, Any]:
        (declaration,) = declared(model).values()
        is_old = model is self.old
        return {self.operation.table if is_old else self.operation.new_table: declaration}


class Copy(Runs):
    """The copy of some trips by programs that end, and the trips that there must be."""

    def __init__(self, copied: Copied) -> None:
        self.copied = copied
        self.ledger: dict[Place, int] = {}
        super().__init__(copied.revision, EXCLUSIVE, self._fill)

    def _fill(self, engine: Engine) -> None:
        if self.copied.operation.table == "trips":
            engine.create_tables(self.copied.old)
        else:
            engine.create_tables(self.copied.old, periods=(START, START + timedelta(days=62)))
        with engine.session() as session:
            for number in range(ROWS):
                place = (f"N{number % 3}", START + timedelta(days=5 * number))
                session.add(self.copied.old(tail=place[0], at=place[1], miles=number))
                self.ledger[place] = number

    def writer(self, direction: str) -> Writer:
        """Return a program of the class that a direction leads from; it has read the tables."""
        model = self.copied.old if direction == "upgrade" else self.copied.new
        writer = Writer(engine_on(Process(self.gateway), self.clock), model, self.ledger)
        if self.record(direction) is not None:
            writer._do(lambda: self._read(writer))
            writer.written = 0
        return writer

    @staticmethod
    def _read(writer: Writer) -> None:
        assert writer.rows() == writer.ledger

    def table(self, direction: str) -> str:
        """Return the table, or the pattern of tables, that a direction leads from."""
        operation = self.copied.operation
        return operation.table if direction == "upgrade" else operation.new_table

    def record(self, direction: str) -> TableRecord | None:
        """Return the record of the table that a direction leads from."""
        return self.engine._runtime.run_as_is(read_record(self.table(direction)))

    def release(self) -> None:
        """Release what an ended program used exclusively, as the next run does at its begin."""
        for table in map(self.table, DIRECTIONS):
            if self.is_held(table):
                uses = self.engine._runtime.exclusive_tables
                with uses.use(table, "release", wait_s=OPTIONS.lease_s):
                    pass

    def check(self, direction: str) -> None:
        """Check that programs see all rows after a run in a direction, and can write."""
        other = "downgrade" if direction == "upgrade" else "upgrade"
        writer = self.writer(other)
        assert writer.rows() == self.ledger
        assert not writer.refusals
        self._check_index(writer)
        writer.write(77)
        assert not writer.refusals
        assert writer.rows() == self.ledger
        record = self.record(direction)
        table = self.table(other)
        assert record is None or closed_why(record.current) == moved_to(table)
        assert not self.is_held(self.table(direction))
        assert not self.is_held(table)

    @staticmethod
    def _check_index(writer: Writer) -> None:
        model = writer.model
        if not model.__schema__.indexes:
            return
        with writer.engine.session() as session:
            by_miles = select(model).where(model.miles >= 0).using(model.by_miles)
            indexed = session.all(by_miles.allow_full_scan())
        assert {(each.tail, each.at): each.miles for each in indexed} == writer.ledger


REKEY: Final = RekeyTable("trips", new_table="trips_by_tail")
SPLIT: Final = SplitTable("trips", new_table="trips_%Y%m")
MERGE: Final = MergeTables("trips_%Y%m", new_table="trips")
COPIES: Final = pytest.mark.parametrize(
    "copied",
    [
        pytest.param(Copied(operation, old(guarded=guarded), new(guarded=guarded)), id=name)
        for guarded, kind in ((False, "plain"), (True, "guarded"))
        for operation, old, new, name in (
            (REKEY, one_table, another_key, f"re-key, {kind}"),
            (SPLIT, one_table, monthly, f"split, {kind}"),
            (MERGE, monthly, one_table, f"merge, {kind}"),
        )
    ],
)
THEN: Final = pytest.mark.parametrize("then", DIRECTIONS)


@pytest.fixture(autouse=True)
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a copy have several rounds, after each of which it saves its position."""
    monkeypatch.setattr(exclusive_copy, "_PAGES", {"most_rows": 3, "least_page_rows": 2})


def interrupted(copy: Copy, direction: str, number: int) -> Writer:
    """End a run before a request, release its tables and let a program write."""
    writer = copy.writer(direction)
    copy.ends(direction, number)
    copy.release()
    writer.write(number)
    return writer


@pytest.mark.timeout(600)
@COPIES
@THEN
@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("step", [9, pytest.param(1, marks=SOAK)])
def test_no_write_after_a_copy_that_ended_at_any_request_is_lost(
    copied: Copied, step: int, then: str, direction: str
) -> None:
    whole = Copy(copied)
    if direction == "downgrade":
        whole.run("upgrade")
    written, refusals = 0, list[Exception]()
    for number in range(0, whole.requests_of(direction), step):
        copy = Copy(copied)
        if direction == "downgrade":
            copy.run("upgrade")
        writer = interrupted(copy, direction, number)
        copy.run(then)
        copy.check(then)
        written += writer.written > 0
        refusals += writer.refusals
    assert written > 1
    assert "being moved to" in " ".join(map(str, refusals))


@pytest.mark.timeout(600)
@COPIES
@THEN
@pytest.mark.parametrize("seeds", [4, pytest.param(150, marks=SOAK)])
def test_no_write_between_several_runs_that_ended_is_lost(
    copied: Copied, seeds: int, then: str
) -> None:
    for seed in range(seeds):
        copy, ended = Copy(copied), [*there_and_back(seed, 150)]
        for turn, (direction, number) in enumerate(ended):
            writers = {each: copy.writer(each) for each in DIRECTIONS}
            copy.ends(direction, number)
            copy.release()
            for place, (leads_from, writer) in enumerate(writers.items()):
                if copy.record(leads_from) is not None:  # else it has no table
                    writer.write(10 * turn + place)
        copy.run(then)
        copy.check(then)


@COPIES
def test_what_programs_write_until_their_leases_end_is_copied(copied: Copied) -> None:
    copy = Copy(copied)
    writer = copy.writer("upgrade")
    copy.clock.on_sleep.append(partial(_write_once, copy, writer))

    copy.run("upgrade")

    assert writer.written == 6  # also into months that had no table
    copy.check("upgrade")


def _write_once(copy: Copy, writer: Writer) -> None:
    copy.clock.on_sleep.clear()
    writer.write(1)


@THEN
def test_a_split_whose_tables_exist_is_refused_and_drops_nothing(then: str) -> None:
    copied = Copied(SPLIT, one_table(guarded=False), monthly())
    copy = Copy(copied)
    copy.engine.create_tables(copied.new, periods=(START, START + timedelta(days=40)))
    there = copy.tables("trips_2")
    assert len(there) > 1
    with pytest.raises(TargetExistsError, match="exist already"):
        copy.run("upgrade")

    with suppress(TargetExistsError):
        copy.run(then)

    assert copy.tables("trips_2") == there
    assert copy.writer("upgrade").rows() == copy.ledger
