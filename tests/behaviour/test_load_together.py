"""Several programs load one table with an index: the last one to end opens it.

A program that was cut off from HBase stands for one that was killed: it is not seen any more, and
what it had added is not sent. `tests/integration/test_killed_loaders.py` kills a process.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import replace
from functools import partial
from threading import Thread
from typing import Any
from uuid import uuid4

import pytest

from hbase_orm import Bulk, Engine, Family, Index, Key, Mapped, Model, codecs, column, key, select
from hbase_orm.errors import CatalogLeaseError, ConnectionLostError, FlushError, SchemaError
from hbase_orm.index.catalog.entry import TableState
from tests.support.recording import FailsBeforeSending, gateway_of

LEASE_S = 2.0


class _Order(Model, abstract=True):
    d = Family()
    number: Key[int] = key(codecs.uint32())
    city: Mapped[str] = column(d)
    state: Mapped[str] = column(d)


def models() -> tuple[Any, Any]:
    """Return the model of a new table, and one of the same table that lacks an index."""
    name = f"orders_{uuid4().hex[:8]}"

    class Order(_Order, table=name):
        by_city = Index(_Order.city)
        by_state = Index(_Order.state, _Order.number)

    class Unaware(_Order, table=name):
        by_city = Index(_Order.city)

    return Order, Unaware


def prepare(engine: Engine) -> None:
    """Each test makes a table of its own: only new tables are loaded."""


class Program:
    """A program with a lease that ends soon, which can be cut off from HBase."""

    def __init__(self, engine: Engine) -> None:
        self.gateway = FailsBeforeSending(gateway_of(engine), lambda _: None)
        options = replace(engine.options, lease_s=LEASE_S, timeout_s=1.0)
        self.engine = Engine(self.gateway, options)

    def load(self) -> Bulk:
        return self.engine.session().bulk(insert_only=True, batch_rows=2, gateway_timeout_s=0)

    def cut_off(self) -> None:
        self.gateway.error_of = lambda _: ConnectionLostError("cut off")

    def connect_again(self) -> None:
        self.gateway.error_of = lambda _: None


def orders(model: Any, *numbers: int) -> list[Any]:
    return [model(number=n, city=f"c{n % 2}", state="new") for n in numbers]


def assert_sound(engine: Engine, model: Any, *numbers: int) -> None:
    session = engine.session()
    for index in (model.by_city, model.by_state):
        found = engine.verify_index(model, index)
        assert (found.missing, found.invalid, found.foreign) == (0, 0, 0)
    stmt = select(model.number).where(model.state == "new").using(model.by_state)
    assert session.all(stmt) == list(numbers)


@pytest.mark.parametrize("is_first_the_last", [True, False])
def test_the_last_loader_to_end_opens_the_table(engine: Engine, *, is_first_the_last: bool) -> None:
    model, _ = models()
    engine.create_tables(model)
    programs = [Program(engine), Program(engine)]
    loads = [program.load().__enter__() for program in programs]
    for load, numbers in zip(loads, ((1, 2, 3), (4, 5, 6)), strict=True):
        load.add_all(orders(model, *numbers))
    early, late = reversed(loads) if is_first_the_last else loads

    early.__exit__(None, None, None)
    between = engine.table_state(model)
    session = engine.session()
    session.add_all(orders(model, 7))
    with pytest.raises(FlushError) as refused:
        session.flush()
    late.add_all(orders(model, 8))
    late.__exit__(None, None, None)

    assert (between, engine.table_state(model)) == (TableState.LOADING, TableState.READABLE)
    assert isinstance(refused.value.not_written[0][2], CatalogLeaseError)
    assert_sound(engine, model, 1, 2, 3, 4, 5, 6, 8)


def test_loaders_that_end_at_one_time_open_the_table(engine: Engine) -> None:
    model, _ = models()
    engine.create_tables(model)
    programs = [Program(engine) for _ in range(3)]

    def work(place: int) -> None:
        with programs[place].load() as load:
            load.add_all(orders(model, *range(10 * place, 10 * place + 5)))

    threads = [Thread(target=partial(work, place)) for place in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert engine.table_state(model) is TableState.READABLE
    assert_sound(engine, model, *range(5), *range(10, 15), *range(20, 25))


def test_a_loader_that_is_cut_off_keeps_the_table_closed_for_its_lease_only(
    engine: Engine,
) -> None:
    model, _ = models()
    engine.create_tables(model)
    lost, other = Program(engine), Program(engine)
    load = lost.load().__enter__()
    load.add_all(orders(model, 1, 2, 3))  # two are sent
    while engine.session().get(model, number=2) is None:
        time.sleep(0.01)
    lost.cut_off()

    with other.load() as rest:
        rest.add_all(orders(model, 4, 5))
    opened = engine.table_state(model)
    lost.connect_again()
    with pytest.raises(FlushError) as refused:
        load.__exit__(None, None, None)

    assert opened is TableState.READABLE
    (_, _, error), *more = refused.value.not_written
    assert (type(error), more) == (CatalogLeaseError, [])
    assert_sound(engine, model, 1, 2, 4, 5)


def test_a_loader_that_failed_does_not_open_the_table_and_may_load_again(engine: Engine) -> None:
    model, _ = models()
    engine.create_tables(model)
    failed, other = Program(engine), Program(engine)

    with suppress(KeyError), failed.load() as load:
        load.add_all(orders(model, 1, 2, 3))
        raise KeyError
    alone = engine.table_state(model)
    with other.load() as rest:
        rest.add_all(orders(model, 4))
        with failed.load() as again:
            again.add_all(orders(model, 1, 2, 3))

    assert (alone, engine.table_state(model)) == (TableState.LOADING, TableState.READABLE)
    assert_sound(engine, model, 1, 2, 3, 4)


def test_a_loader_with_other_indexes_does_not_join(engine: Engine) -> None:
    model, unaware = models()
    engine.create_tables(model)
    one, other = Program(engine), Program(engine)

    with one.load() as load:
        load.add_all(orders(model, 1))
        with pytest.raises(SchemaError, match="indexes differ"), other.load() as refused:
            refused.add_all(orders(unaware, 2))

    assert engine.table_state(model) is TableState.READABLE
    assert_sound(engine, model, 1)
