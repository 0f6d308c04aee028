"""What Python's operators would silently drop or misread is refused, and the error says what to do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from hbase_orm import (
    Dynamic,
    Family,
    Key,
    Mapped,
    Model,
    Related,
    codecs,
    column,
    connect,
    dynamic,
    func,
    key,
    related,
    select,
)
from hbase_orm.errors import QueryError


class Owner(Model, table="owners"):
    d = Family()
    owner_id: Key[int] = key(codecs.uint32())


class Thing(Model, table="things"):
    d = Family()
    name: Key[str] = key()
    n: Mapped[int] = column(d, codec=codecs.uint32(), default=0)
    flag: Mapped[bool] = column(d, default=False)
    owner_id: Mapped[int | None] = column(d, codec=codecs.uint32(), default=None)
    labels: Mapped[list[str]] = column(d, codec=codecs.json(list[str]), default_factory=list[str])
    tags: Dynamic[str, str] = dynamic(d, prefix="t:")
    counts: Dynamic[int, str] = dynamic(d, prefix="c:", name=codecs.uint32())
    owner: Related[Owner] = related(owner_id=owner_id)


T: Any = Thing


def refusal(ask: Callable[[], object]) -> QueryError:
    with pytest.raises(QueryError) as caught:
        ask()
    return caught.value


@pytest.mark.parametrize(
    "values", [5, None, "web-1", b"web-1", bytearray(b"a"), {"a": 1}, select(Thing)], ids=repr
)
def test_in_takes_no_single_value(values: Any) -> None:
    error = refusal(lambda: T.name.in_(values))

    assert error.field == "Thing.name"
    assert "Thing.name.in_([...])" in error.fix


def test_in_takes_every_collection() -> None:
    assert repr(Thing.n.in_(range(2))) == "Thing.n.in_([0, 1])"
    assert repr(Thing.n.in_(n for n in (1, 2))) == "Thing.n.in_([1, 2])"
    assert repr(Thing.n.in_({7})) == "Thing.n.in_([7])"
    assert repr(Thing.n.in_({7: "x"}.keys())) == "Thing.n.in_([7])"


@pytest.mark.parametrize(
    "ask",
    [
        lambda: T.flag & (T.n == 1),
        lambda: T.flag | (T.n == 1),
        lambda: ~T.flag,
        lambda: T.flag & T.flag,
    ],
)
def test_a_field_alone_is_no_condition(ask: Callable[[], object]) -> None:
    error = refusal(ask)

    assert error.field == "Thing.flag"
    assert "Thing.flag.is_(True)" in error.fix


def test_in_as_an_operator_names_contains() -> None:
    error = refusal(lambda: "vip" in T.labels)

    assert error.fix == "write Thing.labels.contains('vip')"


NO_COLUMN: list[Callable[[Any], object]] = [
    lambda field: field == None,  # noqa: E711 - an expression
    lambda field: field != "x",
    lambda field: field < 5,
    lambda field: field >= 5,
    lambda field: field & (T.n == 1),
    lambda field: (T.n == 1) | field,
    lambda field: ~field,
    lambda field: "x" in field,
    lambda field: field.is_null(),
    lambda field: field.in_(["x"]),
    lambda field: field.startswith("x"),
    lambda field: field.contains("x"),
    lambda field: field.between(1, 2),
    lambda field: field.asc(),
    lambda field: field.desc(),
    select,
    lambda field: select(T.n, field),
    lambda field: select(Thing).where(field),
    func.count,
]


@pytest.mark.parametrize("number", range(len(NO_COLUMN)))
@pytest.mark.parametrize(
    ("field", "fix"),
    [
        (Thing.tags, 'name one entry: Thing.tags["x"]'),
        (Thing.counts, "name one entry: Thing.counts[name]"),
        (Thing.owner, "compare the fields of the key of Thing.owner"),
    ],
    ids=repr,
)
def test_what_has_no_column_says_what_to_compare(field: Any, fix: str, number: int) -> None:
    error = refusal(lambda: NO_COLUMN[number](field))

    assert fix in error.fix
    assert error.field == repr(field)


def test_what_has_no_column_is_told_apart_by_identity() -> None:
    assert T.tags == T.tags
    assert T.tags != T.counts
    assert {T.tags: 1, T.owner: 2}[T.owner] == 2
    with pytest.raises(AttributeError, match="no attribute 'colour'"):
        _ = T.tags.colour


@pytest.mark.parametrize("keys", [None, 5, "web-1", {"name": "web-1"}], ids=repr)
def test_get_many_takes_a_list_of_keys(keys: Any) -> None:
    with connect("memory://") as engine, engine.session() as session:
        engine.create_tables(Thing)
        error = refusal(lambda: session.get_many(Thing, keys))

    assert error.got == keys
    assert "list of tuples or dicts" in error.fix


def test_a_sort_says_that_it_needs_a_bound() -> None:
    error = refusal(lambda: select(Thing).sort_in_memory(Thing.n.asc(), max_rows=0))

    assert error.fix == "give 1 or more"
    assert "leave it out" in refusal(lambda: select(Thing).limit(0)).fix
