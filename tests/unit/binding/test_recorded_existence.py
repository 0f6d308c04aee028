"""Which rows exist, as the record says: all programs and all reads agree on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from hbase_orm import (
    Counter,
    Dynamic,
    Engine,
    Family,
    Index,
    Key,
    Mapped,
    Model,
    column,
    connect,
    counter,
    dynamic,
    func,
    key,
    select,
)
from hbase_orm.errors import DuplicateRowError, MissingCellError, SchemaDriftError
from hbase_orm.gateway.base import Gateway
from hbase_orm.ops import (
    AddFamily,
    CheckAndMutate,
    FamilyDescriptor,
    MutateRows,
    Operation,
    Put,
    RowMutation,
)
from tests.support.recording import RecordsRequests, gateway_of, through


def beside(engine: Engine) -> Engine:
    """Return the engine of another program on the same tables."""
    return through(gateway_of(engine), engine)


class Old(Model, table="visits"):
    d = Family()
    name: Key[str] = key()
    city: Mapped[str | None] = column(d, default=None)
    by_city = Index(city, nulls=True)


class New(Model, table="visits"):
    """It has a counter that the record lacks."""

    d = Family()
    name: Key[str] = key()
    city: Mapped[str | None] = column(d, default=None)
    hits: Counter = counter(d)
    by_city = Index(city, nulls=True)


def seen(engine: Engine, model: Any) -> tuple[Any, ...]:
    """Return which rows a program sees, by every kind of read, and what a check of its index says."""
    every = select(model).allow_full_scan()
    with engine.session() as session:
        rows = [session.get(model, name=name) for name in ("ann", "bob")]
        found = (
            [row is not None for row in rows],
            session.count(every),
            sorted(session.all(select(model.name).allow_full_scan())),
            session.all(select(model.city).allow_full_scan()),
            session.all(select(func.count(model.city)).allow_full_scan()),
            [row.name for row in session.all(every)],
            [row.name for row in session.all(select(model).where(model.city == None))],  # noqa: E711  # a condition
        )
    checked = engine.verify_index(model, "by_city", min_age_ms=0)
    return (*found, checked.missing, checked.invalid, checked.stale)


@pytest.mark.parametrize("recorded_later", [(), (New,)])
def test_a_new_counter_alone_makes_no_row_for_any_program(recorded_later: tuple[Any, ...]) -> None:
    with connect("memory://") as engine:
        engine.create_tables(Old)
        with engine.session() as session:
            session.add(Old(name="ann"))
        new = beside(engine)
        with new.session() as session:
            session.increment(New, New.hits.by(1), name="bob")
        beside(engine).create_tables(Old, *recorded_later)

        views = [seen(beside(engine), Old), seen(beside(engine), New)]

        assert views[0] == views[1]
        assert views[0][:2] == ([True, False], 1)
        assert views[0][-3:] == (0, 0, 0)
        beside(engine).repair_indexes(Old)
        assert seen(beside(engine), New) == views[0]
        with beside(engine).session() as session:
            session.insert(Old(name="bob"))
        assert seen(beside(engine), New) == seen(beside(engine), Old)


def test_a_row_of_recorded_columns_without_the_marker_exists_for_all_programs() -> None:
    with connect("memory://") as engine:
        engine.create_tables(Old)
        with engine.session() as session:
            session.add(Old(name="ann"))
        by_others = RowMutation(b"bob", (Put(b"d:city", b"Oslo"),))
        gateway_of(engine).execute(MutateRows("visits", (by_others,)))

        for model in (Old, New):
            with beside(engine).session() as session:
                assert session.get(model, name="bob") is not None
                assert session.count(select(model).allow_full_scan()) == 2


class Page(Model, table="pages"):
    d = Family()
    name: Key[str] = key()
    city: Mapped[str] = column(d)
    note: Mapped[str | None] = column(d, default=None)
    tags: Dynamic[str, str] = dynamic(d, prefix="t_")


class View(Model, table="pages"):
    """Other rows of the table, without the column that all rows of `Page` have."""

    d = Family()
    name: Key[str] = key()
    note: Mapped[str | None] = column(d, default=None)
    size: Mapped[str | None] = column(d, default=None)


@pytest.fixture
def pages() -> Iterator[Engine]:
    """Tables with a row of the view and one of the first model."""
    with connect("memory://") as engine:
        engine.create_tables(Page)
        beside(engine).create_tables(View)
        with beside(engine).session() as session:
            session.add(View(name="ann", size="big"))
        with beside(engine).session() as session:
            session.add(Page(name="bob", city="Oslo"))
        yield beside(engine)


def test_a_projection_shows_the_rows_of_a_recorded_view_without_the_anchor(pages: Engine) -> None:
    with pages.session() as session:
        every = select(Page).allow_full_scan()

        assert [row.name for row in session.all(every)] == ["ann", "bob"]
        cities = select(Page.name, Page.city).allow_full_scan()
        with pytest.raises(MissingCellError):
            session.all(cities)
        assert session.all(select(Page.note).allow_full_scan()) == [None, None]
        assert session.count(every.where(Page.city != "Rome")) == 2


def test_wide_rows_of_a_recorded_view_without_the_anchor_are_shown(pages: Engine) -> None:
    entries = select(Page).allow_full_scan().columns_between(Page.tags, "a", "z")

    with pages.session() as session:
        assert [row.name for row in session.all(entries)] == ["ann", "bob"]


@pytest.mark.parametrize(("first", "second"), [(Page, View), (View, Page)])
def test_of_two_inserts_by_a_model_and_its_view_one_is_refused(
    pages: Engine, first: Any, second: Any
) -> None:
    def of(model: Any) -> Any:
        return Page(name="cid", city="Rome") if model is Page else View(name="cid", note="x")

    sent = InsertsBetween(gateway_of(pages), lambda: insert(beside(pages), of(second)))
    session = through(sent, pages).session()

    with pytest.raises(DuplicateRowError):
        session.insert(of(first))
    row = beside(pages).session().get(Page, name="cid")
    assert row is not None
    assert row.note == ("x" if second is View else None)


def insert(engine: Engine, obj: Any) -> None:
    with engine.session() as session:
        session.insert(obj)


class InsertsBetween(RecordsRequests):
    """Lets another program write just before the first check of a row."""

    def __init__(self, inner: Gateway, write: Callable[[], None]) -> None:
        super().__init__(inner)
        self._write = [write]

    def execute(self, operation: Operation[Any]) -> Any:
        if isinstance(operation, CheckAndMutate) and self._write:
            self._write.pop()()
        return super().execute(operation)


class Wider(Model, table="pages"):
    """It has a family that the record lacks, and that other means gave the table."""

    d = Family()
    f = Family()
    name: Key[str] = key()
    city: Mapped[str] = column(d)
    mail: Mapped[str | None] = column(f, default=None)


def test_cells_of_a_family_that_the_record_lacks_do_not_come_back_after_a_delete() -> None:
    with connect("memory://") as engine:
        engine.create_tables(Page)
        gateway_of(engine).execute(AddFamily("pages", FamilyDescriptor(b"f")))

        with pytest.raises(SchemaDriftError, match="family f") as caught:
            insert(beside(engine), Wider(name="ann", city="Oslo", mail="a@b"))
        assert "hbase-orm tables alter" in str(caught.value)
        with pytest.raises(SchemaDriftError, match="family f"):
            beside(engine).session().get(Wider, name="ann")

        beside(engine).create_tables(Wider)
        insert(beside(engine), Wider(name="ann", city="Oslo", mail="a@b"))
        with beside(engine).session() as session:
            session.delete_row(Page, name="ann")
        insert(beside(engine), Page(name="ann", city="Rome"))
        row = beside(engine).session().get(Wider, name="ann")
        assert row is not None
        assert row.mail is None


def test_a_family_that_the_record_lacks_is_used_in_an_emergency() -> None:
    with connect("memory://") as engine:
        engine.create_tables(Page)
        gateway_of(engine).execute(AddFamily("pages", FamilyDescriptor(b"f")))
        options = replace(engine.options, on_drift="warn")
        bold = Engine(gateway_of(engine), options)

        with pytest.raises(SchemaDriftError):
            beside(engine).session().get(Wider, name="ann")
        assert bold.session().get(Wider, name="ann") is None
