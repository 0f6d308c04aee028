"""Options of existing tables and families, compared with a declaration."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest

from hbase_orm.ops import FamilyDescriptor, TableDescriptor
from hbase_orm.table_admin.changes import TableChange, shown_value
from hbase_orm.table_admin.option_drift import (
    THRIFT1_OPTIONS,
    TtlRange,
    family_differences,
    own_family_differences,
    stale_record_families,
    table_differences,
)
from hbase_orm.table_admin.table_check import Drift

PLAIN = FamilyDescriptor(b"d")
OTHER: dict[str, Any] = {
    "versions": 2,
    "min_versions": 1,
    "ttl_s": 60,
    "compression": "GZ",
    "bloom": "NONE",
    "block_encoding": "DIFF",
    "keep_deleted_cells": "TRUE",
    "block_size_bytes": 1024,
    "block_cache": False,
    "in_memory": True,
    "cache_data_on_write": True,
    "evict_on_close": True,
    "scope": 1,
    "dfs_replication": 2,
    "cache_blooms_on_write": True,
    "cache_indexes_on_write": True,
    "prefetch_on_open": True,
    "compress_tags": False,
    "new_version_behavior": True,
    "mob_enabled": True,
    "mob_threshold_bytes": 1,
    "in_memory_compaction": "BASIC",
    "storage_policy": "HOT",
    "compaction_compression": "GZ",
    "index_block_encoding": "PREFIX_TREE",
    "configuration": {"a": "1"},
    "attributes": {"b": "2"},
}


def test_every_option_of_a_family_has_another_value_here() -> None:
    assert OTHER.keys() == {each.name for each in fields(FamilyDescriptor)} - {"name"}


@pytest.mark.parametrize("option", OTHER)
def test_an_option_that_differs_is_the_only_difference(option: str) -> None:
    declared = replace(PLAIN, **{option: OTHER[option]})

    (difference,) = family_differences("t", PLAIN, declared, None)

    change = difference.change
    assert change is not None
    assert (change.table, change.family, change.option) == ("t", b"d", option)
    assert difference.subject.startswith(f"family d: {option}")
    assert difference.drift is Drift.DIFFERENT


def test_equal_families_do_not_differ() -> None:
    family = replace(PLAIN, **OTHER)

    assert [*family_differences("t", family, family, None)] == []


def test_settings_that_others_made_stay() -> None:
    actual = replace(PLAIN, configuration={"theirs": "1", "ours": "1"})
    declared = replace(PLAIN, configuration={"ours": "2"})

    (difference,) = family_differences("t", actual, declared, None)

    assert difference.change == TableChange(
        "t", "family option", b"d", "configuration", "ours", "1", "2"
    )


def test_a_setting_that_was_declared_before_is_removed() -> None:
    actual = replace(PLAIN, attributes={"theirs": "1", "ours": "1"})
    recorded = replace(PLAIN, attributes={"ours": "1", "gone": "1"})

    (difference,) = family_differences("t", actual, PLAIN, recorded)

    assert difference.change is not None
    assert (difference.change.setting, difference.change.declared) == ("ours", None)
    assert (difference.actual, difference.declared) == ("1", "")


def test_only_the_options_that_thrift1_shows_are_compared() -> None:
    declared = replace(PLAIN, **OTHER)

    differing = family_differences("t", PLAIN, declared, None, THRIFT1_OPTIONS)

    assert {each.subject.removeprefix("family d: ") for each in differing} == THRIFT1_OPTIONS


@pytest.mark.parametrize(
    ("least_s", "most_s", "actual_s", "nearest_s"),
    [
        (10, 20, 10, 10),
        (10, 20, 15, 15),
        (10, 20, 20, 20),
        (10, 20, 9, 20),
        (10, 20, 21, 20),
        (10, 20, None, 20),
        (10, None, None, None),
        (10, None, 9, None),
        (None, None, 10, None),
    ],
)
def test_a_ttl_of_entries_is_right_between_two(
    least_s: int | None, most_s: int | None, actual_s: int | None, nearest_s: int | None
) -> None:
    assert TtlRange(least_s, most_s).nearest_s(actual_s) == nearest_s


def test_guards_may_be_compressed_but_need_their_ttl_and_order() -> None:
    actual = replace(PLAIN, compression="GZ", block_encoding="DIFF", new_version_behavior=True)

    differing = own_family_differences("t", actual, TtlRange(10, 20))

    assert [each.subject for each in differing] == [
        "family d: ttl_s",
        "family d: new_version_behavior",
    ]


def test_attributes_that_others_made_stay() -> None:
    actual = TableDescriptor("t", (), {"theirs": "1", "ours": "1"}, "SYNC_WAL", 3)
    declared = TableDescriptor("t", (), {"ours": "2"}, "USE_DEFAULT", 1)

    differing = table_differences(actual, declared)

    assert [each.subject for each in differing] == [
        "table: durability",
        "table: region_replication",
        "table: attributes ours",
    ]


def test_a_record_is_stale_where_the_table_is_as_declared() -> None:
    recorded = {b"d": replace(PLAIN, versions=3, ttl_s=10)}
    new = FamilyDescriptor(b"e")

    differing = stale_record_families("t", recorded, [PLAIN, new], ["family d: versions"])

    assert [each.subject for each in differing] == [
        "record: family d: ttl_s",
        "record: family e",
    ]


@pytest.mark.parametrize(
    ("option", "value", "text"),
    [
        ("ttl_s", None, "forever"),
        ("ttl_s", 86_400, "86400 s (1 day)"),
        ("ttl_s", 172_800, "172800 s (2 days)"),
        ("ttl_s", 90, "90 s"),
        ("block_cache", True, "true"),
        ("compaction_compression", None, "none"),
        ("versions", 3, "3"),
    ],
)
def test_values_are_shown_for_people(option: str, value: object, text: str) -> None:
    assert shown_value(option, value) == text
