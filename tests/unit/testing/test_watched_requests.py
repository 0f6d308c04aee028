from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hbase_orm import connect, select
from hbase_orm.errors import ConfigurationError, ValidationError
from hbase_orm.testing import assert_requests, faults
from tests.unit.testing.tested_models import Order, Parcel

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hbase_orm import Engine


@pytest.fixture
def engine() -> Iterator[Engine]:
    with connect("memory:///shop") as connected:
        connected.create_tables(Order, Parcel)
        with connected.session() as session:
            session.add(Order(number=1, city="Oslo"))
            session.add(Parcel(number=1, city="Oslo"))
        yield connected


def test_a_get_is_one_request(engine: Engine) -> None:
    with assert_requests(engine, exactly=1) as sent:
        engine.session().get(Order, number=1)

    assert str(sent) == "GetRows shop:orders 1 keys"
    assert len(sent) == 1


def test_more_requests_are_listed(engine: Engine) -> None:
    with (
        pytest.raises(AssertionError) as raised,
        assert_requests(engine, max=1, of="read"),
    ):
        engine.session().all(select(Parcel).where(Parcel.city == "Oslo"))

    lines = str(raised.value).splitlines()
    assert lines[0].endswith("requests of 'read', not at most 1:")
    assert lines[1:3] == ["  OpenScanner shop:parcels_ix_by_city", "  FetchRows"]


def test_other_requests_and_tables_do_not_count(engine: Engine) -> None:
    with assert_requests(engine, max=0, of="write"):
        engine.session().get(Order, number=1)
    with assert_requests(engine, exactly=1, of="get", table=Order):
        engine.session().get(Order, number=1)
        engine.session().get(Parcel, number=1)


def test_fewer_requests_than_exactly_fail_too(engine: Engine) -> None:
    with pytest.raises(AssertionError, match="0 requests of 'any', not 1:"):  # noqa: SIM117
        with assert_requests(engine, exactly=1):
            pass


def test_an_error_of_the_block_is_not_hidden(engine: Engine) -> None:
    with pytest.raises(ZeroDivisionError), assert_requests(engine, exactly=1):
        raise ZeroDivisionError


@pytest.mark.parametrize("number", [None, 1])
def test_one_number_is_given(engine: Engine, number: int | None) -> None:
    with pytest.raises(ValidationError, match="no number of requests"):  # noqa: SIM117
        with assert_requests(engine, max=number, exactly=number):
            pass


def test_an_engine_that_is_closed_within_the_block_is_closed() -> None:
    engine = connect("memory:///shop")
    engine.create_tables(Order)
    with assert_requests(engine, max=0), faults(engine):
        engine.close()

    with pytest.raises(ConfigurationError, match="closed"):
        engine.session().get(Order, number=1)
