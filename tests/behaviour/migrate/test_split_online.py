"""A table is split into a table for each month while programs of both classes use the tables."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final, TypeVar
from uuid import uuid4

import pytest

from hbase_orm import (
    Counter,
    Engine,
    Family,
    Key,
    Mapped,
    Model,
    TablePerPeriod,
    codecs,
    column,
    counter,
    key,
    rowkey,
    select,
)
from hbase_orm.errors import ConflictError, SchemaDriftError
from hbase_orm.migrate.errors import MigrationStoppedError
from hbase_orm.migrate.operations.copies import SplitTable
from hbase_orm.migrate.operations.refusals import (
    NeedsExclusiveUseError,
    TargetExistsError,
)
from hbase_orm.ops import (
    CreateTable,
    DropTable,
    FamilyDescriptor,
    ListTables,
    Operation,
    TableDescriptor,
    ask,
)
from tests.support.backends import Backend
from tests.support.migrated_tables import (
    SHORT_LEASE_S,
    EndError,
    EndsBefore,
    Revision,
    Saved,
    contents,
    run_in_two_programs,
    with_short_lease,
    with_short_waits,
)
from tests.support.moved_trips import QUICK, Beside, phase
from tests.support.recording import RecordsRequests, gateway_of, through
from tests.support.split_trips import (
    START,
    Program,
    filled,
    monthly_class,
    old_class,
    plain_class,
    split,
)

R = TypeVar("R")

IN_MEMORY: Final = pytest.mark.only_on("memory")


def prepare(_: Engine) -> None:
    """Make no table: each test has its own."""


def same_key_class(pattern: str) -> Any:
    """Return a new class whose row keys are those of `old_class`, and which makes no tables."""

    class Trip(Model, table=TablePerPeriod(pattern, of="at", period="month")):
        d = Family(versions=3)
        tail: Key[str] = key()
        at: Key[datetime] = key(codecs.millis())
        miles: Mapped[int] = column(d, codec=codecs.int64())
        note: Mapped[str | None] = column(d, "remark", default=None)
        seats: Counter = counter(d)

    return Trip


def by_miles_class(pattern: str) -> Any:
    """Return a new class whose row key has a field that is a column of the old rows."""

    class Trip(Model, table=TablePerPeriod(pattern, of="at", period="month", create=True)):
        d = Family(versions=3)
        tail: Key[str] = key()
        at: Key[datetime] = key(codecs.millis())
        miles: Key[int] = key(codecs.uint32())
        note: Mapped[str | None] = column(d, default=None)
        __rowkey__ = rowkey(miles, tail, at)

    return Trip


def untimed_class(table: str) -> Any:
    class Trip(Model, table=table):
        d = Family()
        tail: Key[str] = key()
        at: Mapped[datetime] = column(d, codec=codecs.millis())
        miles: Mapped[int] = column(d, codec=codecs.int64())

    return Trip


@pytest.fixture
def tables(engine: Engine) -> Engine:
    return with_short_waits(engine)


@pytest.fixture
def name() -> str:
    return f"trips_{uuid4().hex[:8]}"


def operation(name: str) -> SplitTable:
    return SplitTable(name, new_table=f"{name}_%Y%m")


@dataclass
class Continued:
    """An upgrade that goes on where it stopped."""

    made: Revision
    operation: SplitTable
    checkpoint: Saved = field(default_factory=Saved)

    def run(self, **options: Any) -> None:
        self.operation.run(self.made.migration(**QUICK, **options), self.checkpoint)


def made_tables(engine: Engine, name: str) -> list[str]:
    """Return what a split has made: the months that have a table, and the index of new keys."""
    names = engine._runtime.run(ask(ListTables()))
    ends = sorted(each.rpartition(f"{name}_")[2] for each in names if f"{name}_" in each)
    return [end for end in ends if end != "ix_by_note"]


@pytest.mark.parametrize("old_of", [old_class, plain_class])
def test_programs_of_both_classes_read_and_write_in_every_phase(
    tables: Engine, backend: Backend, name: str, old_of: Any
) -> None:
    old, new = old_of(name), monthly_class(f"{name}_%Y%m")
    ledger = filled(tables, old)
    before = Program(with_short_lease(backend.another(tables)), old)
    after = Program(with_short_lease(backend.another(tables)), new)
    seen = set()

    def act(n: int, _: str) -> None:
        time.sleep(SHORT_LEASE_S)  # in memory nothing waits until leases have ended
        now = phase(tables, f"{name}_%Y%m")
        seen.add(now)
        if phase(tables, name) in {"GUARDED", "INDEXING"}:
            before.write(ledger, n)
            before.check(ledger)
        elif now not in {"none", "INDEXING"}:
            with pytest.raises(SchemaDriftError, match=r"handed over|moved to"):
                before.rows()
        if now != "none":
            after.write(ledger, n + 100)
            after.check(ledger)

    split(Revision(tables, (old,), (new,)), name, Beside(act))

    assert seen >= {"INDEXING", "PREPARED", "MOVING"}
    time.sleep(SHORT_LEASE_S)
    after.check(ledger)
    last = Program(backend.another(tables), new)
    last.check(ledger)
    last.write(ledger, 500)
    last.check(ledger)


@pytest.mark.parametrize("new_of", [same_key_class, monthly_class])
def test_each_month_gets_its_rows_with_their_timestamps(
    tables: Engine, backend: Backend, name: str, new_of: Any
) -> None:
    old, new = old_class(name), new_of(f"{name}_%Y%m")
    ledger = filled(tables, old)
    before = contents(tables, name)

    Revision(tables, (old,), (new,)).upgrade(operation(name), **QUICK)

    Program(backend.another(tables), new).check(ledger)
    expected = sorted({f"{at:%Y%m}" for _, at in ledger})
    assert made_tables(tables, name) == expected
    stamps = {at for cells in before.cells.values() for each in cells.values() for at, _ in each}
    moved = [contents(tables, f"{name}_{month}") for month in expected]
    assert sum(len(month.cells) for month in moved) == len(ledger)
    rows = [cells for month in moved for cells in month.cells.values()]
    assert {at for cells in rows for each in cells.values() for at, _ in each} <= stamps


@pytest.mark.parametrize(
    "stop", [pytest.param("indexing", marks=IN_MEMORY), pytest.param("prepared"), "moving"]
)
def test_a_split_that_has_moved_no_row_is_given_up_and_begun_again(
    tables: Engine, backend: Backend, name: str, stop: str
) -> None:
    old, new = old_class(name), monthly_class(f"{name}_%Y%m")
    ledger = filled(tables, old)
    made = Revision(tables, (old,), (new,))
    before, tables_before = contents(tables, name), made_tables(tables, name)
    with pytest.raises(MigrationStoppedError, match=stop.upper()):
        made.upgrade(operation(name), stop_before=stop, **QUICK)

    made.downgrade(operation(name), **QUICK)

    time.sleep(SHORT_LEASE_S)
    program = Program(with_short_lease(backend.another(tables)), old)
    program.check(ledger)
    assert contents(tables, name) == before
    assert made_tables(tables, name) == tables_before
    program.write(ledger, 3)
    assert program.engine.verify_index(old, "by_note").is_sound
    made.upgrade(operation(name), **QUICK)
    Program(with_short_lease(backend.another(tables)), new).check(ledger)


def test_months_are_merged_exclusively_after_a_split_and_split_again(
    tables: Engine, backend: Backend, name: str
) -> None:
    old, new = old_class(name), monthly_class(f"{name}_%Y%m")
    ledger = filled(tables, old)
    made = Revision(tables, (old,), (new,))
    made.upgrade(operation(name), **QUICK)

    with pytest.raises(NeedsExclusiveUseError, match="table for each period"):
        made.downgrade(operation(name), **QUICK)
    made.downgrade(operation(name), exclusive=True)

    program = Program(with_short_lease(backend.another(tables)), old)
    program.check(ledger)
    program.write(ledger, 2)
    made.upgrade(operation(name), **QUICK)
    Program(backend.another(tables), new).check(ledger)


@pytest.mark.only_on("memory")
def test_a_split_that_ends_before_any_request_is_finished_by_the_next_run(
    tables: Engine, backend: Backend, name: str
) -> None:
    requests = _split_after_end(tables, backend, f"{name}_all", None)

    for last in range(0, requests, 11):
        _split_after_end(tables, backend, f"{name}_{last}", last)


def _split_after_end(tables: Engine, backend: Backend, name: str, last: int | None) -> int:
    old, new = old_class(name), monthly_class(f"{name}_%Y%m")
    ledger = filled(tables, old)
    made = Revision(tables, (old,), (new,))
    sent = run_in_two_programs(made, [operation(name)], last)
    assert Program(backend.another(tables), new).rows() == ledger, last
    return sent


@pytest.mark.only_on("memory")
def test_rows_whose_new_key_has_a_column_go_to_their_month(
    tables: Engine, backend: Backend, name: str
) -> None:
    old, new = plain_class(name), by_miles_class(f"{name}_%Y%m")
    ledger = filled(tables, old)
    program = with_short_lease(backend.another(tables))
    model: Any = new
    first = START - timedelta(days=777)  # the mover would never overtake rows at the end

    def act(n: int, _: str) -> None:
        time.sleep(SHORT_LEASE_S)
        if phase(tables, f"{name}_%Y%m") == "none":
            return
        with program.session() as session:
            session.add(model(at=first - timedelta(days=n), tail="X", miles=n, note="new"))
            ledger["X", first - timedelta(days=n)] = (n, "new", 0)
        with program.session() as session:
            every = session.all(select(model).allow_full_scan())
        assert {(r.tail, r.at): r.miles for r in every} == {p: f[0] for p, f in ledger.items()}
        assert len(every) == len(ledger)

    split(Revision(tables, (old,), (new,)), name, Beside(act))


def test_a_split_is_refused_before_anything_is_sent_if_the_old_key_shows_no_period(
    tables: Engine, name: str
) -> None:
    old, new = untimed_class(name), monthly_class(f"{name}_%Y%m")
    tables.create_tables(old)

    with pytest.raises(NeedsExclusiveUseError, match="decides the period"):
        Revision(tables, (old,), (new,)).upgrade(operation(name))

    assert made_tables(tables, name) == []


def test_a_split_into_tables_that_exist_is_refused(tables: Engine, name: str) -> None:
    old, new = old_class(name), monthly_class(f"{name}_%Y%m")
    filled(tables, old)
    tables.create_tables(new, periods=(START, START + timedelta(days=1)))

    with pytest.raises(TargetExistsError, match="tables of periods") as caught:
        Revision(tables, (old,), (new,)).upgrade(operation(name), **QUICK)

    assert [each[-6:] for each in caught.value.tables] == ["202401"]


class RefusesPatterns(RecordsRequests):
    """Refuses names of tables that HBase would refuse."""

    def execute(self, request: Operation[R], /) -> R:
        named = getattr(request, "table", ""), getattr(request, "name", "")
        assert not any("%" in str(name) for name in named), request
        return super().execute(request)


@pytest.mark.only_on("memory")
@pytest.mark.parametrize("last", range(0, 60, 4))
def test_a_split_that_ended_is_given_up_or_finished_without_requests_for_its_pattern(
    tables: Engine, backend: Backend, name: str, last: int
) -> None:
    old, new = old_class(name), monthly_class(f"{name}_%Y%m")
    ledger = filled(tables, old)
    engine = with_short_waits(through(RefusesPatterns(gateway_of(tables)), tables))
    made = Revision(engine, (old,), (new,))
    upgrade = Continued(made, operation(name))
    ends = EndsBefore(gateway_of(engine), last)
    with suppress(EndError):
        operation(name).run(made.migration(through(ends, engine), **QUICK), upgrade.checkpoint)

    if phase(tables, f"{name}_%Y%m") in {"MOVING", "NEW"}:
        upgrade.run()
        assert Program(backend.another(tables), new).rows() == ledger
        return
    made.downgrade(operation(name), **QUICK)

    time.sleep(SHORT_LEASE_S)
    assert Program(backend.another(tables), old).rows() == ledger
    assert made_tables(tables, name) == []


def test_a_record_of_tables_that_are_gone_is_refused(
    tables: Engine, backend: Backend, name: str
) -> None:
    old, new = old_class(name), monthly_class(f"{name}_%Y%m")
    ledger = filled(tables, old)
    (made,) = tables.create_tables(new, periods=(START, START + timedelta(days=1)))
    tables._runtime.run_as_is(ask(DropTable(made)))
    upgrade = Revision(tables, (old,), (new,))

    with pytest.raises(TargetExistsError, match="a record already"):
        upgrade.upgrade(operation(name), **QUICK)

    tables.drop_tables(new)
    upgrade.upgrade(operation(name), **QUICK)
    assert Program(backend.another(tables), new).rows() == ledger


@pytest.mark.only_on("memory")
def test_tables_of_periods_of_programs_that_do_not_know_of_the_move_stop_it(
    tables: Engine, backend: Backend, name: str
) -> None:
    old, new = old_class(name), monthly_class(f"{name}_%Y%m")
    ledger = filled(tables, old)
    upgrade = Continued(Revision(tables, (old,), (new,)), operation(name))
    with pytest.raises(MigrationStoppedError):
        upgrade.run(stop_before="indexing")
    foreign = f"{name}_202401"
    descriptor = TableDescriptor(foreign, (FamilyDescriptor(b"d"),))
    tables._runtime.run_as_is(ask(CreateTable(descriptor)))

    with pytest.raises(ConflictError, match="did not know of the move") as caught:
        upgrade.run()

    assert caught.value.tables == [foreign]
    tables._runtime.run_as_is(ask(DropTable(foreign)))
    upgrade.run()
    assert Program(backend.another(tables), new).rows() == ledger


@pytest.mark.only_on("memory")
def test_tables_of_periods_are_not_changed_by_other_verbs_while_rows_move(
    tables: Engine, backend: Backend, name: str
) -> None:
    old, new = old_class(name), monthly_class(f"{name}_%Y%m")
    ledger = filled(tables, old)
    upgrade = Continued(Revision(tables, (old,), (new,)), operation(name))
    with pytest.raises(MigrationStoppedError):
        upgrade.run(stop_before="new")
    other = backend.another(tables)
    next_year = START + timedelta(days=400)

    with pytest.raises(ConflictError, match="being moved"):
        other.truncate_tables(new)
    with pytest.raises(ConflictError, match="being moved"):
        other.drop_tables(new)
    with pytest.raises(ConflictError, match="being moved"):
        other.create_tables(new, periods=(next_year, next_year + timedelta(days=1)))
    assert other.create_tables(new, periods=(START, START + timedelta(days=60))) == []
    upgrade.run()
    Program(backend.another(tables), new).check(ledger)


@pytest.mark.only_on("memory")
def test_bulk_writes_replacements_and_deletes_by_statement_reach_the_rows_of_all_months(
    tables: Engine, backend: Backend, name: str
) -> None:
    old, new = plain_class(name), monthly_class(f"{name}_%Y%m")
    ledger = filled(tables, old)
    program = Program(with_short_lease(backend.another(tables)), new)
    model: Any = new

    def act(n: int, _: str) -> None:
        time.sleep(SHORT_LEASE_S)
        if phase(tables, f"{name}_%Y%m") == "none":
            return
        tail, at = min(ledger)
        added = [(f"B{n}", START + timedelta(days=30 * month)) for month in range(4)]
        with program.engine.session() as session:
            with session.bulk(insert_only=bool(n % 2)) as bulk:
                for place in added:
                    bulk.add(model(tail=place[0], at=place[1], miles=n, note=None))
            session.replace(model(tail=tail, at=at, miles=n, note=f"replaced {n}"))
            gone = select(model).where(model.tail == f"B{n - 1}").allow_full_scan()
            assert session.delete_where(gone) in {0, 4}
            page = session.page(select(model).allow_full_scan(), size=5)
            assert len(page.items) == 5
            again = session.page(select(model).allow_full_scan(), size=5, token=page.token)
        assert not {(r.tail, r.at) for r in page.items} & {(r.tail, r.at) for r in again.items}
        ledger.update(dict.fromkeys(added, (n, None, 0)))
        ledger[tail, at] = (n, f"replaced {n}", 0)
        for place in [place for place in ledger if place[0] == f"B{n - 1}"]:
            del ledger[place]
        program.check(ledger)

    split(Revision(tables, (old,), (new,)), name, Beside(act))

    program.check(ledger)
