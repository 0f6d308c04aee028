"""Tables, regions and namespaces; tables that are missing or disabled."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from hbase_orm.errors import (
    CompressionMissingError,
    FeatureMissingError,
    NamespaceExistsError,
    NamespaceNotFoundError,
    RegionUnavailableError,
    RejectedError,
    TableDisabledError,
    TableExistsError,
    TableNotFoundError,
)
from hbase_orm.gateway.base import Feature
from hbase_orm.ops import (
    BLOOM_PREFIX_SETTING,
    AddFamily,
    Append,
    CheckAndMutate,
    CreateNamespace,
    CreateTable,
    Delete,
    DeleteFamily,
    DescribeTable,
    DisableTable,
    DropNamespace,
    DropTable,
    EnableTable,
    FamilyDescriptor,
    GetRows,
    GetVersions,
    Increment,
    ListNamespaces,
    ListRegions,
    ListTables,
    MutateRow,
    MutateRows,
    Operation,
    Ping,
    Put,
    RowMutation,
    TableDescriptor,
    TruncateTable,
)
from tests.conformance.bench import Bench, Subject

PLAIN = FamilyDescriptor(b"d")


def _name() -> str:
    return f"conformance_{uuid.uuid4().hex[:12]}"


@pytest.fixture
def name(subject: Subject) -> Iterator[str]:
    """Return the name of a table that does not exist; afterwards it is dropped if it does."""
    table = _name()
    yield table
    if table in subject.admin.execute(ListTables()):
        subject.drop(table)


@pytest.fixture
def namespace(subject: Subject) -> Iterator[str]:
    """Return the name of a namespace that does not exist; afterwards it is dropped if it does."""
    wanted = f"n{uuid.uuid4().hex[:12]}"
    yield wanted
    if wanted in subject.admin.execute(ListNamespaces()):
        for table in subject.admin.execute(ListTables()):
            if table.startswith(wanted + ":"):
                subject.drop(table)
        subject.admin.execute(DropNamespace(wanted))


def test_every_gateway_answers_a_ping(subject: Subject) -> None:
    assert subject.gateway.execute(Ping()) is None


# --- tables ---------------------------------------------------------------------------------------


@pytest.mark.feature(Feature.SCHEMA)
def test_a_table_keeps_every_option_of_its_families(subject: Subject, name: str) -> None:
    family = FamilyDescriptor(
        name=b"all",
        versions=5,
        min_versions=2,
        ttl_s=1_000,
        compression="GZ",
        bloom="ROWCOL",
        block_encoding="FAST_DIFF",
        keep_deleted_cells="TTL",
        block_size_bytes=8_192,
        block_cache=False,
        in_memory=True,
        cache_data_on_write=True,
        evict_on_close=True,
        scope=1,
        dfs_replication=2,
        cache_blooms_on_write=True,
        cache_indexes_on_write=True,
        prefetch_on_open=True,
        compress_tags=False,
        mob_enabled=True,
        mob_threshold_bytes=50_000,
        in_memory_compaction="EAGER",
        storage_policy="HOT",
        compaction_compression="GZ",
        index_block_encoding="PREFIX_TREE",
        configuration={"hbase.hstore.blockingStoreFiles": "20"},
        attributes={"MOB_COMPACT_PARTITION_POLICY": "WEEKLY"},
    )
    by_prefix = FamilyDescriptor(
        b"prefix",
        bloom="ROWPREFIX_FIXED_LENGTH",
        configuration={BLOOM_PREFIX_SETTING: "4"},
    )
    wanted = TableDescriptor(
        name,
        (family, PLAIN, by_prefix),
        {"our.attribute": "7", "MAX_FILESIZE": "5368709120", "MEMSTORE_FLUSHSIZE": "67108864"},
        "ASYNC_WAL",
    )
    subject.gateway.execute(CreateTable(wanted))

    assert subject.gateway.execute(DescribeTable(name)) == wanted


@pytest.mark.feature(Feature.SCHEMA)
def test_a_family_of_arrival_order_is_kept_or_refused(subject: Subject, name: str) -> None:
    wanted = TableDescriptor(name, (FamilyDescriptor(b"d", new_version_behavior=True),))

    if subject.name == "memory":
        with pytest.raises(FeatureMissingError) as caught:
            subject.gateway.execute(CreateTable(wanted))
        assert caught.value.option == "new_version_behavior"
        return
    subject.gateway.execute(CreateTable(wanted))

    assert subject.gateway.execute(DescribeTable(name)) == wanted


def test_a_table_is_described_by_its_families_and_their_versions(bench: Bench) -> None:
    found = bench.run(DescribeTable(bench.table))

    assert {family.name: family.versions for family in found.families} == {
        b"d": 1,
        b"e": 1,
        b"k": 3,
        b"m": 3,
        b"s": 3,
        b"v": 3,
    }


def test_a_tables_families_are_described_with_their_ttl(bench: Bench) -> None:
    found = {family.name: family for family in bench.run(DescribeTable(bench.table)).families}

    assert (found[b"d"].ttl_s, found[b"s"].ttl_s) == (None, 1)


@pytest.mark.feature(Feature.SCHEMA)
def test_creating_a_table_that_exists_is_refused_and_leaves_it_alone(bench: Bench) -> None:
    bench.put(b"d:x", b"1")

    with pytest.raises(TableExistsError):
        _create(bench.subject, bench.table, splits=(b"m",))

    assert bench.value(b"d:x") == b"1"


@pytest.mark.feature(Feature.SCHEMA)
def test_regions_lie_between_the_split_keys_in_any_order(subject: Subject, name: str) -> None:
    _create(subject, name, splits=(b"m", b"\x00\xff", b"t"))

    regions = subject.gateway.execute(ListRegions(name))

    assert [(region.start, region.stop) for region in regions] == [
        (b"", b"\x00\xff"),
        (b"\x00\xff", b"m"),
        (b"m", b"t"),
        (b"t", None),
    ]


def test_a_table_without_split_keys_is_one_region(bench: Bench) -> None:
    regions = bench.run(ListRegions(bench.table))

    assert [(region.start, region.stop) for region in regions] == [(b"", None)]


@pytest.mark.feature(Feature.SCHEMA)
def test_the_regions_of_a_table_are_as_old_as_the_table(subject: Subject, name: str) -> None:
    request = ListRegions(name, needs_times=True)

    def times() -> set[int]:
        return {region.created_ms for region in subject.gateway.execute(request)}

    _create(subject, name, splits=(b"m", b"t"))
    (first,) = times()
    subject.admin.execute(DropTable(name))
    _create(subject, name, splits=(b"m",))
    (second,) = times()

    shows_times = subject.name != "thrift2"  # which answers 0 for every region
    assert (second > first + 100) == shows_times


@pytest.mark.feature(Feature.SCHEMA)
@pytest.mark.parametrize("splits", [(b"",), (b"m", b"m")])
def test_empty_and_repeated_split_keys_are_refused(
    subject: Subject, name: str, splits: tuple[bytes, ...]
) -> None:
    with pytest.raises(RejectedError) as caught:
        _create(subject, name, splits=splits)

    _pass_on_missing_feature(caught.value)


@pytest.mark.feature(Feature.SCHEMA)
@pytest.mark.parametrize(
    "families",
    [
        (),
        (FamilyDescriptor(b"d", versions=0),),
        (FamilyDescriptor(b"d", min_versions=2),),
        (FamilyDescriptor(b"d", ttl_s=0),),
        (FamilyDescriptor(b"d", compression="LZO2"),),
        (FamilyDescriptor(b"d", bloom="ROWS"),),
        (FamilyDescriptor(b"d", block_size_bytes=10),),
        (FamilyDescriptor(b"d", dfs_replication=-1),),
        (FamilyDescriptor(b"d", bloom="ROWPREFIX_FIXED_LENGTH"),),
        (FamilyDescriptor(b"d", in_memory_compaction="LAZY"),),
        (FamilyDescriptor(b"d", compaction_compression="LZO2"),),
    ],
)
def test_a_table_that_hbase_cannot_make_is_refused(
    subject: Subject, name: str, families: tuple[FamilyDescriptor, ...]
) -> None:
    with pytest.raises(RejectedError) as caught:
        subject.gateway.execute(CreateTable(TableDescriptor(name, families), (b"m",)))

    _pass_on_missing_feature(caught.value)


@pytest.mark.feature(Feature.SCHEMA)
@pytest.mark.parametrize("attribute", ["MAX_FILESIZE", "MEMSTORE_FLUSHSIZE"])
def test_a_size_below_the_least_of_hbase_is_refused(
    subject: Subject, name: str, attribute: str
) -> None:
    wanted = TableDescriptor(name, (PLAIN,), {attribute: "4096"})

    with pytest.raises(RejectedError) as caught:
        subject.gateway.execute(CreateTable(wanted))

    _pass_on_missing_feature(caught.value)


@pytest.mark.parametrize("compression", ["SNAPPY", "LZ4", "ZSTD"])
def test_a_compression_is_kept_or_the_server_lacks_it(
    subject: Subject, name: str, compression: str
) -> None:
    wanted = TableDescriptor(name, (FamilyDescriptor(b"d", compression=compression),))

    for _ in range(2):  # HBase answers a second request with another text
        try:
            subject.gateway.execute(CreateTable(wanted))
        except CompressionMissingError:
            continue
        assert subject.gateway.execute(DescribeTable(name)) == wanted
        return


@pytest.mark.feature(Feature.SCHEMA)
def test_a_family_is_added_to_a_table_with_rows(subject: Subject, name: str) -> None:
    _create(subject, name)
    bench = Bench(subject, name)
    bench.put(b"d:x", b"1")
    bench.run(AddFamily(name, FamilyDescriptor(b"new", versions=2)))
    bench.put(b"new:y", b"2")

    assert bench.values() == {b"d:x": b"1", b"new:y": b"2"}
    assert bench.run(DescribeTable(name)).families[1] == FamilyDescriptor(b"new", versions=2)


@pytest.mark.feature(Feature.SCHEMA)
def test_adding_a_family_that_exists_is_refused(bench: Bench) -> None:
    with pytest.raises(RejectedError) as caught:
        bench.run(AddFamily(bench.table, PLAIN))

    _pass_on_missing_feature(caught.value)


@pytest.mark.feature(Feature.SCHEMA)
def test_adding_a_family_to_a_missing_table_is_refused(subject: Subject, name: str) -> None:
    with pytest.raises(TableNotFoundError):
        subject.gateway.execute(AddFamily(name, PLAIN))


@pytest.mark.feature(Feature.SCHEMA)
def test_a_family_is_deleted_with_its_cells(subject: Subject, name: str) -> None:
    _create(subject, name)
    bench = Bench(subject, name)
    bench.put(b"d:x", b"1")
    bench.run(AddFamily(name, FamilyDescriptor(b"new")))
    bench.put(b"new:y", b"2")

    bench.run(DeleteFamily(name, b"new"))

    assert [family.name for family in bench.run(DescribeTable(name)).families] == [b"d"]
    assert bench.values() == {b"d:x": b"1"}
    bench.run(AddFamily(name, FamilyDescriptor(b"new")))
    assert bench.values() == {b"d:x": b"1"}


@pytest.mark.feature(Feature.SCHEMA)
@pytest.mark.parametrize("family", [b"nope", b"d"])
def test_a_missing_family_and_the_only_one_cannot_be_deleted(
    subject: Subject, name: str, family: bytes
) -> None:
    _create(subject, name)

    with pytest.raises(RejectedError) as caught:
        subject.gateway.execute(DeleteFamily(name, family))

    _pass_on_missing_feature(caught.value)


@pytest.mark.feature(Feature.SCHEMA)
@pytest.mark.parametrize("is_enabled", [True, False])
def test_a_truncated_table_is_empty_and_keeps_its_splits_and_options(
    subject: Subject, name: str, *, is_enabled: bool
) -> None:
    family = FamilyDescriptor(b"d", versions=3, compression="GZ")
    table = TableDescriptor(name, (family,), {"purpose": "tests"}, durability="ASYNC_WAL")
    bench = Bench(subject, name)
    bench.run(CreateTable(table, (b"k", b"t")))
    regions, described = bench.run(ListRegions(name)), bench.run(DescribeTable(name))
    bench.put(b"d:x", b"1")
    if not is_enabled:
        bench.run(DisableTable(name))

    bench.run(TruncateTable(name))

    assert bench.values() == {}
    assert bench.run(DescribeTable(name)) == described
    ranges = [(region.start, region.stop) for region in regions]
    assert [(each.start, each.stop) for each in bench.run(ListRegions(name))] == ranges
    bench.put(b"d:x", b"2")
    assert bench.value(b"d:x") == b"2"


def test_tables_are_listed_by_name_with_their_namespace(bench: Bench, namespace: str) -> None:
    bench.subject.admin.execute(CreateNamespace(namespace))
    _create_by_admin(bench.subject, f"{namespace}:t")

    found = bench.run(ListTables())

    assert found == sorted(found)
    assert {bench.table, f"{namespace}:t"}.issubset(found)


def test_a_dropped_table_is_gone_enabled_or_not(subject: Subject) -> None:
    enabled, disabled = _name(), _name()
    for table in (enabled, disabled):
        _create_by_admin(subject, table)
    subject.gateway.execute(DisableTable(disabled))
    for table in (enabled, disabled):
        subject.gateway.execute(DropTable(table))

    left = subject.gateway.execute(ListTables())
    assert not {enabled, disabled}.intersection(left)


def test_a_table_made_again_is_empty(subject: Subject, name: str) -> None:
    _create_by_admin(subject, name)
    bench = Bench(subject, name)
    bench.put(b"d:x", b"1")
    bench.run(DropTable(name))
    _create_by_admin(subject, name)

    assert bench.cells() == {}


# --- missing and disabled tables ------------------------------------------------------------------


def _requests(table: str) -> list[Operation[Any]]:
    put = RowMutation(b"r", (Put(b"d:x", b"1"),))
    return [
        GetRows(table, (b"r",)),
        GetRows(table, (b"r", b"s")),
        GetVersions(table, b"r", (b"d:x",), 1),
        MutateRows(table, (put,)),
        MutateRows(table, (put, RowMutation(b"s", put.puts))),
        MutateRows(table, (RowMutation(b"r", deletes=(Delete(b"d:x"),)),)),
        MutateRow(table, put),
        Increment(table, b"r", {b"d:n": 1}),
        Append(table, b"r", {b"d:x": b"1"}),
    ]


REQUESTS = [
    "one row",
    "two rows",
    "versions",
    "put",
    "two puts",
    "delete",
    "mutation",
    "increment",
    "append",
]


@pytest.mark.parametrize("number", range(len(REQUESTS)), ids=REQUESTS)
def test_a_missing_table_is_named_as_missing(subject: Subject, number: int) -> None:
    with pytest.raises(TableNotFoundError):
        subject.gateway.execute(_requests("conformance_missing")[number])


@pytest.fixture(scope="module")
def disabled_table(subject: Subject) -> Iterator[str]:
    table = subject.new_table(PLAIN)
    subject.admin.execute(DisableTable(table))
    yield table
    subject.drop(table)


# HBase refuses calls of one row by the table's state; calls that go through its batch client meet
# regions that are not served, and nothing in the answer tells a disabled table from a moving one.
OF_SEVERAL_ROWS = {"two rows", "two puts"}


@pytest.mark.parametrize("number", range(len(REQUESTS)), ids=REQUESTS)
def test_a_disabled_table_is_named_as_disabled(
    subject: Subject, disabled_table: str, number: int
) -> None:
    is_single = REQUESTS[number] not in OF_SEVERAL_ROWS
    expected = TableDisabledError if is_single else (TableDisabledError, RegionUnavailableError)

    with pytest.raises(expected):
        subject.gateway.execute(_requests(disabled_table)[number])


def test_a_scan_of_a_missing_table_fails(subject: Subject) -> None:
    with pytest.raises(_scan_error(subject, TableNotFoundError)):
        Bench(subject, "conformance_missing").rows()


def test_a_scan_of_a_disabled_table_fails(subject: Subject, disabled_table: str) -> None:
    with pytest.raises(_scan_error(subject, TableDisabledError)):
        Bench(subject, disabled_table).rows()


def test_a_check_on_a_missing_or_disabled_table_is_refused(
    subject: Subject, disabled_table: str
) -> None:
    mutation = RowMutation(b"r", (Put(b"d:x", b"1"),))

    with pytest.raises((TableDisabledError, RegionUnavailableError)):
        subject.gateway.execute(CheckAndMutate(disabled_table, b"d:x", b"", mutation))
    with pytest.raises(TableNotFoundError):
        subject.gateway.execute(CheckAndMutate("conformance_missing", b"d:x", b"", mutation))


@pytest.mark.parametrize(
    "request_type", [DescribeTable, DropTable, DisableTable, EnableTable, ListRegions]
)
def test_administration_of_a_missing_table_is_refused(
    subject: Subject, request_type: type[DescribeTable]
) -> None:
    with pytest.raises(TableNotFoundError):
        subject.gateway.execute(request_type("conformance_missing"))


@pytest.mark.feature(Feature.SCHEMA)
def test_truncating_a_missing_table_is_refused(subject: Subject, name: str) -> None:
    with pytest.raises(TableNotFoundError):
        subject.gateway.execute(TruncateTable(name))


def test_an_enabled_again_table_has_its_rows(subject: Subject, name: str) -> None:
    _create_by_admin(subject, name)
    bench = Bench(subject, name)
    bench.put(b"d:x", b"1")
    bench.run(DisableTable(name))
    bench.run(EnableTable(name))

    assert bench.value(b"d:x") == b"1"


def test_disabling_twice_and_enabling_twice_are_refused(subject: Subject, name: str) -> None:
    _create_by_admin(subject, name)

    with pytest.raises(RejectedError):
        subject.gateway.execute(EnableTable(name))
    subject.gateway.execute(DisableTable(name))
    with pytest.raises(TableDisabledError):
        subject.gateway.execute(DisableTable(name))


@pytest.mark.parametrize("bad", ["", "a b", "-a", ".a", "a/b", "n s:t", ":t", "n:"])
def test_an_illegal_table_name_is_refused(subject: Subject, bad: str) -> None:
    with pytest.raises(RejectedError):
        subject.gateway.execute(GetRows(bad, (b"r",)))


# --- namespaces -----------------------------------------------------------------------------------


@pytest.mark.feature(Feature.SCHEMA)
def test_a_namespace_is_made_listed_and_dropped(subject: Subject, namespace: str) -> None:
    subject.gateway.execute(CreateNamespace(namespace))
    found = subject.gateway.execute(ListNamespaces())
    assert {"default", "hbase", namespace}.issubset(found)

    subject.gateway.execute(DropNamespace(namespace))

    assert namespace not in subject.gateway.execute(ListNamespaces())


@pytest.mark.feature(Feature.SCHEMA)
def test_making_a_namespace_twice_is_refused(subject: Subject, namespace: str) -> None:
    subject.gateway.execute(CreateNamespace(namespace))

    with pytest.raises(NamespaceExistsError):
        subject.gateway.execute(CreateNamespace(namespace))


@pytest.mark.feature(Feature.SCHEMA)
def test_a_namespace_with_tables_is_not_dropped(subject: Subject, namespace: str) -> None:
    subject.gateway.execute(CreateNamespace(namespace))
    _create(subject, f"{namespace}:t")

    with pytest.raises(RejectedError):
        subject.gateway.execute(DropNamespace(namespace))

    assert namespace in subject.gateway.execute(ListNamespaces())


@pytest.mark.feature(Feature.SCHEMA)
def test_a_missing_namespace_is_named_as_missing(subject: Subject, namespace: str) -> None:
    with pytest.raises(NamespaceNotFoundError):
        subject.gateway.execute(DropNamespace(namespace))
    with pytest.raises(NamespaceNotFoundError):
        _create(subject, f"{namespace}:t")


def test_a_table_in_a_namespace_is_read_and_written(subject: Subject, namespace: str) -> None:
    subject.admin.execute(CreateNamespace(namespace))
    _create_by_admin(subject, f"{namespace}:t")
    bench = Bench(subject, f"{namespace}:t")
    bench.put(b"d:x", b"1")

    assert bench.values() == {b"d:x": b"1"}
    assert bench.keys() == [b"r"]


def test_the_default_namespace_may_be_written_out(bench: Bench) -> None:
    bench.put(b"d:x", b"1")
    same = Bench(bench.subject, f"default:{bench.table}", bench.prefix)

    assert same.values() == {b"d:x": b"1"}


def _create(subject: Subject, table: str, splits: tuple[bytes, ...] = ()) -> None:
    subject.gateway.execute(CreateTable(TableDescriptor(table, (PLAIN,)), splits or ()))


def _create_by_admin(subject: Subject, table: str) -> None:
    subject.admin.execute(CreateTable(TableDescriptor(table, (PLAIN,))))


def _scan_error(subject: Subject, known: type[RejectedError]) -> type[RejectedError]:
    """Return what a scan's first fetch raises: Thrift2 answers with the table's bare name."""
    return RejectedError if subject.name == "thrift2" else known


def _pass_on_missing_feature(error: RejectedError) -> None:
    """Let the suite see that a gateway lacks the feature, which is a RejectedError as well."""
    if isinstance(error, FeatureMissingError):
        raise error
