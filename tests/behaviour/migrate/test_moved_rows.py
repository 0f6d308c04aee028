"""Rows that move to another table: another row key, more salt, a table for each month and back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
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
    TablePerPeriod,
    codecs,
    column,
    counter,
    key,
    rowkey,
    select,
)
from hbase_orm.errors import SchemaDriftError
from hbase_orm.migrate.operations.copies import MergeTables, RekeyTable, SplitTable
from hbase_orm.migrate.operations.refusals import (
    RefusedRowsError,
    TargetExistsError,
)
from tests.support.backends import Backend
from tests.support.migrated_tables import Revision, contents, run_in_two_programs, with_short_lease

ROWS: Final = 9
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
        seats: Counter = counter(d)

    return Trip


def salted_class(table: str) -> Any:
    class Trip(Model, table=table):
        d = Family(versions=3)
        tail: Key[str] = key()
        at: Key[datetime] = key()
        miles: Mapped[int] = column(d, codec=codecs.int64())
        note: Mapped[str | None] = column(d, "remark", default=None)
        seats: Counter = counter(d)
        by_miles = Index(miles)
        __rowkey__ = rowkey(Salt(4, of=[tail]), tail, at)

    return Trip


def monthly_class(pattern: str) -> Any:
    class Trip(Model, table=TablePerPeriod(pattern, of="at", period="month")):
        d = Family(versions=3)
        at: Key[datetime] = key()
        tail: Key[str] = key()
        miles: Mapped[int] = column(d, codec=codecs.uint32())
        note: Mapped[str | None] = column(d, default=None)
        seats: Counter = counter(d)

    return Trip


def few_class(table: str) -> Any:
    class Trip(Model, table=table):
        d = Family(versions=3)
        tail: Key[str] = key()
        miles: Mapped[int] = column(d, codec=codecs.uint32())

    return Trip


@pytest.fixture
def tables(engine: Engine) -> Engine:
    return with_short_lease(engine)


@pytest.fixture
def name() -> str:
    return f"trips_{uuid4().hex[:8]}"


def fill(engine: Engine, model: Any) -> None:
    engine.create_tables(model)
    with engine.session() as session:
        for n in range(ROWS):
            at = NOON + timedelta(days=n)
            note = None if n % 2 else f"note {n}"
            session.add(model(at=at, tail=f"N{n % 3}", miles=n, note=note))
    with engine.session() as session:
        for row in session.all(select(model).allow_full_scan()):
            row.miles += 100
            session.increment(model, model.seats.by(row.miles), at=row.at, tail=row.tail)


def rows(engine: Engine, model: Any) -> list[tuple[Any, ...]]:
    with engine.session() as session:
        every = session.all(select(model).allow_full_scan())
        return sorted((r.at, r.tail, r.miles, r.note, r.seats) for r in every)


def test_rows_move_to_another_key_with_their_timestamps_and_back(
    tables: Engine, backend: Backend, name: str
) -> None:
    old, new = old_class(name), salted_class(f"{name}_2")
    fill(tables, old)
    expected = rows(tables, old)
    made = Revision(tables, (old,), (new,))
    operation = RekeyTable(name, new_table=f"{name}_2")
    before = contents(tables, name)

    made.upgrade(operation, exclusive=True)

    other = backend.another(tables)
    assert rows(other, new) == expected
    with other.session() as session:
        assert [r.miles for r in session.all(select(new).where(new.miles == 104))] == [104]
    assert other.verify_index(new, "by_miles").is_sound
    (check,) = other.check_tables(new)
    assert [str(each) for each in check.differences] == []
    stamps = {at for cells in before.cells.values() for each in cells.values() for at, _ in each}
    moved = contents(tables, f"{name}_2")
    assert {
        at for cells in moved.cells.values() for each in cells.values() for at, _ in each
    } == stamps
    with pytest.raises(SchemaDriftError, match="moved to"):
        rows(backend.another(tables), old)

    made.downgrade(operation, exclusive=True)

    assert rows(backend.another(tables), old) == expected
    assert contents(tables, name).cells == before.cells
    made.upgrade(operation, exclusive=True)
    assert contents(tables, f"{name}_2").cells == moved.cells


def test_a_table_is_split_into_months_and_merged_again(
    tables: Engine, backend: Backend, name: str
) -> None:
    old, new = old_class(name), monthly_class(f"{name}_%Y%m")
    fill(tables, old)
    expected = rows(tables, old)
    before = contents(tables, name)
    made = Revision(tables, (old,), (new,))
    operation = SplitTable(name, new_table=f"{name}_%Y%m")

    made.upgrade(operation, exclusive=True)

    other = backend.another(tables)
    assert rows(other, new) == expected
    assert len(contents(tables, f"{name}_202401").cells) == 2
    assert [str(d) for c in other.check_tables(new) for d in c.differences] == []
    assert operation.reverse() == MergeTables(f"{name}_%Y%m", new_table=name)
    made.downgrade(operation, exclusive=True)
    assert contents(tables, name).cells == before.cells
    assert rows(backend.another(tables), old) == expected


def test_rows_that_get_the_same_key_are_refused_and_the_old_table_stays(
    tables: Engine, name: str
) -> None:
    old, new = old_class(name), few_class(f"{name}_2")
    fill(tables, old)
    expected = rows(tables, old)
    operation = RekeyTable(name, new_table=f"{name}_2")

    with pytest.raises(RefusedRowsError, match=r"the same row key|differ from") as caught:
        Revision(tables, (old,), (new,)).upgrade(operation, exclusive=True)

    assert caught.value.rows
    assert rows(tables, old) == expected


@pytest.mark.parametrize("exclusive", [True, False])
def test_a_move_needs_a_new_table(tables: Engine, name: str, *, exclusive: bool) -> None:
    old, new = old_class(name), salted_class(f"{name}_2")
    fill(tables, old)
    tables.create_tables(new)
    before = contents(tables, name)

    made = Revision(tables, (old,), (new,))
    with pytest.raises(TargetExistsError):
        made.upgrade(RekeyTable(name, new_table=f"{name}_2"), exclusive=exclusive)

    assert contents(tables, name) == before


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
    old, new = old_class(name), salted_class(f"{name}_2")
    fill(tables, old)
    operation = RekeyTable(name, new_table=f"{name}_2")
    sent = run_in_two_programs(Revision(tables, (old,), (new,)), [operation], last, exclusive=True)
    assert backend.another(tables).verify_index(new, "by_miles").is_sound
    return rows(backend.another(tables), new), sent
