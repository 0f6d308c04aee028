"""Orders and groups that leave out components of the key which `==` binds to one value."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest

from hbase_orm import (
    Condition,
    Engine,
    Family,
    HashPrefix,
    Index,
    Key,
    Mapped,
    Model,
    Order,
    Salt,
    codecs,
    column,
    connect,
    func,
    key,
    rowkey,
    select,
)
from hbase_orm.errors import QueryError


class Plain(Model, table="plain"):
    d = Family()
    a: Key[int] = key(codecs.uint8())
    b: Key[int] = key(codecs.uint8())
    c: Key[int] = key(codecs.uint8(desc=True))
    color: Mapped[str] = column(d)


class Salted(Model, table="salted"):
    d = Family()
    a: Key[int] = key(codecs.uint8())
    b: Key[int] = key(codecs.uint8())
    c: Key[int] = key(codecs.uint8(desc=True))
    color: Mapped[str] = column(d)
    __rowkey__ = rowkey(Salt(3), a, b, c)


class Hashed(Model, table="hashed"):
    d = Family()
    a: Key[int] = key(codecs.uint8())
    b: Key[int] = key(codecs.uint8())
    c: Key[int] = key(codecs.uint8(desc=True))
    color: Mapped[str] = column(d)
    __rowkey__ = rowkey(a, HashPrefix(2, of=b), b, c)


class Indexed(Model, table="indexed"):
    d = Family()
    number: Key[int] = key(codecs.uint16())
    a: Mapped[int] = column(d, codec=codecs.uint8())
    b: Mapped[int] = column(d, codec=codecs.uint8())
    c: Mapped[int] = column(d, codec=codecs.uint8())
    color: Mapped[str] = column(d)
    by_all = Index(a, func.lower(color), b, c.desc())


class Tagged(Model, table="tagged"):
    d = Family()
    number: Key[int] = key(codecs.uint8())
    a: Mapped[int] = column(d, codec=codecs.uint8())
    tags: Mapped[list[str]] = column(d, codec=codecs.json(list[str]))
    by_tag = Index(a, func.each(tags))


class Real(Model, table="reals"):
    d = Family()
    a: Key[int] = key(codecs.uint8())
    b: Key[float] = key()
    c: Key[int] = key(codecs.uint8())
    color: Mapped[str] = column(d, default="")


MODELS: tuple[Any, ...] = (Plain, Salted, Hashed, Indexed)


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    engine = connect("memory://")
    engine.create_tables(*MODELS, Tagged, Real)
    with engine.session() as session:
        for number, (a, b, c) in enumerate(product(range(3), repeat=3)):
            color = "Red" if (a + c) % 2 else "blue"
            session.add_all(Of(a=a, b=b, c=c, color=color) for Of in MODELS[:3])
            session.add(Indexed(number=(number * 7) % 27, a=a, b=b, c=c, color=color))
        session.add(Tagged(number=1, a=1, tags=["y", "a"]))
        session.add(Tagged(number=0, a=1, tags=["y"]))
        session.add_all(Real(a=0, b=b, c=c) for b, c in ((-0.0, 2), (0.0, 1), (1.5, 3)))
        session.flush()
    yield engine
    engine.close()


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("falls", [False, True])
def test_rows_come_in_order_behind_a_bound_component(
    engine: Engine, model: Any, *, falls: bool
) -> None:
    orders = [model.a.desc(), model.c.asc()] if falls else [model.a.asc(), model.c.desc()]
    bound: list[Condition] = [model.b == 1]
    if model is Indexed:
        bound.append(func.lower(model.color) == "red")
    statement = select(model).where(*bound).order_by(*orders).allow_full_scan()
    if model is Indexed:
        statement = statement.using(Indexed.by_all)

    with engine.session() as session:
        explained = str(session.explain(statement))
        rows = [(row.a, row.b, row.c) for row in session.all(statement)]
        first = [(row.a, row.c) for row in session.all(statement.limit(2))]

    expected = [
        (a, 1, c) for a in (0, 1, 2) for c in (2, 1, 0) if model is not Indexed or (a + c) % 2
    ]
    assert rows == (expected[::-1] if falls else expected)
    assert first == [(a, c) for a, _, c in rows[:2]]
    words = "order: a desc, c asc" if falls else "order: a asc, c desc"
    assert words in explained
    assert "sort in memory" not in explained


@pytest.mark.parametrize(
    ("conditions", "orders"),
    [
        ([], [Plain.a.asc(), Plain.c.desc()]),
        ([Plain.b >= 1], [Plain.a.asc(), Plain.c.desc()]),
        ([Plain.b.in_([1, 2])], [Plain.a.asc(), Plain.c.desc()]),
        ([(Plain.b == 1) | (Plain.b == 2)], [Plain.a.asc(), Plain.c.desc()]),
        ([(Plain.b == 1) | (Plain.c == 2)], [Plain.a.asc(), Plain.c.desc()]),
        ([Plain.b != 1], [Plain.a.asc(), Plain.c.desc()]),
        ([Plain.b == 1], [Plain.c.desc(), Plain.a.asc()]),
        ([Plain.b == 1], [Plain.a.asc(), Plain.c.asc()]),
    ],
)
def test_an_order_that_no_scan_gives_is_refused(
    engine: Engine, conditions: list[Condition], orders: list[Order]
) -> None:
    statement = select(Plain).where(*conditions).order_by(*orders).allow_full_scan()
    with engine.session() as session, pytest.raises(QueryError, match="no scan can return"):
        session.all(statement)


def test_alternatives_may_bind_the_component_to_the_same_value(engine: Engine) -> None:
    either = ((Plain.a == 2) & (Plain.b == 1)) | ((Plain.b == 1) & (Plain.c == 2))
    statement = select(Plain).where(either).order_by(Plain.a.asc(), Plain.c.desc())
    with engine.session() as session:
        rows = [(row.a, row.b, row.c) for row in session.all(statement.allow_full_scan())]

    assert rows == [(0, 1, 2), (1, 1, 2), (2, 1, 2), (2, 1, 1), (2, 1, 0)]


def test_an_order_may_name_the_bound_component(engine: Engine) -> None:
    orders = (Plain.b.desc(), Plain.a.asc(), Plain.c.desc())
    statement = select(Plain).where(Plain.b == 1).order_by(*orders).allow_full_scan()
    with engine.session() as session:
        rows = [(row.a, row.c) for row in session.all(statement)]

    assert rows == [(a, c) for a in (0, 1, 2) for c in (2, 1, 0)]


def test_the_key_behind_an_index_gives_its_order_too(engine: Engine) -> None:
    statement = (
        select(Indexed)
        .where(Indexed.a == 1, func.lower(Indexed.color) == "red", Indexed.c == 2)
        .order_by(Indexed.b.asc(), Indexed.number.asc())
    )
    with engine.session() as session:
        assert "order: b asc, number asc" in str(session.explain(statement))


def test_the_zeros_are_two_values_of_a_key(engine: Engine) -> None:
    def statement(b: float) -> Any:
        by_ends = (Real.a.asc(), Real.c.asc())
        return select(Real).where(Real.b == b).order_by(*by_ends).allow_full_scan()

    with engine.session() as session:
        assert [row.c for row in session.all(statement(1.5))] == [3]
        with pytest.raises(QueryError, match="no scan can return"):
            session.all(statement(0.0))


def test_an_item_of_a_collection_does_not_bind_the_entry_that_is_read(engine: Engine) -> None:
    statement = (
        select(Tagged)
        .where(func.each(Tagged.tags) == "y")
        .using(Tagged.by_tag)
        .order_by(Tagged.a.asc(), Tagged.number.asc())
        .allow_full_scan()
    )
    with engine.session() as session, pytest.raises(QueryError, match="no scan can return"):
        session.all(statement)


def test_groups_may_leave_the_bound_component_out(engine: Engine) -> None:
    statement = (
        select(Plain.a, Plain.c, func.count())
        .where(Plain.b == 1)
        .group_by(Plain.a, Plain.c)
        .allow_full_scan()
    )
    with engine.session() as session:
        groups = session.all(statement)

    assert groups == [(a, c, 1) for a in (0, 1, 2) for c in (2, 1, 0)]
