"""Revisions whose runner ends before any request, and runs that go on or back.

Whatever was interrupted, in whatever direction and how often: the next run that ends leaves what it
leaves when nothing is interrupted.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

import pytest

from hbase_orm import Engine, Family, Index, Key, Mapped, Model, codecs, column, key, select
from hbase_orm.errors import MigrationError
from hbase_orm.migrate import MigrationOptions, Revision
from hbase_orm.migrate.errors import StepFailedError
from hbase_orm.migrate.operations.columns import AddColumn, UpdateRecord
from hbase_orm.migrate.operations.copies import RekeyTable
from hbase_orm.migrate.operations.encodings import ChangeCodec, RenameQualifier
from hbase_orm.migrate.operations.families import AddFamily
from hbase_orm.migrate.operations.indexes import AddIndex
from hbase_orm.migrate.operations.record_updates import updated
from hbase_orm.migrate.operations.tables import CreateTable
from hbase_orm.migrate.operations.values import TransformColumn
from tests.support.interrupted_runs import Fill, Runs, declared, there_and_back
from tests.support.migrated_tables import contents

ROWS: Final = 5
EXCLUSIVE: Final = MigrationOptions(exclusive=True)
ONLINE: Final = MigrationOptions(gateway_timeout_s=0)
SOAK: Final = (pytest.mark.soak, pytest.mark.timeout(3600))
DIRECTIONS: Final = ("upgrade", "downgrade")
EACH_REQUEST: Final = pytest.mark.parametrize("step", [7, pytest.param(1, marks=SOAK)])
"""A run ends before each request, or before one in seven."""

THEN: Final = pytest.mark.parametrize("then", DIRECTIONS)


def before() -> type[Model]:
    class Order(Model, table="orders"):
        d = Family()
        id: Key[int] = key(codecs.uint32())
        city: Mapped[str] = column(d, "c")
        note: Mapped[str] = column(d, "n")
        size: Mapped[int] = column(d, "s", codec=codecs.int64())

    return Order


def after() -> type[Model]:
    class Order(Model, table="orders"):
        d = Family()
        e = Family()
        id: Key[int] = key(codecs.uint32())
        city: Mapped[str] = column(d, "t")
        note: Mapped[str | None] = column(d, "n", default=None)
        size: Mapped[int] = column(d, "s", codec=codecs.uint64())
        unit: Mapped[str | None] = column(e, "u", default=None)
        by_city = Index(city)

    return Order


def shops() -> type[Model]:
    class Shop(Model, table="shops"):
        d = Family()
        id: Key[int] = key(codecs.uint32())
        city: Mapped[str] = column(d, "c")
        by_city = Index(city)

    return Shop


AFTER: Final = declared(after(), shops())

# A row that is changed twice, or changed back without having been changed, shows it.
STEPS: Final = Revision(
    "a",
    operations=(
        CreateTable("shops"),
        UpdateRecord("orders"),
        TransformColumn("orders", "d:n", forward=lambda v: v + b"!", backward=lambda v: v[:-1]),
        ChangeCodec("orders", "d:s", old=codecs.int64(), new=codecs.uint64()),
        RenameQualifier("orders", "d:c", "d:t"),
        UpdateRecord("orders"),
        AddFamily("orders", "e"),
        AddColumn("orders", "e:u"),
        AddIndex("orders", "by_city"),
    ),
    checksum="c",
    before=declared(before()),
    after=AFTER,
)


def fill(engine: Engine) -> None:
    made: Any = before()
    engine.create_tables(made)
    with engine.session() as session:
        for number in range(ROWS):
            session.add(made(id=number, city=f"c{number % 2}", note=f"n{number}", size=number))


def compared(runs: Runs) -> object:
    """Return the record and the values of the table.

    After a downgrade guards may stay in it, and what `UpdateRecord` has added to the record.
    """
    table = contents(runs.engine, "orders")
    assert table.record is not None
    record = replace(updated(table.record, AFTER["orders"]), is_guarded=True)
    return record, table.values, runs.tables("orders", "shops")


@pytest.fixture(scope="module")
def wanted() -> dict[str, object]:
    """Return what a run that nobody interrupts leaves: of an upgrade, and of both."""
    runs, left = Runs(STEPS, EXCLUSIVE, fill), {}
    for direction in DIRECTIONS:
        runs.run(direction)
        left[direction] = compared(runs)
    return left


@pytest.mark.timeout(300)
@THEN
@EACH_REQUEST
def test_a_run_after_an_upgrade_that_ended_at_any_request_leaves_what_one_run_leaves(
    wanted: dict[str, object], step: int, then: str
) -> None:
    held = 0
    for number in range(0, Runs(STEPS, EXCLUSIVE, fill).requests_of("upgrade"), step):
        runs = Runs(STEPS, EXCLUSIVE, fill)
        runs.ends("upgrade", number)
        held += runs.is_held("orders")
        runs.run(then)
        assert compared(runs) == wanted[then], number
        assert not runs.is_held("orders"), number
    assert held > 3


@pytest.mark.timeout(300)
@THEN
@EACH_REQUEST
def test_a_run_after_a_downgrade_that_ended_at_any_request_leaves_what_one_run_leaves(
    wanted: dict[str, object], step: int, then: str
) -> None:
    whole = Runs(STEPS, EXCLUSIVE, fill)
    whole.run("upgrade")
    for number in range(0, whole.requests_of("downgrade"), step):
        runs = whole.fresh()
        runs.run("upgrade")
        runs.ends("downgrade", number)
        runs.run(then)
        assert compared(runs) == wanted[then], number
        assert not runs.is_held("orders"), number


@pytest.mark.timeout(300)
@THEN
@pytest.mark.parametrize("seeds", [20, pytest.param(400, marks=SOAK)])
def test_a_run_after_several_that_ended_leaves_what_one_run_leaves(
    wanted: dict[str, object], seeds: int, then: str
) -> None:
    for seed in range(seeds):
        runs, ended = Runs(STEPS, EXCLUSIVE, fill), [*there_and_back(seed, 120)]
        for direction, number in ended:
            runs.ends(direction, number)
        runs.run(then)
        assert compared(runs) == wanted[then], (seed, ended)
        assert not runs.is_held("orders"), (seed, ended)


def by_city() -> type[Model]:
    class Order(Model, table="orders"):
        d = Family()
        city: Key[str] = key()
        id: Key[int] = key(codecs.uint32())
        size: Mapped[int] = column(d, "s", codec=codecs.int64())
        by_size = Index(size)

    return Order


def by_id() -> type[Model]:
    class Order(Model, table="orders_by_id"):
        d = Family()
        id: Key[int] = key(codecs.uint32())
        city: Key[str] = key()
        size: Mapped[int] = column(d, "s", codec=codecs.int64())
        by_size = Index(size)

    return Order


MOVE: Final = Revision(
    "m",
    operations=(RekeyTable("orders", new_table="orders_by_id"),),
    checksum="c",
    before=declared(by_city()),
    after=declared(by_id()),
)
CLASSES: Final = {"upgrade": by_id, "downgrade": by_city}


def fill_by_city(engine: Engine) -> None:
    made: Any = by_city()
    engine.create_tables(made)
    with engine.session() as session:
        for number in range(ROWS):
            session.add(made(city=f"c{number % 2}", id=number, size=number))


def check_orders(runs: Runs, direction: str) -> None:
    """Check that programs of the class that belongs to a direction see every row once."""
    order: Any = CLASSES[direction]()
    every = select(order).allow_full_scan()
    with runs.engine.session() as session:
        rows = [(each.id, each.city, each.size) for each in session.stream(every)]
        indexed = [each.id for each in session.all(select(order).where(order.size >= 0))]
    assert sorted(rows) == [(n, f"c{n % 2}", n) for n in range(ROWS)]
    assert sorted(indexed) == [*range(ROWS)]


@pytest.mark.timeout(300)
@THEN
@pytest.mark.parametrize("options", [EXCLUSIVE, ONLINE], ids=["exclusively", "online"])
@pytest.mark.parametrize("seeds", [20, pytest.param(400, marks=SOAK)])
def test_a_move_of_rows_goes_on_or_back_after_several_runs_that_ended(
    seeds: int, options: MigrationOptions, then: str
) -> None:
    refused = 0
    for seed in range(seeds):
        runs, ended = Runs(MOVE, options, fill_by_city), [*there_and_back(seed, 150)]
        try:
            for direction, number in ended:
                runs.ends(direction, number)
            runs.run(then)
        except StepFailedError as error:
            # Rows have been handed over, so the move must be finished first.
            if options is EXCLUSIVE or "finish the move" not in error.fix:
                raise
            refused += 1
            other = "downgrade" if error.details["operation"].endswith("by_id") else "upgrade"
            runs.run(other)
            runs.run(then)
        check_orders(runs, then)
        assert not runs.is_held("orders"), (seed, ended)
        assert not runs.is_held("orders_by_id"), (seed, ended)
    assert refused < seeds


@pytest.mark.parametrize(
    ("operation", "old", "new", "filled"),
    [
        (CreateTable("shops"), before, shops, fill),
        (RekeyTable("orders", new_table="orders_by_id"), by_city, by_id, fill_by_city),
    ],
    ids=["create", "re-key"],
)
def test_a_downgrade_after_a_refused_upgrade_drops_nothing_that_was_there(
    operation: Any, old: Any, new: Any, filled: Fill
) -> None:
    def fill_both(engine: Engine) -> None:
        filled(engine)
        engine.create_tables(new())

    refused = Revision(
        "r",
        operations=(operation,),
        checksum="c",
        before=declared(old()),
        after=declared(new()),
    )
    runs = Runs(refused, EXCLUSIVE, fill_both)
    there = runs.tables("orders", "shops")
    with pytest.raises(MigrationError, match="exists already"):
        runs.run("upgrade")

    runs.run("downgrade")

    assert runs.tables("orders", "shops") == there
