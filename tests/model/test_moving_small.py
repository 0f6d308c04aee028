"""Moving a table row by row, under every interleaving, crash and late request of a few processes.

In every state one table decides about each row, and each row has its entries. When all is quiet the
acknowledged writes explain the rows and what readers saw; once the move has ended, the new table has
the rows with their timestamps, and takes writes by a slow clock. With any rule replaced the explorer
finds a state that fails.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from hbase_orm.index.catalog.move_phases import Phase
from hbase_orm.index.protocol import claims, fence
from tests.model import moving_systems as systems
from tests.model.explorer import Explorer
from tests.model.moving_soundness import explore_move
from tests.model.moving_systems import MOVE_SYSTEMS
from tests.model.moving_tables import MoveSystem, Task
from tests.support import broken_moves as broken
from tests.support.broken_rules import Break

FEWEST_STATES = 250_000


@pytest.mark.parametrize("system", MOVE_SYSTEMS, ids=str)
def test_no_interleaving_crash_or_late_request_harms_a_moving_table(system: MoveSystem) -> None:
    explorer = explore_move(system)

    assert explorer.states >= system.at_least


def test_every_run_explores_as_many_states_of_moves_as_it_says() -> None:
    assert sum(system.at_least for system in MOVE_SYSTEMS) >= FEWEST_STATES


BREAKS = (
    (broken.SEAL_UNCHECKED, systems.PREPARED_AND_MOVING),
    (broken.UNSEALED, systems.ONE_PUT),
    (broken.SEALED_UNREAD, systems.PUT_AND_MOVER),
    (broken.SEALED_ONCE, systems.LATE_INDEXER),
    (broken.ADOPTED_PROVISIONALLY, systems.LATE_INDEXER_BESIDE_PUT),
    (broken.INDEXED_UNREAD, systems.INDEX_BESIDE_UNAWARE),
    (broken.GUARD_NOT_RENEWED, systems.INDEX_BESIDE_UNAWARE),
    (broken.ABSENT_UNSEALED, systems.TWO_INSERTS),
    (broken.SEAL_EARLY, systems.ONE_PUT),
    (broken.SEAL_EXPIRES, systems.DELETED_FOR_GOOD),
    (broken.SEAL_IGNORED, systems.PREPARED_AND_MOVING),
    (broken.COUNTERS_UNSEALED, systems.COUNTED_BEFORE),
    (broken.COUNTERS_UNSEALED, systems.LATE_OLD_COUNT),
    (broken.COUNTERS_UNCHECKED, systems.LATE_OLD_COUNT),
    (broken.ABSENT_COUNTERS_UNSEALED, systems.COUNTS),
    (broken.COUNTERS_UNCHECKED, systems.COUNT_AND_MOVER),
    (broken.COUNTED_IN_NEW_ONLY, systems.COUNTED_BEFORE),
    (broken.COUNTERS_ADOPTED_LATER, systems.COUNT_AND_MOVER),
    (broken.ADOPTED_UNCHECKED, systems.COMPACTED),
    (broken.ADOPTED_LATER, systems.PUT_AND_MOVER),
    (broken.ABSENT_NOT_ADOPTED, systems.DELETED_BY_A_FAST_CLOCK),
    (broken.ADOPTED_UNDER_ANY_KEY, systems.FORMER_KEY),
    (broken.NOT_TAKEN_OVER, systems.ONE_PUT),
    (broken.GUARDS_EXPIRE, systems.DELETED_FOR_GOOD),
    (broken.NO_FLOOR, systems.DELETED_BY_A_FAST_CLOCK),
    (broken.NEW_KEYS_LEFT_OUT, systems.PUT_AND_MOVER),
    (broken.INDEXES_LEFT_OUT, systems.PUT_AND_MOVER),
    (broken.OTHER_ROW_OVERWRITTEN, systems.KEY_TAKEN),
    (broken.OLD_ROW_FIRST, systems.GET_BESIDE_PUT),
    (broken.SEALED_IS_GONE, systems.GET_BESIDE_PUT),
    (broken.DEAD_GUARDS_UNREAD, systems.GET_BESIDE_PUT),
    (broken.DEAD_GUARDS_UNSCANNED, systems.SCAN_BESIDE_PUT),
    (broken.SEALED_SKIPPED, systems.SCAN_BESIDE_MOVER),
    (broken.SEALED_SKIPPED, systems.SCAN_BACK_BESIDE_MOVER),
    (broken.NEW_TABLE_FIRST, systems.SCAN_BESIDE_MOVER),
    (broken.NEW_TABLE_FIRST, systems.SCAN_BACK_BESIDE_MOVER),
    (broken.DEAD_GUARDS_UNSCANNED, systems.SCAN_BACK_BESIDE_PUT),
    (broken.NOT_MERGED, systems.SCAN_BESIDE_MOVER),
    (broken.DEAD_ROWS_NOT_MOVED, systems.DELETED_BY_A_FAST_CLOCK),
    (broken.SEALED_COUNTS_AS_MOVED, systems.ONE_PUT),
)


@pytest.mark.parametrize(("rule", "system"), BREAKS, ids=str)
def test_with_a_rule_of_moves_replaced_some_interleaving_does_harm(
    rule: Break, system: MoveSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rule.module, rule.name, rule.by)

    with pytest.raises(pytest.fail.Exception):
        explore_move(system)


def test_a_move_that_waits_for_no_lease_loses_a_late_insert(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Explorer, "_waits", lambda *_: False)

    with pytest.raises(pytest.fail.Exception):
        explore_move(replace(systems.LATE_INSERT, crashes=0, losses=0))


def test_a_move_that_waits_for_leases_and_not_for_requests_has_rows_in_both_tables() -> None:
    late = (*systems.LATE_INSERT.tasks[:2], Task("get", Phase.NEW))

    with pytest.raises(pytest.fail.Exception, match="a reader does not see the rows"):
        explore_move(replace(systems.LATE_INSERT, tasks=late, keeps_promise=False))


def test_a_value_whose_owner_has_moved_is_not_taken_over_in_the_old_table(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for module in (claims, fence):
        monkeypatch.setattr(module, "refuse_sealed", broken.ignore_seal)

    with pytest.raises(pytest.fail.Exception):
        explore_move(systems.BOTH_CLAIM)
