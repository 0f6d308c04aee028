"""Declarations that contradict a record less plainly: each would lose, hide or misread rows."""

from __future__ import annotations

from typing import Any

import pytest

from hbase_orm import (
    Dynamic,
    Engine,
    Family,
    Index,
    Key,
    Mapped,
    Model,
    codecs,
    column,
    connect,
    dynamic,
    key,
)
from hbase_orm.errors import SchemaDriftError
from hbase_orm.record.store import delete_record, read_record
from tests.support.recording import gateway_of, through


def beside(engine: Engine) -> Engine:
    """Return the engine of another program on the same tables."""
    return through(gateway_of(engine), engine)


class Row(Model, table="rows"):
    d = Family()
    name: Key[str] = key()
    city: Mapped[str] = column(d)
    size: Mapped[int | None] = column(d, "a_n", codec=codecs.uint32(), default=None)
    note: Mapped[str | None] = column(d, default=None)


class Swallowing(Model, table="rows"):
    """Its dynamic columns hold a column that the record has."""

    d = Family()
    name: Key[str] = key()
    city: Mapped[str] = column(d)
    note: Mapped[str | None] = column(d, default=None)
    more: Dynamic[str, str] = dynamic(d, prefix="a_")


class Tagged(Model, table="tagged"):
    d = Family()
    name: Key[str] = key()
    city: Mapped[str] = column(d)
    tags: Dynamic[str, str] = dynamic(d, prefix="t_")


class Within(Model, table="tagged"):
    """Declares a column that the record counts as a dynamic one."""

    d = Family()
    name: Key[str] = key()
    city: Mapped[str] = column(d)
    one: Mapped[int | None] = column(d, "t_one", codec=codecs.uint32(), default=None)


class Narrower(Model, table="tagged"):
    """Its dynamic columns are some of the recorded ones, with another codec."""

    d = Family()
    name: Key[str] = key()
    city: Mapped[str] = column(d)
    tags: Dynamic[str, int] = dynamic(d, prefix="t_y", codec=codecs.uint32())


@pytest.mark.parametrize(
    ("first", "second"), [(Row, Swallowing), (Tagged, Within), (Tagged, Narrower)]
)
def test_a_column_that_only_one_side_counts_as_dynamic_is_refused(first: Any, second: Any) -> None:
    with connect("memory://") as engine:
        engine.create_tables(first)
        with engine.session() as session:
            session.add(first(name="a", city="Oslo"))

        with pytest.raises(SchemaDriftError, match="dynamic"):
            beside(engine).session().get(second, name="a")


def coded(codes: dict[str, bytes], *required: str, name: str = "Part") -> Any:
    """Return a model with a code in its row key, and another in an indexed column."""
    d = Family()
    fields: dict[str, Any] = {
        "d": d,
        "kind": key(codecs.code(codes)),
        "state": column(d, codec=codecs.code(codes)),
        **{each: column(d) for each in required},
    }
    fields["by_state"] = Index(fields["state"])
    hints = {"kind": Key[str], **dict.fromkeys((*required, "state"), Mapped[str])}
    order = {"__annotations__": hints, "__module__": __name__}
    declared: Any = type(Model)
    return declared(name, (Model,), order | fields, table="parts")


OLD = {"a": b"1"}
NEW = {"a": b"1", "b": b"2"}


def test_a_new_code_of_a_key_field_makes_no_second_kind_of_rows() -> None:
    with connect("memory://") as engine:
        first, later = coded(OLD, "city"), coded(NEW, "above", "city")
        engine.create_tables(first)
        with engine.session() as session:
            session.add(first(kind="a", state="a", city="Oslo"))
        beside(engine).create_tables(later)
        record = engine._runtime.run(read_record("parts"))

        assert record is not None
        assert len(record.current.rows) == 1
        other = coded(NEW, "above", "city", name="Other")
        assert beside(engine).session().get(other, kind="a") is not None


def test_a_program_that_lacks_codes_repairs_nothing() -> None:
    with connect("memory://") as engine:
        first, later = coded(OLD, "city"), coded(NEW, "city")
        engine.create_tables(first)
        program = beside(engine)
        program.create_tables(later)
        with program.session() as session:
            session.add(later(kind="b", state="b", city="Oslo"))

        with pytest.raises(SchemaDriftError, match="repair"):
            beside(engine).verify_index(first, "by_state", repair=True, min_age_ms=0)

        found = beside(engine).verify_index(later, "by_state")
        assert (found.missing, found.invalid, found.stale) == (0, 0, 0)


def test_codes_are_never_forgotten() -> None:
    with connect("memory://") as engine:
        engine.create_tables(coded(OLD, "city"))
        beside(engine).create_tables(coded(NEW, "city"))
        beside(engine).create_tables(coded(OLD, "city"))

        with pytest.raises(SchemaDriftError, match="state"):
            beside(engine).session().get(coded(OLD | {"c": b"2"}, "city"), kind="a")


class Plain(Model, table="pages"):
    d = Family()
    name: Key[str] = key()
    city: Mapped[str] = column(d)
    note: Mapped[str | None] = column(d, default=None)


class View(Model, table="pages"):
    d = Family()
    name: Key[str] = key()
    note: Mapped[str | None] = column(d, default=None)


class Indexed(Model, table="pages"):
    d = Family()
    name: Key[str] = key()
    city: Mapped[str] = column(d)
    note: Mapped[str | None] = column(d, default=None)
    by_note = Index(note)


def test_a_table_with_rows_of_a_view_without_the_anchor_gets_no_guards() -> None:
    with connect("memory://") as engine:
        engine.create_tables(Plain)
        engine.create_tables(View)
        with engine.session() as session:
            session.add(View(name="a", note="x"))
        program = beside(engine)
        program.add_guard_family(Indexed)

        with pytest.raises(SchemaDriftError, match="left out by the recorded model View"):
            program.create_tables(Indexed)


def test_key_fields_that_change_places_are_refused_beside_a_view_with_other_names() -> None:
    def pair(one: str, other: str, name: str = "Pair") -> Any:
        d = Family()
        hints = {one: Key[str], other: Key[str], "city": Mapped[str]}
        body = {"__annotations__": hints, "__module__": __name__, "d": d, "city": column(d)}
        declared: Any = type(Model)
        return declared(name, (Model,), body | {one: key(), other: key()}, table="pairs")

    with connect("memory://") as engine:
        engine.create_tables(pair("a", "b"), pair("x", "y", "OtherNames"))

        with pytest.raises(SchemaDriftError, match="order of the key fields"):
            beside(engine).session().get(pair("b", "a"), a="A", b="B")


class First(Model, table="people"):
    d = Family()
    name: Key[str] = key()
    city: Mapped[str] = column(d)
    by_city = Index(city)


class Later(Model, table="people"):
    d = Family()
    name: Key[str] = key()
    mail: Mapped[str] = column(d)
    city: Mapped[str] = column(d)
    by_city = Index(city)


def test_rows_that_are_older_than_the_record_decide_about_its_anchor() -> None:
    with connect("memory://") as engine:
        engine.create_tables(First)
        with engine.session() as session:
            session.add(First(name="ann", city="Oslo"))
        engine._runtime.run(delete_record("people"))

        program = beside(engine)
        program.create_tables(Later)
        record = engine._runtime.run(read_record("people"))

        assert record is not None
        assert record.current.rows[0].anchor == b"d:city"
        assert program.session().get(Later, name="ann") is not None
        found = program.verify_index(Later, "by_city")
        assert (found.missing, found.invalid, found.stale) == (0, 0, 0)
