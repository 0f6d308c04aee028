"""Tables of several models: created once, with all that the models need, or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from hbase_orm import (
    Counter,
    Engine,
    Family,
    Index,
    Key,
    Mapped,
    Model,
    RecordType,
    Table,
    TablePerPeriod,
    codecs,
    column,
    counter,
    key,
    rowkey,
    select,
)
from hbase_orm.binding.url import EngineOptions
from hbase_orm.errors import SchemaError
from hbase_orm.gateway.memory.gateway import MemoryGateway
from hbase_orm.ops import DescribeTable
from tests.support.recording import RecordsRequests, gateway_of

DAY = timedelta(days=1)


class Profile(Model, table="users"):
    d = Family(ttl=DAY)
    p = Family(versions=3)
    name: Key[str] = key()
    city: Mapped[str | None] = column(p, default=None)


class Login(Model, table="users"):
    d = Family(ttl=DAY)
    e = Family("logins")
    name: Key[str] = key()
    count: Counter = counter(e)
    at: Mapped[int | None] = column(d, default=None)


class Indexed(Model, table="users"):
    d = Family(ttl=DAY)
    name: Key[str] = key()
    at: Mapped[int | None] = column(d, default=None)
    by_at = Index(at)


@pytest.fixture
def gateway() -> RecordsRequests:
    return RecordsRequests(MemoryGateway())


@pytest.fixture
def engine(gateway: RecordsRequests) -> Iterator[Engine]:
    with Engine(gateway, EngineOptions(scheme="memory")) as engine:
        yield engine


def families(engine: Engine, table: str = "users") -> dict[bytes, int | None]:
    described = gateway_of(engine).execute(DescribeTable(table))
    return {family.name: family.ttl_s for family in described.families}


@pytest.mark.parametrize("models", [(Profile, Login), (Login, Profile)])
def test_a_table_gets_the_families_of_all_its_models(engine: Engine, models: Any) -> None:
    assert engine.create_tables(*models) == ["users"]

    assert families(engine) == {b"d": 86_400, b"p": None, b"logins": None}
    with engine.session() as session:
        session.add(Profile(name="a", city="x"))
        session.flush()
        assert session.increment(Login, Login.count.by(1), name="a") == [1]


def test_one_of_the_models_alone_gets_its_own_families(engine: Engine) -> None:
    engine.create_tables(Profile)

    assert families(engine) == {b"d": 86_400, b"p": None}


@pytest.mark.parametrize("models", [(Profile, Indexed), (Indexed, Profile)])
def test_the_guards_of_one_model_have_their_family(engine: Engine, models: Any) -> None:
    created = engine.create_tables(*models)

    assert sorted(created) == ["hbase_orm_catalog", "users", "users_ix_by_at"]
    assert families(engine) == {b"d": 86_400, b"p": None, b"_": None}
    with engine.session() as session:
        session.add(Indexed(name="a", at=5))
        session.flush()
        assert session.all(select(Indexed.name).where(Indexed.at == 5)) == ["a"]


def other(family: Family, table: str | Table = "users") -> type[Model]:
    """Return another model with a family `d`."""

    class Other(Model, table=table):
        d = family
        name: Key[str] = key()

    return Other


@pytest.mark.parametrize(
    ("family", "option", "values"),
    [
        (Family("d"), "ttl_s", (86_400, None)),
        (Family("d", ttl=2 * DAY), "ttl_s", (86_400, 172_800)),
        (Family("d", ttl=DAY, versions=2), "versions", (1, 2)),
        (Family("d", ttl=DAY, bloom="ROWCOL"), "bloom", ("ROW", "ROWCOL")),
        (Family("d", ttl=DAY, in_memory=True), "in_memory", (False, True)),
    ],
)
def test_models_that_contradict_each_other_in_a_family_are_refused_before_anything_is_sent(
    engine: Engine, gateway: RecordsRequests, family: Family, option: str, values: Any
) -> None:
    with pytest.raises(SchemaError, match="family with different options") as caught:
        engine.create_tables(Profile, other(family))

    error = caught.value
    assert (error.table, error.model, error.other_model) == ("users", "Profile", "Other")
    assert (error.family, error.option) == ("d", option)
    assert (error.value, error.other_value) == values
    assert error.fix
    assert gateway.requests == []


@pytest.mark.parametrize(
    ("table", "option", "values"),
    [
        (Table("users", splits=[b"m"]), "splits", ((), (b"m",))),
        (Table("users", durability="ASYNC_WAL"), "durability", ("USE_DEFAULT", "ASYNC_WAL")),
        (Table("users", region_replication=2), "region_replication", (1, 2)),
        (Table("users", attributes={"a": "b"}), "attributes", ({}, {"a": "b"})),
    ],
)
def test_models_that_contradict_each_other_in_their_table_are_refused(
    engine: Engine, gateway: RecordsRequests, table: Table, option: str, values: Any
) -> None:
    with pytest.raises(SchemaError, match="table with different options") as caught:
        engine.create_tables(Profile, other(Family(ttl=DAY), table))

    error = caught.value
    assert (error.model, error.other_model, error.option) == ("Profile", "Other", option)
    assert (error.value, error.other_value) == values
    assert gateway.requests == []


class AsText(Model, table="users"):
    d = Family(ttl=DAY)
    name: Key[str] = key()
    since: Mapped[str | None] = column(d, "at", default=None)


class AsCounter(Model, table="users"):
    e = Family("logins")
    name: Key[str] = key()
    visits: Mapped[int | None] = column(e, "count", codec=codecs.uint64(), default=None)


@pytest.mark.parametrize(
    ("others", "column_name", "names", "codec_names"),
    [
        (AsText, "d:at", ("at", "since"), ("int64", "text")),
        (AsCounter, "logins:count", ("count", "visits"), ("bytes.int64", "uint64")),
    ],
)
def test_one_column_under_two_codecs_is_refused(  # noqa: PLR0917 - parameters and fixtures
    engine: Engine,
    gateway: RecordsRequests,
    others: type[Model],
    column_name: str,
    names: Any,
    codec_names: Any,
) -> None:
    with pytest.raises(SchemaError, match="column with different codecs") as caught:
        engine.create_tables(Login, others)

    error = caught.value
    assert (error.model, error.other_model) == ("Login", others.__name__)
    assert (error.column, error.field, error.other_field) == (column_name, *names)
    assert (error.codec, error.other_codec) == codec_names
    assert gateway.requests == []


def test_one_column_under_one_codec_is_shared(engine: Engine) -> None:
    assert "users" in engine.create_tables(Login, Indexed)


def test_models_of_different_tables_may_differ(engine: Engine) -> None:
    assert engine.create_tables(Profile, other(Family(), "others")) == ["users", "others"]


class Record(Model, table="records"):
    d = Family(ttl=DAY)
    owner: Key[str] = key()
    __rowkey__ = rowkey(owner, RecordType())


class Person(Record, record_type="p"):
    e = Family()
    value: Mapped[str] = column(Record.d)


class Item(Record, record_type="i"):
    f = Family()
    value: Mapped[int] = column(Record.d)


def test_record_types_share_the_table_of_their_base(engine: Engine) -> None:
    assert engine.create_tables(Person, Record, Item) == ["records"]

    assert families(engine, "records") == {b"d": 86_400, b"e": None, b"f": None}


class Sale(Model, table=TablePerPeriod("sales_%Y%m%d", of="at", period="day")):
    d = Family()
    at: Key[datetime] = key(codecs.millis())
    total: Mapped[int] = column(d)


class Return(Model, table=TablePerPeriod("sales_%Y%m%d", of="at", period="day")):
    r = Family()
    at: Key[datetime] = key(codecs.millis())
    reason: Mapped[str] = column(r)


def test_the_table_of_each_period_gets_the_families_of_all_models(engine: Engine) -> None:
    start = datetime(2024, 5, 1, tzinfo=UTC)

    created = engine.create_tables(Sale, Return, periods=(start, start + 2 * DAY))

    assert created == ["sales_20240501", "sales_20240502"]
    assert [families(engine, table) for table in created] == 2 * [{b"d": None, b"r": None}]
