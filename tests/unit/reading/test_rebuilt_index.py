"""Statements that read through an index which is rebuilt, or dropped, meanwhile."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from hbase_orm import Engine, select
from hbase_orm.errors import ConflictError
from hbase_orm.gateway.memory.gateway import MemoryGateway
from tests.support.shop_processes import Clock, Order, engine_on

ROWS = 400
BY_STATE = select(Order).where(Order.state == "new").using(Order.by_state)
LEASE_S = 31.0


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def gateway(clock: Clock) -> MemoryGateway:
    gateway = MemoryGateway()
    engine = engine_on(gateway, clock)
    engine.create_tables(Order)
    with engine.session() as session:
        session.add_all(Order(number=n, customer="c", state="new") for n in range(ROWS))
    return gateway


def rebuild(engine: Engine) -> None:
    engine.build_index(Order, Order.by_state, rebuild=True, gateway_timeout_s=0)


def drop(engine: Engine) -> None:
    engine.drop_index(Order, Order.by_state)


def drop_and_build(engine: Engine) -> None:
    drop(engine)
    engine.build_index(Order, Order.by_state, gateway_timeout_s=0)


@pytest.mark.parametrize("change", [rebuild, drop, drop_and_build])
def test_a_stream_over_an_index_that_is_rebuilt_or_dropped_says_so(
    gateway: MemoryGateway, clock: Clock, change: Callable[[Engine], None]
) -> None:
    with engine_on(gateway, clock).session() as session, session.stream(BY_STATE) as orders:
        given = [next(orders).number]
        change(engine_on(gateway, clock))

        with pytest.raises(ConflictError, match="rebuilt or dropped") as caught:
            given += [order.number for order in orders]

        assert (caught.value.index, caught.value.fix) == ("by_state", "run the statement again")
        assert given == list(range(len(given)))


def test_a_statement_run_again_gives_every_row(gateway: MemoryGateway, clock: Clock) -> None:
    with engine_on(gateway, clock).session() as session:
        with session.stream(BY_STATE) as orders:
            next(orders)
            rebuild(engine_on(gateway, clock))

        assert [order.number for order in session.all(BY_STATE)] == list(range(ROWS))


def test_a_stream_that_outlives_its_lease_looks_at_the_catalog_and_goes_on(
    gateway: MemoryGateway, clock: Clock
) -> None:
    with engine_on(gateway, clock).session() as session, session.stream(BY_STATE) as orders:
        given = []
        for order in orders:
            given.append(order.number)
            clock.sleep(LEASE_S)

    assert given == list(range(ROWS))


def test_pages_go_on_in_the_table_that_a_rebuild_made(gateway: MemoryGateway, clock: Clock) -> None:
    with engine_on(gateway, clock).session() as session:
        first = session.page(BY_STATE, size=150)
        rebuild(engine_on(gateway, clock))
        with engine_on(gateway, clock).session() as other:
            other.put_row(Order, Order.customer.to("d"), number=300)
            other.insert(Order(number=ROWS, customer="c", state="new"))

        second = session.page(BY_STATE, size=150, token=first.token)
        third = session.page(BY_STATE, size=150, token=second.token)

    numbers = [order.number for page in (first, second, third) for order in page.items]
    assert (numbers, third.reason) == (list(range(ROWS + 1)), "exhausted")
