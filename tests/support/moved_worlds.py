"""Worlds of readings that move: rows in every state, and a table that has them all.

The oracle is a table of the memory gateway with the rows as they are, whichever table holds them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import cycle
from typing import Any, TypeVar

from hypothesis import strategies as st

from hbase_orm.errors import RejectedError
from hbase_orm.index.catalog.move_phases import Phase
from hbase_orm.index.entries.targets import RowChange
from hbase_orm.moving.adoption import hand_over
from hbase_orm.moving.moved_requests import CurrentMove, through_moves
from hbase_orm.moving.seal import seal_row
from hbase_orm.ops import (
    CloseScanner,
    CreateTable,
    DropTable,
    FamilyDescriptor,
    FetchRows,
    MutateRow,
    Nested,
    OpenScanner,
    Operation,
    Protocol,
    Put,
    Row,
    RowMutation,
    Scan,
    SideBySide,
    StoredVersion,
    TableDescriptor,
    Together,
    ask,
    run_protocol,
)
from tests.support.moved_readings import (
    MOVE,
    NAME,
    NOTE,
    REGION,
    RENAMED,
    UNIT,
    VALUE,
    Tables,
    readings_in_memory,
    readings_of_a_period,
)

R = TypeVar("R")

OLD, INDEXING, PREPARED, MOVING, NEW = (
    Phase.OLD,
    Phase.INDEXING,
    Phase.PREPARED,
    Phase.MOVING,
    Phase.NEW,
)
BOTH_TABLES = (PREPARED, MOVING)
BEFORE_NEW = tuple(phase for phase in Phase if phase < NEW)


@dataclass
class Moves:
    """What a process knows of the moves; a test changes `current` to end its lease."""

    current: CurrentMove | None
    looks: int = 0
    looked: CurrentMove | None = None
    has_moves: bool = True

    @property
    def leases(self) -> Moves:
        return self

    def of(self, table: str) -> Protocol[CurrentMove | None]:
        yield from ()
        self.looks += 1
        if table == "new":
            self.looked = self.current
        return self.looked if table == "new" else None

    def is_current(self, table: str) -> bool:
        return table != "new" or self.looked is self.current

    def enter(self, phase: Phase) -> None:
        self.current = CurrentMove(MOVE, phase)


@dataclass
class World:
    """Both tables of the move, and the rows as they are, wherever they are.

    Attributes:
        truth: All versions of each row, by new key.
        before_request: What happens before each request to the gateway.
    """

    tables: Tables = field(default_factory=readings_in_memory)
    truth: dict[bytes, list[StoredVersion]] = field(default_factory=dict)
    before_request: Callable[[Operation[Any]], object] = id
    sent: list[Operation[Any]] = field(default_factory=list)

    def execute(self, request: Operation[R]) -> R:
        """Execute one request of a protocol that reads through the moves."""
        self.before_request(request)
        self.sent.append(request)
        return self.tables.gateway.execute(request)

    def run(self, protocol: Protocol[R]) -> R:
        return run_protocol(protocol, self._answer)

    def _answer(self, request: Operation[Any]) -> Any:
        match request:
            case Together(operations):
                return tuple(self._answer(each) for each in operations)
            case SideBySide(protocols):
                return [self.run(each) for each in protocols]
            case Nested(protocol):
                return self.run(protocol)
            case _ if type(request).__name__ in {"Sleep", "RenewTimeLimit"}:
                return None
            case _:
                return self.execute(request)

    def through(self, protocol: Protocol[R], moves: Moves | Phase) -> R:
        if isinstance(moves, Phase):
            moves = Moves(CurrentMove(self.tables.move, moves))
        return self.run(through_moves(protocol, moves, self.tables.context))

    def read(self, request: Operation[R], moves: Moves | Phase = MOVING) -> R:
        return self.through(ask(request), moves)

    def scan(self, scan: Scan, moves: Moves | Phase = MOVING, *counts: int) -> list[Row]:
        return self.through(scanned(scan, counts or (2,)), moves)

    # --- the rows, and the oracle -------------------------------------------------------------

    def make_oracle(self) -> None:
        """Create tables that have the rows as they are: with the newest versions, and with all."""
        for name, versions in (("truth", 1), ("versions", 3)):
            families = tuple(FamilyDescriptor(f, versions=versions) for f in (b"d", b"e"))
            self.tables.gateway.execute(CreateTable(TableDescriptor(name, families)))
            for key, cells in self.truth.items():
                puts = tuple(Put(v.column, v.value, v.timestamp_ms) for v in cells)
                self.tables.gateway.execute(MutateRow(name, RowMutation(key, puts)))

    def write_old(self, device: bytes, former: bytes, **cells: bytes) -> bytes:
        """Write a row in the old table; return its new key."""
        columns = {"region": REGION, "name": UNIT, "v": VALUE, "note": NOTE}
        puts = {columns[name]: value for name, value in cells.items()}
        outcome = self.tables.change_old(RowChange(device, puts))
        key = cells["region"] + b"\x00" + device
        written = {RENAMED[column]: value for column, value in puts.items()}
        self._note(key, written, outcome.timestamp_ms, self.truth.pop(former, []))
        return key

    def write(self, change: RowChange) -> None:
        """Write a row as in MOVING."""
        outcome = self.tables.write(MOVING, change)
        if change.kind == "delete":
            self.truth.pop(change.row, None)
        else:
            self._note(
                change.row, change.puts, outcome.timestamp_ms, self.truth.get(change.row, [])
            )

    def _note(self, key: bytes, puts: Any, at_ms: int, before: list[StoredVersion]) -> None:
        new = [StoredVersion(column, at_ms, "put", value) for column, value in puts.items()]
        self.truth[key] = [*new, *before]

    def delete_old(self, key: bytes) -> None:
        self.tables.change_old(RowChange(key[-2:], kind="delete"))
        self.truth.pop(key)

    def hand_over(self, key: bytes) -> None:
        self.tables.run(hand_over(self.tables.move, key, self.tables.context))

    def drop_old(self) -> None:
        for table in ("old", "new_keys"):
            self.tables.gateway.execute(DropTable(table))

    def seal(self, key: bytes) -> None:
        self.tables.run(seal_row(self.tables.move.old, key[-2:], self.tables.context))


def scanned(
    scan: Scan, counts: Sequence[int], between: Callable[[], object] = lambda: None
) -> Protocol[list[Row]]:
    """Read a scan to its end; `between` is called between two fetches."""
    scanner = yield from ask(OpenScanner(scan))
    rows: list[Row] = []
    for count in cycle(counts):
        fetched = yield from ask(FetchRows(scanner, count))
        assert len(fetched) <= count
        rows += fetched
        if not fetched:
            break
        between()
    yield from ask(CloseScanner(scanner))
    return rows


# --- every state of a row -------------------------------------------------------------------------

BEFORE_SEALS = ("absent", "old", "written twice", "left its key", "deleted", "inserted again")
WITH_SEALS = (
    "sealed",
    "sealed after its delete",
    "adopted",
    "adopted under its former key only",
    "written in new",
    "deleted in new",
    "inserted again in new",
    "inserted in new",
)
DEVICES = (b"d1", b"d2", b"d3", b"d4", b"d5")
REGIONS = (b"a", b"aa", b"b")
KEYS = tuple(region + b"\x00" + device for region in REGIONS for device in DEVICES)


def make_row(world: World, device: bytes, state: str, region: bytes, cells: Any) -> None:
    """Make a row whose new key has this region, in a state."""
    key = region + b"\x00" + device
    if state == "inserted in new":
        world.write(RowChange(key, {REGION: region, VALUE: b"9"}, kind="insert"))
    elif state != "absent":
        last = _written_in_old(world, key, state, cells)
        _moved(world, key, state, last)


def _written_in_old(world: World, key: bytes, state: str, cells: Any) -> bytes:
    region, _, device = key.partition(b"\x00")
    last = world.write_old(device, b"", region=region, **cells)
    if state == "written twice":
        world.write_old(device, last, region=region, v=b"2")
    if state in {"left its key", "adopted under its former key only"}:
        last = world.write_old(device, last, region=b"c")
    if state in {"deleted", "inserted again", "sealed after its delete"}:
        world.delete_old(last)
    if state == "inserted again":
        world.write_old(device, b"", region=region, name=b"Q")
    return last


def _moved(world: World, key: bytes, state: str, last: bytes) -> None:
    if state.startswith("sealed"):
        world.seal(last)
    if state.startswith("adopted"):
        world.hand_over(key)
    if state == "written in new":
        world.write(RowChange(key, {VALUE: b"8"}))
    if state in {"deleted in new", "inserted again in new"}:
        world.write(RowChange(key, kind="delete"))
    if state == "inserted again in new":
        change = RowChange(key, {REGION: last[: last.index(0)], NAME: b"K"}, kind="insert")
        world.write(change)


VALUES = st.sampled_from((b"1", b"2", b"K", b""))
CELLS = st.fixed_dictionaries({}, optional={"name": VALUES, "v": VALUES, "note": VALUES})


@st.composite
def worlds(draw: st.DrawFn, states: Sequence[str]) -> World:
    world = World(draw(st.sampled_from((readings_in_memory, readings_of_a_period)))())
    for device in DEVICES[: draw(st.integers(1, len(DEVICES)))]:
        state, region = draw(st.sampled_from(states)), draw(st.sampled_from(REGIONS))
        make_row(world, device, state, region, draw(CELLS))
    world.make_oracle()
    return world


@st.composite
def worlds_in_phases(draw: st.DrawFn) -> tuple[World, Phase]:
    phase = draw(st.sampled_from(BEFORE_NEW))
    states = (*BEFORE_SEALS, *WITH_SEALS) if phase in BOTH_TABLES else BEFORE_SEALS
    return draw(worlds(states)), phase


SIMPLE_FILTERS = (
    b"SingleColumnValueFilter('d','v',=,'binary:1',true,true)",
    b"SingleColumnValueFilter('d','name',!=,'binary:K')",
    b"SingleColumnValueFilter('e','note',>,'binary:1',true,true)",
    b"RowFilter(<=,'binary:aa')",
    b"RowFilter(=,'substring:d3')",
    b"PrefixFilter('aa')",
    b"InclusiveStopFilter('aa')",
    b"PageFilter(2)",
    b"KeyOnlyFilter()",
    b"FirstKeyOnlyFilter()",
    b"ValueFilter(=,'binary:K')",
    b"QualifierFilter(>=,'binary:note')",
    b"FamilyFilter(=,'binary:e')",
    b"ColumnPrefixFilter('n')",
    b"ColumnRangeFilter('a',true,'nb',false)",
    b"ColumnPaginationFilter(1,1)",
)

A1, B2, C3, D4 = b"a\x00d1", b"b\x00d2", b"c\x00d3", b"d\x00d4"


def small_world() -> World:
    world = World()
    for key in (A1, B2, C3, D4):
        region, device = key.split(b"\x00")
        world.write_old(device, b"", region=region, v=b"1")
    return world


def keys_of(rows: Sequence[Row | None]) -> list[bytes]:
    return [row.key for row in rows if row is not None]


def of_oracle(world: World, scan: Scan) -> list[Row] | None:
    """Return the rows of the oracle; None if a server refuses this scan for being reverse."""
    truth = Scan("truth", scan.key_range, scan.columns, scan.filter, scan.reverse)
    try:
        return world.tables.run(scanned(truth, (3,)))
    except RejectedError as error:
        assert "reverse scan" in str(error)  # noqa: PT017  # other errors would be the test's own
        return None
