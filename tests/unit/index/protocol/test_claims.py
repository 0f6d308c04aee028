"""Unique values, request by request: claims, violations, stale claims taken over."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace

import pytest

from hbase_orm.errors import (
    ConfigurationError,
    ConflictError,
    CorruptRowError,
    UniqueViolationError,
)
from hbase_orm.gateway.memory.gateway import MemoryGateway
from hbase_orm.index.entries.targets import GUARD_COLUMN, Entry, EntryKind, IndexTarget, RowChange
from hbase_orm.index.protocol import claims
from hbase_orm.index.protocol.claims import CLAIM_COLUMN, FREE_TTL_MS, Claim, StoredClaim
from hbase_orm.index.protocol.guarded_write import guarded_write
from hbase_orm.index.upkeep.repair import EntryState, RepairCounts, repair_entry
from hbase_orm.ops import (
    CheckAndMutate,
    CreateTable,
    Delete,
    FamilyDescriptor,
    GetRows,
    GetVersions,
    MutateRows,
    Protocol,
    Put,
    RowMutation,
    TableDescriptor,
)
from tests.support.replays import V1, V2, Bench, Kind, unique_key
from tests.support.stepping import Fault, StepController, drive

READ, RAW, CHANGE = GetRows, GetVersions, CheckAndMutate

NOW_MS = 900_000


@pytest.fixture
def first() -> Bench:
    bench = Bench(MemoryGateway(lambda: 1_000_000), "t_", NOW_MS, b"first", is_unique=True)
    bench.create_tables()
    return bench


@pytest.fixture
def second(first: Bench) -> Bench:
    return replace(first, row=b"second")


def write(bench: Bench, value: bytes | None, clock_ms: int = 10) -> int:
    """Write the row; return how many requests that took."""
    steps = StepController(bench.gateway)
    puts = {} if value is None else {V1: value}
    kind: Kind = "delete" if value is None else "put"
    steps.start("W", lambda gateway: drive(bench.write(puts, clock_ms, kind), gateway))
    steps.finish("W")
    return len(steps.requests("W"))


def stored(bench: Bench, value: bytes) -> StoredClaim:
    (row,) = bench.gateway.execute(GetRows(bench.index.table, (value,)))
    return StoredClaim.of(row.cells[CLAIM_COLUMN] if row else None)


def owner(bench: Bench, value: bytes) -> bytes | None:
    claim = stored(bench, value).claim
    return None if claim is None else claim.owner


def crash_before_the_change(bench: Bench, value: bytes, clock_ms: int = 10) -> None:
    """Leave a claim whose row never shows the value."""
    steps = StepController(bench.gateway)
    steps.start("W", lambda gateway: drive(bench.write({V1: value}, clock_ms), gateway))
    while not isinstance(request := steps.next_request("W"), CheckAndMutate) or (
        request.column != GUARD_COLUMN
    ):
        steps.step("W")
    steps.step("W", Fault.CRASH)
    steps.close()


def test_an_insert_claims_its_value_before_the_row_changes(first: Bench) -> None:
    steps = StepController(first.gateway)
    steps.start("W", lambda gateway: drive(first.write({V1: b"A"}), gateway))
    steps.finish("W")

    assert [type(request) for request in steps.requests("W")] == [READ, RAW, READ, CHANGE, CHANGE]
    changes = [r.table for r in steps.requests("W") if isinstance(r, CheckAndMutate)]
    assert changes == ["t_idx", "t_data"]
    assert owner(first, b"A") == b"first"


def test_a_second_row_with_the_value_is_refused_and_told_who_has_it(
    first: Bench, second: Bench
) -> None:
    write(first, b"A")

    with pytest.raises(UniqueViolationError) as caught:
        write(second, b"A")

    assert caught.value.index == "by_value"
    assert caught.value.owner == b"first"
    assert caught.value.row == b"second"
    assert second.values() == {}


def test_the_same_row_may_write_its_value_again(first: Bench) -> None:
    write(first, b"A")

    assert write(first, b"A") == 2


def test_a_value_that_is_given_up_can_be_had_by_another_row(first: Bench, second: Bench) -> None:
    write(first, b"A")
    write(first, b"B")

    write(second, b"A")

    assert (owner(first, b"A"), owner(first, b"B")) == (b"second", b"first")


def test_a_deleted_row_gives_its_value_up_by_a_marker_that_expires(
    first: Bench, second: Bench
) -> None:
    write(first, b"A")
    before = stored(first, b"A")

    write(first, None)

    assert stored(first, b"A").value[:1] == b"F"
    assert owner(first, b"A") is None
    mutation = claims.free_mutation(first.index.entry(b"A"), before, bytes(8))
    (put,) = mutation.puts
    assert mutation.ttl_ms == FREE_TTL_MS
    assert put.timestamp_ms == before.timestamp_ms + 1
    assert mutation.deletes == (Delete(CLAIM_COLUMN, before.timestamp_ms),)
    write(second, b"A", clock_ms=0)
    assert owner(first, b"A") == b"second"


def test_a_claim_that_a_crash_left_is_taken_over_behind_a_fence(
    first: Bench, second: Bench
) -> None:
    write(first, b"B")
    crash_before_the_change(first, b"A", clock_ms=20)
    (before,) = first.gateway.execute(GetRows("t_data", (b"first",)))
    assert before is not None

    write(second, b"A", clock_ms=10_000)

    (after,) = first.gateway.execute(GetRows("t_data", (b"first",)))
    assert after is not None
    assert owner(first, b"A") == b"second"
    assert after.cells[GUARD_COLUMN] != before.cells[GUARD_COLUMN]
    assert first.values() == {V1: b"B"}


def test_a_young_claim_is_waited_for_before_its_row_is_fenced(first: Bench, second: Bench) -> None:
    crash_before_the_change(first, b"A")
    pauses: list[float] = []

    drive(second.write({V1: b"A"}), second.gateway, pauses.append)

    assert len(pauses) == claims.POLITE_ROUNDS
    assert owner(first, b"A") == b"second"


def test_a_claim_that_its_row_has_left_behind_needs_no_fence(first: Bench, second: Bench) -> None:
    crash_before_the_change(first, b"A", clock_ms=0)
    write(first, b"B", clock_ms=20)

    requests = write(second, b"A", clock_ms=10_000)

    assert requests == len([READ, RAW, READ, READ, CHANGE, CHANGE])


def test_a_write_that_was_fenced_claims_anew_and_is_refused(first: Bench, second: Bench) -> None:
    steps = StepController(first.gateway)
    steps.start("W", lambda gateway: drive(first.write({V1: b"A"}), gateway))
    for _ in range(4):
        steps.step("W")
    write(second, b"A", clock_ms=10_000)

    with pytest.raises(UniqueViolationError):
        steps.finish("W")

    assert (first.values(), second.values()) == ({}, {V1: b"A"})


@pytest.mark.parametrize("fault", [Fault.CUT_BEFORE, Fault.CUT_AFTER, Fault.FALSE_THOUGH_APPLIED])
def test_a_claim_without_a_good_answer_is_looked_at_again(first: Bench, fault: Fault) -> None:
    steps = StepController(first.gateway)
    steps.start("W", lambda gateway: drive(first.write({V1: b"A"}), gateway))
    for _ in range(3):
        steps.step("W")
    steps.step("W", fault)
    steps.finish("W")

    assert (first.values(), owner(first, b"A")) == ({V1: b"A"}, b"first")


def test_a_late_claim_of_an_older_try_keeps_the_newest_timestamp(first: Bench) -> None:
    entry = first.index.entry(b"A")
    newer = Claim(b"first", NOW_MS + 500, bytes(8))
    write(first, b"A")
    attempt_ms = stored(first, b"A").claim
    assert attempt_ms is not None
    put = (Put(CLAIM_COLUMN, newer.encode(), NOW_MS + 500),)
    first.gateway.execute(MutateRows(first.index.table, (RowMutation(entry.key, puts=put),)))
    write(first, None)
    assert owner(first, b"A") == b"first"  # above the write's timestamp: left

    write(first, b"A", clock_ms=20)

    claim = stored(first, b"A").claim
    assert claim is not None
    assert claim.timestamp_ms == NOW_MS + 500
    assert claim.nonce != newer.nonce


def test_a_value_that_is_never_left_in_peace_is_a_conflict(
    first: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claims, "swap", never)

    with pytest.raises(ConflictError) as caught:
        write(first, b"A")

    assert caught.value.rounds == claims.MAX_CLAIM_ROUNDS
    assert first.values() == {}


def never(*_: object) -> Protocol[bool]:
    yield from ()
    return False


def second_column(row: bytes, cells: Mapping[bytes, bytes]) -> frozenset[bytes]:
    del row
    return frozenset({cells[V2]} if V2 in cells else ())


def test_of_two_unique_values_none_is_claimed_while_one_is_taken(
    first: Bench, second: Bench
) -> None:
    families = (FamilyDescriptor(b"d"),)
    first.gateway.execute(CreateTable(TableDescriptor("t_before", families)))
    other = IndexTarget("by_other", "t_before", frozenset((V2,)), second_column, unique=True)
    target = replace(second.target, indexes=(other, second.index))
    write(first, b"A")
    change = RowChange(b"second", {V1: b"A", V2: b"Z"})

    with pytest.raises(UniqueViolationError):
        drive(guarded_write(target, change, second.context()), second.gateway)

    assert first.gateway.execute(GetRows("t_before", (b"Z",))) == [None]


# --- repair ---------------------------------------------------------------------------------------


def test_the_repair_gives_a_stale_claim_up_behind_a_fence(first: Bench) -> None:
    write(first, b"B")
    crash_before_the_change(first, b"A", clock_ms=20)

    counts = first.repair()

    assert counts == RepairCounts(scanned=2, valid=1, stale=1, repaired=1)
    assert (owner(first, b"A"), owner(first, b"B")) == (None, b"first")
    assert first.repair() == RepairCounts(scanned=1, valid=1)


def test_the_repair_leaves_a_claim_that_meanwhile_is_another_row_s(
    first: Bench, second: Bench
) -> None:
    write(second, b"A")

    state = drive(
        repair_entry(
            first.target,
            first.index,
            first.context(),
            entry_key=b"A",
            entry_timestamp_ms=1,
            base_key=b"first",
        ),
        first.gateway,
    )

    assert state is EntryState.REPAIRED
    assert owner(first, b"A") == b"second"


def test_a_verification_counts_a_value_owned_by_another_row_as_missing(first: Bench) -> None:
    write(first, b"A")
    wrong = Claim(b"else", NOW_MS + 60, bytes(8)).encode()
    put = (Put(CLAIM_COLUMN, wrong, NOW_MS + 60),)
    first.gateway.execute(MutateRows(first.index.table, (RowMutation(b"A", puts=put),)))

    found = first.compare()

    assert found.missing == ((b"first", b"A"),)
    assert found.stale == ((b"else", b"A"),)


def test_a_claim_that_does_not_decode_is_left_and_named_in_the_log(
    first: Bench, caplog: pytest.LogCaptureFixture
) -> None:
    entry = Entry(first.index.table, b"A", EntryKind.CLAIM)
    put = (Put(CLAIM_COLUMN, b"junk", NOW_MS),)
    first.gateway.execute(MutateRows(entry.table, (RowMutation(entry.key, puts=put),)))

    with caplog.at_level(logging.WARNING, "hbase_orm.index"):
        drive(
            claims.release(first.target, [entry], b"first", NOW_MS, first.context()), first.gateway
        )

    (row,) = first.gateway.execute(GetRows(entry.table, (entry.key,)))
    assert row is not None
    assert row.cells[CLAIM_COLUMN].value == b"junk"
    assert [record.args for record in caplog.records] == [(entry.key, entry.table)]


# --- the record -----------------------------------------------------------------------------------


def test_a_claim_s_bytes() -> None:
    claim = Claim(b"row", 258, b"12345678")

    assert claim.encode() == b"C\x00\x00\x00\x00\x00\x00\x01\x0212345678row"
    assert Claim.decode(claim.encode()) == claim
    assert Claim.decode(b"F" + bytes(16)) is None


@pytest.mark.parametrize("value", [b"", b"C", b"C" + bytes(15), b"X" + bytes(16)])
def test_bytes_that_no_claim_is_are_refused(value: bytes) -> None:
    with pytest.raises(CorruptRowError):
        Claim.decode(value)


def test_an_index_is_not_unique_and_covering_at_once() -> None:
    with pytest.raises(ConfigurationError):
        IndexTarget("i", "t", frozenset((V1,)), unique_key, unique=True, included=(V2,))
