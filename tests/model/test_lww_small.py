"""Writers without guards, and their repair, under every interleaving of two or three processes.

In every state each row's entries are there; when all is quiet the acknowledged writes explain the
row, and one repair pass leaves exactly the row's entries and those of writes that were broken off.
With any rule replaced the explorer finds a state that fails.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from hbase_orm.errors import GatewayError
from hbase_orm.index.entries.targets import GuardContext, GuardedTable, IndexTarget, RowBefore
from hbase_orm.index.protocol import attempt as attempts
from hbase_orm.index.protocol import last_writer_wins as lww
from hbase_orm.index.protocol.last_writer_wins import StampedWrite
from hbase_orm.ops import MutateRows, Operation, Protocol, ask
from tests.model import lww_systems as systems
from tests.model.lww_systems import LWW_SYSTEMS
from tests.model.systems import System, Worker, explore
from tests.support import broken_rules as broken
from tests.support.broken_rules import Break

FEWEST_STATES = 300_000

ORIGINAL_ENTRIES_THEN_ROW = lww.entries_then_row


@pytest.mark.parametrize("system", LWW_SYSTEMS, ids=str)
def test_no_interleaving_crash_or_late_request_does_harm(system: System) -> None:
    explorer = explore(system)

    assert explorer.states >= system.at_least


def test_every_run_explores_as_many_states_as_it_says() -> None:
    assert sum(system.at_least for system in LWW_SYSTEMS) >= FEWEST_STATES


def row_then_entries(
    target: GuardedTable, write: StampedWrite, context: GuardContext
) -> Protocol[None]:
    yield from lww.change_row(target, write, context)
    for put in attempts.entry_puts(write.new, write.timestamp_ms):
        yield from ask(put)


def ask_all_and_hope(operations: Sequence[Operation[None]], _: GuardContext) -> Protocol[None]:
    for operation in operations:
        try:
            yield from ask(operation)
        except GatewayError:
            continue


def outdone_at_once(*_: object) -> bool:
    return True


def outdone_by_as_old(before: RowBefore, index: IndexTarget, entry_ms: int) -> bool:
    return before.written_ms(index.columns) >= entry_ms


def deletes_at_now(write: StampedWrite) -> tuple[MutateRows, ...]:
    dead = frozenset(write.old.keys() - write.new)
    return broken.delete_at_server_now(dead, write.timestamp_ms)


def deletes_up_to_the_new(write: StampedWrite) -> tuple[MutateRows, ...]:
    dead = frozenset(write.old.keys() - write.new)
    return broken.ORIGINAL_DEAD_ENTRY_DELETES(dead, write.timestamp_ms)


def puts_what_is_new_alone(
    target: GuardedTable, write: StampedWrite, context: GuardContext
) -> Protocol[None]:
    less = replace(write, new=write.new - write.old.keys())
    yield from ORIGINAL_ENTRIES_THEN_ROW(target, less, context)


BREAKS: Sequence[tuple[Break, System]] = (
    (broken.CLOCK_ALONE, systems.SLOW_PUT),
    (Break("entry first", lww, "entries_then_row", row_then_entries), systems.TWO_PUTS),
    (Break("acknowledged", lww, "ask_all_with_retry", ask_all_and_hope), systems.TWO_PUTS),
    (Break("put again", lww, "entries_then_row", puts_what_is_new_alone), systems.TWO_PUTS),
    (Break("old timestamp", lww, "dead_deletes", deletes_at_now), systems.TWO_PUTS),
    (Break("old timestamp", lww, "dead_deletes", deletes_up_to_the_new), systems.TWO_PUTS),
    (Break("repair", lww, "is_superseded", outdone_at_once), systems.LATE_REPAIR),
    (Break("repair", lww, "is_superseded", outdone_by_as_old), systems.TIE_REPAIR),
)


@pytest.mark.parametrize(("rule", "system"), BREAKS, ids=str)
def test_with_a_rule_replaced_some_interleaving_does_harm(
    rule: Break, system: System, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rule.module, rule.name, rule.by)

    with pytest.raises(pytest.fail.Exception):
        explore(system)


def test_a_tie_that_is_not_lifted_leaves_an_entry_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def never(*_: Any) -> Protocol[bool]:
        yield from ()
        return False

    monkeypatch.setattr(lww, "_lift_tie", never)

    with pytest.raises(pytest.fail.Exception, match="a repair pass does not leave"):
        explore(replace(systems.TIE_REPAIR, workers=systems.TIE_REPAIR.workers[:2]))


def test_a_backfill_misses_what_a_writer_does_that_does_not_know_the_index() -> None:
    unaware = replace(
        systems.BACKFILL,
        workers=(Worker({b"d:v1": b"B"}, is_unaware=True), Worker(kind="reindex")),
        is_built=True,
    )

    with pytest.raises(pytest.fail.Exception, match="a row has no entry"):
        explore(unaware)


def test_a_backfill_that_begins_when_all_writers_know_the_index_misses_nothing() -> None:
    aware = replace(
        systems.BACKFILL,
        workers=(Worker({b"d:v1": b"B"}), Worker(kind="reindex")),
        is_built=True,
        at_least=140,
    )

    assert explore(aware).states >= aware.at_least
