"""Rows move to a table with another row key while programs of both classes use the tables."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final
from uuid import uuid4

import pytest

from hbase_orm import (
    Engine,
    Family,
    Index,
    Key,
    Mapped,
    Model,
    RandomSalt,
    Salt,
    codecs,
    column,
    key,
    rowkey,
    select,
)
from hbase_orm.binding.dictionaries import in_namespace
from hbase_orm.errors import ConflictError, SchemaDriftError
from hbase_orm.index.catalog.catalog import read_entry
from hbase_orm.migrate.errors import MigrationStoppedError
from hbase_orm.migrate.operations.copies import RekeyTable
from hbase_orm.migrate.operations.operation import Migration, Progress
from hbase_orm.migrate.operations.refusals import NeedsExclusiveUseError
from hbase_orm.ops import ListTables, ask
from tests.support.backends import Backend
from tests.support.migrated_tables import (
    SHORT_LEASE_S,
    Revision,
    Saved,
    contents,
    run_in_two_programs,
    with_short_lease,
    with_short_waits,
)

ROWS: Final = 30
QUICK: Final[dict[str, Any]] = {"gateway_timeout_s": 0.0}
"""The gateways of tests repeat nothing by themselves."""

NOON: Final = datetime(2024, 1, 30, 12, tzinfo=UTC)


def prepare(_: Engine) -> None:
    """Make no table: each test has its own."""


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


def randomly_salted_class(table: str) -> Any:
    class Trip(Model, table=table):
        d = Family()
        at: Key[datetime] = key()
        tail: Key[str] = key()
        miles: Mapped[int] = column(d, codec=codecs.int64())
        note: Mapped[str | None] = column(d, default=None)
        __rowkey__ = rowkey(RandomSalt(4), at, tail)

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


@pytest.fixture
def tables(engine: Engine) -> Engine:
    return with_short_waits(engine)


@pytest.fixture
def name() -> str:
    return f"trips_{uuid4().hex[:8]}"


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


def moved(made: Revision, name: str, report: Callable[[Progress], None], **options: Any) -> None:
    plan = made.migration(**QUICK, **options)
    migration = Migration(plan.engine, plan.before, plan.after, plan.options, report)
    RekeyTable(name, new_table=f"{name}_2").run(migration, Saved())


def phase(engine: Engine, table: str) -> str:
    entry = engine._runtime.run(read_entry(in_namespace(table, engine.options.namespace)))
    return "none" if entry is None or entry.move is None else entry.move.phase.name


def test_programs_of_both_classes_read_and_write_in_every_phase(
    tables: Engine, backend: Backend, name: str
) -> None:
    old, new = old_class(name), new_class(f"{name}_2")
    ledger = filled(tables, old)
    before = Program(with_short_lease(backend.another(tables)), old)
    after = Program(with_short_lease(backend.another(tables)), new)
    seen = set()

    def act(n: int, _: str) -> None:
        time.sleep(SHORT_LEASE_S)  # in memory nothing waits until leases have ended
        now = phase(tables, f"{name}_2")
        seen.add(now)
        if phase(tables, name) == "INDEXING":
            before.write(ledger, n)
            before.check(ledger)
        elif now not in {"none", "INDEXING"}:
            with pytest.raises(SchemaDriftError, match=r"handed over|moved to"):
                before.rows()
            with pytest.raises(SchemaDriftError, match=r"handed over|moved to"):
                before.write(dict(ledger), n)
        if now != "none":
            after.write(ledger, n + 100)
            after.check(ledger)

    moved(Revision(tables, (old,), (new,)), name, Beside(act))

    assert seen >= {"INDEXING", "PREPARED", "MOVING"}
    time.sleep(SHORT_LEASE_S)
    after.check(ledger)
    last = Program(backend.another(tables), new)
    last.check(ledger)
    for index in ("by_miles", "by_note"):
        assert last.engine.verify_index(new, index).is_sound


def test_rows_move_back_by_a_move_of_their_own(tables: Engine, backend: Backend, name: str) -> None:
    old, new = old_class(name), new_class(f"{name}_2")
    ledger = filled(tables, old)
    operation, made = RekeyTable(name, new_table=f"{name}_2"), Revision(tables, (old,), (new,))
    before = contents(tables, name)

    made.upgrade(operation, **QUICK)
    there = contents(tables, f"{name}_2")
    Program(with_short_lease(backend.another(tables)), new).check(ledger)
    made.downgrade(operation, **QUICK)

    program = Program(with_short_lease(backend.another(tables)), old)
    program.check(ledger)
    assert contents(tables, name).cells == before.cells
    assert program.engine.verify_index(old, "by_note").is_sound
    program.write(ledger, 5)
    program.check(ledger)
    made.upgrade(operation, **QUICK)
    Program(with_short_lease(backend.another(tables)), new).check(ledger)
    again = contents(tables, f"{name}_2")
    assert again.descriptor.families == there.descriptor.families
    assert again.record == there.record


IN_MEMORY: Final = pytest.mark.only_on("memory")


@pytest.mark.parametrize(
    "stop",
    [
        pytest.param("indexing", marks=IN_MEMORY),
        pytest.param("prepared", marks=IN_MEMORY),
        "moving",
    ],
)
def test_a_move_that_has_moved_no_row_is_given_up(
    tables: Engine, backend: Backend, name: str, stop: str
) -> None:
    old, new = old_class(name), new_class(f"{name}_2")
    ledger = filled(tables, old)
    operation, made = RekeyTable(name, new_table=f"{name}_2"), Revision(tables, (old,), (new,))
    before = contents(tables, name)
    with pytest.raises(MigrationStoppedError, match=stop.upper()):
        made.upgrade(operation, stop_before=stop, **QUICK)

    made.downgrade(operation, **QUICK)

    time.sleep(SHORT_LEASE_S)
    program = Program(with_short_lease(backend.another(tables)), old)
    program.check(ledger)
    assert contents(tables, name) == before
    program.write(ledger, 3)
    program.check(ledger)
    assert program.engine.verify_index(old, "by_note").is_sound
    named = tables._runtime.run(ask(ListTables()))
    assert [each for each in named if f"{name}_2" in each or f"{name}_new" in each] == []
    made.upgrade(operation, **QUICK)
    Program(with_short_lease(backend.another(tables)), new).check(ledger)


def test_a_move_whose_rows_have_moved_is_not_given_up(tables: Engine, name: str) -> None:
    old, new = old_class(name), new_class(f"{name}_2")
    filled(tables, old)
    operation, made = RekeyTable(name, new_table=f"{name}_2"), Revision(tables, (old,), (new,))
    with pytest.raises(MigrationStoppedError):
        made.upgrade(operation, stop_before="new", **QUICK)

    with pytest.raises(ConflictError, match="finish the move"):
        made.downgrade(operation, **QUICK)


@pytest.mark.only_on("memory")
def test_a_move_that_ends_before_any_request_is_finished_by_the_next_run(
    tables: Engine, backend: Backend, name: str
) -> None:
    whole, requests = _moved_after_end(tables, backend, f"{name}_all", None)

    for last in range(0, requests, 7):
        assert _moved_after_end(tables, backend, f"{name}_{last}", last)[0] == whole, last


def _moved_after_end(
    tables: Engine, backend: Backend, name: str, last: int | None
) -> tuple[Any, int]:
    old, new = old_class(name), new_class(f"{name}_2")
    filled(tables, old)
    operation = RekeyTable(name, new_table=f"{name}_2")
    sent = run_in_two_programs(Revision(tables, (old,), (new,)), [operation], last)
    other = backend.another(tables)
    assert other.verify_index(new, "by_miles").is_sound
    return Program(other, new).rows(), sent


def test_a_table_that_cannot_be_moved_in_use_is_refused_before_anything_is_sent(
    tables: Engine, name: str
) -> None:
    old, new = randomly_salted_class(name), new_class(f"{name}_2")
    tables.create_tables(old)

    with pytest.raises(NeedsExclusiveUseError, match="random salt"):
        Revision(tables, (old,), (new,)).upgrade(RekeyTable(name, new_table=f"{name}_2"))

    named = tables._runtime.run(ask(ListTables()))
    assert [each for each in named if f"{name}_2" in each] == []
