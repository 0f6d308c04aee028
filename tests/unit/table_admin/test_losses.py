"""Which changes of options lose data."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from hbase_orm.ops import FamilyDescriptor
from hbase_orm.table_admin.losses import family_loss, table_loss

PLAIN = FamilyDescriptor(b"d", versions=3, min_versions=1, ttl_s=100, keep_deleted_cells="TTL")


@pytest.mark.parametrize(
    "change",
    [
        {"ttl_s": 99},
        {"versions": 2},
        {"min_versions": 0},
        {"keep_deleted_cells": "FALSE"},
        {"new_version_behavior": True},
    ],
    ids=str,
)
def test_a_change_that_deletes_cells_loses_data(change: dict[str, Any]) -> None:
    (option,) = change

    assert family_loss(option, PLAIN, replace(PLAIN, **change)) != ""


@pytest.mark.parametrize(
    "change",
    [
        {"ttl_s": 101},
        {"ttl_s": None},
        {"versions": 4},
        {"min_versions": 2},
        {"keep_deleted_cells": "TRUE"},
        {"compression": "GZ"},
        {"mob_enabled": True},
        {"in_memory": True},
    ],
    ids=str,
)
def test_a_change_that_keeps_every_cell_loses_nothing(change: dict[str, Any]) -> None:
    (option,) = change

    assert family_loss(option, PLAIN, replace(PLAIN, **change)) == ""


def test_a_first_ttl_loses_data() -> None:
    forever = replace(PLAIN, ttl_s=None)

    assert family_loss("ttl_s", forever, PLAIN) != ""


def test_fewer_kept_versions_lose_nothing_without_a_ttl() -> None:
    forever = replace(PLAIN, ttl_s=None)

    assert family_loss("min_versions", forever, replace(forever, min_versions=0)) == ""


@pytest.mark.parametrize(
    ("actual", "declared", "is_loss"),
    [
        ("USE_DEFAULT", "SKIP_WAL", True),
        ("SYNC_WAL", "ASYNC_WAL", True),
        ("FSYNC_WAL", "USE_DEFAULT", True),
        ("USE_DEFAULT", "SYNC_WAL", False),
        ("SYNC_WAL", "USE_DEFAULT", False),
        ("SKIP_WAL", "FSYNC_WAL", False),
    ],
)
def test_a_weaker_durability_may_lose_writes(actual: str, declared: str, is_loss: bool) -> None:  # noqa: FBT001 - a parameter
    assert bool(table_loss("durability", actual, declared)) is is_loss


def test_fewer_replicas_lose_nothing() -> None:
    assert table_loss("region_replication", 3, 1) == ""
