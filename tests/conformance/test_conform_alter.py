"""Changes of the options of tables and families that exist: one option, and nothing else."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest

from hbase_orm.errors import (
    FamilyNotFoundError,
    FeatureMissingError,
    RejectedError,
    TableNotFoundError,
)
from hbase_orm.gateway.base import Feature
from hbase_orm.ops import (
    CreateTable,
    DescribeTable,
    FamilyDescriptor,
    ModifyFamily,
    ModifyTable,
    TableDescriptor,
)
from tests.conformance.bench import Bench, Subject

pytestmark = pytest.mark.feature(Feature.SCHEMA)

FOREIGN = {"FOREIGN": "1"}

FAMILY_OPTIONS: tuple[tuple[str, Any], ...] = (
    ("ttl_s", 1_000),
    ("versions", 5),  # before min_versions, which must be smaller
    ("min_versions", 2),
    ("compression", "GZ"),
    ("bloom", "ROWCOL"),
    ("block_encoding", "FAST_DIFF"),
    ("keep_deleted_cells", "TTL"),
    ("block_size_bytes", 8_192),
    ("block_cache", False),
    ("in_memory", True),
    ("cache_data_on_write", True),
    ("evict_on_close", True),
    ("scope", 1),
    ("dfs_replication", 2),
    ("cache_blooms_on_write", True),
    ("cache_indexes_on_write", True),
    ("prefetch_on_open", True),
    ("compress_tags", False),
    ("mob_enabled", True),
    ("mob_threshold_bytes", 5_000),
    ("in_memory_compaction", "EAGER"),
    ("storage_policy", "HOT"),
    ("compaction_compression", "GZ"),
    ("index_block_encoding", "PREFIX_TREE"),
    ("configuration", {"hbase.hstore.blockingStoreFiles": "20"}),
    ("attributes", {"MOB_COMPACT_PARTITION_POLICY": "WEEKLY"}),
)
TABLE_OPTIONS: tuple[tuple[str, Any], ...] = (
    ("durability", "ASYNC_WAL"),
    ("region_replication", 2),
    ("attributes", {"MAX_FILESIZE": "5368709120", "COMPACTION_ENABLED": "false"}),
)


@pytest.fixture(scope="module")
def altered(subject: Subject) -> Iterator[str]:
    """Return a table with options that this library does not know."""
    name = f"conformance_{uuid.uuid4().hex[:12]}"
    families = (
        FamilyDescriptor(b"d", configuration=FOREIGN, attributes=FOREIGN),
        FamilyDescriptor(b"e", versions=3),
    )
    subject.admin.execute(CreateTable(TableDescriptor(name, families, FOREIGN), (b"m",)))
    yield name
    subject.drop(name)


def _back(option: str, value: Any, made: FamilyDescriptor | TableDescriptor) -> Any:
    """Return what sets an option back to what a table was made with."""
    return dict.fromkeys(value) if isinstance(value, Mapping) else getattr(made, option)


def test_each_option_of_a_family_is_changed_alone(subject: Subject, altered: str) -> None:
    # A routed gateway sends them to Thrift2: a few show that it does.
    options = FAMILY_OPTIONS[:3] if subject.name == "routed" else FAMILY_OPTIONS
    made = subject.gateway.execute(DescribeTable(altered))
    before = made

    for option, value in options:
        subject.gateway.execute(ModifyFamily(altered, b"d", {option: value}))
        after = subject.gateway.execute(DescribeTable(altered))
        changed, other = before.families
        assert changed.with_options({option: value}) != changed, option
        assert after == replace(before, families=(changed.with_options({option: value}), other))
        before = after
    back = {option: _back(option, value, made.families[0]) for option, value in options}
    subject.gateway.execute(ModifyFamily(altered, b"d", back))

    assert subject.gateway.execute(DescribeTable(altered)) == made


def test_each_option_of_a_table_is_changed_alone(subject: Subject, altered: str) -> None:
    made = subject.gateway.execute(DescribeTable(altered))
    before = made

    for option, value in TABLE_OPTIONS:
        subject.gateway.execute(ModifyTable(altered, {option: value}))
        after = subject.gateway.execute(DescribeTable(altered))
        assert after == before.with_options({option: value}) != before, option
        before = after
    back = {option: _back(option, value, made) for option, value in TABLE_OPTIONS}
    subject.gateway.execute(ModifyTable(altered, back))

    assert subject.gateway.execute(DescribeTable(altered)) == made


def test_several_options_are_changed_at_once_and_again(subject: Subject, altered: str) -> None:
    wanted = {"versions": 4, "ttl_s": 900, "mob_enabled": True, "attributes": {"OWNER": "sales"}}
    before = subject.gateway.execute(DescribeTable(altered)).families[1]

    for _ in range(2):
        subject.gateway.execute(ModifyFamily(altered, b"e", wanted))

    after = subject.gateway.execute(DescribeTable(altered)).families[1]
    assert after == before.with_options(wanted)


def test_rows_are_read_by_the_new_options_at_once(subject: Subject) -> None:
    name = subject.new_table(FamilyDescriptor(b"d", versions=3), splits=(b"m",))
    benches = [Bench(subject, name, prefix) for prefix in (b"a", b"z")]
    for bench in benches:
        for ts in (1_000, 2_000, 3_000):
            bench.put(b"d:x", b"%d" % ts, ts)

    subject.gateway.execute(ModifyFamily(name, b"d", {"versions": 1}))

    assert [len(bench.versions(b"d:x")) for bench in benches] == [1, 1]
    subject.drop(name)


def test_options_of_what_is_missing_are_refused(subject: Subject, altered: str) -> None:
    with pytest.raises(FamilyNotFoundError):
        subject.gateway.execute(ModifyFamily(altered, b"nope", {"versions": 2}))
    with pytest.raises(TableNotFoundError):
        subject.gateway.execute(ModifyFamily("nope:nope", b"d", {"versions": 2}))
    with pytest.raises(TableNotFoundError):
        subject.gateway.execute(ModifyTable("conformance_nope", {"durability": "SYNC_WAL"}))


@pytest.mark.parametrize(
    "options",
    [{"versions": 0}, {"min_versions": 9}, {"ttl_s": 0}, {"bloom": "ROWPREFIX_FIXED_LENGTH"}],
    ids=str,
)
def test_options_that_hbase_does_not_allow_are_refused_and_change_nothing(
    subject: Subject, altered: str, options: dict[str, Any]
) -> None:
    before = subject.gateway.execute(DescribeTable(altered))

    with pytest.raises(RejectedError) as caught:
        subject.gateway.execute(ModifyFamily(altered, b"d", options))

    _pass_on_missing_feature(caught.value)
    assert subject.gateway.execute(DescribeTable(altered)) == before


def test_a_size_that_is_too_small_is_refused(subject: Subject, altered: str) -> None:
    with pytest.raises(RejectedError) as caught:
        subject.gateway.execute(ModifyTable(altered, {"attributes": {"MAX_FILESIZE": "4096"}}))

    _pass_on_missing_feature(caught.value)


def _pass_on_missing_feature(error: RejectedError) -> None:
    """Let the suite see that a gateway lacks the feature, which is a RejectedError as well."""
    if isinstance(error, FeatureMissingError):
        raise error
