"""Comparisons that make no sense are refused when a statement is planned, before any request."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, time
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Any

import pytest

from hbase_orm import Family, Key, Mapped, Model, codecs, column, key, select
from hbase_orm.errors import QueryError
from hbase_orm.query import plan


class Status(Enum):
    NEW = "n"
    PAID = "p"


class Rank(IntEnum):
    LOW = 1
    HIGH = 2


@dataclass(frozen=True, order=True)
class Dated:
    day: int


@dataclass(frozen=True)
class Plain:
    day: int


class Row(Model, table="rows"):
    d = Family()
    name: Key[str] = key()
    status: Mapped[Status] = column(d)
    coded: Mapped[Status] = column(d, codec=codecs.code({Status.NEW: b"n", Status.PAID: b"p"}))
    rank: Mapped[Rank] = column(d)
    at: Mapped[datetime] = column(d)
    clock: Mapped[time] = column(d, codec=codecs.get("millis_of_day"))
    price: Mapped[Decimal] = column(d)
    counts: Mapped[dict[str, int]] = column(d, codec=codecs.json(dict[str, int]))
    labels: Mapped[list[str]] = column(d, codec=codecs.json(list[str]))
    maybe: Mapped[list[str | None]] = column(d, codec=codecs.json(list[str | None]))
    things: Mapped[list[Any]] = column(d, codec=codecs.json(list))
    roles: Mapped[frozenset[str]] = column(d, codec=codecs.json(frozenset[str]))
    anything: Mapped[set[Any]] = column(d, codec=codecs.json(set))
    numbers: Mapped[set[float]] = column(d, codec=codecs.json(set[float]))
    pair: Mapped[tuple[int, str]] = column(d, codec=codecs.json(tuple[int, str]))
    dated: Mapped[Dated] = column(d, codec=codecs.json(Dated))
    plain: Mapped[Plain] = column(d, codec=codecs.json(Plain))


ROW: Any = Row


def planned(condition: Any) -> None:
    plan(select(Row).where(condition).allow_full_scan(), Row.__schema__)


def refusal(condition: Any) -> QueryError:
    with pytest.raises(QueryError) as caught:
        planned(condition)
    return caught.value


@pytest.mark.parametrize(
    "condition",
    [
        Row.status < Status.PAID,
        Row.coded >= Status.NEW,
        ~(Row.status > Status.NEW),
        Row.status.between(Status.NEW, Status.PAID),
        Row.counts < {"a": 1},
        Row.roles <= frozenset({"a"}),
        Row.things > [1],
        Row.maybe < ["a"],
        Row.plain < Plain(1),
    ],
    ids=repr,
)
def test_values_without_an_order_are_not_compared_by_it(condition: Any) -> None:
    error = refusal(condition)

    assert "the field's type has no order" in str(error)
    assert error.field.startswith("Row.")
    assert "==" in error.fix


@pytest.mark.parametrize(
    "condition",
    [
        Row.rank < Rank.HIGH,
        Row.name < "b",
        Row.labels < ["b"],
        Row.pair < (1, "b"),
        Row.dated < Dated(3),
        Row.status == Status.NEW,
        Row.counts != {"a": 1},
        Row.status.in_([Status.NEW]),
    ],
    ids=repr,
)
def test_values_with_an_order_are(condition: Any) -> None:
    planned(condition)


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (ROW.roles.contains(["x"]), "str"),
        (ROW.anything.contains(["x"]), "something hashable"),
        (ROW.labels.contains(5), "str"),
        (ROW.labels.contains(None), "str"),
        (ROW.maybe.contains(5), "str or NoneType"),
        (ROW.numbers.contains("x"), "float"),
        (ROW.pair.contains(b"x"), "int or str"),
    ],
    ids=repr,
)
def test_an_item_that_no_value_can_have_is_refused(condition: Any, expected: str) -> None:
    error = refusal(condition)

    assert error.expected == expected
    assert error.text == "the field cannot have items of this type"


@pytest.mark.parametrize(
    "condition",
    [
        ROW.roles.contains("x"),
        ROW.labels.contains("x"),
        ROW.maybe.contains(None),
        ROW.things.contains({"a": 1}),
        ROW.anything.contains(1),
        ROW.numbers.contains(1),
        ROW.pair.contains("x"),
    ],
    ids=repr,
)
def test_an_item_that_a_value_can_have_is_not(condition: Any) -> None:
    planned(condition)


@pytest.mark.parametrize(
    ("condition", "fix"),
    [
        (ROW.price == Decimal("NaN"), "NaN"),
        (ROW.price.in_([Decimal("NaN")]), "NaN"),
        (ROW.at == datetime(2026, 1, 31), "datetimes must be aware"),  # noqa: DTZ001 - refused
        (ROW.clock == time(8, tzinfo=UTC), "naive"),
        (ROW.price == 5, "type Decimal"),
        (ROW.name.startswith(b"a"), "prefix of type str"),
        (ROW.price.startswith("a"), "where they have an order"),
    ],
    ids=repr,
)
def test_each_refused_value_has_advice_of_its_own(condition: Any, fix: str) -> None:
    error = refusal(condition)

    assert fix in error.fix
    assert ("aware" in error.fix) is (fix == "datetimes must be aware")
