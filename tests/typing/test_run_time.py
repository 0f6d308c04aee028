"""What no type checker can catch raises when it runs, and says what to write instead."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest

from hbase_orm import (
    Counter,
    Family,
    Index,
    Key,
    Mapped,
    Model,
    codecs,
    column,
    connect,
    counter,
    func,
    key,
    select,
)
from hbase_orm.errors import (
    ConfigurationError,
    QueryError,
    RowKeyError,
    ValidationError,
)


class B(Model, table="b"):
    f = Family()
    uid: Key[int] = key(codecs.uint64())
    name: Mapped[str] = column(f)
    at: Mapped[datetime | None] = column(f, default=None)
    hits: Counter = counter(f)
    by_name = Index(name)


class Other(Model, table="o"):
    f = Family()
    uid: Key[int] = key(codecs.uint64())
    name: Mapped[str] = column(f)
    by_name = Index(name)


B_ANY: Any = B

NAIVE = datetime(2024, 1, 1)  # noqa: DTZ001 - what is refused


WRONG: dict[str, Callable[[], object]] = {
    "and": lambda: select(B).where(B.uid == 1 and B.name == "x"),
    "or": lambda: select(B).where(B.uid == 1 or B.name == "x"),
    "not": lambda: not (B.uid == 1),  # noqa: SIM201  # what is refused
    "if": lambda: 1 if B.uid == 1 else 2,
    "chained": lambda: select(B).where(1 < B.uid < 3),
    "in": lambda: B.name in ["x"],  # noqa: FURB171  # what is refused
    "bool": lambda: select(B).where(B_ANY.__name__ == "B"),
    "field": lambda: select(B).where(B_ANY.name),
    "& text": lambda: (B.uid == 1) & B_ANY.__name__,
    "| text": lambda: (B.uid == 1) | B_ANY.__name__,
    "order by text": lambda: select(B).order_by(B_ANY.__name__),
    "field as index": lambda: select(B).using(B_ANY.name),
    "limit of nothing": lambda: select(B).limit(0),
    "no model": lambda: select(B_ANY.by_name),
    "a model and a field": lambda: select(B_ANY, B_ANY.name),
    "no field": lambda: select(B_ANY.name, B_ANY),
    "rows of no model": lambda: select(func.count()),
    "a sum of no field": lambda: func.sum(B_ANY),
    "group by text": lambda: select(B).group_by(B_ANY),
    "sort by text": lambda: select(B).sort_in_memory(B_ANY.__name__, max_rows=3),
    "sort of nothing": lambda: select(B).sort_in_memory(max_rows=3),
    "sort of no rows": lambda: select(B).sort_in_memory(B.name.asc(), max_rows=0),
    "amount": lambda: B.hits.by(1 << 63),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_statement_raises_when_it_is_written(name: str) -> None:
    with pytest.raises(QueryError) as caught:
        WRONG[name]()

    assert caught.value.fix


PLANNED: dict[str, tuple[Callable[[], Any], str]] = {
    "other type": (lambda: select(B).where(B_ANY.uid == "1"), "another type"),
    "other type in a list": (lambda: select(B).where(B_ANY.uid.in_([1, "1"])), "another type"),
    "other type in a range": (lambda: select(B).where(B_ANY.uid.between(1, "2")), "another type"),
    "text prefix of a number": (
        lambda: select(B).where(B_ANY.uid.startswith("1")),
        "works only on text fields",
    ),
    "naive datetime": (lambda: select(B).where(B.at == NAIVE), "datetimes must be aware"),
    "within brackets": (
        lambda: select(B).where(~((B.name == "x") | (B_ANY.uid == "1"))),
        "another type",
    ),
    "other model's field": (
        lambda: select(B).where(Other.uid == 1),
        "does not belong to the selected model",
    ),
    "other model's order": (
        lambda: select(B).allow_full_scan().order_by(Other.uid.asc()),
        "does not belong to the selected model",
    ),
    "other model's index": (
        lambda: select(B).where(B.name == "x").using(Other.by_name),
        "index",
    ),
}


@pytest.mark.parametrize("name", PLANNED)
def test_a_wrong_statement_raises_before_anything_is_sent(name: str) -> None:
    statement, text = PLANNED[name]
    engine = connect("memory://")  # without tables: anything sent would raise another error

    with engine.session() as session, pytest.raises(QueryError, match=text):
        session.all(statement())


def test_a_key_field_set_after_the_object_is_made_raises() -> None:
    made = B(uid=1, name="x")

    with pytest.raises(RowKeyError, match="cannot be set"):
        made.uid = 3

    assert made.uid == 1


def test_key_arguments_of_the_wrong_type_raise_before_anything_is_sent() -> None:
    session = connect("memory://").session()

    for wrong in ({"uid": "x"}, {"uid": None}, {}, {"uid": 1, "name": "x"}):
        with pytest.raises(RowKeyError) as caught:
            session.get(B, **wrong)
        assert caught.value.fix
    with pytest.raises(RowKeyError):
        session.get_many(B, ["x"])  # type: ignore[list-item]  # what is tested


def test_what_is_no_object_or_model_raises() -> None:
    session: Any = connect("memory://").session()

    for wrong in ("x", B):
        with pytest.raises(ValidationError):
            session.add(wrong)
    with pytest.raises(ConfigurationError):
        session.get(Model, uid=1)
    for read in (session.all, session.first, session.one, session.stream, session.explain):
        with pytest.raises(QueryError, match="the argument is not a statement") as caught:
            read(B)
        assert caught.value.fix
