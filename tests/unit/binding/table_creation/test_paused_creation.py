"""Programs that start while another one truncates their tables or makes them again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from hbase_orm import Engine, Family, Index, Key, Mapped, Model, column, key
from hbase_orm.errors import ConflictError, SchemaError
from hbase_orm.gateway.memory.gateway import MemoryGateway
from hbase_orm.ops import DescribeTable, DropTable, OpenScanner, Operation, TruncateTable
from tests.support.recording import FailsBeforeSending, LetsAnotherWork
from tests.support.shop_processes import Clock, engine_on

INDEX_TABLE = "parcels_ix_by_city"


class KilledError(Exception):
    """Ends a program between two requests."""


class Parcel(Model, table="parcels"):
    d = Family()
    no: Key[str] = key()
    city: Mapped[str] = column(d)
    weight: Mapped[int] = column(d)
    by_city = Index(city, include=[weight])


def makes_again(program: Engine) -> None:
    program.drop_tables(Parcel)
    program.create_tables(Parcel)


def truncates(program: Engine) -> None:
    program.truncate_tables(Parcel)


def rebuilds(program: Engine) -> None:
    program.build_index(Parcel, "by_city", rebuild=True)


def drops_the_index(program: Engine) -> None:
    program.drop_index(Parcel, "by_city")


def add(gateway: MemoryGateway) -> None:
    with engine_on(gateway, Clock()).session() as session:
        session.add(Parcel(no="1", city="c", weight=1))


@pytest.fixture
def gateway() -> MemoryGateway:
    gateway = MemoryGateway()
    engine_on(gateway, Clock()).create_tables(Parcel)
    return gateway


def looks_for_the_index_table(operation: Operation[object]) -> bool:
    return isinstance(operation, DescribeTable) and INDEX_TABLE in operation.table


def scans_the_index_table(operation: Operation[object]) -> bool:
    return isinstance(operation, OpenScanner) and INDEX_TABLE in operation.scan.table


@pytest.mark.parametrize("work", [makes_again, truncates, rebuilds, drops_the_index])
@pytest.mark.parametrize("is_empty", [False, True])
def test_an_index_table_that_another_program_replaced_is_not_lost(
    gateway: MemoryGateway, work: Callable[[Engine], None], *, is_empty: bool
) -> None:
    if is_empty:  # and known as a table that was written
        engine_on(gateway, Clock()).build_index(Parcel, "by_city", rebuild=True)
    else:
        add(gateway)
    meets = scans_the_index_table if is_empty else looks_for_the_index_table
    paused = LetsAnotherWork(gateway, meets, lambda: work(engine_on(gateway, Clock())))

    with pytest.raises(ConflictError, match="at the same time") as caught:
        engine_on(paused, Clock()).create_tables(Parcel)

    assert caught.value.fix == "call create_tables again"
    assert engine_on(paused, Clock()).create_tables(Parcel) == []


def test_entries_of_a_table_that_is_being_truncated_are_no_rows_of_an_earlier_one(
    gateway: MemoryGateway,
) -> None:
    add(gateway)

    def truncate_partly() -> None:
        crash = FailsBeforeSending(
            gateway, lambda op: KilledError() if isinstance(op, DropTable) else None
        )
        with pytest.raises(KilledError):
            engine_on(crash, Clock()).truncate_tables(Parcel)

    def first_look_at_rows(operation: Operation[object]) -> bool:
        return isinstance(operation, OpenScanner) and operation.scan.table == "parcels"

    paused = LetsAnotherWork(gateway, first_look_at_rows, truncate_partly)
    with pytest.raises(ConflictError, match="at the same time"):
        engine_on(paused, Clock()).create_tables(Parcel)


def test_a_table_that_is_lost_is_reported_as_lost(gateway: MemoryGateway) -> None:
    add(gateway)
    gateway.execute(DropTable(INDEX_TABLE))

    with pytest.raises(SchemaError, match="index's table was dropped"):
        engine_on(gateway, Clock()).create_tables(Parcel)


def test_an_interrupted_truncation_within_an_exclusive_use_is_no_loss(
    gateway: MemoryGateway,
) -> None:
    add(gateway)
    dropped: list[str] = []

    def error_after_drop(operation: Operation[Any]) -> KilledError | None:
        if dropped:
            dropped.clear()
            return KilledError()
        dropped.extend([operation.table] if isinstance(operation, DropTable) else [])
        return None

    own = engine_on(FailsBeforeSending(gateway, error_after_drop), Clock())
    with own.exclusive(Parcel):
        with pytest.raises(KilledError):
            own.truncate_tables(Parcel)

        assert own.create_tables(Parcel) == []
        assert engine_on(gateway, Clock()).create_tables(Parcel) == []
    assert engine_on(gateway, Clock()).create_tables(Parcel) == []


@pytest.mark.parametrize("is_exclusive", [False, True])
def test_the_comparison_advises_to_finish_an_interrupted_truncation(
    gateway: MemoryGateway, *, is_exclusive: bool
) -> None:
    add(gateway)
    crash = FailsBeforeSending(
        gateway, lambda op: KilledError() if isinstance(op, TruncateTable) else None
    )
    own = engine_on(crash, Clock())
    with pytest.raises(KilledError):
        own.truncate_tables(Parcel, exclusive=is_exclusive)

    (check,) = engine_on(gateway, Clock()).check_tables(Parcel)

    fixes = {each.subject: each.fix for each in check.differences}
    assert fixes.keys() == {"catalog", "index by_city"}
    assert all("hbase-orm tables truncate" in fix for fix in fixes.values())
