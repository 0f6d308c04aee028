"""Inserts by models of one plain table with and without the anchor: one row is inserted once."""

from __future__ import annotations

from typing import Any, TypeVar

import pytest

from hbase_orm import Engine, Family, Key, Mapped, Model, column, connect, key
from hbase_orm.errors import DuplicateRowError, SchemaDriftError
from hbase_orm.ops import CheckAndMutate, Operation
from tests.support.recording import RecordsRequests, gateway_of, through

R = TypeVar("R")


class Person(Model, table="people"):
    d = Family()
    name: Key[str] = key()
    city: Mapped[str] = column(d)
    note: Mapped[str | None] = column(d, default=None)


class View(Model, table="people"):
    d = Family()
    name: Key[str] = key()
    note: Mapped[str | None] = column(d, default=None)


class InsertsBetween(RecordsRequests):
    """Lets another program insert a row before the first conditional write of one."""

    def __init__(self, engine: Engine, other: Model) -> None:
        super().__init__(gateway_of(engine))
        self.engine = engine
        self.other: Model | None = other

    def execute(self, operation: Operation[R], /) -> R:
        other = self.other
        is_insert = isinstance(operation, CheckAndMutate) and operation.table == "people"
        if other is not None and is_insert:
            self.other = None
            beside(self.engine).session().insert(other)
        return super().execute(operation)


def beside(engine: Engine) -> Engine:
    return through(gateway_of(engine), engine)


@pytest.mark.parametrize("first", [Person(name="a", city="x"), View(name="a", note="n")])
@pytest.mark.parametrize("second", [Person(name="a", city="x"), View(name="a", note="n")])
@pytest.mark.parametrize("is_recorded", ["recorded", "not recorded"])
def test_of_two_inserts_at_once_only_one_succeeds(
    first: Model, second: Model, is_recorded: str
) -> None:
    with connect("memory://") as engine:
        engine.create_tables(Person)
        if is_recorded == "recorded":
            beside(engine).create_tables(View)
        program = through(InsertsBetween(engine, second.__class__(**vars_of(second))), engine)

        with pytest.raises((DuplicateRowError, SchemaDriftError)):
            program.session().insert(first.__class__(**vars_of(first)))


def vars_of(obj: Model) -> dict[str, object]:
    return {name: getattr(obj, name) for name in type(obj).__schema__.fields}


def test_an_insert_by_a_view_that_is_not_recorded_is_refused_with_what_to_do() -> None:
    with connect("memory://") as engine:
        engine.create_tables(Person)

        with pytest.raises(SchemaDriftError, match="would not see this row") as refused:
            beside(engine).session().insert(View(name="a", note="n"))

        assert "create_tables" in str(refused.value.fix)


def test_a_recorded_view_inserts_rows() -> None:
    with connect("memory://") as engine:
        engine.create_tables(Person, View)

        beside(engine).session().insert(View(name="a", note="n"))

        assert beside(engine).session().get(View, name="a") is not None


class Resident(Model, table="people"):
    """A class of another name with all columns of `Person`."""

    d = Family()
    name: Key[str] = key()
    city: Mapped[str] = column(d)
    note: Mapped[str | None] = column(d, default=None)


class Noted(Model, table="noted"):
    d = Family()
    name: Key[str] = key()
    city: Mapped[str] = column(d)
    note: Mapped[str] = column(d)


class NotedView(Model, table="noted"):
    d = Family()
    name: Key[str] = key()
    note: Mapped[str] = column(d)


def nullable_note() -> Any:
    class Noted(Model, table="noted"):
        d = Family()
        name: Key[str] = key()
        city: Mapped[str] = column(d)
        note: Mapped[str | None] = column(d, default=None)

    return Noted


def test_a_model_with_all_columns_inserts_beside_a_recorded_view() -> None:
    with connect("memory://") as engine:
        engine.create_tables(Person, View)

        beside(engine).session().insert(Resident(name="a", city="x"))

        with pytest.raises(DuplicateRowError):
            beside(engine).session().insert(View(name="a", note="n"))


def test_a_class_that_no_longer_requires_the_shared_column_inserts_nothing() -> None:
    later = nullable_note()
    with connect("memory://") as engine:
        engine.create_tables(Noted)
        beside(engine).create_tables(NotedView)

        with pytest.raises(SchemaDriftError, match="would not see this row"):
            beside(engine).session().insert(later(name="a", city="x"))
