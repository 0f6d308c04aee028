"""Builds that are paused before they look for missing index tables, while another program works."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from hbase_orm import Engine, Family, Index, Key, Mapped, Model, column, key, select
from hbase_orm.errors import QueryError
from hbase_orm.gateway.memory.gateway import MemoryGateway
from hbase_orm.index.catalog.entry import IndexState
from hbase_orm.ops import CreateTable, DescribeTable, DropTable, ListTables, Operation
from tests.support.recording import LetsAnotherWork
from tests.support.shop_processes import Clock, engine_on


class Parcel(Model, table="parcels"):
    d = Family()
    no: Key[str] = key()
    city: Mapped[str] = column(d)
    label: Mapped[str] = column(d)
    by_city = Index(city)
    by_label = Index(label)


def fill(program: Engine) -> None:
    with program.session() as session:
        session.add_all(Parcel(no=n, city="c", label="l") for n in "ab")


def makes_again(program: Engine) -> None:
    program.drop_tables(Parcel)
    program.create_tables(Parcel)
    fill(program)


def rebuilds(program: Engine) -> None:
    program.build_index(Parcel, "by_label", rebuild=True)


def drops_the_index(program: Engine) -> None:
    program.drop_index(Parcel, "by_label")


@pytest.fixture
def gateway() -> MemoryGateway:
    gateway = MemoryGateway()
    engine = engine_on(gateway, Clock())
    engine.create_tables(Parcel)
    fill(engine)
    return gateway


def index_tables(gateway: MemoryGateway) -> list[str]:
    return [name for name in gateway.execute(ListTables()) if "_ix_by_label" in name]


def looks_for_the_label_table(operation: Operation[object]) -> bool:
    return operation == DescribeTable("parcels_ix_by_label")


def assert_both_are_good(gateway: MemoryGateway) -> None:
    engine = engine_on(gateway, Clock())
    states = {name: status.state for name, status in engine.indexes(Parcel).items()}
    assert states == dict.fromkeys(("by_city", "by_label"), IndexState.READABLE)
    by_city = select(Parcel.no).where(Parcel.city == "c").using(Parcel.by_city)
    by_label = select(Parcel.no).where(Parcel.label == "l").using(Parcel.by_label)
    assert engine.session().all(by_city) == engine.session().all(by_label) == ["a", "b"]


@pytest.mark.parametrize("work", [makes_again, rebuilds])
def test_a_good_index_with_a_new_table_stays_in_use(
    gateway: MemoryGateway, work: Callable[[Engine], None]
) -> None:
    paused = LetsAnotherWork(
        gateway, looks_for_the_label_table, lambda: work(engine_on(gateway, Clock()))
    )

    engine_on(paused, Clock()).build_index(Parcel, "by_city", rebuild=True)

    assert paused.has_worked
    assert_both_are_good(gateway)
    assert index_tables(gateway) == ["parcels_ix_by_label.2"]


def test_a_dropped_index_gets_no_table_again(gateway: MemoryGateway) -> None:
    paused = LetsAnotherWork(
        gateway, looks_for_the_label_table, lambda: drops_the_index(engine_on(gateway, Clock()))
    )

    engine_on(paused, Clock()).build_index(Parcel, "by_city", rebuild=True)

    assert paused.has_worked
    assert index_tables(gateway) == []


def test_the_wait_before_a_missing_table_is_made_ends_with_another_look(
    gateway: MemoryGateway,
) -> None:
    gateway.execute(DropTable("parcels_ix_by_label"))
    clock = Clock()
    pauses: list[float] = []

    def rebuild_once() -> None:
        pauses.append(clock.now_s)
        if len(pauses) == 1:
            engine_on(gateway, Clock()).build_index(Parcel, "by_label")

    clock.on_sleep.append(rebuild_once)
    engine_on(gateway, clock).build_index(Parcel, "by_city", rebuild=True)

    assert_both_are_good(gateway)
    assert index_tables(gateway) == ["parcels_ix_by_label.2"]


def test_a_missing_table_of_another_index_is_made_and_the_index_is_not_used(
    gateway: MemoryGateway,
) -> None:
    gateway.execute(DropTable("parcels_ix_by_label"))

    engine_on(gateway, Clock()).build_index(Parcel, "by_city", rebuild=True)

    assert index_tables(gateway) == ["parcels_ix_by_label"]
    with pytest.raises(QueryError, match="cannot be read now"):
        engine_on(gateway, Clock()).session().all(
            select(Parcel.no).where(Parcel.label == "l").using(Parcel.by_label)
        )


@pytest.mark.parametrize("work", [makes_again, rebuilds])
def test_an_index_that_another_program_built_meanwhile_is_not_built_again(
    gateway: MemoryGateway, work: Callable[[Engine], None]
) -> None:

    def meets(operation: Operation[object]) -> bool:
        return operation == DescribeTable("parcels_ix_by_label")

    paused = LetsAnotherWork(gateway, meets, lambda: work(engine_on(gateway, Clock())))
    engine_on(paused, Clock()).build_index(Parcel, "by_label")

    assert paused.has_worked
    assert_both_are_good(gateway)
    made = [each for each in paused.requests if isinstance(each, CreateTable)]
    assert made == []
    assert index_tables(gateway) == ["parcels_ix_by_label.2"]
