"""What sessions do when another program, or another session, knows a table differently."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hbase_orm import Engine, Family, Index, Key, Mapped, Model, column, key, select
from hbase_orm.binding.url import parse_url
from hbase_orm.binding.write_clock import wall_clock_ms
from hbase_orm.errors import ConflictError, CorruptRowError, FlushError, SchemaError
from hbase_orm.gateway.memory.gateway import MemoryGateway
from hbase_orm.index.catalog.catalog import CATALOG_COLUMN, CATALOG_TABLE, RECORD_COLUMN
from hbase_orm.ops import GetRows, MutateRows, Put, RowMutation
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


def test_a_model_without_indexes_replaces_no_row_of_a_table_that_has_some_nor_reads_it(
    engine: Engine,
) -> None:
    with engine.session() as session:
        session.add(Person(name="ann", city="Oslo"))
    gateway = RecordsRequests(gateway_of(engine))

    with pytest.raises(SchemaError):
        through(gateway, engine).session().replace(PlainPerson(name="ann", city="Rome"))

    assert gateway.requests == [GetRows(CATALOG_TABLE, (b"people",), (CATALOG_COLUMN, RECORD_COLUMN))]
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
