"""A record that is damaged or newer refuses every use of its table, and nothing is half done."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Final

import pytest

from hbase_orm import (
    Counter,
    Engine,
    Family,
    Index,
    Key,
    Mapped,
    Model,
    column,
    counter,
    key,
    select,
)
from hbase_orm.errors import HBaseORMError, RecordError
from hbase_orm.index.catalog.catalog import CATALOG_TABLE, RECORD_COLUMN
from hbase_orm.ops import GetRows, MutateRow, Put, Row, RowMutation, Scan, fetch_once, run_protocol
from hbase_orm.record.stored_values import RECORD_VERSION
from tests.support.recording import gateway_of
from tests.support.store import Store


class Page(Model, table="unreadable_pages"):
    d = Family()
    name: Key[str] = key()
    text: Mapped[str] = column(d)
    hits: Counter = counter(d)


class Tagged(Model, table="unreadable_tags"):
    d = Family()
    name: Key[str] = key()
    text: Mapped[str] = column(d)
    hits: Counter = counter(d)
    by_text = Index(text)


DAMAGES: Final = {
    "damaged": b'{"version":1,"id":',
    "newer": json.dumps({"version": RECORD_VERSION + 1}).encode(),
}
MODELS: Final = (Page, Tagged)


def prepare(engine: Engine) -> None:
    """Each test makes the tables itself, because it spoils their records."""


@pytest.fixture(params=DAMAGES)
def damage(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(autouse=True)
def spoilt(store: Store, damage: str) -> Iterator[None]:
    store.engine.create_tables(*MODELS)
    for model in MODELS:
        store.put(model(name="a", text="x"))
        spoil(store, model, DAMAGES[damage])
    yield
    store.another().engine.drop_tables(*MODELS)


def spoil(store: Store, model: Any, value: bytes) -> None:
    row = store.table(model).encode()
    store.run(MutateRow(CATALOG_TABLE, RowMutation(row, puts=(Put(RECORD_COLUMN, value),))))


def stored_rows(store: Store) -> list[list[Row]]:
    """Return the rows of the models' tables, and the catalog's rows of these tables."""
    tables = [*map(store.table, MODELS)]
    rows = [run_protocol(fetch_once(Scan(table)), store.run) for table in tables]
    keys = tuple(table.encode() for table in tables)
    catalogued = store.run(GetRows(CATALOG_TABLE, keys))
    return [*rows, [row for row in catalogued if row is not None]]


def deleted(engine: Engine, model: Any) -> None:
    with engine.session() as session:
        session.delete(model(name="a", text="x"))


def added(engine: Engine, model: Any) -> None:
    with engine.session() as session:
        session.add(model(name="b", text="x"))


def loaded(engine: Engine, model: Any) -> None:
    with engine.session() as session, session.bulk() as bulk:
        bulk.add(model(name="b", text="x"))


VERBS: Final[dict[str, Callable[[Engine, Any], object]]] = {
    "get": lambda engine, model: engine.session().get(model, name="a"),
    "get_many": lambda engine, model: engine.session().get_many(model, [("a",)]),
    "all": lambda engine, model: engine.session().all(select(model).where(model.name == "a")),
    "scan": lambda engine, model: engine.session().all(select(model).allow_full_scan()),
    "count": lambda engine, model: engine.session().count(select(model).allow_full_scan()),
    "page": lambda engine, model: engine.session().page(select(model).allow_full_scan(), size=1),
    "history": lambda engine, model: engine.session().history(
        model(name="a", text="x"), model.text, limit=1
    ),
    "stored_cells": lambda engine, model: engine.session().stored_cells(model, name="a"),
    "explain": lambda engine, model: engine.session().explain(select(model).allow_full_scan()),
    "add": added,
    "delete": deleted,
    "insert": lambda engine, model: engine.session().insert(model(name="b", text="x")),
    "replace": lambda engine, model: engine.session().replace(model(name="a", text="y")),
    "put_row": lambda engine, model: engine.session().put_row(model, model.text.to("y"), name="a"),
    "increment": lambda engine, model: engine.session().increment(
        model, model.hits.by(1), name="a"
    ),
    "delete_row": lambda engine, model: engine.session().delete_row(model, name="a"),
    "delete_where": lambda engine, model: engine.session().delete_where(
        select(model).where(model.name == "a")
    ),
    "bulk": loaded,
    "create_tables": lambda engine, model: engine.create_tables(model),
}
ONLY_INDEXED: Final[dict[str, Callable[[Engine, Any], object]]] = {
    "by index": lambda engine, model: engine.session().all(
        select(model).where(model.text == "x").using(model.by_text)
    ),
    "build": lambda engine, model: engine.build_index(model, "by_text", rebuild=True),
    "verify": lambda engine, model: engine.verify_index(model, "by_text"),
    "repair": lambda engine, model: engine.repair_indexes(model),
}
REFUSED: Final = [
    *((model, name) for model in MODELS for name in VERBS),
    *((Tagged, name) for name in ONLY_INDEXED),
]


def reason_of(error: BaseException) -> BaseException:
    """Return why a flush failed, or the error itself."""
    not_written = getattr(error, "details", {}).get("not_written")
    return not_written[0][2] if not_written else error


def test_every_verb_is_refused_by_an_error_that_names_the_table_and_the_way_to_go(
    store: Store, damage: str
) -> None:
    before = stored_rows(store)
    refusals = {}
    for model, name in REFUSED:
        with pytest.raises(HBaseORMError) as caught:
            {**VERBS, **ONLY_INDEXED}[name](store.another().engine, model)
        refusals[model.__name__, name] = reason_of(caught.value)

    kinds = {where: type(error) for where, error in refusals.items()}
    assert kinds == dict.fromkeys(kinds, RecordError)
    way = {"damaged": "hbase-orm tables adopt", "newer": "upgrade hbase_orm"}[damage]
    for (name, _), error in refusals.items():
        assert isinstance(error, RecordError)
        assert error.table == store.table({"Page": Page, "Tagged": Tagged}[name])
        assert way in error.fix
    assert stored_rows(store) == before


def test_a_spoilt_record_is_read_once_a_lease_too(store: Store) -> None:
    program = store.another()
    for _ in range(5):
        with program.engine.session() as session, pytest.raises(RecordError):
            session.get(Page, name="a")

    assert program.taken() == {"GetRows": 1}


def test_the_tables_can_be_dropped_and_made_again(store: Store) -> None:
    engine = store.another().engine
    assert store.table(Page) in engine.drop_tables(*MODELS)

    assert store.table(Page) in engine.create_tables(*MODELS)

    for model in MODELS:
        with engine.session() as session:
            session.add(model(name="c", text="x"))
            session.flush()
            assert session.count(select(model).allow_full_scan()) == 1


def test_dropping_a_table_deletes_its_spoilt_record(store: Store) -> None:
    (row,) = store.run(GetRows(CATALOG_TABLE, (store.table(Page).encode(),)))
    assert RECORD_COLUMN in row.cells

    store.another().engine.drop_tables(Page)

    (row,) = store.run(GetRows(CATALOG_TABLE, (store.table(Page).encode(),)))
    assert row is None or not row.cells[RECORD_COLUMN].value


def test_with_on_drift_warn_a_plain_model_is_used_as_it_is_declared(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    options = replace(store.engine.options, on_drift="warn")
    engine = Engine(gateway_of(store.engine), options)

    with caplog.at_level(logging.WARNING), engine.session() as session:
        assert session.get(Page, name="a")
        with pytest.raises(RecordError):
            session.get(Tagged, name="a")

    (warning,) = caplog.messages
    assert "unreadable_pages" in warning
