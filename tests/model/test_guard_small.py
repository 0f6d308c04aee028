"""The guarded write and the repair under every interleaving of two or three processes.

In every state each row's entries are there; when all is quiet every acknowledged write shows, and
one repair pass leaves exactly the rows' entries. With any rule replaced the explorer finds a state
that fails, so these checks can fail.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations, count, permutations
from typing import Any, Literal

import pytest

from hbase_orm.gateway.memory import MemoryGateway
from hbase_orm.index.asking import ask_patiently
from hbase_orm.index.catalog import CatalogView, begin_loading, finish_loading, register
from hbase_orm.index.guard import guarded_write
from hbase_orm.index.loading import guarded_load
from hbase_orm.index.repair import repair_pass
from hbase_orm.index.targets import GUARD_COLUMN, GuardContext, RowBefore, RowChange
from hbase_orm.ops import (
    CheckAndMutate,
    Delete,
    GetRows,
    MutateRow,
    MutateRows,
    Operation,
    Protocol,
    Put,
    Row,
    RowMutation,
)
from tests import broken_rules as broken
from tests.broken_rules import Break
from tests.model.cells import EMPTY, Store, execute
from tests.model.explorer import ACKNOWLEDGED, CRASHED, UNKNOWN, Explorer, State, run_alone
from tests.replays import V1, V2, Bench, Kind, base_key_of

ROW = b"r"
REPAIR_CLOCK_MS = 100


@dataclass(frozen=True, slots=True)
class Writer:
    """One process: a change by a clock, a repair pass, or the load of a new table.

    An "extend" puts its values behind those that the row has.
    """

    puts: Mapping[bytes, bytes]
    kind: Kind | Literal["repair", "load", "extend"] = "put"
    clock_ms: int = 10


@dataclass(frozen=True, slots=True)
class System:
    """Some processes on one row, and what the adversary may do."""

    name: str
    before: Mapping[bytes, bytes]
    writers: Sequence[Writer]
    crashes: int = 1
    losses: int = 1
    is_composite: bool = False
    has_guard: bool = True
    is_new: bool = False

    def __str__(self) -> str:
        return self.name

    @property
    def bench(self) -> Bench:
        return Bench(MemoryGateway(), "", base_ms=0, row=ROW, is_composite=self.is_composite)


def context(number: int, clock_ms: int) -> GuardContext:
    """Return a context that gives a process taken up again the same nonces."""
    nonces = count(1)
    return GuardContext(
        now_ms=lambda: clock_ms,
        nonce=lambda: bytes((number, next(nonces), 0, 0, 0, 0, 0, 0)),
        jitter=lambda: 0.0,
        permit=lambda _: 1,
    )


def protocol(
    bench: Bench, number: int, writer: Writer, *, has_catalog: bool = False
) -> Protocol[Any]:
    own = context(number, writer.clock_ms)
    if writer.kind == "repair":
        return repair_pass(bench.target, bench.index, base_key_of, own, min_age_ms=-99)
    if writer.kind == "load":
        return load(bench, writer, own)
    change = (
        extension(writer)
        if writer.kind == "extend"
        else RowChange(ROW, writer.puts, kind=writer.kind)
    )
    if has_catalog:
        return write_as_the_catalog_permits(bench, change, own)
    return guarded_write(bench.target, change, own)


def extension(writer: Writer) -> RowChange:
    def decide(before: RowBefore) -> RowChange:
        return RowChange(ROW, extended(before.values, writer.puts))

    return RowChange(ROW, reads=frozenset(writer.puts), decide=decide)


def extended(row: Mapping[bytes, bytes], tails: Mapping[bytes, bytes]) -> dict[bytes, bytes]:
    return {column: row.get(column, b"") + tail for column, tail in tails.items()}


def load(bench: Bench, writer: Writer, own: GuardContext) -> Protocol[None]:
    table = bench.target.table
    ticket = yield from begin_loading(table, now_ms=writer.clock_ms, nonce=own.nonce())
    loaded = guarded_load(bench.target, RowChange(ROW, writer.puts), ticket)
    for index_table, mutations in loaded.entries.items():
        yield from ask_patiently(MutateRows(index_table, mutations), own)
    yield from ask_patiently(MutateRows(table, (loaded.data,)), own)
    yield from finish_loading(table, ticket)


def write_as_the_catalog_permits(
    bench: Bench, change: RowChange, own: GuardContext
) -> Protocol[None]:
    view = CatalogView(lambda: 0.0)
    yield from view.refresh(bench.target.table)
    yield from guarded_write(bench.target, change, replace(own, permit=view.permit))


def explore(system: System) -> Explorer:
    """Explore a system; fail with the trace of the first state that is not sound."""
    bench = system.bench
    makers = [
        partial(protocol, bench, number, writer, has_catalog=system.is_new)
        for number, writer in enumerate(system.writers, start=1)
    ]
    explorer = Explorer(makers, partial(fault_of, system, bench), system.crashes, system.losses)
    violation = explorer.run(store_before(system, bench))
    if violation:
        pytest.fail("\n".join((violation.what, *violation.trace)), pytrace=False)
    return explorer


def store_before(system: System, bench: Bench) -> Store:
    store = EMPTY
    if system.before:
        store = run_alone(protocol(bench, 99, Writer(system.before, clock_ms=5)), store)
    if not system.has_guard:
        store = tuple((p, s) for p, s in store if p.column != GUARD_COLUMN)
    if system.is_new:
        store = run_alone(register(bench.target.table, {}, is_new=True), store)
    return store


# --- what must hold -------------------------------------------------------------------------------


def fault_of(system: System, bench: Bench, state: State) -> str:
    """Say what is wrong with a state, or nothing."""
    if missing(bench, state.store):
        return "a row has no entry"
    if not state.is_quiet:
        return ""
    if is_write_lost(system, bench, state):
        return "an acknowledged write does not show"
    repairer = protocol(bench, 98, Writer({}, kind="repair", clock_ms=REPAIR_CLOCK_MS))
    repaired = run_alone(repairer, state.store)
    if missing(bench, repaired) or shown_entries(bench, repaired) - wanted(bench, repaired):
        return "a repair pass leaves entries that the row does not have, or takes one it has"
    return ""


def missing(bench: Bench, store: Store) -> frozenset[bytes]:
    return wanted(bench, store) - shown_entries(bench, store)


def wanted(bench: Bench, store: Store) -> frozenset[bytes]:
    return bench.target.entry_keys(bench.index, ROW, values(bench, store))


def values(bench: Bench, store: Store) -> dict[bytes, bytes]:
    return {
        place.column: stored.value
        for place, stored in store
        if place.table == bench.target.table
        and place.column != GUARD_COLUMN
        and stored.value is not None
    }


def shown_entries(bench: Bench, store: Store) -> frozenset[bytes]:
    return frozenset(
        place.row
        for place, stored in store
        if place.table == bench.index.table and stored.value is not None
    )


def is_write_lost(system: System, bench: Bench, state: State) -> bool:
    """Say whether no order of the acknowledged changes explains the row that is seen."""
    if {CRASHED, UNKNOWN} & set(state.processes):
        return False
    acknowledged = [n for n, process in enumerate(state.processes) if process == ACKNOWLEDGED]
    shown = values(bench, state.store)
    return not any(
        is_in_real_time(state, order) and row_after(system, order) == shown
        for order in permutations(acknowledged)
    )


def is_in_real_time(state: State, order: Sequence[int]) -> bool:
    """Say whether no change stands before one that was acknowledged before it started."""
    at = {event: position for position, event in enumerate(state.order)}
    return all(
        at["start", one] < at["acknowledged", other] for one, other in combinations(order, 2)
    )


def row_after(system: System, order: Sequence[int]) -> Mapping[bytes, bytes] | None:
    """Return the row after these changes one by one; None if an insert finds a row."""
    row = dict(system.before)
    for writer in (system.writers[number] for number in order):
        if writer.kind == "insert" and row:
            return None
        match writer.kind:
            case "delete":
                row = {}
            case "replace":
                row = dict(writer.puts)
            case "extend":
                row |= extended(row, writer.puts)
            case _:
                row |= writer.puts
    return row


# --- systems --------------------------------------------------------------------------------------

A, B, C = {V1: b"A"}, {V1: b"B"}, {V1: b"C"}
AX = {V1: b"A", V2: b"X"}
DELETE = Writer({}, "delete")
REPAIR = Writer({}, kind="repair", clock_ms=REPAIR_CLOCK_MS)

TWO_PUTS = System("two puts, one of the old value", A, (Writer(B), Writer(A)))
SLOW_PUT = System("a put by a slow clock", A, (Writer(B, clock_ms=20), Writer(C, clock_ms=3)))
SAME_PUT = System("two puts of the same value", A, (Writer(B), Writer(B)))
COMPOSITE = System(
    "two columns of one key",
    AX,
    (Writer(B), Writer({V2: b"Y"}, clock_ms=20)),
    is_composite=True,
)
DELETE_PUT = System("a delete and a put", A, (replace(DELETE, clock_ms=20), Writer(B)))
TWO_INSERTS = System("two inserts", {}, (Writer(B, "insert"), Writer(C, "insert")))
INSERT_DELETE = System(
    "an insert, and an insert and its delete by a fast clock",
    {},
    (Writer(B, "insert"), Writer(C, "insert", 20), replace(DELETE, clock_ms=30)),
    crashes=0,
    losses=0,
)
NO_GUARD = System(
    "two puts to a row without guard", A, (Writer(B, clock_ms=3), Writer(A)), has_guard=False
)
PUT_REPAIR = System("a put and a repair", A, (Writer(B), REPAIR))
DELETE_PUT_REPAIR = System(
    "a delete, a put and a repair", A, (DELETE, Writer(B, clock_ms=20), REPAIR), losses=0, crashes=0
)
TWO_EXTENDS = System(
    "two writes that each build on the row",
    AX,
    (Writer({V2: b"1"}, "extend"), Writer({V2: b"2"}, "extend", 20)),
    is_composite=True,
)
REPLACE_PUT = System(
    "a replace and a put",
    AX,
    (Writer(B, "replace"), Writer({V2: b"Y"}, clock_ms=20)),
    is_composite=True,
)
LOAD = Writer(AX, "load")
LOAD_AND_WRITE = System(
    "a load and a write",
    {},
    (LOAD, Writer(B, clock_ms=20)),
    is_composite=True,
    is_new=True,
)
LOAD_AGAIN = System(
    "a load, the same load again, and a write",
    {},
    (LOAD, replace(LOAD, clock_ms=50), Writer(B, clock_ms=20)),
    losses=0,
    is_composite=True,
    is_new=True,
)
LOAD_AND_DELETE = System("a load and a delete", {}, (LOAD, DELETE), is_composite=True, is_new=True)
SYSTEMS = (
    TWO_PUTS,
    SLOW_PUT,
    SAME_PUT,
    COMPOSITE,
    DELETE_PUT,
    TWO_INSERTS,
    INSERT_DELETE,
    NO_GUARD,
    PUT_REPAIR,
    DELETE_PUT_REPAIR,
    TWO_EXTENDS,
    REPLACE_PUT,
    LOAD_AND_WRITE,
    LOAD_AGAIN,
    LOAD_AND_DELETE,
)


@pytest.mark.parametrize("system", SYSTEMS, ids=str)
def test_no_interleaving_crash_or_late_request_does_harm(system: System) -> None:
    explorer = explore(system)

    assert explorer.states > 100


@pytest.mark.parametrize(
    ("rule", "system"),
    [
        (broken.ROW_BEFORE_ENTRIES, TWO_PUTS),
        (broken.ENTRIES_UNACKNOWLEDGED, TWO_PUTS),
        (broken.TWO_REQUESTS, COMPOSITE),
        (broken.NO_CHECK, COMPOSITE),
        (broken.CHECK_ON_VALUE, COMPOSITE),
        (broken.GUARD_DIES, INSERT_DELETE),
        (broken.EAGER_CLEAN_UP, SAME_PUT),
        (broken.DELETE_AT_NOW, TWO_PUTS),
        (broken.NO_CHECK, TWO_EXTENDS),
        (broken.NO_CHECK, REPLACE_PUT),
        (broken.NO_FENCE, PUT_REPAIR),
        (broken.CLOCK_ALONE, SLOW_PUT),
        (broken.NO_TOMBSTONES, NO_GUARD),
        (broken.WRITE_WHILE_LOADING, LOAD_AND_WRITE),
    ],
    ids=str,
)
def test_with_a_rule_replaced_some_interleaving_does_harm(
    rule: Break, system: System, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rule.module, rule.name, rule.by)

    with pytest.raises(pytest.fail.Exception):
        explore(system)


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
