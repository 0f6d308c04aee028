"""Repair and verification: what is deleted, what is left alone, and what is reported."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

import pytest

from hbase_orm.errors import (
    CatalogLeaseError,
    ConnectionLostError,
    RejectedError,
    ScannerExpiredError,
    TableNotFoundError,
)
from hbase_orm.gateway.base import Feature, Gateway
from hbase_orm.gateway.memory.gateway import MemoryGateway
from hbase_orm.index.entries.guard_cell import GuardCell
from hbase_orm.index.entries.targets import GUARD_COLUMN
from hbase_orm.index.protocol.fence import fence
from hbase_orm.index.protocol.requests import read_before
from hbase_orm.index.upkeep.repair import EntryState, RepairCounts, repair_entry, repair_pass
from hbase_orm.ops import (
    CheckAndMutate,
    CloseScanner,
    Delete,
    FetchRows,
    GetRows,
    GetVersions,
    KeyRange,
    MutateRows,
    OpenScanner,
    Operation,
    Protocol,
    Put,
    RowMutation,
)
from tests.support.replays import V1, Bench, Comparison, base_key_of
from tests.support.stepping import drive

R = TypeVar("R")

BASE_MS = 10_000_000


@pytest.fixture
def bench() -> Bench:
    bench = Bench(MemoryGateway(lambda: BASE_MS), "t_", base_ms=BASE_MS)
    bench.create_tables()
    return bench


def put_entry(bench: Bench, key: bytes, offset_ms: int) -> None:
    put = RowMutation(key, puts=(Put(b"d:", b"", BASE_MS + offset_ms),))
    bench.gateway.execute(MutateRows(bench.index.table, (put,)))


def delete_entry(bench: Bench, key: bytes) -> None:
    delete = RowMutation(key, deletes=(Delete(b"d:", 2 * BASE_MS),))
    bench.gateway.execute(MutateRows(bench.index.table, (delete,)))


def write(bench: Bench, row: bytes, value: bytes, clock_ms: int = 0) -> None:
    drive(replace(bench, row=row).write({V1: value}, clock_ms), bench.gateway)


def repair_one(bench: Bench, key: bytes, offset_ms: int, now_ms: int = 0) -> EntryState:
    protocol = repair_entry(
        bench.target,
        bench.index,
        bench.context(now_ms),
        entry_key=key,
        entry_timestamp_ms=BASE_MS + offset_ms,
        base_key=base_key_of(key),
    )
    return drive(protocol, bench.gateway)


def entry_keys(bench: Bench) -> list[bytes]:
    found = bench.compare()
    assert not found.missing
    return sorted(key for _, key in found.stale)


def guard_of(bench: Bench, row: bytes) -> GuardCell:
    (found,) = bench.gateway.execute(GetRows(bench.target.table, (row,)))
    assert found is not None
    return GuardCell.decode(found.cells[GUARD_COLUMN].value)


# --- one entry ------------------------------------------------------------------------------------


def test_an_entry_that_its_row_has_is_left(bench: Bench) -> None:
    write(bench, b"r", b"A")

    assert repair_one(bench, b"A\x00r", 0) is EntryState.VALID


def test_an_entry_at_the_guard_s_timestamp_is_deleted_without_a_fence(bench: Bench) -> None:
    write(bench, b"r", b"A")
    guard = guard_of(bench, b"r")
    put_entry(bench, b"B\x00r", 0)

    assert repair_one(bench, b"B\x00r", 0) is EntryState.REPAIRED
    assert (guard_of(bench, b"r"), entry_keys(bench)) == (guard, [])


def test_a_young_entry_above_the_guard_is_left(bench: Bench) -> None:
    write(bench, b"r", b"A")
    put_entry(bench, b"B\x00r", 1)

    assert repair_one(bench, b"B\x00r", 1, now_ms=60_000) is EntryState.IN_FLIGHT
    assert entry_keys(bench) == [b"B\x00r"]


def test_an_old_entry_above_the_guard_is_deleted_behind_a_fence(bench: Bench) -> None:
    write(bench, b"r", b"A")
    put_entry(bench, b"B\x00r", 500)

    assert repair_one(bench, b"B\x00r", 500, now_ms=60_500) is EntryState.REPAIRED
    guard = guard_of(bench, b"r")
    assert (guard.timestamp_ms, guard.is_dead) == (BASE_MS + 500, False)
    assert (replace(bench, row=b"r").values(), entry_keys(bench)) == ({V1: b"A"}, [])


def test_an_entry_without_a_row_is_deleted_behind_a_dead_guard(bench: Bench) -> None:
    put_entry(bench, b"B\x00r", 0)

    assert repair_one(bench, b"B\x00r", 0, now_ms=60_000) is EntryState.REPAIRED
    assert guard_of(bench, b"r").is_dead
    assert entry_keys(bench) == []


def test_a_fence_s_dead_guard_expires(bench: Bench) -> None:
    put_entry(bench, b"B\x00r", 0)
    repair_one(bench, b"B\x00r", 0, now_ms=60_000)

    sent = _FencesRecorded(bench.gateway)
    put_entry(bench, b"C\x00s", 0)
    drive(_repair_all(bench), sent)

    assert [fence.mutation.ttl_ms for fence in sent.fences] == [7 * 24 * 3600 * 1000]
    assert sent.fences[0].mutation.deletes == (Delete(GUARD_COLUMN, BASE_MS - 1),)


def test_an_entry_far_ahead_of_the_clock_is_left_lest_the_guard_follow(bench: Bench) -> None:
    write(bench, b"r", b"A")
    ahead_ms = 3_600_001
    put_entry(bench, b"B\x00r", ahead_ms)
    protocol = repair_entry(
        bench.target,
        bench.index,
        bench.context(0),
        entry_key=b"B\x00r",
        entry_timestamp_ms=BASE_MS + ahead_ms,
        base_key=b"r",
        min_age_ms=-2 * ahead_ms,
    )

    assert drive(protocol, bench.gateway) is EntryState.IN_FLIGHT


def test_a_fence_that_loses_leaves_the_entry(bench: Bench) -> None:
    write(bench, b"r", b"A")
    put_entry(bench, b"B\x00r", 1)
    gateway = _AnswersFences(bench.gateway, answer=False)

    assert drive(_repair_all(bench), gateway) == RepairCounts(2, 1, 1, repaired=0, in_flight=1)


def test_a_fence_without_an_answer_leaves_the_entry(bench: Bench) -> None:
    put_entry(bench, b"B\x00r", 1)
    gateway = _AnswersFences(bench.gateway, ConnectionLostError("cut"))

    assert drive(_repair_all(bench), gateway) == RepairCounts(1, 0, 1, repaired=0, in_flight=1)


def test_a_refused_fence_is_an_error(bench: Bench) -> None:
    put_entry(bench, b"B\x00r", 1)

    with pytest.raises(RejectedError):
        drive(_repair_all(bench), _AnswersFences(bench.gateway, RejectedError("no")))


def test_a_fence_needs_the_catalog_s_permission(bench: Bench) -> None:
    def permit(table: str) -> int:
        raise CatalogLeaseError("lapsed", table=table)

    context = replace(bench.context(), permit=permit)
    columns = (V1, GUARD_COLUMN)
    before = drive(read_before(bench.target, b"r", columns, context), bench.gateway)

    with pytest.raises(CatalogLeaseError):
        drive(fence(bench.target, b"r", before, BASE_MS, context), bench.gateway)


# --- a pass ---------------------------------------------------------------------------------------


def test_a_pass_repairs_page_by_page_and_counts(bench: Bench) -> None:
    for row in (b"r1", b"r2", b"r3"):
        write(bench, row, b"A")
    put_entry(bench, b"B\x00r1", -5)
    put_entry(bench, b"C\x00r2", 70_000)
    protocol = repair_pass(
        bench.target, bench.index, base_key_of, bench.context(80_000), page_rows=2
    )

    counts = drive(protocol, bench.gateway)

    assert counts == RepairCounts(scanned=5, valid=3, stale=2, repaired=1, in_flight=1)
    assert entry_keys(bench) == [b"C\x00r2"]


def test_a_pass_over_a_range_leaves_other_entries(bench: Bench) -> None:
    put_entry(bench, b"B\x00r", -5)
    put_entry(bench, b"C\x00r", -5)
    protocol = repair_pass(
        bench.target,
        bench.index,
        base_key_of,
        bench.context(),
        min_age_ms=0,
        key_range=KeyRange.prefix(b"B"),
    )

    assert drive(protocol, bench.gateway).scanned == 1
    assert entry_keys(bench) == [b"C\x00r"]


def test_a_pass_over_an_empty_range_asks_nothing(bench: Bench) -> None:
    protocol = repair_pass(
        bench.target,
        bench.index,
        base_key_of,
        bench.context(),
        key_range=KeyRange(b"b", b"a"),
    )

    assert drive(protocol, _AnswersFences(bench.gateway, answer=False)) == RepairCounts()


@pytest.mark.parametrize("lost", [FetchRows, OpenScanner, CloseScanner])
@pytest.mark.parametrize("error", [ScannerExpiredError("gone"), ConnectionLostError("cut")])
def test_a_page_whose_scanner_is_lost_is_read_again(
    bench: Bench, lost: type[Operation[Any]], error: Exception
) -> None:
    put_entry(bench, b"B\x00r", -5)
    gateway = _LosesOnce(bench.gateway, lost, error)

    counts = drive(_repair_all(bench), gateway)

    assert (counts.repaired, gateway.open_scanners) == (1, 0 if lost is not CloseScanner else 1)


def test_a_scanner_that_keeps_failing_is_an_error(bench: Bench) -> None:
    gateway = _LosesOnce(bench.gateway, OpenScanner, ConnectionLostError("cut"), times=5)

    with pytest.raises(ConnectionLostError):
        drive(_repair_all(bench), gateway)


def test_a_missing_index_table_is_an_error(bench: Bench) -> None:
    index = replace(bench.index, table="nowhere")

    with pytest.raises(TableNotFoundError):
        drive(repair_pass(bench.target, index, base_key_of, bench.context()), bench.gateway)


# --- verification ---------------------------------------------------------------------------------


def test_a_verification_names_missing_and_stale_entries(bench: Bench) -> None:
    write(bench, b"r1", b"A")
    write(bench, b"r2", b"A")
    delete_entry(bench, b"A\x00r1")
    put_entry(bench, b"B\x00r2", 5)

    assert bench.compare(page_rows=1) == Comparison(
        rows=2,
        entries=2,
        missing=((b"r1", b"A\x00r1"),),
        stale=((b"r2", b"B\x00r2"),),
    )


def test_a_row_that_the_index_leaves_out_misses_nothing(bench: Bench) -> None:
    write(bench, b"r", b"A")

    assert replace(bench, is_composite=True).compare().missing == ()


def test_a_deleted_row_counts_neither_as_row_nor_as_missing(bench: Bench) -> None:
    write(bench, b"r", b"A")
    drive(replace(bench, row=b"r").write({}, kind="delete"), bench.gateway)

    assert bench.compare() == Comparison(0, 0, (), ())


def test_an_entry_moved_while_it_was_looked_for_is_not_missing(bench: Bench) -> None:
    write(bench, b"r", b"A")
    gateway = _WritesBeforeEntriesAreRead(bench)

    found = bench.compare(gateway=gateway)

    assert (gateway.writes, found.missing) == (2, ())


# --- gateways with faults -------------------------------------------------------------------------


def _repair_all(bench: Bench) -> Protocol[RepairCounts]:
    return repair_pass(bench.target, bench.index, base_key_of, bench.context(60_000), min_age_ms=0)


class _Wrapped:
    features = frozenset[Feature]()

    def __init__(self, inner: Gateway) -> None:
        self._inner = inner

    def close(self) -> None: ...


class _FencesRecorded(_Wrapped):
    def __init__(self, inner: Gateway) -> None:
        super().__init__(inner)
        self.fences: list[CheckAndMutate] = []

    def execute(self, operation: Operation[R], /) -> R:
        if isinstance(operation, CheckAndMutate):
            self.fences.append(operation)
        return self._inner.execute(operation)


class _AnswersFences(_Wrapped):
    def __init__(self, inner: Gateway, answer: bool | Exception) -> None:  # noqa: FBT001  # an answer
        super().__init__(inner)
        self._answer = answer

    def execute(self, operation: Operation[R], /) -> R:
        if not isinstance(operation, CheckAndMutate):
            return self._inner.execute(operation)
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer  # type: ignore[return-value]  # CheckAndMutate is an Operation[bool]


class _LosesOnce(_Wrapped):
    def __init__(
        self, inner: Gateway, lost: type[Operation[Any]], error: Exception, times: int = 1
    ) -> None:
        super().__init__(inner)
        self._lost = lost
        self._error = error
        self._times = times
        self.open_scanners = 0

    def execute(self, operation: Operation[R], /) -> R:
        if isinstance(operation, self._lost) and self._times:
            self._times -= 1
            raise self._error
        answer = self._inner.execute(operation)
        self.open_scanners += isinstance(operation, OpenScanner)
        self.open_scanners -= isinstance(operation, CloseScanner)
        return answer


class _WritesBeforeEntriesAreRead(_Wrapped):
    """Changes the row before each read of index entries, so that each look comes too late."""

    def __init__(self, bench: Bench) -> None:
        super().__init__(bench.gateway)
        self._bench = bench
        self.writes = 0

    def execute(self, operation: Operation[R], /) -> R:
        if isinstance(operation, GetRows) and operation.table == self._bench.index.table:
            self.writes += 1
            value = b"AB"[self.writes % 2 :][:1]
            write(self._bench, b"r", value, clock_ms=self.writes)
        assert not isinstance(operation, GetVersions)
        return self._inner.execute(operation)
