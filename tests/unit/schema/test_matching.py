"""Checks of conditions that are compiled once a shape: right for every statement's own values."""

from __future__ import annotations

import pytest

from hbase_orm import Counter, Family, Key, Mapped, Model, column, counter, key
from hbase_orm.errors import QueryError
from hbase_orm.schema import Condition, Matches


class Row(Model, table="rows"):
    d = Family()
    host: Key[str] = key()
    n: Mapped[int | None] = column(d, "n", default=None)
    hits: Counter = counter(d, "h")


class Other(Model, table="others"):
    d = Family()
    host: Key[str] = key()
    n: Mapped[int | None] = column(d, "n", default=None)


def test_each_statement_of_a_shape_compares_with_its_own_values() -> None:
    matches = Matches(Row.__schema__)

    checks = [
        matches.of([Row.n >= low, Row.host == host, Row.hits != 0])
        for low, host in ((1, "a"), (5, "b"), (3, "a"))
    ]

    given = [{"n": 4, "host": host, "hits": 1} for host in ("a", "b")]
    assert [[check is not None and check(d) for d in given] for check in checks] == [
        [True, False],
        [False, False],
        [True, False],
    ]


@pytest.mark.parametrize(
    ("condition", "other", "holds"),
    [
        (Row.n.in_([1]), Row.n.in_([2]), True),
        (Row.n == None, Row.n == 2, True),  # noqa: E711 - a condition
        ((Row.n == 1) | (Row.n == 3), (Row.n == 2) | (Row.n == 4), True),
        (~(Row.n == 2), ~(Row.n == 1), True),
        (Row.host.startswith("x"), Row.host.startswith("a"), True),
    ],
)
def test_what_is_no_plain_comparison_keeps_its_own_values(
    condition: Condition,
    other: Condition,
    holds: bool,  # noqa: FBT001 - of the table
) -> None:
    matches = Matches(Row.__schema__)
    matches.of([condition])

    check = matches.of([other])

    assert check is not None
    assert check({"n": 2, "host": "ab"}) is holds


def test_a_field_of_another_model_is_refused_in_a_known_shape_too() -> None:
    matches = Matches(Row.__schema__)
    matches.of([Row.n == 1])

    with pytest.raises(QueryError, match="the field does not belong to the selected model"):
        matches.of([Other.n == 1])


def test_no_condition_needs_no_check() -> None:
    assert Matches(Row.__schema__).of(()) is None
