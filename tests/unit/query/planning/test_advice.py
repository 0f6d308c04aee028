"""Refused statements say which key or index would do; with it, the same statement is planned."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from hbase_orm import (
    Counter,
    Digest,
    Family,
    HashPrefix,
    Index,
    Key,
    Mapped,
    Model,
    Period,
    RecordType,
    Salt,
    Select,
    TablePerPeriod,
    codecs,
    column,
    counter,
    key,
    rowkey,
    select,
)
from hbase_orm import Offset as Rest
from hbase_orm.errors import QueryError, UnboundedScanError
from hbase_orm.query import IndexPlan, plan

T0 = datetime(2026, 1, 31, tzinfo=UTC)


def readings(indexes: Mapping[str, Callable[..., Index]]) -> Any:
    """Return a model with what the statements below ask for, and with these indexes."""

    class Reading(Model, table="readings"):
        d = Family()
        host: Key[str] = key()
        metric: Key[int] = key(codecs.uint32())
        at: Key[datetime] = key(codecs.millis(desc=True))
        value: Mapped[float] = column(d)
        price: Mapped[Decimal] = column(d)
        is_on: Mapped[bool] = column(d)
        unit: Mapped[str | None] = column(d, default=None)
        labels: Mapped[list[str]] = column(d, codec=codecs.json(list))
        hits: Counter = counter(d)
        __rowkey__ = rowkey(Salt(4, of=[host, metric]), host, metric, at)
        for _name, _make in indexes.items():
            locals()[_name] = _make(locals())

    return Reading


Statement = Callable[[Any], Select[Any]]


def refusal(stmt: Select[Any]) -> QueryError:
    with pytest.raises(QueryError) as caught:
        plan(stmt, stmt.model.__schema__)
    return caught.value


def test_an_index_that_gives_another_order_is_not_advised_again() -> None:
    model = readings({"by_unit": lambda own: Index(own["unit"])})
    asked = select(model).where(model.unit == "ms")

    ordered = refusal(asked.order_by(model.host.asc())).fix
    grouped = refusal(select(model.host).where(model.unit == "ms").group_by(model.host)).fix

    assert "declare Index(unit, host.asc())" in ordered
    assert "leave out the order" in ordered
    assert "leave out the groups" in grouped
    assert "Index(unit)" not in ordered + grouped


def test_an_empty_prefix_asks_for_no_index() -> None:
    model = readings({})

    assert "Index(" not in refusal(select(model).where(model.unit.startswith(""))).fix


@pytest.mark.parametrize(
    ("ask", "index"),
    [
        (lambda m: [m.value > 1.0], "Index(value)"),
        (lambda m: [m.value > 1.0, m.unit == "ms"], "Index(unit, value)"),
        (lambda m: [m.unit.startswith("m"), m.is_on == True], "Index(is_on, unit)"),  # noqa: E712  # as users write it
        (lambda m: [m.price.in_([Decimal(1), Decimal(2)])], "Index(price)"),
        (lambda m: [m.unit.in_(["ms", "s"])], "Index(unit)"),
        (lambda m: [m.metric == 7], "Index(metric)"),
        (lambda m: [m.at >= T0], "Index(at)"),
        (lambda m: [m.at >= T0, m.metric == 7, m.value < 3.0], "Index(metric, at)"),
        (lambda m: [(m.unit == "ms") | (m.unit == "s")], "Index(unit)"),
        (
            lambda m: [((m.unit == "ms") & (m.value > 1.0)) | ((m.unit == "s") & (m.metric == 1))],
            "Index(unit)",
        ),
    ],
)
def test_the_index_that_is_advised_makes_the_statement_cheap(
    ask: Callable[[Any], list[Any]], index: str
) -> None:
    bare = readings({})
    error = refusal(select(bare).where(*ask(bare)))

    assert isinstance(error, UnboundedScanError)
    assert re.search(r"or declare (Index\([^)]*\))", error.fix).group(1) == index  # type: ignore[union-attr]  # or it fails
    names = index.removeprefix("Index(").removesuffix(")").split(", ")
    model = readings({"advised": lambda fields: Index(*(fields[name] for name in names))})
    assert isinstance(plan(select(model).where(*ask(model)), model.__schema__), IndexPlan)


@pytest.mark.parametrize(
    ("ask", "index"),
    [
        (lambda m: select(m).where(m.host == "a").order_by(m.value.desc()), "host, value.desc()"),
        (lambda m: select(m).where(m.host == "a").order_by(m.at.asc()), "host, at.asc()"),
        (
            lambda m: select(m).where(m.unit > "a").order_by(m.unit.asc(), m.value.desc()),
            "unit.asc(), value.desc()",
        ),
        (lambda m: select(m).where(m.value > 3.0).order_by(m.value.asc()), "value.asc()"),
        (lambda m: select(m).order_by(m.at.desc()), "at.desc()"),
    ],
)
def test_the_index_that_is_advised_gives_the_order(ask: Statement, index: str) -> None:
    bare = readings({})
    error = refusal(ask(bare))

    assert f"or declare Index({index})" in error.fix
    assert ".sort_in_memory(" in error.fix

    def advised(fields: Mapping[str, Any]) -> Index:
        parts = [each.partition(".") for each in index.split(", ")]
        return Index(
            *(getattr(fields[name], way[:-2])() if way else fields[name] for name, _, way in parts)
        )

    model = readings({"advised": advised})
    stmt = ask(model)
    if ".using()" in error.fix:
        stmt = stmt.using(model.advised).allow_full_scan()
    assert isinstance(plan(stmt, model.__schema__), IndexPlan)


@pytest.mark.parametrize(
    "ask",
    [
        lambda m: select(m).where(m.unit == None),  # noqa: E711  # an expression
        lambda m: select(m).where(m.unit != "ms"),
        lambda m: select(m).where(m.labels == ["a"]),
        lambda m: select(m).where(m.hits > 3),
        lambda m: select(m).where(~(m.value > 3.0)),
        lambda m: select(m).limit(3),
        lambda m: select(m).order_by(m.unit.asc()),
        lambda m: select(m).where(m.host == "a").order_by(m.labels.asc()),
    ],
)
def test_no_index_is_advised_that_would_not_help(ask: Statement) -> None:
    assert "Index" not in refusal(ask(readings({}))).fix


def test_alternatives_that_compare_different_fields_are_asked_one_by_one() -> None:
    model = readings({})

    error = refusal(select(model).where((model.unit == "ms") | (model.host == "a")))

    assert error.fix.startswith(
        "run one statement for each alternative, because the alternatives compare different fields"
    )
    assert "Index" not in error.fix


def test_an_index_that_was_left_out_is_named() -> None:
    model = readings({"by_unit": lambda fields: Index(fields["unit"])})

    error = refusal(select(model).where(model.unit == "ms").using(None))

    assert "leave out .using(None)" in error.fix


class Base(Model, table="base"):
    d = Family()
    n: Key[int] = key()
    v: Mapped[int] = column(d)
    __rowkey__ = rowkey(n, RecordType())


class Kind(Base, record_type="k"):
    """A record that cannot have indexes."""


class Daily(Model, table=TablePerPeriod("daily_%Y%m%d", of="at", period="day")):
    d = Family()
    host: Key[str] = key()
    at: Key[datetime] = key(codecs.seconds())
    v: Mapped[int] = column(d)
    __rowkey__ = rowkey(host, Rest("day", of=at))


class Packed(Model, table="packed"):
    d = Family()
    host: Key[str] = key()
    at: Key[datetime] = key(codecs.seconds())
    v: Mapped[int] = column(d, Rest("hour", of=at))
    __rowkey__ = rowkey(host, Period("hour", of=at))


@pytest.mark.parametrize("model", [Base, Kind, Daily, Packed])
def test_models_that_cannot_have_indexes_are_advised_none(model: Any) -> None:
    stmt = select(model).where(model.v == 3)
    if model is Daily:
        stmt = stmt.where(Daily.at == T0)

    error = refusal(stmt.order_by(model.v.asc()) if model is Daily else stmt)

    assert "Index" not in error.fix


class User(Model, table="users"):
    d = Family()
    name: Key[str] = key()
    v: Mapped[int] = column(d)
    __rowkey__ = rowkey(HashPrefix(2, of=name), name)


class Doc(Model, table="docs_by_title"):
    d = Family()
    title: Key[str] = key(family=d)
    v: Mapped[int] = column(d)
    __rowkey__ = rowkey(Digest(of=title))


@pytest.mark.parametrize(
    ("stmt", "name", "part"),
    [
        (select(User).where(User.name > "a"), "name", "md5[:2](name)"),
        (select(Doc).where(Doc.title > "a"), "title", "md5(title)"),
    ],
)
def test_a_hashed_key_is_compared_whole_or_indexed(stmt: Select[Any], name: str, part: str) -> None:
    assert refusal(stmt).fix == (
        f"compare {name} by == or in_(): the key begins with raw {part}, "
        f"or declare Index({name}); or add .allow_full_scan()"
    )
