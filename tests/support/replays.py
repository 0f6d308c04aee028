"""The published counterexamples as literal schedules, and the tables they are replayed on.

A replay names its writers, what each does, and whose turn it is for every single request. When
the turns are used up the writers go on to their ends, one after another. The naive protocols are
here too: under the same turns they lose what the guarded write keeps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from typing import Any, Literal

from hbase_orm.errors import HBaseORMError
from hbase_orm.gateway.base import Gateway
from hbase_orm.index.catalog.catalog import CatalogView
from hbase_orm.index.entries.targets import (
    ENTRY_COLUMN,
    GUARDED_RETRIES,
    GuardContext,
    GuardedTable,
    IndexTarget,
    RowChange,
    WriteOutcome,
)
from hbase_orm.index.protocol.guarded_write import guarded_write
from hbase_orm.index.upkeep.compare import Finding
from hbase_orm.index.upkeep.repair import RepairCounts, repair_pass
from hbase_orm.index_admin.lease import TableLease
from hbase_orm.index_admin.reindex import RowReindexer
from hbase_orm.index_admin.verify import IndexVerify, Verification
from hbase_orm.ops import (
    CloseScanner,
    CreateTable,
    Delete,
    FamilyDescriptor,
    FetchRows,
    GetRows,
    MutateRows,
    OpenScanner,
    Operation,
    Protocol,
    Put,
    Row,
    RowMutation,
    Scan,
    TableDescriptor,
    ask,
)
from tests.support.stepping import CrashedError, Fault, StepController, drive

V1 = b"d:v1"
V2 = b"d:v2"
SEPARATOR = b"\x00"

NONCES = count(1)

Kind = Literal["put", "insert", "delete", "replace"]


def single_key(row: bytes, cells: Mapping[bytes, bytes]) -> frozenset[bytes]:
    return frozenset({cells[V1] + SEPARATOR + row} if V1 in cells else ())


def composite_key(row: bytes, cells: Mapping[bytes, bytes]) -> frozenset[bytes]:
    whole = {V1, V2} <= cells.keys()
    return frozenset({SEPARATOR.join((cells[V1], cells[V2], row))} if whole else ())


def unique_key(row: bytes, cells: Mapping[bytes, bytes]) -> frozenset[bytes]:
    del row
    return frozenset({cells[V1]} if V1 in cells else ())


def base_key_of(entry_key: bytes) -> bytes:
    return entry_key.rpartition(SEPARATOR)[2]


@dataclass(frozen=True, slots=True)
class Comparison:
    """How an index compares with its rows.

    Attributes:
        rows: Rows that exist.
        entries: Index entries.
        missing: Row key and key of each entry that a row should have and has not.
        stale: Row key and key of each entry that its row does not have.
    """

    rows: int
    entries: int
    missing: tuple[tuple[bytes, bytes], ...]
    stale: tuple[tuple[bytes, bytes], ...]


STALE = {Finding.OLD, Finding.EXTRA, Finding.EXPIRED, Finding.IN_FLIGHT, Finding.INVALID}


@dataclass(frozen=True, slots=True)
class Bench:
    """A data table with one index, on some gateway; `base_ms` is the replay's time zero.

    The index is over the first column, or over both; of unique values, or with a copy of the
    second column, where that is said; rows have guards, but where the last writer wins.
    """

    gateway: Gateway
    prefix: str
    base_ms: int
    row: bytes = b"row"
    is_composite: bool = False
    is_unique: bool = False
    is_covering: bool = False
    is_lww: bool = False

    @property
    def index(self) -> IndexTarget:
        if self.is_unique:
            return IndexTarget(
                "by_value", f"{self.prefix}idx", frozenset((V1,)), unique_key, unique=True
            )
        columns = {V1, V2} if self.is_composite else {V1}
        keys = composite_key if self.is_composite else single_key
        included = (V2,) if self.is_covering else ()
        return IndexTarget(
            "by_value", f"{self.prefix}idx", frozenset(columns), keys, included=included
        )

    @property
    def target(self) -> GuardedTable:
        return GuardedTable(
            f"{self.prefix}data",
            families=(b"d",),
            anchor=V1,
            marker=None,
            counters=frozenset(),
            columns=frozenset((V1, V2)),
            indexes=(self.index,),
            is_lww=self.is_lww,
        )

    def base_key(self, entry_key: bytes) -> bytes:
        """Return the row key that an entry's key ends with."""
        return base_key_of(entry_key)

    def context(self, offset_ms: int = 0) -> GuardContext:
        return GuardContext(
            now_ms=lambda: self.base_ms + offset_ms,
            nonce=lambda: next(NONCES).to_bytes(8, "big"),
            retries=GUARDED_RETRIES,
            permit=lambda _: 1,
        )

    def create_tables(self) -> None:
        families = (FamilyDescriptor(b"d"), FamilyDescriptor(b"_"))
        for name, count_of in (("data", 2), ("idx", 1)):
            descriptor = TableDescriptor(f"{self.prefix}{name}", families[:count_of])
            self.gateway.execute(CreateTable(descriptor))

    def wipe(self) -> None:
        """Delete the row and all visible entries, as another program would."""
        deletes = (Delete(b"d"), Delete(b"_"))
        data = RowMutation(self.row, deletes=deletes)
        self.gateway.execute(MutateRows(self.target.table, (data,)))
        entries = drive(all_rows(self.index.table), self.gateway)
        gone = tuple(RowMutation(entry.key, deletes=(Delete(b"d"),)) for entry in entries)
        if gone:
            self.gateway.execute(MutateRows(self.index.table, gone))

    def values(self) -> dict[bytes, bytes]:
        """Return what the row shows."""
        (row,) = self.gateway.execute(GetRows(self.target.table, (self.row,), (b"d",)))
        return {column: cell.value for column, cell in row.cells.items()} if row else {}

    def write(
        self, puts: Mapping[bytes, bytes], clock_ms: int = 10, kind: Kind = "put"
    ) -> Protocol[WriteOutcome]:
        """Return the guarded write of some columns."""
        change = RowChange(self.row, puts, kind=kind)
        return guarded_write(self.target, change, self.context(clock_ms))

    def verification(self, context: GuardContext, page_rows: int = 500) -> IndexVerify:
        """Return the verification that `engine.verify_index` makes of this index."""
        view = CatalogView(lambda: 0.0)
        lease = TableLease(self.target.table, lambda _: self.target, view, context)
        return IndexVerify(
            self.target,
            self.index,
            self.base_key,
            RowReindexer(lease),
            context,
            page_rows=page_rows,
        )

    def compare(self, page_rows: int = 500, gateway: Gateway | None = None) -> Comparison:
        """Verify the index, and return what is missing and what is stale."""
        found = drive(self.verification(self.context(), page_rows).run(), gateway or self.gateway)
        return comparison(self, found)

    def repair(self) -> RepairCounts:
        protocol = repair_pass(
            self.target, self.index, self.base_key, self.context(5_000), min_age_ms=0
        )
        return drive(protocol, self.gateway)


@dataclass(frozen=True, slots=True)
class Work:
    """What one writer does; its clock stands `clock_ms` after the replay's time zero."""

    kind: Literal["put", "insert", "delete", "repair", "raw delete"]
    puts: Mapping[bytes, bytes] = field(default_factory=dict)
    clock_ms: int = 10


@dataclass(frozen=True, slots=True)
class Replay:
    """One schedule.

    Attributes:
        before: The row before; empty for none.
        turns: Whose turn it is, request by request; `W1!CRASH` tells a fault.
        after: What the row must show at the end.
        refused: The writers that must report an error, or crash.
    """

    name: str
    before: Mapping[bytes, bytes]
    works: Mapping[str, Work]
    turns: str
    after: Mapping[bytes, bytes]
    is_composite: bool = False
    refused: frozenset[str] = frozenset()

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Aftermath:
    """What a replay left behind."""

    missing: int
    stale_after_repair: int
    missing_after_repair: int
    values: Mapping[bytes, bytes]
    refused: frozenset[str]


def comparison(bench: Bench, found: Verification) -> Comparison:
    """Return what a verification of an index says."""
    rows = drive(all_rows(bench.target.table), bench.gateway)
    missing = [pair for pair in found.pairs if pair.finding is Finding.MISSING]
    stale = [pair for pair in found.pairs if pair.finding in STALE]
    return Comparison(
        sum(bench.target.exists(row.cells) for row in rows),
        found.entries.total(),
        tuple((pair.row, pair.entry) for pair in missing),
        tuple((pair.row, pair.entry) for pair in stale),
    )


Runner = Callable[[Bench, Work, Gateway], object]
"""Does one writer's work on the gateway given: a bare protocol, or a session."""


def by(make: Callable[[Bench, Work], Protocol[Any]]) -> Runner:
    """Return the runner that drives a protocol."""
    return lambda bench, work, gateway: drive(make(bench, work), gateway)


def play(
    replay: Replay,
    bench: Bench,
    run: Runner | None = None,
    passes: Callable[[Operation[Any]], bool] = lambda _: False,
) -> Aftermath:
    """Replay a schedule and look at what it left.

    Args:
        replay: The schedule.
        bench: The tables and the gateway.
        run: How a writer works; by the library's protocols if not given.
        passes: Requests that take no turn: what a writer does beside the protocol.
    """
    refused = stage(replay, bench, run, passes)
    amid = bench.compare()
    values = bench.values()
    bench.repair()
    after = bench.compare()
    return Aftermath(len(amid.missing), len(after.stale), len(after.missing), values, refused)


def stage(
    replay: Replay,
    bench: Bench,
    run: Runner | None = None,
    passes: Callable[[Operation[Any]], bool] = lambda _: False,
) -> frozenset[str]:
    """Replay a schedule and leave everything as it is; return the writers refused or crashed.

    The arguments are those of `play`.
    """
    run = run or by(guarded)
    if replay.before:
        run(bench, Work("put", replay.before, clock_ms=-1_000), bench.gateway)
    return _play_turns(replay, bench, run, StepController(bench.gateway, passes))


def _play_turns(replay: Replay, bench: Bench, run: Runner, steps: StepController) -> frozenset[str]:
    """Return the writers that were refused or crashed."""
    try:
        for name, work in replay.works.items():
            steps.start(name, partial(run, bench, work))
        for turn in replay.turns.split():
            name, _, fault = turn.partition("!")
            steps.step(name, Fault[fault] if fault else None)
        refused = frozenset(name for name in replay.works if _is_refused(steps, name))
        steps.deliver()
    finally:
        steps.close()
    return refused


def _is_refused(steps: StepController, name: str) -> bool:
    try:
        steps.finish(name)
    except HBaseORMError:
        return True
    return isinstance(steps.error(name), CrashedError)


def guarded(bench: Bench, work: Work) -> Protocol[Any]:
    """Return the protocol of the library."""
    context = bench.context(work.clock_ms)
    if work.kind == "repair":
        return repair_pass(bench.target, bench.index, base_key_of, context, min_age_ms=-99_999)
    if work.kind == "raw delete":
        return raw_delete(bench, work)
    return bench.write(work.puts, work.clock_ms, work.kind)


def raw_delete(bench: Bench, work: Work) -> Protocol[Any]:
    """Delete the row as another program would, by its own clock."""
    up_to_ms = bench.base_ms + work.clock_ms
    deletes = (Delete(b"d", up_to_ms), Delete(b"_", up_to_ms))
    mutation = RowMutation(bench.row, deletes=deletes)
    yield from ask(MutateRows(bench.target.table, (mutation,)))


# --- what one would write without a guard ---------------------------------------------------------


def naive(bench: Bench, work: Work) -> Protocol[Any]:
    """Read, put the data, put the entry, delete the old entry; the server's timestamps."""
    old, new = yield from _old_and_new(bench, work)
    yield from _put_row(bench, work.puts, None)
    yield from _put_entries(bench, new, None)
    yield from _delete_entries(bench, old - new, None)


def index_first(bench: Bench, work: Work) -> Protocol[Any]:
    """Read, put the entry, put the data, delete the old entry; the server's timestamps."""
    old, new = yield from _old_and_new(bench, work)
    yield from _put_entries(bench, new, None)
    yield from _put_row(bench, work.puts, None)
    yield from _delete_entries(bench, old - new, None)


def last_writer_wins(bench: Bench, work: Work) -> Protocol[Any]:
    """Give entry and data one timestamp above what was read; entries first; no check."""
    if work.kind == "repair":
        return (yield from _repair_absent(bench))
    (row,) = yield from ask(GetRows(bench.target.table, (bench.row,), (b"d",)))
    told = max((cell.timestamp_ms for cell in row.cells.values()), default=0) if row else 0
    t = max(bench.base_ms + work.clock_ms, told + 1)
    values = {column: cell.value for column, cell in row.cells.items()} if row else {}
    old = bench.target.entry_keys(bench.index, bench.row, values)
    if work.kind == "delete":
        mutation = RowMutation(bench.row, deletes=(Delete(b"d", t),))
        yield from ask(MutateRows(bench.target.table, (mutation,)))
        return (yield from _delete_entries(bench, old, told))
    new = bench.target.entry_keys(bench.index, bench.row, {**values, **work.puts})
    yield from _put_entries(bench, new, t)
    yield from _put_row(bench, work.puts, t)
    yield from _delete_entries(bench, old - new, told)


def _repair_absent(bench: Bench) -> Protocol[None]:
    """Delete the entries of a row that is not there, with as many requests as the real repair."""
    entries = yield from _page(bench.index.table)
    (row,) = yield from ask(GetRows(bench.target.table, (bench.row,), (b"d",)))
    (row,) = yield from ask(GetRows(bench.target.table, (bench.row,), (b"d",)))
    if row is None:
        for entry in entries:
            yield from _delete_entries(
                bench, frozenset((entry.key,)), entry.cells[ENTRY_COLUMN].timestamp_ms
            )


def _old_and_new(bench: Bench, work: Work) -> Protocol[tuple[frozenset[bytes], frozenset[bytes]]]:
    (row,) = yield from ask(GetRows(bench.target.table, (bench.row,), (b"d",)))
    values = {column: cell.value for column, cell in row.cells.items()} if row else {}
    old = bench.target.entry_keys(bench.index, bench.row, values)
    return old, bench.target.entry_keys(bench.index, bench.row, {**values, **work.puts})


def _put_row(bench: Bench, puts: Mapping[bytes, bytes], timestamp_ms: int | None) -> Protocol[None]:
    cells = tuple(Put(column, value, timestamp_ms) for column, value in puts.items())
    yield from ask(MutateRows(bench.target.table, (RowMutation(bench.row, puts=cells),)))


def _put_entries(bench: Bench, keys: frozenset[bytes], timestamp_ms: int | None) -> Protocol[None]:
    puts = (Put(ENTRY_COLUMN, b"", timestamp_ms),)
    rows = tuple(RowMutation(key, puts=puts) for key in sorted(keys))
    yield from ask(MutateRows(bench.index.table, rows))


def _delete_entries(
    bench: Bench, keys: frozenset[bytes], timestamp_ms: int | None
) -> Protocol[None]:
    deletes = (Delete(ENTRY_COLUMN, timestamp_ms),)
    if rows := tuple(RowMutation(key, deletes=deletes) for key in sorted(keys)):
        yield from ask(MutateRows(bench.index.table, rows))


def all_rows(table: str) -> Protocol[list[Row]]:
    """Return the first thousand rows of a table: all, in these tests."""
    return _page(table)


def _page(table: str) -> Protocol[list[Row]]:
    scanner = yield from ask(OpenScanner(Scan(table)))
    rows = yield from ask(FetchRows(scanner, 1000))
    yield from ask(CloseScanner(scanner))
    return rows


# --- the schedules --------------------------------------------------------------------------------

A = Replay(
    "A: data first, and a late delete of what another writer just wrote again",
    before={V1: b"A"},
    works={"W1": Work("put", {V1: b"B"}), "W2": Work("put", {V1: b"A"})},
    turns="W1 W2 W1 W1 W2 W2 W1",
    after={V1: b"A"},
)
B = Replay(
    "B: index first, the old entry deleted between another writer's entry and data",
    before={V1: b"A"},
    works={"W1": Work("put", {V1: b"B"}), "W2": Work("put", {V1: b"A"})},
    turns="W1 W1 W2 W1 W2 W1 W2",
    after={V1: b"A"},
)
E4 = Replay(
    "E4: two columns of one key, changed by two writers at once",
    before={V1: b"A", V2: b"X"},
    works={"W1": Work("put", {V1: b"B"}), "W2": Work("put", {V2: b"Y"}, clock_ms=20)},
    turns="W1 W1 W2 W1 W1 W2 W2 W2",
    after={V1: b"B", V2: b"Y"},
    is_composite=True,
)
E5 = Replay(
    "E5: an insert after a delete; the repair read the row before, and deletes after",
    before={V1: b"A"},
    works={
        "W1": Work("delete"),
        "W2": Work("put", {V1: b"B"}, clock_ms=20),
        "R": Work("repair", clock_ms=30),
    },
    turns="W1 W1 W1 W2 W2 R R R R R W2 R",
    after={V1: b"B"},
)
E5_FENCED_FIRST = Replay(
    "E5, the repair deletes while the insert is under way",
    before={V1: b"A"},
    works=E5.works,
    turns="W1 W1 W1 W2 W2 R R R R R R R W2",
    after={V1: b"B"},
)
E6 = Replay(
    "E6: an insert by a slow clock after a delete by a fast one",
    before={V1: b"A"},
    works={"W1": Work("delete", clock_ms=20), "W2": Work("put", {V1: b"B"}, clock_ms=10)},
    turns="W1 W1 W1 W2 W2 W2",
    after={V1: b"B"},
)
E4_SWAPPED = replace(
    E4, name="E4, the other way round", works={"W1": E4.works["W2"], "W2": E4.works["W1"]}
)
CRASH = Replay(
    "a writer dies after its second request",
    before={V1: b"A"},
    works={"W1": Work("put", {V1: b"B"})},
    turns="W1 W1 W1!CRASH",
    after={V1: b"A"},
    refused=frozenset(("W1",)),
)
CUT = Replay(
    "every put of the index entry is lost",
    before={V1: b"A"},
    works={"W1": Work("put", {V1: b"B"})},
    turns="W1" + " W1!CUT_BEFORE" * 5,
    after={V1: b"A"},
    refused=frozenset(("W1",)),
)
TORN = Replay(
    "two columns of one key; another writer between the parts of a write",
    before={V1: b"A", V2: b"X"},
    works=E4.works,
    turns="W1 W1 W1 W2 W2 W2 W1 W2",
    after={V1: b"B", V2: b"Y"},
    is_composite=True,
)
INSERT_IN_FLIGHT = Replay(
    "a row is made and deleted while a slow clock's insert is under way",
    before={},
    works={
        "W1": Work("insert", {V1: b"B"}, clock_ms=0),
        "W2": Work("insert", {V1: b"C"}, clock_ms=1_000),
        "W3": Work("delete", clock_ms=2_000),
    },
    turns="W1 W1 W2 W2 W2 W3 W3 W3 W1",
    after={V1: b"B"},
)
SAME_VALUE = Replay(
    "two writers of the same value, one loses",
    before={V1: b"A"},
    works={"W1": Work("put", {V1: b"B"}), "W2": Work("put", {V1: b"B"}, clock_ms=20)},
    turns="W1 W2 W1 W2 W1 W2 W2",
    after={V1: b"B"},
)
LATE_TIDY = Replay(
    "a value is written again before its old entry is deleted",
    before={V1: b"A"},
    works={"W1": Work("put", {V1: b"B"}), "W2": Work("put", {V1: b"A"}, clock_ms=20)},
    turns="W1 W1 W1 W2 W2 W2 W2 W1",
    after={V1: b"A"},
)
SLOW_CLOCK = Replay(
    "a slow clock writes after a fast one",
    before={V1: b"A"},
    works={"W1": Work("put", {V1: b"B"}, clock_ms=1_000), "W2": Work("put", {V1: b"C"})},
    turns="W1 W1 W1 W1",
    after={V1: b"C"},
)
RAW_DELETE = Replay(
    "another program deletes the row with a fast clock, guard included",
    before={V1: b"A"},
    works={"W1": Work("raw delete", clock_ms=1_000), "W2": Work("insert", {V1: b"B"})},
    turns="W1",
    after={V1: b"B"},
)
REPLAYS = (
    A,
    B,
    E4,
    E4_SWAPPED,
    E5,
    E5_FENCED_FIRST,
    E6,
    CRASH,
    CUT,
    TORN,
    INSERT_IN_FLIGHT,
    SAME_VALUE,
    LATE_TIDY,
    SLOW_CLOCK,
    RAW_DELETE,
)
