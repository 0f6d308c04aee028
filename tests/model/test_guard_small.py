"""The guarded write and the repair under every interleaving of two or three processes.

In every state each row's entries are there, verified ones say what their row says, and a value has
one owner; when all is quiet every acknowledged write shows, and one repair pass leaves exactly the
rows' entries. With any rule replaced the explorer finds a state that fails, so these checks can
fail.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from hbase_orm.gateway.memory.gateway import MemoryGateway
from hbase_orm.index.entries.targets import GUARD_COLUMN
from hbase_orm.index.protocol import claims
from hbase_orm.ops import (
    CheckAndMutate,
    Delete,
    GetRows,
    MutateRow,
    Operation,
    Put,
    Row,
    RowMutation,
)
from tests.model import guard_systems as systems
from tests.model.cells import EMPTY, Store, execute
from tests.model.explorer import Explorer
from tests.model.guard_systems import SYSTEMS
from tests.model.systems import System, Worker, explore
from tests.support import broken_rules as broken
from tests.support.broken_rules import Break
from tests.support.replays import V1, V2, Bench

FEWEST_STATES = 150_000


@pytest.mark.parametrize("system", SYSTEMS, ids=str)
def test_no_interleaving_crash_or_late_request_does_harm(system: System) -> None:
    explorer = explore(system)

    assert explorer.states >= system.at_least


def test_every_run_explores_as_many_states_as_it_says() -> None:
    assert sum(system.at_least for system in SYSTEMS) >= FEWEST_STATES


BREAKS = (
    (broken.ROW_BEFORE_ENTRIES, systems.TWO_PUTS),
    (broken.ENTRIES_UNACKNOWLEDGED, systems.TWO_PUTS),
    (broken.TWO_REQUESTS, systems.COMPOSITE),
    (broken.NO_CHECK, systems.COMPOSITE),
    (broken.CHECK_ON_VALUE, systems.COMPOSITE),
    (broken.GUARD_DIES, systems.INSERT_DELETE),
    (broken.EAGER_CLEAN_UP, systems.SAME_PUT),
    (broken.DELETE_AT_NOW, systems.TWO_PUTS),
    (broken.NO_CHECK, systems.TWO_EXTENDS),
    (broken.NO_CHECK, systems.REPLACE_PUT),
    (broken.NO_FENCE, systems.PUT_REPAIR),
    (broken.CLOCK_ALONE, systems.SLOW_PUT),
    (broken.NO_TOMBSTONES, systems.NO_GUARD),
    (broken.WRITE_WHILE_LOADING, systems.LOAD_AND_WRITE),
    (broken.LOADED_ROWS_FIRST, systems.LOAD_AND_WRITE),
    (broken.OPENED_BY_THE_FIRST, systems.LOADS_TOGETHER),
    (broken.LOADERS_NOT_WATCHED, systems.LOADS_TOGETHER),
    (broken.LOADED_ENTRIES_BELIEVED_EARLY, systems.LOAD_COVERING),
    (broken.BELIEVED_EARLY, systems.COVERING),
    (broken.BELIEVED_TOO_LONG, systems.COVERING),
    (broken.NO_FENCE, systems.COVERING_REPAIR),
    (broken.NO_OWNER_FENCE, systems.BOTH_CLAIM),
    (broken.CLAIM_KEPT, systems.OTHER_TAKES_BETWEEN),
    pytest.param(  # some 400,000 states until it is found
        broken.CLAIM_OF_ITS_OWN_TIME, systems.OWN_CLAIMS, marks=pytest.mark.soak
    ),
    (broken.RELEASED_WHOEVER_CLAIMED, systems.LEAVE_AND_RETURN),
    (broken.CLAIM_DELETED, systems.HAND_OVER_SLOW),
    (broken.MOVING_ROWS_TRUSTED, systems.CATCH_UP_BESIDE_OTHER_COLUMN),
    (broken.LATE_COVERING_ENTRIES_LEFT, systems.BUILD_BESIDE_PLAIN_DELETE),
    (broken.EPOCHS_NOT_READ, systems.LOST_CATALOG),
)


@pytest.mark.parametrize(("rule", "system"), BREAKS, ids=str)
def test_with_a_rule_replaced_some_interleaving_does_harm(
    rule: Break, system: System, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rule.module, rule.name, rule.by)

    with pytest.raises(pytest.fail.Exception):
        explore(system)


def test_entries_that_are_believed_need_tombstones_that_last() -> None:
    forgetful = replace(
        systems.COVERING_COMPACT,
        workers=(*systems.COVERING_COMPACT.workers[:2], Worker(kind="forget")),
    )

    with pytest.raises(pytest.fail.Exception, match="a verified entry contradicts its row"):
        explore(forgetful)


def test_a_backfill_that_fences_nobody_misses_what_an_unaware_writer_does_in_four_steps() -> None:
    unfenced = replace(
        systems.BACKFILL, workers=(systems.BACKFILL.workers[0], Worker(kind="plain backfill"))
    )

    assert steps_to_harm(unfenced, "a row has no entry") == 4


def test_a_load_that_does_not_wait_for_gateways_misses_what_a_killed_one_has_under_way() -> None:
    with pytest.raises(pytest.fail.Exception, match="a row has no entry"):
        explore(replace(systems.LOADS_TOGETHER, keeps_promise=False))


@pytest.mark.parametrize(
    "system", [systems.EXCLUSIVE_BESIDE_PLAIN_PUT, systems.EXCLUSIVE_BESIDE_INSERT], ids=str
)
def test_an_exclusive_build_misses_what_a_gateway_holds_back_against_the_promise(
    system: System,
) -> None:
    broken_promise = replace(system, keeps_promise=False)

    with pytest.raises(pytest.fail.Exception, match=r"no entry|contradicts its row"):
        explore(broken_promise)


@pytest.mark.parametrize(
    "system", [systems.EXCLUSIVE_BESIDE_PLAIN_PUT, systems.EXCLUSIVE_BESIDE_INSERT], ids=str
)
def test_an_exclusive_build_that_waits_for_no_lease_misses_rows(
    system: System, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Explorer, "_waits", lambda *_: False)

    with pytest.raises(pytest.fail.Exception, match=r"no entry|contradicts its row"):
        explore(replace(system, crashes=0, losses=0))


def test_without_the_owner_s_fence_a_value_has_two_rows_in_the_published_steps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(claims, "fence_owner", broken.no_owner_fence)

    assert steps_to_harm(systems.BOTH_CLAIM, "a row's value is owned by another row") == 8


def steps_to_harm(system: System, what: str) -> int:
    with pytest.raises(pytest.fail.Exception) as caught:
        explore(system)
    found, *trace = str(caught.value).splitlines()
    assert found == what
    return len(trace)


# --- the small store is HBase's -------------------------------------------------------------------


def requests(random_numbers: random.Random, length: int) -> Iterator[Operation[Any]]:
    for _ in range(length):
        mutation = some_mutation(random_numbers)
        expected = random_numbers.choice((b"", b"1", b"2"))
        check = CheckAndMutate("data", b"_:g", expected, mutation)
        yield random_numbers.choice((MutateRow("data", mutation), check))
        yield GetRows("data", (b"r", b"s"), random_numbers.choice(((), (b"d",), (V1, b"_:g"))))


def some_mutation(random_numbers: random.Random) -> RowMutation:
    columns = [V1, V2, GUARD_COLUMN]
    random_numbers.shuffle(columns)
    put = Put(columns[0], random_numbers.choice((b"1", b"2")), random_numbers.randint(1, 9))
    gone = random_numbers.choice((columns[1], columns[1], b"d", b"_"))
    delete = Delete(gone, random_numbers.randint(1, 9))
    row = random_numbers.choice((b"r", b"s"))
    deletes = (delete,) if not put.column.startswith(gone) else ()
    return RowMutation(row, puts=(put,), deletes=deletes)


@pytest.mark.parametrize("seed", range(50))
def test_the_small_store_answers_as_the_memory_gateway(seed: int) -> None:
    bench = Bench(MemoryGateway(lambda: 1_000), "", base_ms=0)
    bench.create_tables()
    store: Store = EMPTY

    for request in requests(random.Random(seed), 40):
        store, answer = execute(store, request)

        assert comparable(answer) == comparable(bench.gateway.execute(request))


def comparable(answer: object) -> object:
    if not isinstance(answer, list):
        return answer
    return [row and (row.key, row.cells) for row in answer if row is None or isinstance(row, Row)]
