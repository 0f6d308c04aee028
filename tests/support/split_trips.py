"""Trips of one table that is split into a table for each month, in use; their programs and ledger."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, Final

from hbase_orm import (
    Counter,
    Engine,
    Family,
    Index,
    Key,
    Mapped,
    Model,
    Offset,
    TablePerPeriod,
    codecs,
    column,
    counter,
    key,
    rowkey,
    select,
)
from hbase_orm.migrate.operations.copies import SplitTable
from hbase_orm.migrate.operations.operation import Migration
from tests.support.migrated_tables import Revision, Saved
from tests.support.moved_trips import QUICK

START: Final = datetime(2024, 1, 1, 12, tzinfo=UTC)
ROWS: Final = 24
Place = tuple[str, datetime]
Ledger = dict[Place, tuple[int, str | None, int]]
"""The miles, the note and the seats of each trip, by tail number and time."""


def old_class(table: str) -> Any:
    class Trip(Model, table=table):
        d = Family(versions=3)
        tail: Key[str] = key()
        at: Key[datetime] = key(codecs.millis())
        miles: Mapped[int] = column(d, codec=codecs.uint32())
        note: Mapped[str | None] = column(d, default=None)
        seats: Counter = counter(d)
        by_note = Index(note)

    return Trip


def plain_class(table: str) -> Any:
    class Trip(Model, table=table):
        d = Family(versions=3)
        at: Key[datetime] = key(codecs.millis())
        tail: Key[str] = key()
        miles: Mapped[int] = column(d, codec=codecs.uint32())
        note: Mapped[str | None] = column(d, default=None)
        seats: Counter = counter(d)

    return Trip


def monthly_class(pattern: str) -> Any:
    """Return the new class: the key has only the time since the begin of the month."""

    class Trip(Model, table=TablePerPeriod(pattern, of="at", period="month", create=True)):
        d = Family(versions=3)
        at: Key[datetime] = key(codecs.millis())
        tail: Key[str] = key()
        miles: Mapped[int] = column(d, codec=codecs.int64())
        note: Mapped[str | None] = column(d, "remark", default=None)
        seats: Counter = counter(d)
        __rowkey__ = rowkey(Offset("month", of=at), tail)

    return Trip


class Program:
    """A program with its own engine, which knows one class of the trips."""

    def __init__(self, engine: Engine, model: Any) -> None:
        self.engine = engine
        self.model = model

    def rows(self) -> Ledger:
        with self.engine.session() as session:
            every = session.all(select(self.model).allow_full_scan())
        assert len({(r.tail, r.at) for r in every}) == len(every)
        return {(r.tail, r.at): (r.miles, r.note, r.seats) for r in every}

    def check(self, ledger: Ledger) -> None:
        """Compare reads by key and by range, also across months, with what was written."""
        assert self.rows() == ledger
        model = self.model
        with self.engine.session() as session:
            for (tail, at), fields in list(ledger.items())[:4]:
                row = session.get(model, at=at, tail=tail)
                assert row is not None
                assert (row.miles, row.note, row.seats) == fields
            assert session.get(model, at=START - timedelta(days=400), tail="none") is None
            first, last = START + timedelta(days=20), START + timedelta(days=75)
            within = select(model).where(model.at >= first, model.at < last).allow_full_scan()
            found = {(r.tail, r.at): (r.miles, r.note, r.seats) for r in session.all(within)}
        assert found == {p: fields for p, fields in ledger.items() if first <= p[1] < last}

    def write(self, ledger: Ledger, n: int) -> None:
        """Insert, change, count and delete trips; each call begins another month."""
        places = sorted(ledger)
        new = (f"N{n % 3}", START + timedelta(days=31 * (n % 40), minutes=n))
        changed, dropped = places[n % len(places)], places[(n + 7) % len(places)]
        with self.engine.session() as session:
            session.add(self.model(tail=new[0], at=new[1], miles=n, note=f"new {n % 4}"))
            row: Any = session.get(self.model, tail=changed[0], at=changed[1])
            row.miles, row.note = row.miles + 1000, f"changed {n % 4}"
            gone: Any = session.get(self.model, tail=dropped[0], at=dropped[1])
            session.delete(gone)
        with self.engine.session() as session:
            added = self.model.seats.by(n + 1)
            session.increment(self.model, added, tail=changed[0], at=changed[1])
        miles, _, seats = ledger[changed]
        ledger[changed] = (miles + 1000, f"changed {n % 4}", seats + n + 1)
        del ledger[dropped]
        ledger[new] = (n, f"new {n % 4}", 0)


def filled(engine: Engine, model: Any) -> Ledger:
    engine.create_tables(model)
    ledger: Ledger = {}
    with engine.session() as session:
        for n in range(ROWS):
            at, tail = START + timedelta(days=9 * n), f"N{n % 3}"
            note = None if n % 2 else f"note {n % 6}"
            session.add(model(at=at, tail=tail, miles=n, note=note))
            ledger[tail, at] = (n, note, 0)
    with engine.session() as session:
        for n, (tail, at) in enumerate(ledger):
            if n % 2:
                session.increment(model, model.seats.by(n), tail=tail, at=at)
                ledger[tail, at] = (*ledger[tail, at][:2], n)
    return ledger


def split(made: Revision, name: str, report: Any, **options: Any) -> None:
    plan = made.migration(**QUICK, **options)
    migration = Migration(plan.engine, plan.before, plan.after, plan.options, report)
    SplitTable(name, new_table=f"{name}_%Y%m").run(migration, Saved())
