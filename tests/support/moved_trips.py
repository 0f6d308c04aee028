"""Trips whose rows move to a table with another row key while programs use both tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from hbase_orm import (
    Engine,
    Family,
    Index,
    Key,
    Mapped,
    Model,
    Salt,
    codecs,
    column,
    key,
    rowkey,
    select,
)
from hbase_orm.binding.dictionaries import in_namespace
from hbase_orm.index.catalog.catalog import read_entry
from hbase_orm.migrate.operations.copies import RekeyTable
from hbase_orm.migrate.operations.operation import Migration, Progress
from tests.support.migrated_tables import Revision, Saved

QUICK: Final[dict[str, Any]] = {"gateway_timeout_s": 0.0}
"""The gateways of tests repeat nothing by themselves."""

ROWS: Final = 30
NOON: Final = datetime(2024, 1, 30, 12, tzinfo=UTC)


def old_class(table: str) -> Any:
    class Trip(Model, table=table):
        d = Family(versions=3)
        at: Key[datetime] = key()
        tail: Key[str] = key()
        miles: Mapped[int] = column(d, codec=codecs.uint32())
        note: Mapped[str | None] = column(d, default=None)
        by_note = Index(note)

    return Trip


def plain_class(table: str) -> Any:
    class Trip(Model, table=table):
        d = Family(versions=3)
        at: Key[datetime] = key()
        tail: Key[str] = key()
        miles: Mapped[int] = column(d, codec=codecs.uint32())
        note: Mapped[str | None] = column(d, default=None)

    return Trip


def new_class(table: str) -> Any:
    class Trip(Model, table=table):
        d = Family(versions=3)
        tail: Key[str] = key()
        at: Key[datetime] = key()
        miles: Mapped[int] = column(d, codec=codecs.int64())
        note: Mapped[str | None] = column(d, "remark", default=None)
        by_miles = Index(miles)
        by_note = Index(note)
        __rowkey__ = rowkey(Salt(4, of=[tail]), tail, at)

    return Trip


@dataclass
class Program:
    """A program with its own engine, which knows one class of the rows."""

    engine: Engine
    model: Any

    def rows(self) -> dict[tuple[str, datetime], tuple[int, str | None]]:
        with self.engine.session() as session:
            every = session.all(select(self.model).allow_full_scan())
        assert len({(r.tail, r.at) for r in every}) == len(every)
        return {(r.tail, r.at): (r.miles, r.note) for r in every}

    def check(self, ledger: dict[tuple[str, datetime], tuple[int, str | None]]) -> None:
        """Compare reads by key, range, and index with what was written."""
        assert self.rows() == ledger
        with self.engine.session() as session:
            for (tail, at), (miles, note) in list(ledger.items())[:5]:
                row = session.get(self.model, at=at, tail=tail)
                assert row is not None
                assert (row.miles, row.note) == (miles, note)
            notes = {note for _, note in ledger.values() if note is not None}
            for note in sorted(notes)[:3]:
                found = session.all(
                    select(self.model).where(self.model.note == note).allow_full_scan()
                )
                expected = {place for place, (_, other) in ledger.items() if other == note}
                assert {(r.tail, r.at) for r in found} == expected

    def write(self, ledger: dict[tuple[str, datetime], tuple[int, str | None]], n: int) -> None:
        """Insert, change and delete rows."""
        places = sorted(ledger)
        with self.engine.session() as session:
            new = (f"N{n % 3}", NOON + timedelta(hours=n + 1))
            session.add(self.model(tail=new[0], at=new[1], miles=n, note=f"new {n % 4}"))
            changed, dropped = places[n % len(places)], places[(n + 7) % len(places)]
            row: Any = session.get(self.model, tail=changed[0], at=changed[1])
            row.miles, row.note = row.miles + 1000, f"changed {n % 4}"
            if changed != dropped:
                gone: Any = session.get(self.model, tail=dropped[0], at=dropped[1])
                session.delete(gone)
        ledger[changed] = (ledger[changed][0] + 1000, f"changed {n % 4}")
        if changed != dropped:
            del ledger[dropped]
        ledger[new] = (n, f"new {n % 4}")


@dataclass
class Beside:
    """Programs that act at each report of a move."""

    act: Callable[[int, str], None]
    steps: list[str] = field(default_factory=list)

    def __call__(self, progress: Progress) -> None:
        self.act(len(self.steps), progress.step)
        self.steps.append(progress.step)


def filled(engine: Engine, model: Any) -> dict[tuple[str, datetime], tuple[int, str | None]]:
    engine.create_tables(model)
    ledger = {}
    with engine.session() as session:
        for n in range(ROWS):
            at, tail, note = (
                NOON + timedelta(days=n),
                f"N{n % 3}",
                None if n % 2 else f"note {n % 6}",
            )
            session.add(model(at=at, tail=tail, miles=n, note=note))
            ledger[tail, at] = (n, note)
    return ledger


def phase(engine: Engine, table: str) -> str:
    entry = engine._runtime.run(read_entry(in_namespace(table, engine.options.namespace)))
    return "none" if entry is None or entry.move is None else entry.move.phase.name


def moved(made: Revision, name: str, report: Callable[[Progress], None], **options: Any) -> None:
    plan = made.migration(**QUICK, **options)
    migration = Migration(plan.engine, plan.before, plan.after, plan.options, report)
    RekeyTable(name, new_table=f"{name}_2").run(migration, Saved())
