"""Declarations that contradict a record less plainly: each would lose, hide or misread rows."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
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
    RecordType,
    TablePerPeriod,
    codecs,
    column,
    connect,
    dynamic,
    key,
    rowkey,
)
from hbase_orm.errors import CorruptRowError, FlushError, SchemaDriftError
from hbase_orm.ops import CheckAndMutate, ListTables, Operation
from hbase_orm.record.store import delete_record, read_record
from tests.support.recording import RecordsRequests, gateway_of, through


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


class Named(Model, table="named"):
    d = Family()
    a: Key[str] = key(codecs.text(separator=b"|"))
    b: Key[str] = key(codecs.text(separator=b"|"))
    city: Mapped[str] = column(d)


def renamed(*names: str) -> Any:
    """Return the model with other names for its key fields."""
    d = Family()
    text = codecs.text(separator=b"|")
    fields: dict[str, Any] = {"d": d, **{name: key(text) for name in names}, "city": column(d)}
    hints = {**dict.fromkeys(names, Key[str]), "city": Mapped[str]}
    body = {"__annotations__": hints, "__module__": __name__, **fields}
    declared: Any = type(Model)
    return declared("Named", (Model,), body, table="named")


@pytest.mark.parametrize("swapped", [("y", "x"), ("b", "a"), ("y", "a")])
def test_key_fields_that_change_places_after_a_rename_are_refused(swapped: tuple[str, str]) -> None:
    with connect("memory://") as engine:
        engine.create_tables(Named)
        with engine.session() as session:
            session.add(Named(a="1", b="2", city="Oslo"))
        beside(engine).create_tables(renamed("x", "y"))
        first, second = swapped

        with pytest.raises(SchemaDriftError, match="order of the key fields"):
            beside(engine).session().get(renamed(*swapped), **{first: "1", second: "2"})
        found = beside(engine).session().get(renamed("x", "y"), x="1", y="2")
        assert found is not None
        assert found.city == "Oslo"


def typed(*types: str, above: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return the classes of record types, and their base as ""; "c" requires `above` first."""
    family = Family()
    base_hints = {"kind": Key[str], "n": Key[int]}
    base_body: dict[str, Any] = {"d": family, "kind": key(), "n": key(codecs.uint32())}
    base_body |= {"__annotations__": base_hints, "__module__": __name__}
    base_body["__rowkey__"] = rowkey(RecordType(), base_body["kind"], base_body["n"])
    declared: Any = type(Model)
    base = declared("Typed", (Model,), base_body, table="typed")
    made: dict[str, Any] = {"": base}
    for name in types:
        columns = (*above, "city") if name == "c" else ("city",)
        body: dict[str, Any] = {each: column(family) for each in columns}
        body |= {"__annotations__": dict.fromkeys(columns, Mapped[str]), "__module__": __name__}
        made[name] = declared(name.upper(), (base,), body, record_type=name)
    return made


def test_rows_of_a_record_type_that_the_record_lacks_decide_about_its_anchor() -> None:
    with connect("memory://") as engine:
        engine.create_tables(typed("a")[""])
        early = typed("a", "c")
        with beside(engine).session() as session:
            session.add(early["c"](kind="x", n=1, city="Oslo"))
        late = typed("a", "c", above=("mail",))

        program = beside(engine)
        program.create_tables(late[""])
        record = program._runtime.run(read_record("typed"))

        assert record is not None
        assert {rows.record_type: rows.anchor for rows in record.current.rows} == {
            "a": b"d:city",
            "c": b"d:city",
        }
        assert program.session().get(late["c"], kind="x", n=1) is not None


def test_a_program_that_looked_before_there_was_a_record_creates_no_other_table() -> None:
    def daily(codec: Any) -> Any:
        class Daily(Model, table=TablePerPeriod("d_%Y%m%d", of="at", period="day", create=True)):
            d = Family()
            name: Key[str] = key()
            at: Key[datetime] = key()
            size: Mapped[int] = column(d, codec=codec)

        return Daily

    first, second = daily(codecs.uint32()), daily(codecs.int64())
    at = datetime(2024, 1, 1, tzinfo=UTC)
    with connect("memory://") as engine:
        slow = beside(engine)
        assert slow.session().get(second, name="a", at=at) is None  # it has looked: no record
        with engine.session() as session:
            session.add(first(name="a", at=at, size=1))

        session = slow.session()
        session.add(second(name="a", at=at + timedelta(days=1), size=1))
        with pytest.raises(FlushError) as caught:
            session.flush()

        assert isinstance(caught.value.not_written[0][-1], SchemaDriftError)
        assert gateway_of(engine).execute(ListTables()) == ["d_20240101", "hbase_orm_catalog"]


def extended(codec: Any) -> Any:
    """Return the model with a column that the record lacks."""

    class Row(Model, table="rows"):
        d = Family()
        name: Key[str] = key()
        city: Mapped[str] = column(d)
        size: Mapped[int | None] = column(d, "a_n", codec=codecs.uint32(), default=None)
        note: Mapped[str | None] = column(d, default=None)
        extra: Mapped[int | None] = column(d, codec=codec, default=None)

    return Row


def test_of_two_programs_that_add_a_column_the_first_create_tables_decides_its_codec() -> None:
    first, second = extended(codecs.uint32()), extended(codecs.int64())
    with connect("memory://") as engine:
        engine.create_tables(Row)
        with beside(engine).session() as session:
            session.add(first(name="a", city="Oslo", extra=1))
        with beside(engine).session() as session:
            session.add(second(name="b", city="Rome", extra=2))

        beside(engine).create_tables(first)

        for use in (
            lambda: beside(engine).create_tables(second),
            lambda: beside(engine).session().get(second, name="a"),
            lambda: beside(engine).session().insert(second(name="c", city="Bern", extra=3)),
        ):
            with pytest.raises(SchemaDriftError, match="codec of column d:extra"):
                use()
        row = beside(engine).session().get(first, name="a")
        assert row is not None
        assert row.extra == 1
        with pytest.raises(CorruptRowError):  # what the other program wrote before
            _ = beside(engine).session().get(first, name="b")


def test_of_two_create_tables_at_once_that_add_a_column_one_is_refused() -> None:
    first, second = extended(codecs.uint32()), extended(codecs.int64())
    with connect("memory://") as engine:
        engine.create_tables(Row)
        faster = [lambda: beside(engine).create_tables(first)]

        class Overtaken(RecordsRequests):
            """Lets another program write the record just before the first check of it."""

            def execute(self, operation: Operation[Any]) -> Any:
                if isinstance(operation, CheckAndMutate) and faster:
                    faster.pop()()
                return super().execute(operation)

        with pytest.raises(SchemaDriftError, match="codec of column d:extra"):
            through(Overtaken(gateway_of(engine)), engine).create_tables(second)

        record = engine._runtime.run(read_record("rows"))
        assert record is not None
        assert not faster
        assert "uint32" in str(record.current.rows[0].columns[b"d:extra"].codec)
