"""Rows move to a table with another row key while programs of both classes use the tables."""

from __future__ import annotations

import time
from datetime import datetime
from typing import Any, Final
from uuid import uuid4

import pytest

from hbase_orm import (
    Engine,
    Family,
    Key,
    Mapped,
    Model,
    RandomSalt,
    codecs,
    column,
    key,
    rowkey,
)
from hbase_orm.errors import ConflictError, SchemaDriftError
from hbase_orm.migrate.errors import MigrationStoppedError
from hbase_orm.migrate.operations.copies import RekeyTable
from hbase_orm.migrate.operations.refusals import NeedsExclusiveUseError
from hbase_orm.ops import ListTables, ask
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
    QUICK,
    Beside,
    Program,
    filled,
    moved,
    new_class,
    old_class,
    phase,
)


def prepare(_: Engine) -> None:
    """Make no table: each test has its own."""


def randomly_salted_class(table: str) -> Any:
    class Trip(Model, table=table):
        d = Family()
        at: Key[datetime] = key()
        tail: Key[str] = key()
        miles: Mapped[int] = column(d, codec=codecs.int64())
        note: Mapped[str | None] = column(d, default=None)
        __rowkey__ = rowkey(RandomSalt(4), at, tail)

    return Trip


@pytest.fixture
def tables(engine: Engine) -> Engine:
    return with_short_waits(engine)


@pytest.fixture
def name() -> str:
    return f"trips_{uuid4().hex[:8]}"


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
