"""What an error says to write names the caller's own model and fields."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import hbase_orm
from hbase_orm import (
    Counter,
    Dynamic,
    Family,
    Index,
    Key,
    Mapped,
    Model,
    Related,
    column,
    connect,
    counter,
    dynamic,
    key,
    related,
    rowkey,
    select,
)
from hbase_orm.errors import (
    ConfigurationError,
    HBaseORMError,
    RowKeyError,
    SchemaError,
    UnnamedKeyError,
)

EXAMPLES = {"Reading", "Customer", "web-1", "web-2", "host, at", "host=...", "customer_id"}


class Writer(Model, table="writers"):
    d = Family()
    nick: Key[str] = key()


class Essay(Model, table="essays"):
    d = Family()
    slug: Key[str] = key()
    title: Mapped[str] = column(d)
    nick: Mapped[str] = column(d)
    likes: Counter = counter(d)
    marks: Dynamic[str, str] = dynamic(d, prefix="m_")
    writer: Related[Writer] = related(nick=nick)
    by_title = Index(title)


class Seat(Model, table="seats"):
    d = Family()
    row: Key[str] = key()
    number: Key[str] = key()
    __rowkey__ = rowkey(row, number)


ENGINE: Any = connect("memory://")
SESSION: Any = ENGINE.session()
ANY_ESSAY: Any = Essay
ESSAYS: Any = select(Essay)

CALLS: dict[str, tuple[Callable[[], Any], str]] = {
    "one key": (
        lambda: SESSION.get_many(Essay, "x"),
        ("give a list of tuples or dicts: session.get_many(Essay, [(slug,), ...])"),
    ),
    "bare keys": (lambda: SESSION.get_many(Essay, ["x"]), "give (slug,)"),
    "bare keys of two fields": (lambda: SESSION.get_many(Seat, ["x"]), "give (row, number)"),
    "get of an object": (
        lambda: SESSION.get(Essay(slug="a", title="b", nick="c"), slug="a"),
        "name the class: Essay",
    ),
    "statement": (lambda: SESSION.all(Essay), "write session.all(select(Essay))"),
    "add": (lambda: SESSION.add(Essay), "write session.add(Essay(...))"),
    "select": (
        lambda: select(Essay(slug="a", title="b", nick="c")),  # type: ignore[call-overload]
        "write select(Essay), or select() with its fields",
    ),
    "order": (lambda: ESSAYS.order_by("slug"), "write Essay.slug or Essay.slug.desc()"),
    "sort": (lambda: ESSAYS.sort_in_memory(max_rows=5), "write Essay.slug"),
    "group": (lambda: ESSAYS.group_by("slug"), "write .group_by(Essay.slug)"),
    "index": (lambda: ESSAYS.using("by_title"), "write one of: Essay.by_title"),
    "no index": (lambda: select(Writer).using("x"), "the model declares no index"),  # type: ignore[arg-type]
    "related": (lambda: ESSAYS.load_related("writer"), "write one of: Essay.writer"),
    "dynamic": (
        lambda: ESSAYS.columns_between("marks", "a", "b"),
        "write .columns_between(Essay.marks, ...)",
    ),
    "put_row of nothing": (
        lambda: SESSION.put_row(Essay, slug="a"),
        "write session.put_row(Essay, Essay.title.to(...), slug=...)",
    ),
    "put_row of a text": (
        lambda: SESSION.put_row(Essay, "title", slug="a"),
        "write Essay.title.to(value)",
    ),
    "increment of nothing": (
        lambda: SESSION.increment(Essay, slug="a"),
        "write session.increment(Essay, Essay.likes.by(1), ...)",
    ),
    "increment of a text": (
        lambda: SESSION.increment(Essay, "likes", slug="a"),
        "write Essay.likes.by(1)",
    ),
    "set a counter": (
        lambda: setattr(Essay(slug="a", title="b", nick="c"), "likes", 1),
        "use session.increment(Essay, Essay.likes.by(...), ...)",
    ),
    "modules": (
        lambda: hbase_orm.models(["a.b"]),  # type: ignore[arg-type]
        "give the modules one by one: hbase_orm.models('a.b')",
    ),
}


@pytest.mark.parametrize("case", CALLS)
def test_the_remedy_names_the_callers_model(case: str) -> None:
    call, remedy = CALLS[case]

    with pytest.raises(HBaseORMError) as error:
        call()

    assert error.value.fix == remedy


def test_a_wrong_rowkey_shows_the_key_fields_of_the_class() -> None:
    with pytest.raises(SchemaError) as error:

        class _Wrong(Model, table="wrong"):
            d = Family()
            row: Key[str] = key()
            number: Key[str] = key()
            __rowkey__ = "row"  # type: ignore[assignment]

    assert error.value.fix == "write __rowkey__ = rowkey(row, number)"


@pytest.mark.parametrize(
    ("declare", "remedy"),
    [
        (lambda: rowkey("row", "number"), "write row, number without quotes"),  # type: ignore[arg-type]
        (lambda: rowkey(5), "name key fields that are declared before, without quotes"),  # type: ignore[arg-type]
        (lambda: hbase_orm.Salt(4, of="row"), "write row without quotes"),  # type: ignore[arg-type]
    ],
)
def test_names_in_quotes_are_shown_without(declare: Callable[[], Any], remedy: str) -> None:
    with pytest.raises(SchemaError) as error:
        declare()

    assert error.value.fix == remedy


def test_no_remedy_has_names_of_the_tutorial() -> None:
    source = Path(hbase_orm.__file__).parent
    remedies = re.compile(r"\bfix\s*\+?=(.*?)(?:\n\s*\)|,\n|\n\n|\n    \w)", re.DOTALL)
    texts = [
        text
        for path in sorted(source.rglob("*.py"))
        for text in remedies.findall(path.read_text(encoding="utf-8"))
    ]

    assert len(texts) > 700
    assert [text for text in texts if any(example in text for example in EXAMPLES)] == []


UNNAMED: dict[str, tuple[Callable[[], Any], str]] = {
    "get": (lambda: SESSION.get(Essay, "x"), "write session.get(Essay, slug='x')"),
    "get of two": (
        lambda: SESSION.get(Seat, "a", "1"),
        "write session.get(Seat, row='a', number='1')",
    ),
    "get of a part": (
        lambda: SESSION.get(Seat, "a"),
        "write session.get(Seat, row=..., number=...)",
    ),
    "get of both": (
        lambda: SESSION.get(Essay, "x", slug="x"),
        "write session.get(Essay, slug='x')",
    ),
    "cells": (
        lambda: SESSION.stored_cells(Essay, "x"),
        "write session.stored_cells(Essay, slug='x')",
    ),
    "delete": (lambda: SESSION.delete_row(Essay, "x"), "write session.delete_row(Essay, slug='x')"),
    "update": (
        lambda: SESSION.update(Essay, len, "x"),
        "write session.update(Essay, CHANGE, slug='x')",
    ),
    "append": (
        lambda: SESSION.append(Essay, Essay.title, "b", "x"),
        "write session.append(Essay, FIELD, VALUE, slug='x')",
    ),
    "row keys": (lambda: ENGINE.row_keys(Essay, "x"), "write engine.row_keys(Essay, slug='x')"),
    "encoding": (lambda: ANY_ESSAY.encode_key("x"), "write Essay.encode_key(slug='x')"),
}


@pytest.mark.parametrize("case", UNNAMED)
def test_key_fields_without_names_are_refused_with_the_call_to_write(case: str) -> None:
    call, remedy = UNNAMED[case]

    with pytest.raises(UnnamedKeyError) as error:
        call()

    assert error.value.fix == remedy
    assert isinstance(error.value, TypeError)
    assert isinstance(error.value, RowKeyError)


def test_a_name_in_place_of_the_model_is_still_refused_as_such() -> None:
    with pytest.raises(ConfigurationError, match="not a model with a table"):
        SESSION.get("Essay", "x")
