"""What the ids of tables and the times of their regions show about the table of a record."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from hbase_orm.binding.addressing.tables import OneTable
from hbase_orm.binding.table_identity import Identity, identity, newest_region_ms
from hbase_orm.errors import AccessDeniedError, TableNotFoundError
from hbase_orm.gateway.base import Feature
from hbase_orm.ops import DescribeTable, ListRegions, RegionRange, TableDescriptor, run_protocol
from hbase_orm.record.declaration import Declaration, TableRecord
from hbase_orm.record.store import ID_ATTRIBUTE

AT = 1_700_000_000_000
TABLES = OneTable("Ware", "wares")
THRIFT2 = frozenset({Feature.SCHEMA})


def record(table_id: str = "", regions_ms: int = AT) -> TableRecord:
    return TableRecord(table_id, Declaration({}, ()), regions_ms=regions_ms)


def regions(times: tuple[int, ...]) -> list[RegionRange]:
    return [RegionRange(b"", None, "s:1", time) for time in times]


def decided(known: TableRecord, answers: dict[type, Any], features: Any = frozenset()) -> Identity:
    def execute(request: Any) -> Any:
        answer = answers[type(request)]
        if isinstance(answer, Exception):
            raise answer
        return answer

    return run_protocol(identity(known, TABLES, features), execute)


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        ((AT,), Identity.SAME),
        ((AT, AT, AT), Identity.SAME),
        ((AT - 5, AT + 10**6, AT + 10**6), Identity.SAME),  # one region is as old as the record
        ((AT + 3,), Identity.SAME),  # merged three times
        ((AT + 10**6,), Identity.OTHER),
        ((AT + 10**6,) * 3, Identity.OTHER),
        ((AT + 10**6,) * 2, Identity.UNKNOWN),  # also the two parts of one region
        ((AT + 10**6, AT + 10**6, AT + 10**7), Identity.UNKNOWN),
    ],
)
def test_without_thrift2_the_times_of_regions_decide(
    times: tuple[int, ...], expected: Identity
) -> None:
    assert decided(record("an id"), {ListRegions: regions(times)}) is expected


def test_a_record_without_times_leaves_it_undecided() -> None:
    assert decided(record(regions_ms=0), {ListRegions: regions((AT,))}) is Identity.UNKNOWN


@pytest.mark.parametrize(
    ("table_id", "own_id", "expected"),
    [("a", "a", Identity.SAME), ("a", "b", Identity.OTHER), ("a", "", Identity.OTHER)],
)
def test_with_thrift2_the_id_decides(table_id: str, own_id: str, expected: Identity) -> None:
    there = TableDescriptor("wares", (), {ID_ATTRIBUTE: own_id})

    assert decided(record(table_id), {DescribeTable: there}, THRIFT2) is expected


@pytest.mark.parametrize("own_id", ["", "b"])
def test_a_record_that_was_written_without_thrift2_is_compared_by_regions(own_id: str) -> None:
    there = TableDescriptor("wares", (), {ID_ATTRIBUTE: own_id})
    answers = {DescribeTable: there, ListRegions: regions((AT,))}

    assert decided(record(""), answers, THRIFT2) is Identity.SAME


@pytest.mark.parametrize("features", [frozenset(), THRIFT2])
def test_a_table_that_does_not_exist_is_missing(features: Any) -> None:
    missing = TableNotFoundError("no", table="wares")

    kind = decided(record("a"), {DescribeTable: missing, ListRegions: missing}, features)

    assert kind is Identity.MISSING


@pytest.mark.parametrize("features", [frozenset(), THRIFT2])
def test_without_permission_it_is_undecided(features: Any) -> None:
    denied = AccessDeniedError("no")

    kind = decided(record("a"), {DescribeTable: denied, ListRegions: denied}, features)

    assert kind is Identity.UNKNOWN


def test_the_youngest_region_is_noted_and_0_for_a_table_that_cannot_be_read() -> None:
    answers: Iterator[Any] = iter([regions((AT, AT + 7)), TableNotFoundError("no")])

    def execute(_: Any) -> Any:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    assert run_protocol(newest_region_ms("wares"), execute) == AT + 7
    assert run_protocol(newest_region_ms("wares"), execute) == 0
