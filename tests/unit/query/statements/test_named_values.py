"""Several values of a row are a tuple with names."""

from __future__ import annotations

import copy
import pickle
from datetime import UTC, datetime
from typing import Any

import pytest

from hbase_orm import (
    Dynamic,
    Family,
    Key,
    Mapped,
    Model,
    column,
    connect,
    dynamic,
    func,
    key,
    select,
)
from hbase_orm.query.statements.named_values import named_type, value_name

NOON = datetime(2024, 1, 5, 12, tzinfo=UTC)


class Order(Model, table="orders"):
    d = Family()
    city: Key[str] = key()
    at: Key[datetime] = key()
    total: Mapped[float] = column(d)
    count: Mapped[int] = column(d)
    tags: Dynamic[str, str] = dynamic(d, prefix="t_")


@pytest.fixture(scope="module")
def session() -> Any:
    engine = connect("memory://")
    engine.create_tables(Order)
    with engine.session() as session:
        for city, total in [("x", 1.5), ("x", 2.5), ("y", 9.0)]:
            order = Order(city=city, at=NOON.replace(second=int(total)), total=total, count=7)
            order.tags["rack"] = "r1"
            session.add(order)
    return engine.session()


OF_X = (Order.city == "x", Order.total > 2.0)


def test_values_are_read_by_name_and_by_place(session: Any) -> None:
    (row,) = session.all(select(Order.total, Order.city).where(*OF_X))

    assert (row.city, row.total) == ("x", 2.5)
    assert (row[0], row[1]) == (2.5, "x")
    assert row == (2.5, "x")
    assert hash(row) == hash((2.5, "x"))
    assert isinstance(row, tuple)
    total, city = row
    assert (total, city) == (2.5, "x")


@pytest.mark.parametrize(
    "items",
    [
        (Order.city, Order.total),  # all that is read, in this order
        (Order.total, Order.city),
        (Order.city, Order.at),
    ],
)
def test_every_way_to_read_gives_names(session: Any, items: tuple[Any, ...]) -> None:
    statement = select(*items).where(*OF_X)
    expected = tuple(item.name for item in items)

    rows = [
        *session.all(statement),
        session.first(statement),
        session.one(statement),
        *session.stream(statement),
        *session.page(statement, size=1).items,
        *session.all(statement.sort_in_memory(Order.total, max_rows=9)),
        *session.all(statement.order_by(Order.at).limit(1)),
    ]

    assert {row._fields for row in rows} == {expected}
    assert len(set(rows)) == 1


def test_groups_have_the_names_of_their_functions(session: Any) -> None:
    per_city = select(Order.city, func.count(), func.max(Order.total), func.sum(Order.count))
    rows = session.all(per_city.group_by(Order.city).allow_full_scan())

    assert rows == [("x", 2, 2.5, 14), ("y", 1, 9.0, 7)]
    assert rows[0]._fields == ("city", "count", "max_total", "sum_count")
    assert repr(rows[1]) == "Values(city='y', count=1, max_total=9.0, sum_count=7)"


def test_one_value_stays_a_value(session: Any) -> None:
    assert session.all(select(Order.total).where(*OF_X)) == [2.5]
    assert session.one(select(func.count(Order.city)).where(Order.city == "x")) == 2


def test_functions_and_dynamic_columns_have_names() -> None:
    assert value_name(func.day(Order.at)) == "day_at"
    assert value_name(func.count(Order.total)) == "count_total"
    assert value_name(func.min(Order.tags["rack"])) == "min_tags_rack"


def test_a_name_that_clashes_or_is_no_identifier_is_its_place(session: Any) -> None:
    statement = select(Order.city, Order.tags["a b"], Order.city, Order.tags["rack"])
    (row,) = session.all(statement.where(*OF_X))

    assert row._fields == ("city", "_1", "_2", "tags_rack")
    assert (row._1, row._2, row.tags_rack) == (None, "x", "r1")


def test_a_pickled_or_copied_row_keeps_its_names(session: Any) -> None:
    rows = session.all(select(Order.city, Order.tags["a b"]).where(Order.city == "x"))

    for restored in (pickle.loads(pickle.dumps(rows)), copy.deepcopy(rows)):
        assert restored == rows
        assert [row._fields for row in restored] == [("city", "_1")] * 2
        assert type(restored[0]) is type(rows[0])


def test_a_row_is_changed_and_turned_into_a_dict_as_any_named_tuple(session: Any) -> None:
    (row,) = session.all(select(Order.city, Order.total).where(*OF_X))

    assert row._asdict() == {"city": "x", "total": 2.5}
    assert repr(row._replace(total=3.0)) == "Values(city='x', total=3.0)"


def test_a_row_with_long_values_prints_in_short() -> None:
    row = tuple.__new__(named_type(("a", "b")), ("x" * 1_000_000, [1] * 1000))

    assert len(repr(row)) < 200
