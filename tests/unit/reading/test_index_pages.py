"""Pages and streams through indexes that come, go, and change while they are read."""

from __future__ import annotations

from typing import Any

import pytest

from hbase_orm import (
    Engine,
    Family,
    Index,
    Key,
    Mapped,
    Model,
    codecs,
    column,
    connect,
    func,
    key,
    select,
)
from hbase_orm.binding.runtime import Runtime
from hbase_orm.errors import PageTokenError
from tests.support.shop_processes import Clock, OldOrder, Order, engine_on, orders


class Item(Model, table="items"):
    d = Family()
    number: Key[int] = key(codecs.uint8())
    labels: Mapped[list[str]] = column(d, codec=codecs.json(list[str]), default_factory=list[str])
    size: Mapped[int] = column(d, codec=codecs.uint8(), default=1)
    by_label = Index(func.each(labels))
    by_size = Index(size, func.each(labels))
    by_spread_label = Index(func.each(labels), salt=4)


NOW_MS = 1_700_000_000_000
RISING = select(Item).where(func.each(Item.labels).between("a", "z"))
ACCESSES = {
    "rising": RISING.using(Item.by_label),
    "salted": RISING.using(Item.by_spread_label),
}


@pytest.fixture
def shop() -> Engine:
    """Return the engine of a shop whose orders were written before `by_customer` was declared."""
    return engine_on(orders(), Clock())


@pytest.fixture
def items() -> Engine:
    return some_items()


def some_items() -> Engine:
    engine, clock_ms = empty_items()
    with engine.session() as session:
        session.add_all(Item(number=n, labels=[label]) for n, label in enumerate("fkmp"))
    clock_ms[0] += 1
    return engine


def empty_items() -> tuple[Engine, list[int]]:
    """Return an engine whose wall clock stands still, and that clock's milliseconds."""
    clock_ms = [NOW_MS]
    engine = connect("memory://")
    gateway = engine._runtime.gateway
    engine._runtime = Runtime(gateway, parallel=1, now_ms=lambda: clock_ms[0])
    engine.create_tables(Item)
    return engine, clock_ms


def numbers(found: list[Any]) -> list[int]:
    return [each.number for each in found]


def test_a_token_of_a_scan_is_refused_once_an_index_is_read(shop: Engine) -> None:
    asked = select(Order).where(Order.customer == "c1").allow_full_scan()
    with shop.session() as session:
        token = session.page(asked, size=2).token
    shop.build_index(Order, "by_customer", gateway_timeout_s=0)

    with (
        shop.session() as session,
        pytest.raises(
            PageTokenError,
            match="the page token was made by a read through another index or through the row key",
        ) as told,
    ):
        session.page(asked, size=2, token=token)

    assert told.value.details["reads_now_by"] == "by_customer"
    assert told.value.fix is not None


def test_a_token_of_an_index_is_refused_once_rows_are_scanned(shop: Engine) -> None:
    asked = select(Order).where(Order.customer == "c1").allow_full_scan()
    shop.build_index(Order, "by_customer", gateway_timeout_s=0)
    with shop.session() as session:
        token = session.page(asked, size=2).token
    shop.drop_index(Order, "by_customer")

    with shop.session() as session, pytest.raises(PageTokenError, match="the row key") as told:
        session.page(asked, size=2, token=token)

    assert told.value.details["reads_now_by"] == "the row key"


def test_a_statement_that_names_no_index_goes_on_when_one_is_built(shop: Engine) -> None:
    asked = select(Order).where(Order.customer == "c1").allow_full_scan().using(None)
    with shop.session() as session:
        first = session.page(asked, size=2)
    shop.build_index(Order, "by_customer", gateway_timeout_s=0)

    with shop.session() as session:
        rest = session.page(asked, size=50, token=first.token)

        assert numbers(first.items) + numbers(rest.items) == numbers(session.all(asked))


def test_a_token_goes_on_when_an_index_that_is_not_read_is_built(shop: Engine) -> None:
    of_state = select(OldOrder).where(OldOrder.state == "new")
    with shop.session() as session:
        everything = numbers(session.all(of_state))
        first = session.page(of_state, size=20)
    shop.build_index(Order, "by_customer", gateway_timeout_s=0)

    with shop.session() as session:
        rest = session.page(of_state, size=50, token=first.token)

    assert numbers(first.items) + numbers(rest.items) == everything


def of_labels(place: str) -> type[Any]:
    """Return a model of one table whose index `by_it` is of another field for another release."""

    class Thing(Model, table="things"):
        d = Family()
        number: Key[int] = key(codecs.uint8())
        one: Mapped[str] = column(d)
        two: Mapped[str] = column(d)
        by_it = Index(one) if place == "one" else Index(one, two)

    return Thing


def test_a_token_of_an_index_by_the_same_name_over_other_fields_is_refused() -> None:
    engine = engine_on(orders(0), Clock())
    old, new = of_labels("one"), of_labels("two")
    engine.create_tables(old)
    with engine.session() as session:
        session.add_all(old(number=n, one="x", two=str(9 - n)) for n in range(6))
        session.flush()
        token = session.page(select(old).where(old.one == "x"), size=2).token
    engine.drop_index(old, "by_it")
    engine.build_index(new, "by_it", gateway_timeout_s=0)

    with (
        engine.session() as session,
        pytest.raises(
            PageTokenError,
            match="the page token was made by a read through another index or through the row key",
        ),
    ):
        session.page(select(new).where(new.one == "x"), size=2, token=token)


@pytest.mark.parametrize("name", ACCESSES)
def test_a_stream_gives_a_row_that_gets_an_entry_behind_the_reader(
    items: Engine, name: str
) -> None:
    asked = ACCESSES[name].caching(1)

    with items.session() as session, session.stream(asked) as found:
        given = [next(found).number]
        session.put_row(Item, Item.labels.to(["a", "m"]), number=2)
        given += numbers(list(found))

    assert given == [0, 1, 2, 3]


@pytest.mark.parametrize("name", ACCESSES)
def test_pages_give_a_row_that_gets_an_entry_behind_them(name: str) -> None:
    asked = ACCESSES[name]
    with some_items().session() as session:
        first = session.page(asked, size=2)
        session.put_row(Item, Item.labels.to(["a", "m"]), number=2)  # in the same millisecond
        rest = session.page(asked, size=9, token=first.token)

    assert numbers(first.items) + numbers(rest.items) == [0, 1, 2, 3]


@pytest.mark.parametrize("name", ACCESSES)
def test_pages_give_a_row_with_entries_in_several_of_them_once(name: str) -> None:
    engine, clock_ms = empty_items()
    asked = ACCESSES[name]
    with engine.session() as session:
        session.add_all(Item(number=n, labels=list("afkmp"[n:])) for n in range(5))
        session.flush()
        clock_ms[0] += 1  # rows of the first page's millisecond may be given twice
        given, page = [], session.page(asked, size=1)
        given += numbers(page.items)
        while page.token is not None:
            page = session.page(asked, size=1, token=page.token)
            given += numbers(page.items)

    assert given == [0, 1, 2, 3, 4]


def test_pages_that_fall_give_a_row_with_entries_in_several_of_them_once() -> None:
    engine, clock_ms = empty_items()
    asked = RISING.where(Item.size >= 1).order_by(Item.size.desc()).using(Item.by_size)
    with engine.session() as session:
        session.add_all(Item(number=n, size=n, labels=["a", "f", "k"]) for n in (1, 2, 3))
        session.flush()
        clock_ms[0] += 1  # rows of the first page's millisecond may be given twice
        page = session.page(asked, size=1)
        given = numbers(page.items)
        while page.token is not None:
            page = session.page(asked, size=1, token=page.token)
            given += numbers(page.items)

    assert given == [3, 2, 1]
