"""Making and dropping tables on a real HBase: what arrives there, and what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
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
    Table,
    codecs,
    column,
    connect,
    key,
    rowkey,
    select,
)
from hbase_orm.binding.table_creation.existing_tables import KEY_ATTRIBUTE
from hbase_orm.errors import (
    CompressionMissingError,
    FeatureMissingError,
    SchemaDriftError,
    SchemaError,
)
from hbase_orm.index.catalog.entry import IndexState, TableState
from hbase_orm.numbering.create_tables import ensure_namespace
from hbase_orm.ops import (
    CreateNamespace,
    CreateTable,
    DescribeTable,
    FamilyDescriptor,
    KeyRange,
    ListRegions,
    ListTables,
    Scan,
    TableDescriptor,
    fetch_once,
)
from hbase_orm.record.store import ID_ATTRIBUTE
from hbase_orm.testing import RealHBase
from tests.support.recording import RecordsRequests, gateway_of, through

pytestmark = pytest.mark.hbase

WEEK = timedelta(days=7)


class Wide(
    Model,
    table=Table(
        "wide",
        splits=[b"m", b"t"],
        durability="ASYNC_WAL",
        max_file_size_bytes=5 * 2**30,
        attributes={"COMPACTION_ENABLED": "false"},
    ),
):
    plain = Family()
    full = Family(
        versions=5,
        min_versions=2,
        ttl=WEEK,
        compression="GZ",
        bloom="ROWCOL",
        block_encoding="FAST_DIFF",
        block_size_bytes=8192,
        block_cache=False,
        keep_deleted_cells=True,
        in_memory=True,
        cache_data_on_write=True,
        evict_on_close=True,
        scope=1,
    )
    until = Family("u", versions=2, ttl=WEEK, keep_deleted_cells="TTL", bloom="NONE")
    large = Family(
        "mob",
        mob_enabled=True,
        mob_threshold_bytes=5000,
        bloom="ROWPREFIX_FIXED_LENGTH",
        bloom_prefix_bytes=2,
        prefetch_on_open=True,
        new_version_behavior=True,
        configuration={"hbase.hstore.blockingStoreFiles": "20"},
    )
    name: Key[str] = key()
    value: Mapped[str] = column(plain)
    photo: Mapped[bytes | None] = column(large, default=None)


class Salted(Model, table="salted"):
    d = Family(ttl=WEEK)
    host: Key[str] = key()
    at: Key[datetime] = key(codecs.millis(desc=True))
    unit: Mapped[str | None] = column(d, default=None)
    __rowkey__ = rowkey(Salt(4, of=[host]), host, at)
    by_unit = Index(unit, at)
    by_at = Index(at, salt=3)


@pytest.fixture(scope="module")
def engine(hbase: RealHBase) -> Iterator[Engine]:
    namespace = f"n{uuid4().hex[:12]}"
    with connect(hbase.url_in(namespace)) as plain:
        gateway_of(plain).execute(CreateNamespace(namespace))
        yield through(RecordsRequests(gateway_of(plain)), plain)
    hbase.drop_namespace(namespace)


@pytest.fixture(scope="module")
def made(engine: Engine) -> list[str]:
    """The tables of `Wide` and `Salted`, made once: what is made is asserted below."""
    return engine.create_tables(Wide, Salted)


def named(engine: Engine, table: str) -> str:
    return f"{engine.options.namespace}:{table}"


def described(engine: Engine, table: str) -> TableDescriptor:
    return gateway_of(engine).execute(DescribeTable(named(engine, table)))


def families(engine: Engine, table: str) -> dict[bytes, FamilyDescriptor]:
    return {family.name: family for family in described(engine, table).families}


def mine(engine: Engine, tables: list[str]) -> list[str]:
    """Return the tables of this module's namespace, without it: all share one catalog."""
    namespace = engine.options.namespace
    return [table.partition(":")[2] for table in tables if table.startswith(f"{namespace}:")]


def test_the_tables_and_the_namespace_are_made(engine: Engine, made: list[str]) -> None:
    tables = gateway_of(engine).execute(ListTables())

    assert mine(engine, made) == ["wide", "salted_ix_by_unit", "salted_ix_by_at", "salted"]
    assert {"salted", "salted_ix_by_unit", "wide"} <= set(mine(engine, tables))


@pytest.mark.usefixtures("made")
def test_every_option_of_a_family_arrives(engine: Engine) -> None:
    assert families(engine, "wide") == {
        b"plain": FamilyDescriptor(b"plain"),
        b"full": FamilyDescriptor(
            b"full",
            versions=5,
            min_versions=2,
            ttl_s=604_800,
            compression="GZ",
            bloom="ROWCOL",
            block_encoding="FAST_DIFF",
            keep_deleted_cells="TRUE",
            block_size_bytes=8192,
            block_cache=False,
            in_memory=True,
            cache_data_on_write=True,
            evict_on_close=True,
            scope=1,
        ),
        b"u": FamilyDescriptor(
            b"u", versions=2, ttl_s=604_800, keep_deleted_cells="TTL", bloom="NONE"
        ),
        b"mob": Wide.large.descriptor(),
    }
    table = described(engine, "wide")
    assert table.durability == "ASYNC_WAL"
    own = {KEY_ATTRIBUTE, ID_ATTRIBUTE}
    assert {name: text for name, text in table.attributes.items() if name not in own} == {
        "MAX_FILESIZE": "5368709120",
        "COMPACTION_ENABLED": "false",
    }


@pytest.mark.usefixtures("made")
def test_a_large_value_is_read_back_from_a_mob_family(engine: Engine) -> None:
    photo = bytes(20_000)
    with engine.session() as session:
        session.add(Wide(name="a", value="v", photo=photo))

    with engine.session() as session:
        assert session.one(select(Wide).where(Wide.name == "a")).photo == photo


def test_a_compression_that_the_server_lacks_is_an_error_of_its_own(engine: Engine) -> None:
    class Packed(Model, table="packed_lz4"):
        d = Family(compression="LZ4")
        name: Key[str] = key()

    with pytest.raises(CompressionMissingError) as caught:
        engine.create_tables(Packed)

    assert "GZ" in caught.value.fix


class Rising(Model, table="rising"):
    d = Family()
    number: Key[int] = key(codecs.uint64())
    at: Mapped[int] = column(d, codec=codecs.uint64())
    by_at = Index(at.desc(), salt=4)


class RisingNotes(Model, table="rising"):
    n = Family(versions=2)
    number: Key[int] = key(codecs.uint64())
    note: Mapped[str | None] = column(n, default=None)


def entries_of_regions(engine: Engine, table: str) -> list[int]:
    """Return the number of entries in each region of an index table."""
    regions = gateway_of(engine).execute(ListRegions(table))
    scans = (Scan(table, KeyRange(region.start, region.stop)) for region in regions)
    return [len(engine._runtime.run(fetch_once(scan))) for scan in scans]


def test_entries_are_spread_over_all_regions_of_a_salted_index_also_of_a_built_one(
    url: str,
) -> None:
    with connect(f"{url}{'&' if '?' in url else '?'}lease_s=2&timeout_s=8") as engine:
        engine.create_tables(RisingNotes, Rising)
        with engine.session() as session:
            session.add_all(
                Rising(number=number, at=1_700_000_000 + 60 * number) for number in range(40)
            )
        first = entries_of_regions(engine, named(engine, "rising_ix_by_at"))

        status = engine.build_index(Rising, "by_at", rebuild=True, gateway_timeout_s=0)

        assert set(families(engine, "rising")) == {b"d", b"n", b"_"}
        assert (len(first), sum(first)) == (4, 40)
        assert min(first) > 0
        assert status.table is not None
        assert status.table != named(engine, "rising_ix_by_at")
        assert entries_of_regions(engine, status.table) == first


@pytest.mark.usefixtures("made")
def test_tables_are_split_as_declared_or_between_the_salt_buckets(engine: Engine) -> None:
    starts = {
        table: [r.start for r in gateway_of(engine).execute(ListRegions(named(engine, table)))]
        for table in ("wide", "salted", "salted_ix_by_unit", "salted_ix_by_at")
    }

    assert starts == {
        "wide": [b"", b"m", b"t"],
        "salted": [b"", b"\x01", b"\x02", b"\x03"],
        "salted_ix_by_unit": [b""],
        "salted_ix_by_at": [b"", b"\x01", b"\x02"],
    }


@pytest.mark.usefixtures("made")
def test_guards_and_entries_live_longer_than_the_data(engine: Engine) -> None:
    assert families(engine, "salted")[b"_"].ttl_s == 2 * 604_800
    assert families(engine, "salted_ix_by_unit")[b"d"].ttl_s == 2 * 604_800


@pytest.mark.usefixtures("made")
def test_a_second_call_makes_and_alters_nothing(engine: Engine) -> None:
    tables = ("salted", "wide", "salted_ix_by_unit")
    first_state = engine.table_state(Salted)
    with engine.session() as session:
        session.add(Salted(host="a", at=datetime(2024, 1, 1, tzinfo=UTC), unit="s"))
    before = [described(engine, table) for table in tables]

    again = engine.create_tables(Salted, Wide)

    assert again == []
    assert before == [described(engine, table) for table in tables]
    assert (first_state, engine.table_state(Salted)) == (TableState.NEW, TableState.READABLE)
    assert engine.session().count(select(Salted).where(Salted.unit == "s")) == 1


@pytest.mark.usefixtures("made")
def test_an_existing_table_is_not_altered_by_a_model_that_says_otherwise(engine: Engine) -> None:
    class Narrow(Model, table="wide"):
        plain = Family(versions=9)
        name: Key[str] = key()
        value: Mapped[str] = column(plain)

    before = described(engine, "wide")

    assert engine.create_tables(Narrow) == []
    assert described(engine, "wide") == before

    class Other(Model, table="wide"):
        plain = Family()
        other = Family()
        name: Key[str] = key()
        value: Mapped[str] = column(plain)

    with pytest.raises(SchemaDriftError, match="family other"):
        engine.create_tables(Other)
    assert described(engine, "wide") == before


@pytest.mark.usefixtures("made")
def test_thrift1_alone_finds_tables_that_exist_and_makes_none(engine: Engine) -> None:
    class Missing(Model, table="missing"):
        d = Family()
        name: Key[str] = key()

    (host, port), *_ = engine.options.thrift1
    with connect(f"hbase://{host}:{port}/{engine.options.namespace}") as alone:
        existing = alone.create_tables(Wide)
        with pytest.raises(FeatureMissingError) as caught:
            alone.create_tables(Missing)

    assert existing == []
    assert "thrift2" in caught.value.fix


def test_an_existing_table_without_guards_is_refused_until_it_gets_them(engine: Engine) -> None:
    class Bare(Model, table="bare"):
        d = Family()
        name: Key[str] = key()
        unit: Mapped[str | None] = column(d, default=None)
        by_unit = Index(unit)

    gateway = gateway_of(engine)
    for table in ("bare", "bare_ix_by_unit"):
        descriptor = TableDescriptor(named(engine, table), (FamilyDescriptor(b"d"),))
        gateway.execute(CreateTable(descriptor))

    with pytest.raises(SchemaError, match="guards") as caught:
        engine.create_tables(Bare)
    engine.add_guard_family(Bare)

    assert caught.value.table == named(engine, "bare")
    assert "add_guard_family" in caught.value.fix
    assert named(engine, "bare") not in engine.create_tables(Bare)
    assert engine.table_state(Bare) is TableState.READABLE  # others may have written it
    with engine.session() as session:
        session.add(Bare(name="a", unit="s"))
    # Programs that write it without the index may go on for a lease: it is built first.
    assert engine.indexes(Bare)["by_unit"].state is IndexState.ABSENT
    unindexed = select(Bare).where(Bare.unit == "s").using(None).allow_full_scan()
    assert engine.session().count(unindexed) == 1


class Again(Model, table="again"):
    d = Family()
    name: Key[str] = key()
    unit: Mapped[str | None] = column(d, default=None)
    by_unit = Index(unit)


def test_tables_are_dropped_whole_and_made_again_empty_and_new(engine: Engine) -> None:
    engine.create_tables(Again)
    with engine.session() as session:
        session.add(Again(name="a", unit="s"))

    dropped = engine.drop_tables(Again)
    nothing_left = engine.drop_tables(Again)
    state = engine.table_state(Again)
    engine.create_tables(Again)

    assert (mine(engine, dropped), nothing_left) == (["again", "again_ix_by_unit"], [])
    assert (state, engine.table_state(Again)) == (TableState.DROPPED, TableState.NEW)
    session = engine.session()
    assert session.count(select(Again).where(Again.unit == "s")) == 0
    session.add(Again(name="a", unit="s"))
    assert session.flush().written == 1


def test_an_existing_table_without_rows_gets_its_index_by_a_build(url: str) -> None:
    class Later(Model, table="wide_later"):
        d = Family()
        name: Key[str] = key()
        unit: Mapped[str | None] = column(d, default=None)
        by_unit = Index(unit)

    families = (FamilyDescriptor(b"d"), FamilyDescriptor(b"_"))
    with connect(f"{url}{'&' if '?' in url else '?'}lease_s=1&timeout_s=5") as engine:
        table = named(engine, "wide_later")
        engine._runtime.run(ensure_namespace(table))
        gateway_of(engine).execute(CreateTable(TableDescriptor(table, families)))
        engine.create_tables(Later)
        with engine.session() as session:
            session.insert(Later(name="a", unit="ms"))

        status = engine.build_index(Later, "by_unit", gateway_timeout_s=0)

        assert status.table == named(engine, "wide_later_ix_by_unit")
        asked = select(Later.name).where(Later.unit == "ms")
        assert engine.session().all(asked) == ["a"]
