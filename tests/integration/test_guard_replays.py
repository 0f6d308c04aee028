"""The published counterexamples, replayed request by request on memory and on a real HBase.

The guarded write keeps every acknowledged write and its entries; the naive protocols under the
same turns do not; and with any one of its rules replaced the guarded write does not either.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import count
from types import ModuleType
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from hbase_orm.errors import GatewayError
from hbase_orm.gateway.base import Gateway
from hbase_orm.gateway.memory import MemoryGateway
from hbase_orm.gateway.pool import Address
from hbase_orm.gateway.thrift2 import Thrift2Gateway
from hbase_orm.index import attempt as attempts
from hbase_orm.index import guard, repair
from hbase_orm.index.attempt import Attempt
from hbase_orm.index.guard_cell import GuardCell
from hbase_orm.index.targets import GUARD_COLUMN, Entry, GuardContext, GuardedTable
from hbase_orm.ops import CheckAndMutate, Delete, MutateRow, MutateRows, Protocol, RowMutation, ask
from hbase_orm.testing import RealHBase
from tests import replays
from tests.replays import Bench, Finding, Replay, play

ROWS = count()


def ticking_clock() -> Callable[[], int]:
    """Return a server clock that never shows one millisecond twice."""
    ticks = count(time.time_ns() // 1_000_000)
    return lambda: next(ticks)


@dataclass(frozen=True, slots=True)
class Store:
    """A gateway with the two tables of all replays; each replay has a row of its own."""

    gateway: Gateway
    prefix: str

    def bench(self) -> Bench:
        now_ms = time.time_ns() // 1_000_000
        row = b"row%d" % next(ROWS)
        return Bench(self.gateway, self.prefix, base_ms=now_ms - 10_000, row=row)


@pytest.fixture(scope="module", params=["memory", pytest.param("hbase", marks=pytest.mark.hbase)])
def store(request: pytest.FixtureRequest) -> Iterator[Store]:
    if request.param == "memory":
        store = Store(MemoryGateway(ticking_clock()), "t_")
        store.bench().create_tables()
        yield store
        return
    hbase: RealHBase = request.getfixturevalue("hbase")
    address = parse_qs(urlsplit(hbase.url).query)["thrift2"][0]
    host, _, port = address.rpartition(":")
    store = Store(
        Thrift2Gateway.connect([Address(host, int(port))]), f"replay_{uuid.uuid4().hex[:8]}_"
    )
    store.bench().create_tables()
    yield store
    hbase.drop_tables(store.prefix)
    store.gateway.close()


@pytest.fixture
def bench(store: Store) -> Iterator[Bench]:
    bench = store.bench()
    yield bench
    bench.wipe()


def on(bench: Bench, replay: Replay) -> Bench:
    return replace(bench, is_composite=replay.is_composite)


@pytest.mark.parametrize("replay", replays.REPLAYS, ids=str)
def test_the_guarded_write_keeps_every_acknowledged_write(bench: Bench, replay: Replay) -> None:
    finding = play(replay, on(bench, replay))

    assert finding == Finding(
        missing=0,
        stale_after_repair=0,
        missing_after_repair=0,
        values=replay.after,
        refused=replay.refused,
    )


@pytest.mark.parametrize(
    ("replay", "writer"),
    [
        (replays.A, replays.naive),
        (replays.B, replays.index_first),
        (replays.E4, replays.last_writer_wins),
        (replays.E5, replays.last_writer_wins),
    ],
    ids=["A", "B", "E4", "E5"],  # not str: a function's address differs between xdist's workers
)
def test_a_naive_protocol_loses_an_entry_under_the_same_turns(
    bench: Bench, replay: Replay, writer: replays.WriterMaker
) -> None:
    finding = play(replay, on(bench, replay), writer)

    assert (finding.missing, finding.refused) == (1, frozenset())


def test_without_a_guard_a_slow_clock_s_insert_after_a_delete_is_lost(bench: Bench) -> None:
    finding = play(replays.E6, bench, replays.last_writer_wins)

    assert (finding.values, finding.refused) == ({}, frozenset())


# --- rules, broken --------------------------------------------------------------------------------


def row_then_entries(
    target: GuardedTable, attempt: Attempt, context: GuardContext, history: guard.History
) -> Protocol[bool | GatewayError]:
    answer = yield from guard.change_row(target, attempt, context, history)
    yield from guard.put_entries(attempts.entries_to_put(target, attempt), attempt, context)
    return answer


def put_entries_and_hope(
    entries: frozenset[Entry], attempt: Attempt, context: GuardContext
) -> Protocol[None]:
    del context
    for put in attempts.entry_puts(entries, attempt.timestamp_ms):
        try:
            yield from ask(put)
        except GatewayError:
            continue


def guard_then_data(
    target: GuardedTable, attempt: Attempt, context: GuardContext, history: guard.History
) -> Protocol[bool | GatewayError]:
    del context
    history.sent[attempt.guard.nonce] = attempt
    whole = guard.check_on_guard(target, attempt)
    puts = whole.mutation.puts
    guard_puts = tuple(put for put in puts if put.column == GUARD_COLUMN)
    alone = replace(whole, mutation=RowMutation(attempt.row, puts=guard_puts))
    won = yield from ask(alone)
    if won:
        data = tuple(put for put in puts if put.column != GUARD_COLUMN)
        yield from ask(MutateRow(target.table, RowMutation(attempt.row, puts=data)))
    return won


def change_unchecked(
    target: GuardedTable, attempt: Attempt, context: GuardContext, history: guard.History
) -> Protocol[bool | GatewayError]:
    del context, history
    yield from ask(MutateRow(target.table, attempt.mutation))
    return True


def check_on_value(target: GuardedTable, attempt: Attempt) -> CheckAndMutate:
    value = attempt.before.values.get(replays.V1, b"")
    return CheckAndMutate(target.table, replays.V1, value, attempt.mutation)


def guard_dies_with_row(cell: GuardCell) -> tuple[tuple[Delete, ...], tuple[Any, ...]]:
    if cell.is_dead:
        return (Delete(GUARD_COLUMN, cell.timestamp_ms),), ()
    return ORIGINAL_GUARD_CHANGES(cell)


def settle_and_clean_up(
    target: GuardedTable,
    attempt: Attempt,
    columns: tuple[bytes, ...],
    context: GuardContext,
    history: guard.History,
) -> Protocol[Any]:
    own = attempt.new_entries - attempt.old_entries
    for delete in attempts.dead_entry_deletes(own, attempt.timestamp_ms):
        yield from ask(delete)
    return (yield from ORIGINAL_SETTLE(target, attempt, columns, context, history))


def delete_at_server_now(entries: frozenset[Entry], timestamp_ms: int) -> tuple[MutateRows, ...]:
    return tuple(
        replace(batch, mutations=tuple(map(_without_timestamp, batch.mutations)))
        for batch in ORIGINAL_DEAD_ENTRY_DELETES(entries, timestamp_ms)
    )


def _without_timestamp(mutation: RowMutation) -> RowMutation:
    return replace(mutation, deletes=tuple(Delete(d.column) for d in mutation.deletes))


def told_without_tombstones(*_: object) -> int:
    return 0


def clock_alone(now_ms: int, told_ms: int) -> int:
    del told_ms
    return now_ms


def no_fence(*_: object) -> Protocol[bool]:
    yield from ()
    return True


ORIGINAL_GUARD_CHANGES = attempts.guard_changes
ORIGINAL_SETTLE = guard.settle
ORIGINAL_DEAD_ENTRY_DELETES = attempts.dead_entry_deletes


@dataclass(frozen=True, slots=True)
class Break:
    rule: str
    replay: Replay
    module: ModuleType
    name: str
    by: Callable[..., Any]

    def __str__(self) -> str:
        return f"{self.rule} {self.by.__name__}"


BREAKS = (
    Break("R1", replays.CRASH, guard, "entries_then_row", row_then_entries),
    Break("R2", replays.CUT, guard, "put_entries", put_entries_and_hope),
    Break("R3", replays.TORN, guard, "change_row", guard_then_data),
    Break("R3", replays.E4, guard, "change_row", change_unchecked),
    Break("R3", replays.E4_SWAPPED, guard, "check_on_guard", check_on_value),
    Break("R4", replays.INSERT_IN_FLIGHT, attempts, "guard_changes", guard_dies_with_row),
    Break("R5", replays.SAME_VALUE, guard, "settle", settle_and_clean_up),
    Break("R6", replays.LATE_TIDY, attempts, "dead_entry_deletes", delete_at_server_now),
    Break("fence", replays.E5, repair, "fence", no_fence),
    Break("told", replays.RAW_DELETE, attempts, "told_timestamp", told_without_tombstones),
    Break("growing", replays.SLOW_CLOCK, attempts, "next_timestamp", clock_alone),
)


@pytest.mark.parametrize("broken", BREAKS, ids=str)
def test_with_a_rule_replaced_a_replay_finds_damage(
    bench: Bench, broken: Break, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(broken.module, broken.name, broken.by)

    finding = play(broken.replay, on(bench, broken.replay))

    lost = finding.values != broken.replay.after
    assert finding.missing or (lost and not finding.refused)
