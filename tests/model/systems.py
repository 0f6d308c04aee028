"""What the explorer is given: a few processes on one or two rows, and what must hold of them.

Every process is a protocol of the library. In every state each row has its entries, no verified
entry contradicts its row, and no two rows own one value; when all is quiet the acknowledged writes
explain the rows, and one repair pass leaves exactly the rows' entries.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain, combinations, count, permutations
from typing import Any, Literal

import pytest

from hbase_orm.errors import GatewayError, HBaseORMError
from hbase_orm.gateway.memory.gateway import MemoryGateway
from hbase_orm.index.catalog.catalog import (
    CATALOG_COLUMN,
    CATALOG_TABLE,
    CatalogView,
)
from hbase_orm.index.catalog.entry import IndexState
from hbase_orm.index.catalog.loaders import TableLoader
from hbase_orm.index.catalog.loading import LoaderWatch, begin_loading, finish_loading
from hbase_orm.index.catalog.registration import register
from hbase_orm.index.entries.targets import (
    GUARD_COLUMN,
    GUARDED_RETRIES,
    GuardContext,
    RowBefore,
    RowChange,
    with_guard,
)
from hbase_orm.index.protocol import claims
from hbase_orm.index.protocol import guarded_write as guard
from hbase_orm.index.protocol.attempt import entry_puts
from hbase_orm.index.protocol.claims import CLAIM_COLUMN, StoredClaim
from hbase_orm.index.protocol.covering import covering_cells
from hbase_orm.index.protocol.guarded_write import guarded_write
from hbase_orm.index.protocol.load import guarded_load, load_rows
from hbase_orm.index.protocol.requests import read_before
from hbase_orm.index.protocol.row_change import write_row
from hbase_orm.ops import (
    Cell,
    Delete,
    Operation,
    Protocol,
    ProtocolRun,
    Put,
    RowMutation,
    Together,
    ask,
    ask_with_retry,
)
from tests.model.builds import (
    build_exclusively,
    catalog_entry,
    catch_up,
    change_plainly,
    register_lost,
    repair,
    verify,
)
from tests.model.cells import EMPTY, Compact, ExpireDeadGuards, Place, Store, Stored
from tests.model.explorer import (
    ACKNOWLEDGED,
    CRASHED,
    REFUSED,
    UNKNOWN,
    Explorer,
    LeasesEnd,
    State,
    run_alone,
)
from tests.support.replays import V1, V2, Bench, Kind

ROW, SECOND = b"r", b"s"
REPAIR_CLOCK_MS = 100

MIN_AGE_MS = -99
"""Repairs leave no entry for its age."""

Cells = Mapping[bytes, bytes]
Rows = Mapping[bytes, Cells]

Due = Mapping[bytes, object]
"""What entries say, by their keys: nothing, copies of their row, or the row that owns the value."""


@dataclass(frozen=True, slots=True)
class Worker:
    """One process.

    Attributes:
        puts: What a write puts; an "extend" puts it behind what the row has.
        kind: A change, a repair pass, a verification that repairs or not, the load of a new table, one that
            waits for other loads and then opens the table, the backfill of a row,
            one that only puts entries, what a build does once no unaware writer is left, a build
            by a program that uses the table exclusively, a put or a delete by a program that knows no guards, the entry of a table that the catalog has
            lost, a major compaction, one that keeps no tombstones though the index needs them, or
            the expiry of dead guards.
        clock_ms: Its clock, which stands still.
        row: The row that is changed.
        is_unaware: Whether it does not know the index.
    """

    puts: Cells = field(default_factory=dict)
    kind: (
        Literal[
            "repair",
            "verify",
            "verify and repair",
            "load",
            "last load",
            "extend",
            "reindex",
            "plain backfill",
            "catch up",
            "exclusive build",
            "plain put",
            "plain delete",
            "register",
            "compact",
            "forget",
            "expire",
        ]
        | Kind
    ) = "put"
    clock_ms: int = 10
    row: bytes = ROW
    is_unaware: bool = False

    @property
    def is_plain(self) -> bool:
        """Whether it knows no guards."""
        return self.kind in {"plain put", "plain delete"}

    @property
    def writes(self) -> bool:
        return self.kind in {"put", "insert", "delete", "replace", "load", "last load", "extend"}


@dataclass(frozen=True, slots=True)
class System:
    """Some processes on one or two rows, and what the adversary may do.

    Attributes:
        before: The first row, where there is one.
        beside: The second row, where there is one.
        at_least: How many states there are at least: fewer means that something is left out.
        is_built: Whether the index is new: the rows before have no entries, and must have them
            once they were reindexed.
        settled: What ended before the others began, one after the other.
        keeps_promise: Whether an exclusive build begins, and the last load opens the table, when no request
            is under way.
        is_lost: Whether the catalog has lost the table, whose row has a guard of its third epoch.
        stale_claim: A value that the second row has claimed, crashed, and never shown.
        tries: How often a write, and a claim of a value, begins again: where two rows fence each
            other in turn there is no other end.
    """

    name: str
    before: Cells
    workers: Sequence[Worker]
    crashes: int = 1
    losses: int = 1
    at_least: int = 100
    beside: Cells = field(default_factory=dict)
    is_composite: bool = False
    is_unique: bool = False
    is_covering: bool = False
    has_guard: bool = True
    is_lww: bool = False
    is_new: bool = False
    is_built: bool = False
    settled: Sequence[Worker] = ()
    is_lost: bool = False
    keeps_promise: bool = True
    stale_claim: bytes = b""
    tries: int = 3

    def __str__(self) -> str:
        return self.name

    @property
    def bench(self) -> Bench:
        return Bench(
            MemoryGateway(),
            "",
            base_ms=0,
            row=ROW,
            is_composite=self.is_composite,
            is_unique=self.is_unique,
            is_covering=self.is_covering,
            is_lww=self.is_lww,
        )


def context(number: int, clock_ms: int, epoch: int = 1) -> GuardContext:
    """Return a context that gives a process taken up again the same nonces."""
    nonces = count(1)
    return GuardContext(
        now_ms=lambda: clock_ms,
        nonce=lambda: bytes((number, next(nonces), 0, 0, 0, 0, 0, 0)),
        retries=GUARDED_RETRIES,
        permit=lambda _: epoch,
    )


# --- the processes --------------------------------------------------------------------------------


def protocol(  # noqa: C901, PLR0911, PLR0912  # one return a kind of worker
    system: System, number: int, worker: Worker
) -> Protocol[Any]:
    bench = system.bench
    own = context(number, worker.clock_ms, 2 if system.is_built and not worker.is_unaware else 1)
    match worker.kind:
        case "repair":
            return repair(bench, own, MIN_AGE_MS, is_new=system.is_new)
        case "verify":
            return verify(bench, own, None)
        case "verify and repair":
            return verify(bench, own, MIN_AGE_MS)
        case "load":
            return load(bench, worker, own, SeesLoaders(f"{number}"))
        case "last load":
            waits = LeasesEnd(other_loads(system, number), is_quiet=system.keeps_promise)
            return load(bench, worker, own, WaitsForLoaders(f"{number}", waits))
        case "compact":
            # A covering index keeps its tombstones: see `binding.table_creation.model_tables`.
            return step(Compact((bench.index.table,) if system.is_covering else ()))
        case "forget":
            return step(Compact())
        case "plain backfill":
            return plain_backfill(bench, own)
        case "expire":
            return step(ExpireDeadGuards())
        case "catch up":
            return catch_up(bench, own)
        case "exclusive build":
            return build_exclusively(bench, own, f"{number}", leases_of_writers(system))
        case "plain put" | "plain delete":
            return change_plainly(bench.target.table, plain_mutation(worker))
        case "register":
            return register_lost(bench.target.table)
    target = replace(bench.target, indexes=()) if worker.is_unaware else bench.target
    if system.is_new or system.is_lost:
        return write_as_the_catalog_permits(bench, change_of(worker), own)
    return write_row(target, change_of(worker), own)


def leases_of_writers(system: System) -> LeasesEnd:
    """Return what an exclusive build waits for; another one that was suspended may go on."""
    writers = (n for n, worker in enumerate(system.workers) if worker.kind != "exclusive build")
    return LeasesEnd(tuple(writers), is_quiet=system.keeps_promise)


def plain_mutation(worker: Worker) -> RowMutation:
    if worker.kind == "plain delete":
        return RowMutation(worker.row, deletes=(Delete(b"d"),))
    return RowMutation(worker.row, tuple(Put(*cell) for cell in worker.puts.items()))


def change_of(worker: Worker) -> RowChange:
    if worker.kind == "extend":
        return extension(worker)
    assert worker.kind in {"put", "insert", "delete", "replace", "reindex"}
    return RowChange(worker.row, worker.puts, kind=worker.kind)


def extension(worker: Worker) -> RowChange:
    def decide(before: RowBefore) -> RowChange:
        return RowChange(worker.row, extended(before.values, worker.puts))

    return RowChange(worker.row, reads=frozenset(worker.puts), decide=decide)


def extended(row: Cells, tails: Cells) -> dict[bytes, bytes]:
    return {column: row.get(column, b"") + tail for column, tail in tails.items()}


def step(operation: Operation[None]) -> Protocol[None]:
    yield from ask(operation)


def plain_backfill(bench: Bench, own: GuardContext) -> Protocol[None]:
    """Put the entries that the row has at its guard's timestamp, and fence nobody."""
    columns = with_guard(bench.target.existence_columns | bench.index.columns)
    before = yield from read_before(bench.target, bench.row, columns, own)
    entries = bench.target.entries(bench.row, before.values)
    for put in entry_puts(entries, before.newest_seen_ms):
        yield from ask_with_retry(put, own.retries)


class SeesLoaders(LoaderWatch):
    """What a load sees that the others outlive: they renew themselves, as long as they run."""

    def __init__(self, own_id: str) -> None:
        super().__init__(own_id, lambda: 0.0, 1.0, 0.0)

    def is_running(self, loader: TableLoader) -> bool:
        return loader.id != self.own_id


class WaitsForLoaders(LoaderWatch):
    """What a load sees that outlives the others: no renewal, until none of them can act."""

    def __init__(self, own_id: str, until: LeasesEnd) -> None:
        super().__init__(own_id, lambda: 0.0, 1.0, 0.0)
        self._until = until
        self._has_waited = False

    def is_dead(self, loader: TableLoader) -> bool:
        return self._has_waited and loader.id != self.own_id

    def wait(self, table: str, others: Sequence[TableLoader]) -> Protocol[None]:
        del table, others
        yield from ask(self._until)
        self._has_waited = True


def other_loads(system: System, number: int) -> tuple[int, ...]:
    """Return the places of the other loads; `number` counts from 1."""
    places = enumerate(system.workers)
    return tuple(n for n, each in places if "load" in each.kind and n != number - 1)


def load(bench: Bench, worker: Worker, own: GuardContext, watch: LoaderWatch) -> Protocol[None]:
    table, loader = bench.target.table, TableLoader(watch.own_id)
    entry = yield from begin_loading(table, loader, now_ms=worker.clock_ms, nonce=own.nonce())
    assert entry.load is not None
    loaded = guarded_load(bench.target, RowChange(worker.row, worker.puts), entry.load)
    yield from as_a_gateway_repeats(load_rows(table, [loaded]), own)
    yield from finish_loading(table, entry.load, watch)


def as_a_gateway_repeats(steps: Protocol[None], own: GuardContext) -> Protocol[None]:
    """Make the requests of a protocol one by one, each again where it got no answer."""
    run = ProtocolRun(steps)
    run.begin()
    while (request := run.request) is not None:
        try:
            for each in request.operations if isinstance(request, Together) else (request,):
                yield from ask_with_retry(each, own.retries)
        except GatewayError as error:
            run.throw(error)
        else:
            run.send(None)


def write_as_the_catalog_permits(
    bench: Bench, change: RowChange, own: GuardContext
) -> Protocol[None]:
    view = CatalogView(lambda: 0.0)
    yield from view.refresh(bench.target.table)
    yield from guarded_write(bench.target, change, replace(own, permit=view.permit))


# --- the exploration ------------------------------------------------------------------------------


def explore(system: System) -> Explorer:
    """Explore a system; fail with the trace of the first state that is not sound."""
    makers = [
        partial(protocol, system, number, worker)
        for number, worker in enumerate(system.workers, start=1)
    ]
    explorer = Explorer(makers, Soundness(system).fault_of, system.crashes, system.losses)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(guard, "MAX_ROUNDS", system.tries)
        patch.setattr(claims, "MAX_CLAIM_ROUNDS", system.tries)
        patch.setattr(claims, "POLITE_ROUNDS", 0)  # politeness is time, and time stands still
        violation = explorer.run(store_before(system))
    if violation:
        pytest.fail("\n".join((violation.what, *violation.trace)), pytrace=False)
    return explorer


def store_before(system: System) -> Store:
    store = with_catalog(system)
    rows = {ROW: system.before, SECOND: system.beside}
    for number, (row, cells) in enumerate(rows.items(), start=98):
        if cells:
            first = Worker(cells, clock_ms=5, row=row, is_unaware=system.is_built)
            store = run_alone(first_write(system, number, first), store)
    for number, worker in enumerate(system.settled, start=90):
        store = run_alone(protocol(system, number, worker), store)
    if system.stale_claim:
        store = with_stale_claim(system, store)
    if not system.has_guard:
        store = tuple((p, s) for p, s in store if p.column != GUARD_COLUMN)
    if system.is_new:
        store = run_alone(register(system.bench.target.table, {}, is_new=True), store)
    return store


def with_catalog(system: System) -> Store:
    """Return a store in which the catalog knows the table; while an index is built, as kept."""
    if system.is_new or system.is_lost:
        return EMPTY
    epoch, state = (2, IndexState.WRITE_ONLY) if system.is_built else (1, IndexState.READABLE)
    entry = catalog_entry(system.bench, epoch, state)
    place = Place(CATALOG_TABLE, system.bench.target.table.encode(), CATALOG_COLUMN)
    return ((place, Stored(1, entry.encode())),)


def first_write(system: System, number: int, worker: Worker) -> Protocol[Any]:
    """Return what wrote a row before the catalog, where there is one, was lost."""
    if not system.is_lost:
        return protocol(system, number, worker)
    return write_row(system.bench.target, change_of(worker), context(number, worker.clock_ms, 3))


def with_stale_claim(system: System, store: Store) -> Store:
    """Return the store after the second row has claimed a value and crashed."""
    bench = system.bench
    whole = run_alone(
        protocol(system, 97, Worker({V1: system.stale_claim}, clock_ms=7, row=SECOND)), store
    )
    claim = {p: s for p, s in whole if (p.table, p.row) == (bench.index.table, system.stale_claim)}
    return tuple(sorted({**dict(store), **claim}.items()))


# --- what must hold -------------------------------------------------------------------------------


@dataclass(slots=True)
class Soundness:
    """Says what is wrong with a state of one system, or nothing."""

    system: System
    bench: Bench = field(init=False)
    _repaired: dict[Store, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.bench = self.system.bench

    def fault_of(self, state: State) -> str:
        if self.system.is_lost:
            return self._fault_of_lost(state) if state.is_quiet else ""
        if any(worker.kind == "exclusive build" for worker in self.system.workers):
            is_done = self._is_backfilled(state)
            return self.fault_of_entries(self.due(state.store), state.store) if is_done else ""
        if any(worker.is_plain for worker in self.system.workers):
            # Of what plain programs have changed no entry is right, and none read, until the end.
            return self._fault_after_catch_up(state.store) if state.is_quiet else ""
        if self.system.settled:
            is_done = self._is_backfilled(state)
            return self.fault_of_entries(self.due(state.store), state.store) if is_done else ""
        return self._fault_of_writes(state)

    def _fault_of_writes(self, state: State) -> str:
        due = self.due(state.store)
        is_missing_due = self.system.is_built and not self._is_backfilled(state)
        if what := self.fault_of_entries(due, state.store, may_lack=is_missing_due):
            return what
        if not state.is_quiet:
            return ""
        if self._is_refused(state):
            return "a process was refused that never should be"
        if not is_explained(self.system, state, self.rows(state.store)):
            return "the acknowledged writes do not explain the rows"
        return "" if is_missing_due else self._fault_after_repair(state.store)

    def fault_of_entries(self, due: Due, store: Store, *, may_lack: bool = False) -> str:
        seen = self.seen(store)
        if not may_lack and any(key not in seen for key in due):
            return "a row has no entry"
        if self.system.is_unique and any(seen[key] != owner for key, owner in due.items()):
            return "a row's value is owned by another row"
        believed = {key: said for key, said in seen.items() if isinstance(said, dict)}
        if any(due.get(key) != said for key, said in believed.items()):
            return "a verified entry contradicts its row"
        return ""

    def due(self, store: Store) -> Due:
        """Return what entries must say."""
        due: dict[bytes, object] = {}
        for row, cells in self.rows(store).items():
            for key in self.bench.target.entry_keys(self.bench.index, row, cells):
                due[key] = self._due_of(row, cells) if key not in due else "two rows"
        return due

    def _due_of(self, row: bytes, cells: Cells) -> object:
        if self.system.is_unique:
            return row
        if self.system.is_covering:
            return {V2: cells[V2]} if V2 in cells else {}
        return None

    def _under_way(self, store: Store) -> frozenset[bytes]:
        """Return the entries that nobody can tell from those of a write under way.

        Without guards a write that was broken off leaves one that is newer than its row.
        """
        if not self.system.is_lww:
            return frozenset()
        row_ms = max((s.timestamp_ms for p, s in store if p.column == V1), default=0)
        table = self.bench.index.table
        return frozenset(p.row for p, s in store if p.table == table and s.timestamp_ms > row_ms)

    def seen(self, store: Store, without: frozenset[bytes] = frozenset()) -> Due:
        """Return what entries say; of one that is not verified None."""
        found: dict[bytes, dict[bytes, Cell]] = {}
        for place, stored in store:
            is_entry = place.table == self.bench.index.table and place.row not in without
            if is_entry and stored.value is not None:
                cells = found.setdefault(place.row, {})
                cells[place.column] = Cell(stored.value, stored.timestamp_ms)
        if not self.system.is_unique:
            return {key: covering_cells((V2,), cells) for key, cells in found.items()}
        made = {key: StoredClaim.of(cells[CLAIM_COLUMN]).claim for key, cells in found.items()}
        return {key: claim.owner for key, claim in made.items() if claim is not None}

    def rows(self, store: Store) -> Rows:
        """Return the rows by their keys."""
        found: dict[bytes, dict[bytes, bytes]] = {}
        for place, stored in store:
            is_data = place.table == self.bench.target.table and place.column != GUARD_COLUMN
            if is_data and stored.value is not None:
                found.setdefault(place.row, {})[place.column] = stored.value
        return found

    def _is_backfilled(self, state: State) -> bool:
        return state.is_quiet and any(
            worker.kind in {"reindex", "plain backfill", "catch up", "exclusive build"}
            and end == ACKNOWLEDGED
            for worker, end in zip(self.system.workers, state.processes, strict=True)
        )

    def _is_refused(self, state: State) -> bool:
        return any(
            worker.kind in {"verify", "verify and repair", "repair"} and end == REFUSED
            for worker, end in zip(self.system.workers, state.processes, strict=True)
        )

    def _fault_of_lost(self, state: State) -> str:
        """Return what is wrong once a table was entered again that the catalog had lost."""
        entered = [
            end == ACKNOWLEDGED
            for worker, end in zip(self.system.workers, state.processes, strict=True)
            if worker.kind == "register"
        ]
        if not any(entered):
            return ""
        try:
            run_alone(protocol(self.system, 96, Worker({V1: b"Z"}, clock_ms=50)), state.store)
        except HBaseORMError:
            return "nobody can write the row any more"
        return ""

    def _fault_after_catch_up(self, store: Store) -> str:
        """Return what is wrong after a build's last part, which begins when these have ended."""
        last = Worker(kind="catch up", clock_ms=REPAIR_CLOCK_MS)
        after = run_alone(protocol(self.system, 95, last), store)
        if self.rows(after) != self.rows(store):
            return "a build changes rows"
        return self.fault_of_entries(self.due(after), after)

    def _fault_after_repair(self, store: Store) -> str:
        if store not in self._repaired:
            self._repaired[store] = ""
            if not self._is_clean_after("repair", store):
                self._repaired[store] = "a repair pass does not leave the rows' entries"
            elif not (self.system.is_new or self._is_clean_after("verify and repair", store)):
                self._repaired[store] = "a verification does not leave the rows' entries"
        return self._repaired[store]

    def _is_clean_after(self, kind: Literal["repair", "verify and repair"], store: Store) -> bool:
        """Return whether a repair leaves exactly the entries of the rows, and the rows alone."""
        worker = Worker(kind=kind, clock_ms=REPAIR_CLOCK_MS)
        after = run_alone(protocol(self.system, 96, worker), store)
        due, is_same = self.due(after), self.rows(after) == self.rows(store)
        return is_same and due == self.seen(after, self._under_way(after))


def is_explained(system: System, state: State, rows: Rows) -> bool:
    """Return whether some order of the changes explains the rows that are seen.

    Every acknowledged one is in it, none that was refused, and those of unknown outcome may be.
    """
    writes = [number for number, worker in enumerate(system.workers) if worker.writes]
    sure = [number for number in writes if state.processes[number] == ACKNOWLEDGED]
    maybe = [number for number in writes if state.processes[number] in {UNKNOWN, CRASHED}]
    subsets = chain.from_iterable(combinations(maybe, size) for size in range(len(maybe) + 1))
    return any(
        is_in_real_time(state, order) and rows_after(system, order) == rows
        for subset in subsets
        for order in permutations((*sure, *subset))
    )


def is_in_real_time(state: State, order: Sequence[int]) -> bool:
    """Return whether no change stands before one that was acknowledged before it started."""
    at = {event: position for position, event in enumerate(state.order)}
    never = len(at)
    return all(
        at.get(("start", one), never) < at.get((ACKNOWLEDGED, other), never + 1)
        for one, other in combinations(order, 2)
    )


def rows_after(system: System, order: Sequence[int]) -> Rows | None:
    """Return the rows after these changes one by one; None if one of them could not be made."""
    rows = {ROW: dict(system.before), SECOND: dict(system.beside)}
    for worker in (system.workers[number] for number in order):
        row = rows[worker.row]
        if worker.kind == "insert" and row:
            return None
        rows[worker.row] = row_after(row, worker)
        if system.is_unique and V1 in rows[ROW] and rows[ROW][V1] == rows[SECOND].get(V1):
            return None
    return {key: row for key, row in rows.items() if row}


def row_after(row: Cells, worker: Worker) -> dict[bytes, bytes]:
    match worker.kind:
        case "delete":
            return {}
        case "replace":
            return dict(worker.puts)
        case "extend":
            return {**row, **extended(row, worker.puts)}
        case _:
            return {**row, **worker.puts}
