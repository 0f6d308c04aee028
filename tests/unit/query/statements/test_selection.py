"""Selections in plans, which groups stream, and how groups are folded."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal, localcontext
from typing import Any

import pytest

from hbase_orm import (
    Digest,
    Family,
    HashPrefix,
    Key,
    Mapped,
    Model,
    Period,
    RecordType,
    codecs,
    column,
    func,
    key,
    rowkey,
    select,
)
from hbase_orm.errors import QueryError
from hbase_orm.query import Grouping, Plan, Select, plan
from hbase_orm.query.statements.aggregates import CHUNK_ROWS
from hbase_orm.schema import Expr
from tests.support.selection_statements import Account, Bought, HitsPerHour, Point, Reading, Record

START = datetime(2024, 5, 1, tzinfo=UTC)


class Event(Model, table="events"):
    d = Family()
    user: Key[str] = key()
    at: Key[datetime] = key(codecs.millis())
    n: Mapped[int] = column(d, codec=codecs.uint8())


class Hashed(Event, table="hashed"):
    __rowkey__ = rowkey(HashPrefix(2, of=Event.user), Event.user, Event.at)


class Digested(Model, table="digested"):
    d = Family()
    user: Key[str] = key(family=d)
    at: Key[datetime] = key(codecs.millis())
    n: Mapped[int] = column(d, codec=codecs.uint8())
    __rowkey__ = rowkey(Digest(of=user), at)


class Monthly(Event, table="monthly"):
    __rowkey__ = rowkey(Period("month", of=Event.at), Event.user, Event.at)


class Kinds(Model, table="kinds"):
    d = Family()
    user: Key[str] = key()
    n: Mapped[int] = column(d, codec=codecs.uint8())
    __rowkey__ = rowkey(RecordType(), user)


class Red(Kinds, record_type="R"):
    pass


class Both(Event, table="both"):
    __rowkey__ = rowkey(Event.user, HashPrefix(2, of=[Event.user, Event.at]), Event.at)


class Loose(Model, table="loose"):
    d = Family()
    user: Key[str] = key()
    note: Mapped[str | None] = column(d, default=None)
    __rowkey__ = rowkey(user, RecordType())


class Tight(Loose, record_type="T"):
    n: Mapped[int] = column(Loose.d, codec=codecs.uint8())


def planned(stmt: Select[Any]) -> Plan:
    return plan(stmt, stmt.model.__schema__)


# --- plans ----------------------------------------------------------------------------------------


def test_a_plan_shows_what_is_read_and_made_of_it() -> None:
    stmt = (
        select(HitsPerHour.hour, func.sum(HitsPerHour.views))
        .where(HitsPerHour.site == "x.org")
        .group_by(HitsPerHour.hour)
        .limit(5)
    )

    assert str(planned(stmt)) == (
        r"""Scan hits_per_hour
├─ scan [x.org\x00\x01, x.org\x00\x02)
├─ filter: (FamilyFilter(=, 'binary:c') AND QualifierFilter(=, 'binary:v')) OR FirstKeyOnlyFilter()
├─ columns: c:v, and the first cell of each row
├─ check on the client: HitsPerHour.site == 'x.org'
├─ order: hour asc
├─ compute HitsPerHour.hour, sum(HitsPerHour.views) for each HitsPerHour.hour
├─ give the first 5
└─ requests: 1 scanner, 100 to 1000 rows a call"""
    )


@pytest.mark.parametrize(
    ("stmt", "text"),
    [
        (select(Reading), ""),
        (select(Reading.unit), "columns: d:u, and the first cell of each row"),
        (select(Reading.unit, Reading.value), "columns: d:u, d:v"),
        (select(Reading.n), "keys only"),
        (select(Reading.n).where(Reading.host == "a", Reading.n == 1), "columns: d"),
        (select(Account.name), "keys only"),
        (select(Account.name).where(Account.city == "Bonn"), "columns: d:city, d:age"),
        (select(Loose.note), "columns: d:note, and the first cell of each row"),
        (select(Point.at), "keys only"),
        (select(Point.value), "columns: p"),
    ],
)
def test_a_plan_says_what_it_reads(stmt: Select[Any], text: str) -> None:
    found = planned(stmt.allow_full_scan())

    assert found.reads == text
    assert found.to_dict()["reads"] == text
    assert (text in str(found).replace("├─ ", "").split("\n")) is bool(text)


def test_a_plan_for_a_sort_has_no_limit() -> None:
    found = planned(
        select(Reading).sort_in_memory(Reading.value.asc(), max_rows=9).limit(2).allow_full_scan()
    )

    assert found.limit is None
    assert found.after == (
        "sort in memory by Reading.value.asc(): at most 9 rows",
        "give the first 2",
    )


def test_values_are_read_of_the_most_derived_model_that_is_named() -> None:
    assert select(Record.customer).model is Record
    assert select(Bought.customer).model is Bought
    assert select(Record.amount, Bought.number).model is Bought
    assert select(func.max(Bought.amount)).model is Bought
    assert select(Hashed.user).model is Hashed


def test_a_model_has_fields_of_its_own_for_those_it_inherits() -> None:
    assert repr(Hashed.user) == "Hashed.user"
    assert Hashed.user is not Event.user
    assert Hashed.user is Hashed.user
    on_both = select(Hashed).where(Event.user == "a", Hashed.user == "a")

    assert planned(on_both).kind == "Scan"
    with pytest.raises(QueryError, match="the field does not belong to the selected model"):
        planned(select(Hashed).where(Monthly.user == "a"))


# --- groups ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "stmt",
    [
        select(func.count(Event.n)).group_by(Event.user),
        select(func.count(Event.n)).group_by(Event.at, Event.user),
        select(func.count(Hashed.n)).group_by(Hashed.user),
        select(func.count(Monthly.n)).where(Monthly.at == START).group_by(Monthly.user),
        select(func.count(Red.n)).group_by(Red.user),
        select(func.count(Both.n)).where(Both.user == "a").group_by(Both.at),
        select(func.count(Reading.n)).group_by(Reading.host, Reading.n),
        select(func.count(Digested.n)).where(Digested.user == "a").group_by(Digested.user),
    ],
)
def test_groups_of_the_first_fields_of_the_key_stream(stmt: Select[Any]) -> None:
    assert planned(stmt.allow_full_scan()).after


@pytest.mark.parametrize(
    "stmt",
    [
        select(func.count(Event.n)).group_by(Event.at),
        select(func.count(Event.n)).where(Event.user.in_(["a", "b"])).group_by(Event.at),
        select(func.count(Digested.n)).group_by(Digested.user),
        select(func.count(Hashed.n)).group_by(Hashed.at),
        select(func.count(Monthly.n)).group_by(Monthly.user),
        select(func.count(Monthly.n))
        .where(Monthly.at.between(START, START + timedelta(days=40)))
        .group_by(Monthly.user),
        select(func.count(Kinds.n)).group_by(Kinds.user),
    ],
)
def test_groups_that_do_not_come_in_turn_are_refused(stmt: Select[Any]) -> None:
    with pytest.raises(
        QueryError, match="the statement would not read the rows of a group one after another"
    ) as caught:
        planned(stmt.allow_full_scan())

    assert "first fields of the row key" in (caught.value.fix or "")


NAMES = ("k", "v")
KINDS: dict[str, type] = {"k": int, "v": int}


def field(name: str) -> Expr[Any]:
    made: Expr[Any] = Expr()
    made.name = name
    return made


K, V = field("k"), field("v")


def grouped(
    items: list[Expr[Any]], groups: list[Expr[Any]], rows: list[tuple[Any, Any]]
) -> list[Any]:
    return list(Grouping(items, groups, NAMES, KINDS).results(rows))


@pytest.mark.parametrize("count", [0, 1, CHUNK_ROWS - 1, CHUNK_ROWS, CHUNK_ROWS + 1, 2500])
def test_groups_are_folded_alike_however_many_rows_they_have(count: int) -> None:
    values = [n if n % 3 else None for n in range(count)]
    known = [value for value in values if value is not None]
    items = [func.count(), func.count(V), func.sum(V), func.min(V), func.max(V), func.avg(V)]
    average = sum(known) / len(known) if known else None

    assert grouped(items, [], [(1, value) for value in values]) == [
        (count, len(known), sum(known), min(known, default=None), max(known, default=None), average)
    ]


def test_a_group_ends_when_its_key_changes() -> None:
    rows = [(1, 5), (1, None), (2, None), (1, 7)]

    assert grouped([K, func.sum(V), func.count()], [K], rows) == [(1, 5, 2), (2, 0, 1), (1, 7, 1)]
    assert grouped([func.count()], [K], []) == []
    assert grouped([func.count()], [K, V], rows) == [(1,)] * 4


@pytest.mark.parametrize(
    ("kind", "nothing"),
    [(int, 0), (float, 0.0), (Decimal, Decimal(0)), (timedelta, timedelta(0))],
)
def test_a_sum_of_nothing_is_the_types_zero(kind: type, nothing: Any) -> None:
    ((found,),) = Grouping([func.sum(V)], [], ("v",), {"v": kind}).results([(None,)])

    assert found == nothing
    assert type(found) is kind


def average_of(kind: type, values: list[Any]) -> Any:
    rows = [(value,) for value in values]
    ((found,),) = Grouping([func.avg(V)], [], ("v",), {"v": kind}).results(rows)
    return found


@pytest.mark.parametrize("kind", [int, float, Decimal, timedelta])
def test_an_average_of_nothing_is_none(kind: type) -> None:
    assert average_of(kind, [None]) is None
    assert average_of(kind, []) is None


AVERAGES: list[tuple[type, list[Any], Any]] = [
    (int, [1, 2, None], 1.5),
    (int, [4, 4], 4.0),
    (int, [2**63 - 1, 2**63 - 1, -1], (2**64 - 3) / 3),
    (int, [10**400, -(10**400), 3], 1.0),
    (float, [0.5, None, 1.5], 1.0),
    (Decimal, [Decimal("0.1")] * 3, Decimal("0.1")),
    (Decimal, [Decimal("1E+40"), Decimal(1), Decimal("-1E+40")], Decimal(1) / 3),
    (Decimal, [Decimal("9" * 60), Decimal("1E-30"), Decimal("-" + "9" * 60)], Decimal("1E-30") / 3),
    (timedelta, [timedelta(seconds=1), timedelta(seconds=2)], timedelta(seconds=1.5)),
]


@pytest.mark.parametrize(("kind", "values", "expected"), AVERAGES)
def test_an_average_is_rounded_once(kind: type, values: list[Any], expected: Any) -> None:
    found = average_of(kind, values)

    assert found == expected
    assert type(found) is type(expected)


def test_an_average_has_the_precision_of_the_decimal_context() -> None:
    with localcontext(prec=5):
        assert average_of(Decimal, [Decimal(1), Decimal(1), Decimal(0)]) == Decimal("0.66667")


def test_decimals_far_apart_do_not_fill_the_memory() -> None:
    values = [Decimal("1E+2000000000"), Decimal(1)]

    assert average_of(Decimal, values) == Decimal("5E+1999999999")


def test_an_average_that_is_no_float_says_what_to_select() -> None:
    with pytest.raises(QueryError, match="too large for a float") as caught:
        average_of(int, [10**400])

    assert "func.sum()" in caught.value.fix


def test_results_come_before_the_next_group_is_read() -> None:
    def rows() -> Any:
        yield (1, 1)
        yield (2, 1)
        raise AssertionError("read too far")

    results = Grouping([K], [K], NAMES, KINDS).results(rows())

    assert next(results) == (1,)


def test_few_rows_of_a_group_are_held_at_a_time() -> None:
    alive = [0]
    most = [0]

    class Value:
        def __init__(self) -> None:
            alive[0] += 1
            most[0] = max(most[0], alive[0])

        def __del__(self) -> None:
            alive[0] -= 1

    rows = ((1, Value()) for _ in range(5 * CHUNK_ROWS))
    ((count,),) = Grouping([func.count(V)], [K], NAMES, KINDS).results(rows)

    assert count == 5 * CHUNK_ROWS
    assert most[0] <= 2 * CHUNK_ROWS
