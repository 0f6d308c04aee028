"""Live tables on a real HBase: listed, emptied beside writers, adopted."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from uuid import uuid4

import pytest

from hbase_orm import (
    Engine,
    Family,
    Index,
    Key,
    Mapped,
    Model,
    Salt,
    codecs,
    column,
    connect,
    key,
    rowkey,
    select,
)
from hbase_orm.errors import FeatureMissingError, FlushError, SchemaDriftError
from hbase_orm.index.upkeep.compare import Finding
from hbase_orm.ops import (
    BLOOM_PREFIX_SETTING,
    CreateNamespace,
    CreateTable,
    DescribeTable,
    DisableTable,
    DropTable,
    FamilyDescriptor,
    ListRegions,
    ListTables,
    ModifyFamily,
    ModifyTable,
    MutateRows,
    Put,
    RowMutation,
    TableDescriptor,
)
from hbase_orm.record.store import ID_ATTRIBUTE
from hbase_orm.testing import RealHBase
from tests.support.backends import thrift1_url
from tests.support.recording import gateway_of, through
from tests.support.shop_processes import CrashError, crash_at

pytestmark = pytest.mark.hbase

REQUESTS_BEFORE_DEATH = 17
SHORT = "lease_s=3&timeout_s=8"


class Parcel(Model, table="parcels"):
    d = Family()
    number: Key[int] = key(codecs.uint32())
    __rowkey__ = rowkey(Salt(3), number)
    city: Mapped[str] = column(d)
    weight: Mapped[int] = column(d, codec=codecs.uint32())
    by_city = Index(city, include=[weight], splits=[b"c1", b"c2"])
    by_weight = Index(weight, unique=True)


class Person(Model, table="people"):
    d = Family()
    number: Key[int] = key(codecs.uint32())
    name: Mapped[str] = column(d)


class NumberedPerson(Model, table="people"):
    d = Family()
    number: Key[int] = key(codecs.uint32())
    name: Mapped[int] = column(d, codec=codecs.uint64())


@pytest.fixture
def namespace(hbase: RealHBase) -> Iterator[str]:
    name = f"n{uuid4().hex[:12]}"
    yield name
    hbase.drop_namespace(name)


@pytest.fixture
def url(hbase: RealHBase, namespace: str) -> str:
    return f"{hbase.url_in(namespace)}&{SHORT}"


@pytest.fixture
def engine(url: str) -> Iterator[Engine]:
    with connect(url) as engine:
        yield engine


def named(engine: Engine, table: str) -> str:
    return f"{engine.options.namespace}:{table}"


def splits(engine: Engine, table: str) -> list[bytes]:
    regions = gateway_of(engine).execute(ListRegions(named(engine, table)))
    return [region.start for region in regions]


def parcel(number: int) -> Parcel:
    return Parcel(number=number, city=f"c{number % 4}", weight=number)


def truncate(engine: Engine) -> None:
    engine.truncate_tables(Parcel, gateway_timeout_s=0)


def by_index(engine: Engine) -> list[tuple[int, int]]:
    with engine.session() as session:
        found = session.all(select(Parcel).where(Parcel.city == "c1").using(Parcel.by_city))
        return sorted((each.number, each.weight) for each in found)


def by_scan(engine: Engine) -> list[tuple[int, int]]:
    with engine.session() as session:
        stmt = select(Parcel).where(Parcel.city == "c1").allow_full_scan().using(None)
        return sorted((each.number, each.weight) for each in session.all(stmt))


def assert_sound(engine: Engine) -> None:
    for name in ("by_city", "by_weight"):
        found = engine.verify_index(Parcel, name)
        assert (found.missing, found.invalid) == (0, 0)
        assert found.rows[Finding.VALID] == found.rows.total()
    assert by_index(engine) == by_scan(engine)


def test_an_indexed_table_keeps_splits_and_options_of_all_its_tables(engine: Engine) -> None:
    engine.create_tables(Parcel)
    gateway = gateway_of(engine)
    table, index = named(engine, "parcels"), named(engine, "parcels_ix_by_city")
    gateway.execute(ModifyFamily(table, b"d", {"versions": 4, "compression": "GZ"}))
    gateway.execute(ModifyTable(index, {"attributes": {"owner": "ops"}}))
    before = [gateway.execute(DescribeTable(name)) for name in (table, index)]
    with engine.session() as session:
        session.add_all(parcel(number) for number in range(20))

    truncate(engine)

    assert by_index(engine) == by_scan(engine) == []
    assert splits(engine, "parcels") == [b"", b"\x01", b"\x02"]
    assert splits(engine, "parcels_ix_by_city.2") == [b"", b"c1", b"c2"]
    assert gateway.execute(DescribeTable(table)) == before[0]
    now = gateway.execute(DescribeTable(f"{index}.2"))
    assert now == replace(before[1], name=f"{index}.2")
    own = [name for name in gateway.execute(ListTables()) if name.startswith(table)]
    assert own == [table, f"{index}.2", f"{table}_ix_by_weight.2"]
    with engine.session() as session:
        session.add_all(parcel(number) for number in range(8))
    assert by_index(engine) == [(1, 1), (5, 5)]
    assert_sound(engine)


def test_writers_that_go_on_leave_no_row_without_its_entries(engine: Engine, url: str) -> None:
    engine.create_tables(Parcel)
    numbers, is_over = count(), threading.Event()
    outcomes: dict[str, int] = {"written": 0, "refused": 0}

    def write() -> None:
        with connect(url) as own:
            while not is_over.is_set():
                session = own.session()
                session.add(parcel(next(numbers)))
                try:
                    session.flush()
                except FlushError:
                    outcomes["refused"] += 1
                    is_over.wait(0.05)
                else:
                    outcomes["written"] += 1

    writers = [threading.Thread(target=write) for _ in range(3)]
    for writer in writers:
        writer.start()
    while outcomes["written"] < 20:
        is_over.wait(0.05)
    try:
        truncate(engine)
        truncated, target = next(numbers), outcomes["written"] + 20
        while outcomes["written"] < target:
            is_over.wait(0.05)
    finally:
        is_over.set()
        for writer in writers:
            writer.join()

    assert outcomes["refused"] > 0
    assert_sound(engine)
    assert all(number > truncated - 10 for number, _ in by_scan(engine))


def test_a_truncation_that_was_killed_in_its_midst_is_finished_by_the_next(engine: Engine) -> None:
    engine.create_tables(Parcel)
    with engine.session() as session:
        session.add_all(parcel(number) for number in range(8))
    gateway = gateway_of(engine)

    class Dies:
        """Ends the process before its request of a number."""

        features = gateway.features
        requests = 0
        close = staticmethod(lambda: None)

        def execute(self, operation: object) -> object:
            crash_at(REQUESTS_BEFORE_DEATH)(self.requests)
            Dies.requests += 1
            return gateway.execute(operation)  # type: ignore[arg-type] # any request

    with pytest.raises(CrashError):
        truncate(through(Dies(), engine))  # type: ignore[arg-type] # a gateway as far as is needed
    assert named(engine, "parcels_ix_by_city.2") in gateway.execute(ListTables())
    gateway.execute(DisableTable(named(engine, "parcels")))  # as if killed while it was truncated

    truncate(engine)

    assert by_index(engine) == by_scan(engine) == []
    with engine.session() as session:
        session.add(parcel(1))
    assert by_index(engine) == [(1, 1)]
    assert_sound(engine)


def test_live_tables_are_listed_also_if_they_are_disabled(engine: Engine) -> None:
    engine.create_tables(Parcel)
    gateway_of(engine).execute(DisableTable(named(engine, "parcels")))

    own = {
        each.name.partition(":")[2]: (each.kind.partition(" ")[0], each.record_state, each.models)
        for each in engine.tables()
        if each.name.startswith(f"{engine.options.namespace}:")
    }

    assert own == {
        "parcels": ("rows", "recorded", ("Parcel",)),
        "parcels_ix_by_city": ("index", "none", ()),
        "parcels_ix_by_weight": ("index", "none", ()),
    }
    (described,) = engine.describe_tables(Parcel)
    assert described.descriptor.attributes[ID_ATTRIBUTE]


def test_replicas_are_no_regions_on_either_interface(engine: Engine) -> None:
    table = f"copies_{uuid4().hex[:8]}"
    gateway = gateway_of(engine)
    descriptor = TableDescriptor(table, (FamilyDescriptor(b"d"),), region_replication=2)
    gateway.execute(CreateTable(descriptor, (b"m",)))
    try:
        (listed,) = engine.describe_tables(table)
        with connect(thrift1_url(engine)) as second:
            (by_thrift1,) = second.describe_tables(table)
    finally:
        gateway.execute(DropTable(table))

    for each in (listed, by_thrift1):
        assert [region.start for region in each.regions or ()] == [b"", b"m"]
    assert (listed.replicas, by_thrift1.replicas) == (2, None)


def test_a_foreign_table_is_adopted_and_keeps_all_its_options(engine: Engine) -> None:
    gateway = gateway_of(engine)
    table = named(engine, "people")
    families = (
        FamilyDescriptor(
            b"d",
            versions=4,
            ttl_s=864_000,
            bloom="ROWPREFIX_FIXED_LENGTH",
            mob_enabled=True,
            configuration={BLOOM_PREFIX_SETTING: "2", "hbase.hstore.blockingStoreFiles": "20"},
        ),
        FamilyDescriptor(b"other", compression="GZ"),
    )
    gateway.execute(CreateNamespace(engine.options.namespace))
    descriptor = TableDescriptor(table, families, {"owner": "hr"}, "ASYNC_WAL", 1)
    gateway.execute(CreateTable(descriptor, (b"\x00\x00\x00\x05",)))
    rows = [
        RowMutation(n.to_bytes(4, "big"), puts=(Put(b"d:name", f"n{n}".encode()),))
        for n in range(10)
    ]
    gateway.execute(MutateRows(table, tuple(rows)))

    with pytest.raises(SchemaDriftError) as refused:
        engine.adopt_tables(NumberedPerson)
    (adopted,) = engine.adopt_tables(Person)

    assert (refused.value.undecodable, refused.value.sampled) == (10, 10)
    assert adopted.sampled == 10
    assert adopted.record is not None
    attributes = {"owner": "hr", ID_ATTRIBUTE: adopted.record.table_id}
    assert gateway.execute(DescribeTable(table)) == replace(descriptor, attributes=attributes)
    assert splits(engine, "people") == [b"", b"\x00\x00\x00\x05"]
    with pytest.raises(SchemaDriftError, match="codec of column d:name"):
        engine.session().get(NumberedPerson, number=1)
    with engine.session() as session:
        assert session.get(Person, number=7) is not None


def test_with_thrift1_alone_tables_are_listed_and_adopted_but_not_emptied(engine: Engine) -> None:
    engine.create_tables(Person)

    with connect(thrift1_url(engine)) as alone:
        listed = {each.name: each for each in alone.tables()}
        assert listed[named(engine, "people")].record_state == "recorded"
        assert alone.adopt_tables(Person)[0].reason == "recorded already"
        with pytest.raises(FeatureMissingError, match="thrift2="):
            alone.truncate_tables(Person)
    engine.truncate_tables(Person)
    with connect(thrift1_url(engine)) as alone, pytest.raises(SchemaDriftError):
        alone.session().get(NumberedPerson, number=1)
