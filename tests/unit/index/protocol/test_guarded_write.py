"""The guarded write, request by request, with every answer a gateway can give."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import count
from typing import TypeVar

import pytest

from hbase_orm.errors import (
    CatalogLeaseError,
    ClockError,
    ConflictError,
    ConnectionLostError,
    DuplicateRowError,
    RejectedError,
    RetryableError,
    TableDisabledError,
    ValidationError,
)
from hbase_orm.gateway.base import Feature, Gateway
from hbase_orm.gateway.memory.gateway import MemoryGateway
from hbase_orm.index.entries.guard_cell import GuardCell
from hbase_orm.index.entries.targets import GUARDED_RETRIES, GuardedTable, RowChange, WriteOutcome
from hbase_orm.index.protocol.guarded_write import History, guarded_write
from hbase_orm.ops import (
    CheckAndMutate,
    CreateTable,
    Delete,
    DisableTable,
    FamilyDescriptor,
    GetRows,
    GetVersions,
    MutateRow,
    MutateRows,
    Operation,
    RowMutation,
    TableDescriptor,
)
from tests.support.recording import RecordsRequests
from tests.support.replays import V1, V2, Bench, Kind, single_key
from tests.support.stepping import Fault, StepController, drive

R = TypeVar("R")

READ, RAW, ENTRIES, CHANGE = GetRows, GetVersions, MutateRows, CheckAndMutate

CUT = Fault.CUT_BEFORE


@pytest.fixture
def bench() -> Bench:
    bench = Bench(MemoryGateway(lambda: 1_000_000), "t_", base_ms=900_000)
    bench.create_tables()
    return bench


@pytest.fixture
def old_row(bench: Bench) -> Bench:
    drive(bench.write({V1: b"A"}, clock_ms=0), bench.gateway)
    return bench


class Result:
    """What one write did under faults: its requests, and its outcome or error."""

    def __init__(
        self,
        bench: Bench,
        puts: Mapping[bytes, bytes],
        faults: Mapping[int, Fault],
        *,
        kind: Kind = "put",
        before: Mapping[int, Callable[[], object]] | None = None,
    ) -> None:
        steps = StepController(bench.gateway)
        steps.start("W", lambda gateway: drive(bench.write(puts, kind=kind), gateway))
        number = 0
        while steps.next_request("W") is not None:
            (before or {}).get(number, int)()
            steps.step("W", faults.get(number))
            number += 1
        steps.close()
        self.kinds = [type(request) for request in steps.requests("W")]
        self.requests = steps.requests("W")
        self.steps = steps
        self.error = steps.error("W")
        self.outcome = None if self.error else steps.finish("W")


def outcome_of(result: Result) -> WriteOutcome:
    assert isinstance(result.outcome, WriteOutcome)
    return result.outcome


def is_sound(bench: Bench, values: Mapping[bytes, bytes]) -> bool:
    """Return whether the row shows `values` and no entry is missing, nor stale after a repair."""
    missing_before = bench.compare().missing
    bench.repair()
    found = bench.compare()
    return (bench.values(), missing_before, found.missing, found.stale) == (
        values,
        (),
        (),
        (),
    )


# --- the plain course -----------------------------------------------------------------------------


def test_a_changed_key_takes_a_read_an_entry_a_change_and_a_delete(old_row: Bench) -> None:
    result = Result(old_row, {V1: b"B"}, {})

    assert result.kinds == [READ, ENTRIES, CHANGE, ENTRIES]
    assert is_sound(old_row, {V1: b"B"})


def test_an_unchanged_key_takes_a_read_and_a_change(old_row: Bench) -> None:
    result = Result(old_row, {V2: b"X"}, {})

    assert result.kinds == [READ, CHANGE]


def test_a_row_without_guard_is_read_raw_for_its_tombstones(bench: Bench) -> None:
    result = Result(bench, {V1: b"A"}, {})

    assert result.kinds == [READ, RAW, ENTRIES, CHANGE]
    assert is_sound(bench, {V1: b"A"})


def test_an_insert_where_nothing_ever_was_takes_a_raw_read_alone(bench: Bench) -> None:
    result = Result(bench, {V1: b"A"}, {}, kind="insert")

    assert result.kinds == [RAW, ENTRIES, CHANGE]
    assert is_sound(bench, {V1: b"A"})


def test_a_delete_takes_a_read_a_change_and_an_entry_s_delete(old_row: Bench) -> None:
    result = Result(old_row, {}, {}, kind="delete")

    assert result.kinds == [READ, CHANGE, ENTRIES]
    assert is_sound(old_row, {})


def test_the_outcome_tells_timestamp_guard_and_the_row_as_it_is_now(old_row: Bench) -> None:
    outcome = outcome_of(Result(old_row, {V2: b"X"}, {}))

    guard = GuardCell.decode(outcome.guard)
    assert outcome.timestamp_ms == guard.timestamp_ms == old_row.base_ms + 10
    assert (outcome.cells, outcome.rounds, outcome.is_tidy) == ({V1: b"A", V2: b"X"}, 1, True)


def test_an_insert_is_refused_where_the_row_exists(old_row: Bench) -> None:
    result = Result(old_row, {V1: b"B"}, {}, kind="insert")

    assert isinstance(result.error, DuplicateRowError)
    assert result.kinds == [RAW, READ]


def test_a_deleted_row_can_be_inserted_again(old_row: Bench) -> None:
    drive(old_row.write({}, kind="delete"), old_row.gateway)

    result = Result(old_row, {V1: b"A"}, {}, kind="insert")

    assert result.kinds == [RAW, READ, ENTRIES, CHANGE]
    assert is_sound(old_row, {V1: b"A"})


def test_an_insert_over_the_tombstones_of_another_program_is_seen(bench: Bench) -> None:
    far_ms = bench.base_ms + 1_000
    deleted = RowMutation(bench.row, deletes=(Delete(b"d", far_ms),))
    bench.gateway.execute(MutateRow("t_data", deleted))

    result = Result(bench, {V1: b"A"}, {}, kind="insert")

    assert result.kinds == [RAW, READ, RAW, ENTRIES, CHANGE]
    assert outcome_of(result).timestamp_ms == far_ms + 1
    assert is_sound(bench, {V1: b"A"})


def test_a_change_that_cannot_be_carried_sends_nothing(bench: Bench) -> None:
    result = Result(bench, {b"x:y": b""}, {})

    assert isinstance(result.error, ValidationError)
    assert result.kinds == []


def test_a_row_hours_ahead_of_the_clock_is_refused_before_any_write(bench: Bench) -> None:
    drive(bench.write({V1: b"A"}, clock_ms=3_600_010), bench.gateway)

    result = Result(bench, {V1: b"B"}, {})

    assert isinstance(result.error, ClockError)
    assert result.kinds == [READ]


def test_deleting_counters_ends_with_a_pause_for_the_next_increment(old_row: Bench) -> None:
    target = replace(old_row.target, counters=frozenset((b"d:n",)))
    change = RowChange(old_row.row, {}, kind="delete")
    pauses: list[float] = []

    drive(guarded_write(target, change, old_row.context(10)), old_row.gateway, pauses.append)

    assert pauses == [0.002]


# --- answers to the row change --------------------------------------------------------------------


def test_false_although_applied_is_found_by_its_nonce(old_row: Bench) -> None:
    result = Result(old_row, {V1: b"B"}, {2: Fault.FALSE_THOUGH_APPLIED})

    assert result.kinds == [READ, ENTRIES, CHANGE, READ, ENTRIES]
    assert outcome_of(result).rounds == 1
    assert is_sound(old_row, {V1: b"B"})


def test_an_insert_whose_answer_is_lost_is_no_duplicate_of_itself(bench: Bench) -> None:
    result = Result(bench, {V1: b"A"}, {2: Fault.CUT_AFTER}, kind="insert")

    assert result.kinds == [RAW, ENTRIES, CHANGE, READ]
    assert outcome_of(result).rounds == 1


def test_a_change_that_was_not_sent_is_sent_again_as_it_was(old_row: Bench) -> None:
    result = Result(old_row, {V1: b"B"}, {2: CUT})

    assert result.kinds == [READ, ENTRIES, CHANGE, READ, CHANGE, ENTRIES]
    assert result.requests[2] == result.requests[4]
    assert is_sound(old_row, {V1: b"B"})


def test_a_late_change_after_its_repetition_does_nothing(old_row: Bench) -> None:
    result = Result(old_row, {V1: b"B"}, {2: Fault.LATE})

    assert result.steps.deliver() == [False]
    assert is_sound(old_row, {V1: b"B"})


def test_a_lost_change_is_made_again_on_the_row_as_it_is_now(old_row: Bench) -> None:
    def rival() -> None:
        drive(old_row.write({V1: b"C", V2: b"X"}), old_row.gateway)

    result = Result(old_row, {V1: b"B"}, {}, before={2: rival})

    assert result.kinds == [READ, ENTRIES, CHANGE, READ, ENTRIES, CHANGE, ENTRIES]
    assert outcome_of(result).rounds == 2
    assert is_sound(old_row, {V1: b"B", V2: b"X"})


def test_after_a_lost_round_the_deletes_cover_what_it_put_though_the_clock_went_back() -> None:
    bench = Bench(MemoryGateway(lambda: 1_000_000), "t_", base_ms=900_000, is_composite=True)
    bench.create_tables()
    drive(bench.write({V1: b"A", V2: b"X"}, clock_ms=0), bench.gateway)
    clock_ms = [bench.base_ms + 500]
    context = replace(bench.context(), now_ms=lambda: clock_ms[0])
    write = guarded_write(bench.target, RowChange(bench.row, {V1: b"B"}), context)

    def rival() -> None:
        drive(bench.write({V2: b"Y"}, clock_ms=10), bench.gateway)
        clock_ms[0] = bench.base_ms + 20

    steps = StepController(bench.gateway)
    steps.start("W", lambda gateway: drive(write, gateway))
    for number in count():
        if steps.next_request("W") is None:
            break
        if number == 2:
            rival()
        steps.step("W", None)
    steps.close()

    outcome = steps.finish("W")
    assert isinstance(outcome, WriteOutcome)
    assert outcome.rounds == 2
    assert bench.values() == {V1: b"B", V2: b"Y"}
    assert (bench.compare().missing, bench.compare().stale) == ((), ())


def test_a_lost_insert_finds_the_row_that_won(bench: Bench) -> None:
    def rival() -> None:
        drive(bench.write({V1: b"C"}), bench.gateway)

    result = Result(bench, {V1: b"B"}, {}, kind="insert", before={2: rival})

    assert isinstance(result.error, DuplicateRowError)
    assert is_sound(bench, {V1: b"C"})


@pytest.mark.parametrize("rivals", [1, 2, 3])
@pytest.mark.parametrize("kind", ["put", "insert"])
def test_an_applied_change_is_found_under_up_to_three_later_ones(
    bench: Bench, kind: Kind, rivals: int
) -> None:
    def rival() -> None:
        for number in range(rivals):
            drive(bench.write({V1: b"C%d" % number}, clock_ms=20), bench.gateway)

    change = {"put": 3, "insert": 2}[kind]
    faults = {change: Fault.CUT_AFTER}
    result = Result(bench, {V1: b"B"}, faults, kind=kind, before={change + 1: rival})

    assert outcome_of(result).rounds == 1
    assert is_sound(bench, {V1: b"C%d" % (rivals - 1)})


def four_rivals(bench: Bench) -> None:
    for number in range(4):
        drive(bench.write({V1: b"C%d" % number}, clock_ms=20), bench.gateway)


def test_an_insert_under_more_changes_than_the_guard_remembers_is_unknown(bench: Bench) -> None:
    result = Result(
        bench,
        {V1: b"B"},
        {2: Fault.CUT_AFTER},
        kind="insert",
        before={3: lambda: four_rivals(bench)},
    )

    assert isinstance(result.error, ConnectionLostError)
    assert (result.error.table, result.error.row) == ("t_data", b"row")
    assert is_sound(bench, {V1: b"C3"})


def test_a_put_under_more_changes_than_the_guard_remembers_is_made_again(bench: Bench) -> None:
    result = Result(bench, {V1: b"B"}, {3: Fault.CUT_AFTER}, before={4: lambda: four_rivals(bench)})

    assert outcome_of(result).rounds == 2
    assert is_sound(bench, {V1: b"B"})


def test_a_put_that_cannot_be_made_again_after_an_unknown_outcome_stays_unknown(
    bench: Bench,
) -> None:
    cut_entries = dict.fromkeys(range(5, 10), CUT)

    result = Result(
        bench,
        {V1: b"B"},
        {3: Fault.CUT_AFTER, **cut_entries},
        before={4: lambda: four_rivals(bench)},
    )

    assert isinstance(result.error, ConnectionLostError)


def test_a_change_whose_fate_cannot_be_read_is_unknown(old_row: Bench) -> None:
    result = Result(old_row, {V1: b"B"}, {2: Fault.LATE, **dict.fromkeys(range(3, 8), CUT)})

    assert isinstance(result.error, ConnectionLostError)
    assert result.kinds == [READ, ENTRIES, CHANGE] + [READ] * 5
    assert result.steps.deliver() == [True]
    assert is_sound(old_row, {V1: b"B"})


def test_a_change_that_is_never_answered_is_unknown(old_row: Bench) -> None:
    cut_changes = dict.fromkeys(range(2, 11, 2), CUT)

    result = Result(old_row, {V1: b"B"}, cut_changes)

    assert isinstance(result.error, ConnectionLostError)
    assert result.kinds.count(CHANGE) == 5
    assert is_sound(old_row, {V1: b"A"})


class DeniesChanges:
    """Answers every conditional change with False or an error, and applies none."""

    features = frozenset[Feature]()

    def __init__(self, inner: Gateway, answer: bool | Exception) -> None:  # noqa: FBT001  # an answer
        self._inner = inner
        self._answer = answer
        self.denied = 0

    def execute(self, operation: Operation[R], /) -> R:
        if not isinstance(operation, CheckAndMutate):
            return self._inner.execute(operation)
        self.denied += 1
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer  # type: ignore[return-value]  # CheckAndMutate is an Operation[bool]

    def close(self) -> None: ...


def test_a_change_denied_although_its_condition_holds_is_unknown_in_the_end(
    old_row: Bench,
) -> None:
    gateway = DeniesChanges(old_row.gateway, answer=False)

    with pytest.raises(ConnectionLostError):
        drive(old_row.write({V1: b"B"}), gateway)

    assert gateway.denied == 5


def test_a_change_that_hbase_has_no_room_for_was_not_made(old_row: Bench) -> None:
    gateway = DeniesChanges(old_row.gateway, RetryableError("busy"))

    with pytest.raises(RetryableError, match="busy"):
        drive(old_row.write({V1: b"B"}), gateway)

    assert gateway.denied == 5


def test_a_change_that_hbase_refuses_is_not_sent_again(old_row: Bench) -> None:
    gateway = DeniesChanges(old_row.gateway, RejectedError("no"))

    with pytest.raises(RejectedError, match="no"):
        drive(old_row.write({V1: b"B"}), gateway)

    assert gateway.denied == 1


def test_a_table_disabled_before_the_change_is_plainly_refused(old_row: Bench) -> None:
    def disable() -> None:
        old_row.gateway.execute(DisableTable(old_row.target.table))

    result = Result(old_row, {V1: b"B"}, {}, before={2: disable})

    assert isinstance(result.error, TableDisabledError)


class RivalWritesFirst:
    """Lets another writer change the row before every conditional change."""

    features = frozenset[Feature]()

    def __init__(self, bench: Bench) -> None:
        self._bench = bench

    def execute(self, operation: Operation[R], /) -> R:
        if isinstance(operation, CheckAndMutate):
            drive(self._bench.write({V2: b"rival"}), self._bench.gateway)
        return self._bench.gateway.execute(operation)

    def close(self) -> None: ...


def test_a_write_that_loses_every_round_gives_up_and_wrote_nothing(old_row: Bench) -> None:
    with pytest.raises(ConflictError) as caught:
        drive(old_row.write({V1: b"B"}), RivalWritesFirst(old_row))

    assert caught.value.rounds == 100
    assert is_sound(old_row, {V1: b"A", V2: b"rival"})


# --- answers to the entries -----------------------------------------------------------------------


def test_an_entry_that_is_not_acknowledged_is_put_again(old_row: Bench) -> None:
    result = Result(old_row, {V1: b"B"}, {1: CUT, 2: Fault.CUT_AFTER})

    assert result.kinds == [READ, ENTRIES, ENTRIES, ENTRIES, CHANGE, ENTRIES]
    assert is_sound(old_row, {V1: b"B"})


def test_without_its_entry_the_row_is_not_changed(old_row: Bench) -> None:
    result = Result(old_row, {V1: b"B"}, dict.fromkeys(range(1, 6), CUT))

    assert isinstance(result.error, RetryableError)
    assert result.kinds == [READ] + [ENTRIES] * 5
    assert is_sound(old_row, {V1: b"A"})


def test_a_row_that_cannot_be_read_is_not_written(old_row: Bench) -> None:
    result = Result(old_row, {V1: b"B"}, dict.fromkeys(range(5), CUT))

    assert isinstance(result.error, RetryableError)
    assert result.kinds == [READ] * 5


def test_dead_entries_that_cannot_be_deleted_are_left_to_the_repair(old_row: Bench) -> None:
    result = Result(old_row, {V1: b"B"}, dict.fromkeys(range(3, 8), CUT))

    assert not outcome_of(result).is_tidy
    assert len(old_row.compare().stale) == 1
    assert is_sound(old_row, {V1: b"B"})


def two_indexes(bench: Bench) -> GuardedTable:
    descriptor = TableDescriptor("t_idx2", (FamilyDescriptor(b"d"),))
    bench.gateway.execute(CreateTable(descriptor))
    second = replace(bench.index, name="second", table="t_idx2", entry_keys=single_key)
    return replace(bench.target, indexes=(bench.index, second))


class LosesFirst:
    """Cuts the connection before each of the first `count` entry puts of one table."""

    features = frozenset[Feature]()

    def __init__(self, inner: Gateway, table: str, count: int) -> None:
        self._inner = inner
        self._table = table
        self.left = count

    def execute(self, operation: Operation[R], /) -> R:
        if isinstance(operation, MutateRows) and operation.table == self._table and self.left:
            self.left -= 1
            raise ConnectionLostError("cut")
        return self._inner.execute(operation)

    def close(self) -> None: ...


def test_entries_of_two_indexes_are_put_until_both_are_acknowledged(bench: Bench) -> None:
    target = two_indexes(bench)
    gateway = LosesFirst(bench.gateway, "t_idx2", 2)
    change = RowChange(bench.row, {V1: b"A"})

    drive(guarded_write(target, change, bench.context(10)), gateway)

    (entry,) = bench.gateway.execute(GetRows("t_idx2", (b"A\x00row",)))
    assert entry is not None


def test_with_one_of_two_indexes_out_of_reach_the_row_is_not_changed(bench: Bench) -> None:
    target = two_indexes(bench)
    gateway = LosesFirst(bench.gateway, "t_idx2", 5)
    change = RowChange(bench.row, {V1: b"A"})

    with pytest.raises(RetryableError):
        drive(guarded_write(target, change, bench.context(10)), gateway)

    assert (bench.values(), gateway.left) == ({}, 0)


# --- permission -----------------------------------------------------------------------------------


@pytest.mark.parametrize("granted", [0, 1])
def test_a_lapsed_lease_stops_a_write_before_its_change(old_row: Bench, granted: int) -> None:
    grants = iter([1] * granted)

    def permit(table: str) -> int:
        for epoch in grants:
            return epoch
        raise CatalogLeaseError("lapsed", table=table)

    context = replace(old_row.context(10), permit=permit)
    change = RowChange(old_row.row, {V1: b"B"})

    with pytest.raises(CatalogLeaseError):
        drive(guarded_write(old_row.target, change, context), old_row.gateway)

    assert is_sound(old_row, {V1: b"A"})


def test_after_a_lapsed_lease_a_write_deletes_what_it_put_before() -> None:
    bench = Bench(MemoryGateway(lambda: 1_000_000), "t_", base_ms=900_000, is_composite=True)
    bench.create_tables()
    drive(bench.write({V1: b"A", V2: b"X"}), bench.gateway)
    asked = count()

    def permit(table: str) -> int:
        if next(asked) == 1:  # the entries are put
            drive(bench.write({V2: b"Y"}), bench.gateway)
            raise CatalogLeaseError("lapsed", table=table)
        return 1

    context = replace(bench.context(10), permit=permit)
    change, history = RowChange(bench.row, {V1: b"B"}), History()
    with pytest.raises(CatalogLeaseError):
        drive(guarded_write(bench.target, change, context, history), bench.gateway)

    outcome = drive(guarded_write(bench.target, change, context, history), bench.gateway)

    assert outcome.cells == bench.values() == {V1: b"B", V2: b"Y"}
    assert (bench.compare().missing, bench.compare().stale) == ((), ())


def test_what_was_put_into_an_index_dropped_since_is_forgotten(old_row: Bench) -> None:
    asked = count()

    def permit(table: str) -> int:
        if next(asked) == 1:
            raise CatalogLeaseError("lapsed", table=table)
        return 1

    context = replace(old_row.context(10), permit=permit)
    change, history = RowChange(old_row.row, {V1: b"B"}), History()
    with pytest.raises(CatalogLeaseError):
        drive(guarded_write(old_row.target, change, context, history), old_row.gateway)
    without = replace(old_row.target, indexes=())
    sent = RecordsRequests(old_row.gateway)

    drive(guarded_write(without, change, context, history), sent)

    assert [type(request) for request in sent.requests] == [READ, CHANGE]


def test_pauses_grow_with_jitter(old_row: Bench) -> None:
    context = replace(old_row.context(10), retries=replace(GUARDED_RETRIES, jitter=lambda: 1.0))
    change = RowChange(old_row.row, {V1: b"B"})
    pauses: list[float] = []

    with pytest.raises(RetryableError):
        drive(
            guarded_write(old_row.target, change, context),
            LosesFirst(old_row.gateway, "t_idx", 9),
            pauses.append,
        )

    assert pauses == [0.0025, 0.005, 0.0075, 0.01]
