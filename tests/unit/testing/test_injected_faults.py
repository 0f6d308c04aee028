from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hbase_orm import connect, select
from hbase_orm.errors import FlushError, HBaseORMError, ServerBusyError, ValidationError
from hbase_orm.testing import faults
from tests.unit.testing.tested_models import Order, Parcel

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hbase_orm import Engine


@pytest.fixture
def engine() -> Iterator[Engine]:
    with connect("memory:///shop") as connected:
        connected.create_tables(Order, Parcel)
        yield connected


def saved(engine: Engine) -> Order | None:
    return engine.session().get(Order, number=1)


def save(engine: Engine) -> None:
    with engine.session() as session:
        session.add(Order(number=1, city="Oslo"))


def test_a_lost_answer_leaves_what_was_written(engine: Engine) -> None:
    with faults(engine) as injected:
        injected.lose_answer(after="put", table=Order)
        with pytest.raises(FlushError) as raised:
            save(engine)

    assert len(raised.value.unknown) == 1
    assert saved(engine) is not None


def test_a_lost_request_leaves_nothing(engine: Engine) -> None:
    with faults(engine) as injected:
        injected.lose_request(before="put")
        with pytest.raises(FlushError) as raised:
            save(engine)

    assert len(raised.value.unknown) == 1
    assert saved(engine) is None


def test_a_refused_read_is_an_error_of_the_server(engine: Engine) -> None:
    with faults(engine) as injected:
        injected.refuse("get", table="orders", times=100)
        with pytest.raises(ServerBusyError):
            saved(engine)


def test_requests_before_the_fault_are_let_through(engine: Engine) -> None:
    save(engine)
    with faults(engine) as injected:
        injected.refuse("get", skip=2, times=100)
        saved(engine)
        saved(engine)
        with pytest.raises(ServerBusyError):
            saved(engine)

    assert saved(engine) is not None


def test_another_program_works_in_between(engine: Engine) -> None:
    with faults(engine) as injected:
        injected.meanwhile(before="scan", do=lambda: save(engine))
        rows = engine.session().all(select(Order).allow_full_scan())

    assert [each.number for each in rows] == [1]


def test_a_check_of_a_guarded_table_is_a_put_too(engine: Engine) -> None:
    with faults(engine) as injected:
        injected.lose_request(before="put", table=Parcel, times=100)
        with pytest.raises(HBaseORMError), engine.session() as session:
            session.add(Parcel(number=1, city="Oslo"))

    assert engine.session().get(Parcel, number=1) is None


def test_a_fault_that_did_not_happen_fails_the_test(engine: Engine) -> None:
    def fail_to_fail() -> None:
        with faults(engine) as injected:
            injected.lose_answer(after="append", table=Order)
            save(engine)

    with pytest.raises(AssertionError, match="lost answer at 'append' of 'orders' did not happen"):
        fail_to_fail()


def test_an_error_of_the_block_is_not_hidden(engine: Engine) -> None:
    def fail() -> None:
        with faults(engine) as injected:
            injected.refuse("append")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()


def test_faults_end_with_the_block(engine: Engine) -> None:
    with faults(engine) as injected:
        injected.refuse("any", times=100)
        with pytest.raises(HBaseORMError):
            save(engine)

    save(engine)
    assert saved(engine) is not None


def test_words_and_numbers_are_checked(engine: Engine) -> None:
    with faults(engine) as injected:
        with pytest.raises(ValidationError, match="write one of get, scan, read, put"):
            injected.refuse("post")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        with pytest.raises(ValidationError, match="once or more often"):
            injected.refuse("get", times=0)
