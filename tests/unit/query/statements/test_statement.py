"""Statements and conditions: immutable, printable, and strict about what is no condition."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from hbase_orm import (
    Counter,
    Family,
    Index,
    Key,
    Mapped,
    Model,
    Order,
    codecs,
    column,
    counter,
    func,
    key,
)
from hbase_orm.errors import QueryError
from hbase_orm.query import ANY_INDEX, compile_match, select
from hbase_orm.schema import And, Comparison, Condition, Or, conjuncts, fields_of


class Row(Model, table="rows"):
    d = Family()
    host: Key[str] = key()
    n: Mapped[int | None] = column(d, codec=codecs.uint8(), default=None)
    flag: Mapped[bool | None] = column(d, default=None)
    at: Mapped[datetime | None] = column(d, default=None)
    hits: Counter = counter(d)
    by_n = Index(n)


A = Row.host == "a"
B = Row.n > 1
C = Row.n < 9


def test_a_statement_does_not_change() -> None:
    bare = select(Row)

    full = bare.where(A).where(B & C).limit(3).caching(7).allow_full_scan().using(Row.by_n)

    assert (bare.conditions, bare.row_limit, bare.index) == ((), None, ANY_INDEX)
    assert [repr(condition) for condition in full.conditions] == [
        "Row.host == 'a'",
        "Row.n > 1",
        "Row.n < 9",
    ]
    assert (full.row_limit, full.caching_rows, full.full_scan_allowed) == (3, 7, True)
    assert full.index is Row.by_n
    assert full.using(None).index is None


def test_the_last_order_counts() -> None:
    stmt = select(Row).order_by(Row.n.asc()).order_by(Row.host.desc(), Row.n.asc())

    assert [repr(order) for order in stmt.orders] == ["Row.host.desc()", "Row.n.asc()"]


@pytest.mark.parametrize("wrong", [Row.flag, True, "host == 'a'", None, Row.n.asc()])
def test_where_takes_conditions_only(wrong: Any) -> None:
    with pytest.raises(QueryError, match="the argument is not a condition"):
        select(Row).where(wrong)


@pytest.mark.parametrize("wrong", ["n", A, None, Row])
def test_order_by_takes_orders_and_fields_only(wrong: Any) -> None:
    with pytest.raises(QueryError, match=r"write Row\.host or Row\.host\.desc\(\)"):
        select(Row).order_by(wrong)


def test_a_field_means_its_ascending_order() -> None:
    ordered = select(Row).order_by(Row.n, Row.host.desc())
    by_function = select(Row).order_by(func.lower(Row.host))
    in_memory = select(Row).sort_in_memory(Row.n, max_rows=3)

    assert [repr(order) for order in ordered.orders] == ["Row.n.asc()", "Row.host.desc()"]
    assert [repr(order) for order in by_function.orders] == ["func.lower(Row.host).asc()"]
    assert in_memory.sort is not None
    assert [repr(order) for order in in_memory.sort.orders] == ["Row.n.asc()"]


@pytest.mark.parametrize("method", ["limit", "caching"])
@pytest.mark.parametrize("wrong", [0, -1, True, 1.0, "1", None])
def test_a_number_of_rows_is_a_positive_integer(method: str, wrong: Any) -> None:
    with pytest.raises(QueryError, match="positive") as caught:
        getattr(select(Row), method)(wrong)

    assert (caught.value.method, caught.value.got) == (method, wrong)


def test_using_takes_an_index() -> None:
    with pytest.raises(QueryError, match=r"write one of: Row\.by_n"):
        select(Row).using("by_n")  # type: ignore[arg-type]  # meant wrong


def test_select_takes_a_model() -> None:
    class Mixin(Model, abstract=True):
        pass

    for wrong in ("Row", int, Row.by_n):
        with pytest.raises(QueryError, match="takes one model, or fields of one model"):
            select(wrong)  # type: ignore[type-var,arg-type]  # meant wrong
    with pytest.raises(QueryError, match="abstract"):
        select(Mixin)


# --- conditions -----------------------------------------------------------------------------------


def test_python_logic_on_conditions_is_refused() -> None:
    with pytest.raises(QueryError, match="cannot be used as True or False") as caught:
        _ = A and B
    assert caught.value.condition == "Row.host == 'a'"

    with pytest.raises(QueryError, match="cannot be used as True or False"):
        _ = A or B
    with pytest.raises(QueryError, match="cannot be used as True or False"):
        _ = not A
    with pytest.raises(QueryError, match="between"):
        _ = 1 < Row.n < 9
    with pytest.raises(QueryError, match="cannot be used as True or False"):
        _ = Row.host in ["a", "b"]


def test_python_logic_on_fields_is_refused() -> None:
    with pytest.raises(QueryError, match=r"is_\(True\)") as caught:
        _ = Row.flag and A

    assert caught.value.field == "Row.flag"


@pytest.mark.parametrize("operator", ["__and__", "__or__"])
def test_conditions_combine_with_conditions_only(operator: str) -> None:
    with pytest.raises(QueryError, match="the argument is not a condition"):
        getattr(A, operator)(True)


@pytest.mark.parametrize(
    ("condition", "text"),
    [
        (Row.n == 1, "Row.n == 1"),
        (Row.n != 1, "Row.n != 1"),
        (Row.n <= 1, "Row.n <= 1"),
        (Row.n >= 1, "Row.n >= 1"),
        (Row.n.in_([1, 2]), "Row.n.in_([1, 2])"),
        (Row.n.in_(range(2)), "Row.n.in_([0, 1])"),
        (Row.n.between(1, 2), "(Row.n >= 1) & (Row.n <= 2)"),
        (Row.n.is_null(), "Row.n == None"),
        (Row.flag.is_(True), "Row.flag == True"),
        (Row.host.startswith("a"), "Row.host.startswith('a')"),
        (A & B & C, "(Row.host == 'a') & (Row.n > 1) & (Row.n < 9)"),
        (A | B | C, "(Row.host == 'a') | (Row.n > 1) | (Row.n < 9)"),
        (~(A | B) & C, "(~((Row.host == 'a') | (Row.n > 1))) & (Row.n < 9)"),
    ],
)
def test_a_condition_prints_as_it_was_written(condition: Condition, text: str) -> None:
    assert repr(condition) == text


def test_a_chain_of_one_operator_is_flat() -> None:
    both, any_of = A & B & C, A | B | C

    assert isinstance(both, And)
    assert isinstance(any_of, Or)
    assert both.conditions == any_of.conditions == (A, B, C)


def test_what_must_hold_is_laid_flat() -> None:
    assert conjuncts(A & (B & C)) == (A, B, C)
    assert conjuncts(A | B)[0].__class__ is Or


def test_a_condition_names_its_fields() -> None:
    both = (A & ~B) | Row.hits.in_([1]) | Row.host.startswith("x")

    assert fields_of(both) == ("host", "n", "hits", "host")
    assert fields_of(Condition()) == ()


def test_an_unnamed_field_prints() -> None:
    unnamed: Mapped[int] = Mapped()

    assert repr(unnamed) == "an unnamed field"


def test_an_order_prints_its_direction() -> None:
    assert isinstance(Row.n.asc(), Order)
    assert [repr(Row.n.asc()), repr(Row.n.desc())] == ["Row.n.asc()", "Row.n.desc()"]


# --- the client's check ---------------------------------------------------------------------------

AT = datetime(2024, 11, 3, 6, 30, tzinfo=UTC)
SHOWN_TWICE = datetime(2024, 11, 3, 1, 30, fold=1, tzinfo=ZoneInfo("America/New_York"))


def test_nothing_asked_is_nothing_to_check() -> None:
    assert compile_match(Row.__schema__, []) is None


@pytest.mark.parametrize(
    ("condition", "values", "holds"),
    [
        (Row.n == 5, {"n": 5}, True),
        (Row.n == 5, {"n": None}, False),
        (Row.n == 5, {}, False),
        (Row.n == None, {"n": None}, True),  # noqa: E711 - a condition
        (Row.n == None, {}, True),  # noqa: E711 - a condition
        (Row.n != 5, {"n": None}, True),
        (Row.n != None, {"n": None}, False),  # noqa: E711 - a condition
        (Row.n < 5, {"n": 4}, True),
        (Row.n < 5, {"n": None}, False),
        (~(Row.n < 5), {"n": None}, True),
        (Comparison(Row.n, "<", None), {"n": 4}, False),
        (Row.n.in_([4, None]), {"n": None}, True),
        (Row.n.in_([4]), {"n": 5}, False),
        (Row.hits == 0, {}, True),
        (Row.hits == 2, {"hits": 2}, True),
        (Row.hits.in_([0]), {}, True),
        (Row.host.startswith("a"), {"host": "ab"}, True),
        (Row.host.startswith("a"), {"host": "b"}, False),
        (Row.host.startswith("a"), {}, False),
        ((Row.n == 5) | (Row.host == "a"), {"n": 1, "host": "a"}, True),
        ((Row.n == 5) & (Row.host == "a"), {"n": 1, "host": "a"}, False),
        (Row.at == SHOWN_TWICE, {"at": AT}, True),
        (Row.at.in_([SHOWN_TWICE]), {"at": AT}, True),
    ],
)
def test_logic_has_two_values(condition: Condition, values: dict[str, Any], holds: bool) -> None:  # noqa: FBT001 - of the table
    check = compile_match(Row.__schema__, [condition])

    assert check is not None
    assert check(values) is holds


@pytest.mark.parametrize("forgotten", [lambda: 1 & Row.n, lambda: "a" | Row.n])
def test_brackets_forgotten_beside_an_operator_are_asked_for(
    forgotten: Callable[[], object],
) -> None:
    with pytest.raises(QueryError, match="brackets"):
        forgotten()
