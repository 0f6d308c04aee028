"""Rows of plain tables move to another table while programs of both classes use them."""

from __future__ import annotations

import time
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import uuid4

import pytest

from hbase_orm import (
    Counter,
    Engine,
    Family,
    Index,
    Key,
    Mapped,
    Model,
    Salt,
    codecs,
    column,
    counter,
    key,
    rowkey,
    select,
)
from hbase_orm.binding.dictionaries import in_namespace
from hbase_orm.errors import SchemaDriftError
from hbase_orm.index.catalog.catalog import read_entry
from hbase_orm.migrate.errors import MigrationStoppedError
from hbase_orm.migrate.operations.copies import RekeyTable
from hbase_orm.migrate.operations.refusals import NeedsExclusiveUseError, RefusedRowsError
from hbase_orm.ops import ListTables, MutateRow, Put, RowMutation, ask
from hbase_orm.record.store import read_record
from tests.support.backends import Backend
from tests.support.migrated_tables import (
    SHORT_LEASE_S,
    Revision,
    contents,
    run_in_two_programs,
    with_short_lease,
    with_short_waits,
)
from tests.support.moved_trips import (
    NOON,
    QUICK,
    Beside,
    Program,
    filled,
    moved,
    new_class,
    phase,
    plain_class,
)

IN_MEMORY: Final = pytest.mark.only_on("memory")


def prepare(_: Engine) -> None:
    """Make no table: each test has its own."""


@pytest.fixture
def tables(engine: Engine) -> Engine:
    return with_short_waits(engine)


@pytest.fixture
def name() -> str:
    return f"trips_{uuid4().hex[:8]}"


def new_plain_class(table: str) -> Any:
    class Trip(Model, table=table):
        d = Family(versions=3)
        tail: Key[str] = key()
        at: Key[datetime] = key()
        miles: Mapped[int] = column(d, codec=codecs.int64())
        note: Mapped[str | None] = column(d, "remark", default=None)
        __rowkey__ = rowkey(Salt(4, of=[tail]), tail, at)

    return Trip


def old_class(table: str) -> Any:
    class Trip(Model, table=table):
        d = Family(versions=3)
        at: Key[datetime] = key()
        tail: Key[str] = key()
        miles: Mapped[int] = column(d, codec=codecs.uint32())
        note: Mapped[str | None] = column(d, default=None)
        by_miles = Index(miles)

    return Trip


CHANGES: Final = {
    "plain to plain": (plain_class, new_plain_class),
    "plain to guarded": (plain_class, new_class),
    "guarded to plain": (old_class, new_plain_class),
}
EACH = pytest.mark.parametrize(
    "change",
    ["plain to plain", *(pytest.param(name, marks=IN_MEMORY) for name in [*CHANGES][1:])],
)


def declared(engine: Engine, table: str) -> Any:
    name = in_namespace(table, engine.options.namespace)
    record = engine._runtime.run_as_is(read_record(name))
    assert record is not None
    return record.current


@EACH
def test_programs_of_both_classes_read_and_write_in_every_phase(
    tables: Engine, backend: Backend, name: str, change: str
) -> None:
    make_old, make_new = CHANGES[change]
    old, new = make_old(name), make_new(f"{name}_2")
    ledger = filled(tables, old)
    before = Program(with_short_lease(backend.another(tables)), old)
    after = Program(with_short_lease(backend.another(tables)), new)
    before.write(ledger, 0)
    seen = set()

    def act(n: int, _: str) -> None:
        time.sleep(SHORT_LEASE_S)  # in memory nothing waits until leases have ended
        of_old, of_new = phase(tables, name), phase(tables, f"{name}_2")
        seen.add(of_old)
        if of_old in {"none", "GUARDED", "INDEXING"}:
            before.write(ledger, n + 1)
            before.check(ledger)
        elif of_new not in {"none", "INDEXING"}:
            with pytest.raises(SchemaDriftError, match=r"handed over|moved to"):
                before.write(dict(ledger), n)
        if of_new != "none":
            after.write(ledger, n + 100)
            after.check(ledger)

    moved(Revision(tables, (old,), (new,)), name, Beside(act))

    assert seen >= {"INDEXING", "PREPARED", "MOVING"}
    assert ("GUARDED" in seen) is change.startswith("plain")
    time.sleep(SHORT_LEASE_S)
    after.check(ledger)
    after.write(ledger, 1000)
    after.check(ledger)
    Program(backend.another(tables), new).check(ledger)
    for index in new.__schema__.indexes:
        assert after.engine.verify_index(new, index.name).is_sound


@IN_MEMORY
@pytest.mark.parametrize("change", CHANGES)
def test_at_the_end_the_new_table_is_recorded_as_its_class_declares_it(
    tables: Engine, backend: Backend, name: str, change: str
) -> None:
    make_old, make_new = CHANGES[change]
    old, new = make_old(name), make_new(f"{name}_2")
    filled(tables, old)

    moved(Revision(tables, (old,), (new,)), name, Beside(lambda *_: None))

    current = declared(tables, f"{name}_2")
    assert current.is_guarded is bool(new.__schema__.indexes)
    assert not current.guards_plain_models
    assert [each.differences for each in tables.check_tables(new)] == [()]
    other = with_short_lease(backend.another(tables))
    with other.session() as session:
        with session.bulk() as bulk:
            bulk.add(new(tail="late", at=NOON, miles=1, note=None))
        assert session.get(new, tail="late", at=NOON) is not None


@EACH
def test_rows_move_back_with_all_cells_and_again(
    tables: Engine, backend: Backend, name: str, change: str
) -> None:
    make_old, make_new = CHANGES[change]
    old, new = make_old(name), make_new(f"{name}_2")
    ledger = filled(tables, old)
    operation, made = RekeyTable(name, new_table=f"{name}_2"), Revision(tables, (old,), (new,))
    before = contents(tables, name)

    made.upgrade(operation, **QUICK)
    Program(with_short_lease(backend.another(tables)), new).write(ledger, 5)
    made.downgrade(operation, **QUICK)
    program = Program(with_short_lease(backend.another(tables)), old)
    program.check(ledger)
    program.write(ledger, 6)  # plain again: guards of the move stay as they were
    made.upgrade(operation, **QUICK)

    Program(with_short_lease(backend.another(tables)), new).check(ledger)
    untouched = {n for n, cells in before.cells.items() if cells}
    assert untouched


@pytest.mark.parametrize("stop", [pytest.param("indexing", marks=IN_MEMORY), "moving"])
def test_a_move_that_is_given_up_leaves_a_plain_table(
    tables: Engine, backend: Backend, name: str, stop: str
) -> None:
    old, new = plain_class(name), new_plain_class(f"{name}_2")
    ledger = filled(tables, old)
    operation, made = RekeyTable(name, new_table=f"{name}_2"), Revision(tables, (old,), (new,))
    before = contents(tables, name)
    with pytest.raises(MigrationStoppedError, match=stop.upper()):
        made.upgrade(operation, stop_before=stop, **QUICK)

    made.downgrade(operation, **QUICK)

    time.sleep(SHORT_LEASE_S)
    after = contents(tables, name)
    assert after.record == before.record
    assert after.cells == before.cells
    program = Program(with_short_lease(backend.another(tables)), old)
    program.check(ledger)
    program.write(ledger, 3)
    program.check(ledger)
    named = tables._runtime.run(ask(ListTables()))
    assert [each for each in named if f"{name}_2" in each or f"{name}_new" in each] == []
    made.upgrade(operation, **QUICK)
    Program(with_short_lease(backend.another(tables)), new).check(ledger)


@IN_MEMORY
def test_a_move_that_ends_before_any_request_is_finished_by_the_next_run(
    tables: Engine, backend: Backend, name: str
) -> None:
    whole, requests = _moved_after_end(tables, backend, f"{name}_all", None)

    for last in range(0, requests, 7):
        assert _moved_after_end(tables, backend, f"{name}_{last}", last)[0] == whole, last


def _moved_after_end(
    tables: Engine, backend: Backend, name: str, last: int | None
) -> tuple[Any, int]:
    old, new = plain_class(name), new_plain_class(f"{name}_2")
    filled(tables, old)
    operation = RekeyTable(name, new_table=f"{name}_2")
    sent = run_in_two_programs(Revision(tables, (old,), (new,)), [operation], last)
    current = declared(tables, f"{name}_2")
    return (Program(backend.another(tables), new).rows(), current), sent


def test_a_bulk_that_began_before_the_move_writes_guards_in_it(
    tables: Engine, backend: Backend, name: str
) -> None:
    old, new = plain_class(name), new_plain_class(f"{name}_2")
    ledger = filled(tables, old)
    program = with_short_lease(backend.another(tables))
    with program.session() as session, session.bulk(batch_rows=1) as bulk:

        def act(n: int, _: str) -> None:
            if phase(tables, name) in {"none", "GUARDED", "INDEXING"}:
                at = NOON + timedelta(minutes=n + 1)
                bulk.add(old(at=at, tail="bulk", miles=n, note=None))
                ledger["bulk", at] = (n, None)
            time.sleep(SHORT_LEASE_S)  # the row is sent meanwhile

        moved(Revision(tables, (old,), (new,)), name, Beside(act))

    assert len(ledger) > 35
    assert Program(backend.another(tables), new).rows() == ledger


def test_rows_without_the_column_that_shows_rows_are_refused_before_they_get_guards(
    tables: Engine, name: str
) -> None:
    old, new = plain_class(name), new_plain_class(f"{name}_2")
    filled(tables, old)
    table = in_namespace(name, tables.options.namespace)
    key_of = old.__mapping__.encode_key
    place = key_of({"at": NOON, "tail": "bare"})
    put = Put(b"d:note", b"no miles")
    tables._runtime.run(ask(MutateRow(table, RowMutation(place, puts=(put,)))))
    before = contents(tables, name)

    with pytest.raises(RefusedRowsError, match="column that shows") as refused:
        Revision(tables, (old,), (new,)).upgrade(RekeyTable(name, new_table=f"{name}_2"), **QUICK)

    assert refused.value.details["first"] == [place]
    assert contents(tables, name) == before
    entry = tables._runtime.run_as_is(read_entry(table))
    assert entry is None or entry.move is None
    with tables.session() as session:
        session.delete_row(old, at=NOON, tail="bare")
    Revision(tables, (old,), (new,)).upgrade(RekeyTable(name, new_table=f"{name}_2"), **QUICK)
    with tables.session() as session:
        assert session.count(select(new).allow_full_scan()) == len(before.cells) - 1


def test_a_model_whose_rows_may_have_counters_only_is_refused(tables: Engine, name: str) -> None:
    class Visits(Model, table=name):
        d = Family()
        site: Key[str] = key()
        hits: Counter = counter(d)

    class SaltedVisits(Model, table=f"{name}_2"):
        d = Family()
        site: Key[str] = key()
        hits: Counter = counter(d)
        __rowkey__ = rowkey(Salt(4), site)

    tables.create_tables(Visits)

    with pytest.raises(NeedsExclusiveUseError, match="counters only"):
        Revision(tables, (Visits,), (SaltedVisits,)).upgrade(
            RekeyTable(name, new_table=f"{name}_2"), **QUICK
        )
