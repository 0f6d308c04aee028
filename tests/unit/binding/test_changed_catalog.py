"""What sessions do when another program, or another session, knows a table differently."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from hbase_orm import (
    Engine,
    Family,
    Index,
    Key,
    Mapped,
    Model,
    Version,
    codecs,
    column,
    key,
    select,
    version,
)
from hbase_orm.binding.url import parse_url
from hbase_orm.binding.write_clock import wall_clock_ms
from hbase_orm.errors import (
    ConflictError,
    CorruptRowError,
    FlushError,
    FlushSchemaError,
    SchemaDriftError,
    SchemaError,
)
from hbase_orm.gateway.memory.gateway import MemoryGateway
from hbase_orm.index.catalog.catalog import CATALOG_COLUMN, CATALOG_TABLE, RECORD_COLUMN, read_entry
from hbase_orm.index.catalog.index_steps import begin_build
from hbase_orm.ops import GetRows, MutateRows, Put, RowMutation
from hbase_orm.record.store import delete_record
from tests.support.recording import RecordsRequests, gateway_of, through


class Person(Model, table="people"):
    d = Family()
    name: Key[str] = key()
    city: Mapped[str] = column(d)
    mail: Mapped[str | None] = column(d, default=None)
    by_city = Index(city)
    by_mail = Index(mail)


class PersonByCity(Model, table="people"):
    """The same table as an older program declares it."""

    d = Family()
    name: Key[str] = key()
    city: Mapped[str] = column(d)
    mail: Mapped[str | None] = column(d, default=None)
    by_city = Index(city)


class PlainPerson(Model, table="people"):
    """The same table without its indexes."""

    d = Family()
    name: Key[str] = key()
    city: Mapped[str] = column(d)


@pytest.fixture
def engine() -> Iterator[Engine]:
    with Engine(MemoryGateway(), parse_url("memory://")) as engine:
        engine.create_tables(Person)
        yield engine


def test_a_model_that_lacks_one_of_the_tables_indexes_writes_nothing(engine: Engine) -> None:
    session = engine.session()
    session.add(PersonByCity(name="ann", city="Oslo"))

    with pytest.raises(FlushError) as caught:
        session.flush()

    ((table, row, reason),) = caught.value.not_written
    assert (table, row, type(reason)) == ("people", b"ann", SchemaError)
    assert sorted(reason.catalog) == ["by_city", "by_mail"]
    assert engine.session().get(Person, name="ann") is None


def test_a_model_without_indexes_writes_nothing_into_a_table_that_has_some(engine: Engine) -> None:
    session = engine.session()
    session.add(PlainPerson(name="ann", city="Oslo"))

    with pytest.raises(FlushError) as caught:
        session.flush()

    assert isinstance(caught.value.not_written[0][2], SchemaError)
    assert engine.session().get(Person, name="ann") is None


def test_a_flush_that_is_refused_is_a_schema_error_and_names_its_rows(engine: Engine) -> None:
    session = engine.session()
    session.add(PersonByCity(name="ann", city="Oslo"))
    session.add(PersonByCity(name="bob", city="Rome"))

    with pytest.raises(SchemaError) as caught:
        session.flush()

    error = caught.value
    assert isinstance(error, FlushSchemaError)
    assert isinstance(error, FlushError)
    assert [row for _, row, _ in error.not_written] == [b"ann", b"bob"]
    assert (error.table, error.differing) == ("people", ["by_mail"])
    assert "flush again" in error.fix
    assert "hbase-orm index drop" in error.fix
    assert "not_written=2" in str(error)


def test_a_model_without_indexes_replaces_no_row_of_a_table_that_has_some_nor_reads_it(
    engine: Engine,
) -> None:
    with engine.session() as session:
        session.add(Person(name="ann", city="Oslo"))
    gateway = RecordsRequests(gateway_of(engine))

    with pytest.raises(SchemaError):
        through(gateway, engine).session().replace(PlainPerson(name="ann", city="Rome"))

    assert gateway.requests == [
        GetRows(CATALOG_TABLE, (b"people",), (CATALOG_COLUMN, RECORD_COLUMN))
    ]
    person = engine.session().get(Person, name="ann")
    assert person is not None
    assert person.city == "Oslo"


def test_a_bulk_load_by_a_model_that_lacks_an_index_is_refused(engine: Engine) -> None:
    bulk = engine.session().bulk(insert_only=True)

    with (
        bulk,
        pytest.raises(
            SchemaError,
            match="the model's indexes differ from those that the catalog has for its table",
        ),
    ):
        bulk.add(PersonByCity(name="ann", city="Oslo"))


def test_a_change_of_a_row_that_was_deleted_meanwhile_is_reported(engine: Engine) -> None:
    with engine.session() as session:
        session.add(Person(name="ann", city="Oslo", mail="a@x"))
    loaded = engine.session()
    ann = loaded.get(Person, name="ann")
    assert ann is not None
    with engine.session() as other:
        other.delete(Person(name="ann", city="Oslo"))

    ann.mail = "b@x"
    with pytest.raises(FlushError) as caught:
        loaded.flush()

    assert isinstance(caught.value.not_written[0][2], ConflictError)
    assert engine.session().count(select(Person).where(Person.mail == "b@x")) == 0
    assert engine.session().get(Person, name="ann") is None


class PersonByCityDescending(Model, table="people"):
    """The same index by name, other entries."""

    d = Family()
    name: Key[str] = key()
    city: Mapped[str] = column(d)
    mail: Mapped[str | None] = column(d, default=None)
    by_city = Index(city.desc())
    by_mail = Index(mail)


def test_an_index_redefined_under_its_name_is_neither_read_nor_written(engine: Engine) -> None:
    with engine.session() as session:
        session.add(Person(name="ann", city="Oslo"))
    session = engine.session()

    with pytest.raises(SchemaError):
        session.all(select(PersonByCityDescending).where(PersonByCityDescending.city == "Oslo"))
    with pytest.raises(SchemaError):
        engine.create_tables(PersonByCityDescending)
    session.add(PersonByCityDescending(name="bob", city="Oslo"))
    with pytest.raises(FlushError):
        session.flush()


def test_a_model_with_fewer_indexes_is_refused_under_another_models_lease(engine: Engine) -> None:
    session = engine.session()
    session.add(Person(name="ann", city="Oslo", mail="a@x"))
    session.flush()

    other = engine.session()
    other.add(PersonByCity(name="ann", city="Oslo", mail="b@x"))
    with pytest.raises(FlushError):
        other.flush()

    assert session.count(select(Person).where(Person.mail == "a@x")) == 1


def test_a_plain_table_made_again_with_indexes_is_noticed(engine: Engine) -> None:
    class Plain(Model, table="again"):
        d = Family()
        name: Key[str] = key()
        city: Mapped[str] = column(d)

    class Indexed(Model, table="again"):
        d = Family()
        name: Key[str] = key()
        city: Mapped[str] = column(d)
        by_city = Index(city)

    engine.create_tables(Plain)
    with engine.session() as session:
        session.add(Plain(name="ann", city="Oslo"))
    engine.drop_tables(Plain)
    engine.create_tables(Indexed)

    late = engine.session()
    late.add(Plain(name="bob", city="Oslo"))
    with pytest.raises(FlushError):
        late.flush()


def test_a_corrupt_indexed_value_can_be_read_about_and_mended(engine: Engine) -> None:
    class Counted(Model, table="counted"):
        d = Family()
        name: Key[str] = key()
        size: Mapped[int] = column(d)
        by_size = Index(size)

    engine.create_tables(Counted)
    with engine.session() as session:
        session.add(Counted(name="a", size=7))
    gateway = engine._runtime.gateway
    gateway.execute(
        MutateRows(
            "counted", (RowMutation(b"a", (Put(b"d:size", b"bad", wall_clock_ms() + 1000),)),)
        )
    )

    with pytest.raises(CorruptRowError) as caught:
        engine.session().all(select(Counted).where(Counted.size == 7))
    with engine.session() as session:
        session.delete(Counted(name="a", size=7))

    assert (caught.value.table, caught.value.row) == ("counted", b"a")


# --- another row key ------------------------------------------------------------------------------


class PersonByNumber(Model, table="people"):
    """The same index and the same column, but rows with another key."""

    d = Family()
    name: Key[str] = key()
    number: Key[int] = key(codecs.uint16())
    city: Mapped[str] = column(d)
    mail: Mapped[str | None] = column(d, default=None)
    by_city = Index(city)
    by_mail = Index(mail)


class FewerByNumber(Model, table="people"):
    """Another row key, and one index less."""

    d = Family()
    name: Key[str] = key()
    number: Key[int] = key(codecs.uint16())
    city: Mapped[str] = column(d)
    by_town = Index(city)


@pytest.mark.parametrize("model", [PersonByNumber, FewerByNumber])
def test_a_model_with_another_row_key_is_told_to_put_it_back(engine: Engine, model: Any) -> None:
    session = engine.session()
    session.add(model(name="ann", number=7, city="Oslo"))

    def flush() -> None:
        session.flush()

    for refused in (flush, partial(engine.create_tables, model)):
        with pytest.raises(SchemaError) as caught:
            refused()

        error = caught.value
        assert isinstance(error, SchemaDriftError)
        assert error.table == "people"
        assert error.differences[0].startswith("row key: ")
        assert "declare what the record says" in error.fix
        assert "drop" not in str(error)
        assert "build" not in str(error)


@pytest.mark.parametrize("model", [PersonByNumber, FewerByNumber])
def test_without_a_record_the_catalog_tells_another_row_key(engine: Engine, model: Any) -> None:
    engine._runtime.run(delete_record("people"))
    engine._runtime.catalog.forget("people")
    session = engine.session()
    session.add(model(name="ann", number=7, city="Oslo"))

    def flush() -> None:
        session.flush()

    for refused in (flush, partial(engine.create_tables, model)):
        with pytest.raises(SchemaError) as caught:
            refused()

        error = caught.value
        reason = error.not_written[0][2] if isinstance(error, FlushError) else error
        assert reason.text == "the model's row key differs from the row key of the table's rows"
        assert reason.table == "people"
        assert reason.catalog_key == "[name text rest]"
        assert reason.declared_key == "[name text 0001] [number uint16 2]"
        assert "declare the row key as it was" in error.fix
        assert "drop" not in str(error)
        assert "build" not in str(error)


def test_no_index_is_built_or_read_for_another_row_key(engine: Engine) -> None:
    by_city = select(PersonByNumber).where(PersonByNumber.city == "Oslo")
    for fix in (None, "the model's row key differs"):
        error = SchemaDriftError if fix is None else SchemaError
        with pytest.raises(error, match=fix):
            engine.session().all(by_city)
        with pytest.raises(error, match=fix) as caught:
            engine.build_index(PersonByNumber, "by_city", rebuild=True)

        assert "drop" not in str(caught.value)
        engine._runtime.run(delete_record("people"))
        engine._runtime.catalog.forget("people")


def test_a_build_is_not_begun_for_another_row_key(engine: Engine) -> None:
    def begin(entries: str) -> None:
        engine._runtime.run(
            begin_build("people", "by_city", entries, (), is_manual=False, is_lww=False)
        )

    entry = engine._runtime.run(read_entry("people"))
    assert entry is not None
    stored = entry.declarations["by_city"]
    with pytest.raises(SchemaError, match="the model's row key differs") as other_key:
        begin(stored.replace(" | ", " | [number uint16 2] "))
    with pytest.raises(SchemaError, match="exists with another declaration") as other_entries:
        begin(stored.replace(" | ", " unique | "))

    assert "drop" not in str(other_key.value)
    assert "drop it first" in other_entries.value.fix


def test_the_list_of_indexes_shows_how_a_model_differs(engine: Engine) -> None:
    def differences(model: type[Model]) -> dict[str, str | None]:
        statuses = engine.indexes(model)
        assert all(s.is_declared is (s.difference is None) for s in statuses.values())
        return {name: status.difference for name, status in statuses.items()}

    assert differences(Person) == {"by_city": None, "by_mail": None}
    assert differences(PersonByCity) == {"by_city": None, "by_mail": "not in the model"}
    assert differences(PlainPerson) == {
        "by_city": "not in the model",
        "by_mail": "not in the model",
    }
    assert differences(PersonByCityDescending) == {
        "by_city": "declared otherwise",
        "by_mail": None,
    }
    assert differences(PersonByNumber) == {
        "by_city": "another row key",
        "by_mail": "another row key",
    }
    assert differences(FewerByNumber) == {
        "by_town": None,
        "by_city": "another row key",
        "by_mail": "another row key",
    }


def test_a_version_column_that_differs_is_no_other_row_key(engine: Engine) -> None:
    class Versioned(Model, table="people"):
        d = Family()
        name: Key[str] = key()
        city: Mapped[str] = column(d)
        mail: Mapped[str | None] = column(d, default=None)
        revision: Version = version(d)
        by_city = Index(city)
        by_mail = Index(mail)

    class OldNotes(Model, table="notes"):
        d = Family()
        name: Key[str] = key()
        city: Mapped[str] = column(d)
        by_city = Index(city)

    class Notes(Model, table="notes"):
        d = Family()
        name: Key[str] = key()
        city: Mapped[str] = column(d)
        revision: Version = version(d)
        by_city = Index(city)

    engine.create_tables(Notes)
    for model in (Versioned, OldNotes):
        with pytest.raises(SchemaError, match="the model's indexes differ") as caught:
            engine.create_tables(model)
        assert caught.value.differing == ["version column"]
