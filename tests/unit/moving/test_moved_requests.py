"""Requests that read a table to which rows move are answered as by a table that has all rows.

The oracle is a table of the memory gateway with the rows as they are, whichever table holds them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import cycle
from typing import Any, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hbase_orm.errors import (
    CatalogLeaseError,
    HBaseORMError,
    QueryError,
    RejectedError,
    ScannerExpiredError,
    TableNotFoundError,
)
from hbase_orm.index.catalog.move_phases import Phase
from hbase_orm.index.entries.targets import GUARD_COLUMN, RowChange
from hbase_orm.moving import moved_scan
from hbase_orm.moving.adoption import hand_over
from hbase_orm.moving.moved_requests import MAX_READS, CurrentMove, through_moves
from hbase_orm.moving.seal import seal_row
from hbase_orm.ops import (
    CloseScanner,
    CreateTable,
    DropTable,
    FamilyDescriptor,
    FetchRows,
    GetRows,
    GetVersions,
    GetVersionsOfRows,
    KeyRange,
    MutateRow,
    Nested,
    OpenScanner,
    Operation,
    Protocol,
    Put,
    Row,
    RowMutation,
    Scan,
    ScannerId,
    SideBySide,
    StaleRow,
    StoredVersion,
    TableDescriptor,
    Together,
    ask,
    run_protocol,
)
from tests.support.moved_readings import (
    FORMER,
    MOVE,
    NAME,
    NOTE,
    REGION,
    RENAMED,
    UNIT,
    VALUE,
    Tables,
    readings_in_memory,
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
            moves = Moves(CurrentMove(MOVE, moves))
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
        self.tables.run(hand_over(MOVE, key, self.tables.context))

    def drop_old(self) -> None:
        for table in ("old", "new_keys"):
            self.tables.gateway.execute(DropTable(table))

    def seal(self, key: bytes) -> None:
        self.tables.run(seal_row(MOVE.old, key[-2:], self.tables.context))


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
    world = World()
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


COLUMNS = st.lists(
    st.sampled_from((b"d", b"e", REGION, NAME, VALUE, NOTE)), max_size=3, unique=True
).map(tuple)
SOUGHT = st.lists(st.sampled_from((*KEYS, b"c\x00d1", b"c\x00d2")), min_size=6, max_size=24).map(
    tuple
)
ENDS = st.sampled_from((b"a", b"a\x00d2", b"a\x00d3\x00", b"aa", b"aa\x00d4", b"b", b"c"))
RANGES = st.builds(KeyRange, st.one_of(st.just(b""), ENDS), st.one_of(st.none(), ENDS))
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
FILTERS = st.recursive(
    st.sampled_from(SIMPLE_FILTERS),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda pair: b"((%b) AND (%b))" % pair),
        st.tuples(inner, inner).map(lambda pair: b"((%b) OR (%b))" % pair),
        inner.map(lambda one: b"(SKIP (%b))" % one),
        inner.map(lambda one: b"(WHILE (%b))" % one),
    ),
    max_leaves=3,
)
SCANS = st.builds(
    Scan,
    st.just("new"),
    RANGES,
    COLUMNS,
    st.one_of(st.none(), FILTERS),
    st.booleans(),
)


def of_oracle(world: World, scan: Scan) -> list[Row] | None:
    """Return the rows of the oracle; None if a server refuses this scan for being reverse."""
    truth = Scan("truth", scan.key_range, scan.columns, scan.filter, scan.reverse)
    try:
        return world.tables.run(scanned(truth, (3,)))
    except RejectedError as error:
        assert "reverse scan" in str(error)  # noqa: PT017  # other errors would be the test's own
        return None


@given(worlds_in_phases(), SOUGHT, COLUMNS)
def test_gets_are_answered_as_by_a_table_that_has_all_rows(
    at: tuple[World, Phase], keys: tuple[bytes, ...], columns: tuple[bytes, ...]
) -> None:
    world, phase = at

    rows = world.read(GetRows("new", keys, columns), phase)

    assert rows == world.tables.gateway.execute(GetRows("truth", keys, columns))
    assert [list(row.cells) for row in rows if row] == [
        list(row.cells)
        for row in world.tables.gateway.execute(GetRows("truth", keys, columns))
        if row
    ]


@given(worlds_in_phases(), SOUGHT, COLUMNS, st.integers(1, 3))
def test_versions_are_answered_as_by_a_table_that_has_all_rows(
    at: tuple[World, Phase], keys: tuple[bytes, ...], columns: tuple[bytes, ...], limit: int
) -> None:
    world, phase = at

    versions = world.read(GetVersionsOfRows("new", keys, columns, limit), phase)
    one = world.read(GetVersions("new", keys[0], columns, limit), phase)

    expected = GetVersionsOfRows("versions", keys, columns, limit)
    assert versions == world.tables.gateway.execute(expected)
    assert one == versions[0]


@given(worlds_in_phases(), SCANS, st.lists(st.integers(1, 5), min_size=1, max_size=3))
def test_scans_are_answered_as_by_a_table_that_has_all_rows(
    at: tuple[World, Phase], scan: Scan, counts: list[int]
) -> None:
    world, phase = at
    expected = of_oracle(world, scan)
    if expected is not None:
        assert world.scan(scan, phase, *counts) == expected


@given(worlds((*BEFORE_SEALS, *WITH_SEALS)), SCANS, st.data())
def test_rows_that_are_handed_over_at_any_moment_of_a_scan_are_read_once(
    world: World, scan: Scan, data: st.DataObject
) -> None:
    left = list(data.draw(st.permutations(KEYS)))

    def hand_over_some(_: object = None) -> None:
        for _each in range(data.draw(st.integers(0, 3))):
            if left:
                world.hand_over(left.pop())

    expected = of_oracle(world, scan)
    if expected is None:
        return
    world.before_request = hand_over_some
    assert world.scan(scan, MOVING, data.draw(st.integers(1, 3))) == expected


@given(worlds((*BEFORE_SEALS, *WITH_SEALS)), SOUGHT, COLUMNS, st.data())
def test_rows_that_are_handed_over_at_any_moment_of_a_get_are_read(
    world: World, keys: tuple[bytes, ...], columns: tuple[bytes, ...], data: st.DataObject
) -> None:
    left = list(data.draw(st.permutations(KEYS)))

    def hand_over_some(_: object) -> None:
        for _each in range(data.draw(st.integers(0, 9))):
            if left:
                world.hand_over(left.pop())

    world.before_request = hand_over_some
    rows = world.read(GetRows("new", keys, columns))
    left = list(KEYS)
    versions = world.read(GetVersionsOfRows("new", keys, columns, 3))

    gateway = world.tables.gateway
    assert rows == gateway.execute(GetRows("truth", keys, columns))
    assert versions == gateway.execute(GetVersionsOfRows("versions", keys, columns, 3))


@given(worlds((*BEFORE_SEALS, *WITH_SEALS)))
def test_the_oracle_has_the_rows_that_the_new_table_has_in_the_end(world: World) -> None:
    world.tables.move_all()

    in_the_end = world.tables.run(scanned(Scan("new", columns=(b"d", b"e")), (9,)))
    assert in_the_end == world.tables.run(scanned(Scan("truth"), (9,)))


# --- one world for the tests below ----------------------------------------------------------------

A1, B2, C3, D4 = b"a\x00d1", b"b\x00d2", b"c\x00d3", b"d\x00d4"


@pytest.fixture
def world() -> World:
    world = World()
    for key in (A1, B2, C3, D4):
        region, device = key.split(b"\x00")
        world.write_old(device, b"", region=region, v=b"1")
    return world


def keys_of(rows: Sequence[Row | None]) -> list[bytes]:
    return [row.key for row in rows if row is not None]


@pytest.mark.parametrize("reverse", [False, True])
def test_rows_handed_over_between_two_fetches_are_neither_missed_nor_read_twice(
    world: World, *, reverse: bool
) -> None:
    moves, left = Moves(CurrentMove(MOVE, MOVING)), [B2, C3, A1, D4]
    steps = scanned(Scan("new", reverse=reverse), (1,), lambda: world.hand_over(left.pop(0)))

    assert keys_of(world.through(steps, moves)) == sorted((A1, B2, C3, D4), reverse=reverse)


@pytest.mark.parametrize("reverse", [False, True])
def test_a_scan_goes_on_through_all_phases(world: World, *, reverse: bool) -> None:
    moves, phases = Moves(CurrentMove(MOVE, INDEXING)), [PREPARED, MOVING, NEW]

    def next_phase() -> None:
        if phases:
            moves.enter(phases.pop(0))
        if moves.current is not None and moves.current.phase is MOVING:
            world.tables.move_all()
            world.write(RowChange(B2, {VALUE: b"2"}))
            world.write(RowChange(C3, {VALUE: b"2"}))

    rows = world.through(scanned(Scan("new", reverse=reverse), (1,), next_phase), moves)

    assert keys_of(rows) == sorted((A1, B2, C3, D4), reverse=reverse)
    assert [row.cells[VALUE].value for row in rows] == [b"1", b"1", b"2", b"1"]


def test_a_scan_of_a_move_that_has_ended_reads_the_new_table(world: World) -> None:
    moves = Moves(CurrentMove(MOVE, MOVING))

    def end() -> None:
        if moves.current is not None:
            moves.current = None
            world.tables.move_all()
            world.drop_old()

    assert keys_of(world.through(scanned(Scan("new"), (1,), end), moves)) == [A1, B2, C3, D4]


@pytest.mark.parametrize("text", SIMPLE_FILTERS, ids=bytes.decode)
@pytest.mark.parametrize("wrapped", [b"%b", b"(WHILE (%b))", b"(SKIP (%b))"], ids=bytes.decode)
def test_each_filter_is_checked_in_both_directions(text: bytes, wrapped: bytes) -> None:
    world = World()
    for region in REGIONS:
        for device in DEVICES[:2]:
            name = bytes([device[0], device[1] + 2 * REGIONS.index(region)])
            world.write_old(name, b"", region=region, name=b"K", v=name[1:], note=name[1:])
    world.make_oracle()
    world.hand_over(b"aa\x00d3")

    for reverse in (False, True):
        scan = Scan("new", filter=wrapped % text, reverse=reverse)
        expected = of_oracle(world, scan)
        if expected is not None:
            assert world.scan(scan, MOVING, 2) == world.scan(scan, INDEXING, 1) == expected


@pytest.mark.parametrize("reverse", [False, True])
def test_rows_that_only_the_new_table_has_are_read_page_by_page(*, reverse: bool) -> None:
    world = World()
    keys = [b"r\x00%02d" % number for number in range(7)]
    for key in keys:
        world.write(RowChange(key, {REGION: b"r"}, kind="insert"))

    assert keys_of(world.scan(Scan("new", reverse=reverse), MOVING, 1, 2)) == sorted(
        keys, reverse=reverse
    )


def test_a_scan_ends_when_its_filter_passes_no_later_row(world: World) -> None:
    assert keys_of(world.scan(Scan("new", filter=b"InclusiveStopFilter('a~')"), MOVING, 1)) == [A1]
    gets = [request for request in world.sent if isinstance(request, GetRows)]
    assert [request.keys for request in gets] == [(b"d1",), (b"d2",)]


@pytest.mark.parametrize("phase", BEFORE_NEW)
def test_rows_without_the_requested_columns_are_absent(world: World, phase: Phase) -> None:
    world.write_old(b"d2", B2, region=b"b", note=b"n")

    assert world.read(GetRows("new", (A1, B2, A1), (NOTE,)), phase)[::2] == [None, None]
    assert keys_of(world.scan(Scan("new", columns=(NOTE,)), phase)) == [B2]
    assert world.read(GetVersions("new", A1, (NOTE,)), phase) == ()


# --- what is passed on ----------------------------------------------------------------------------

SCAN_WITH_GUARD = Scan("new", columns=(b"d", GUARD_COLUMN))


@pytest.mark.parametrize(
    "request_",
    [
        GetRows("new", (A1,), (b"d", GUARD_COLUMN)),
        GetRows("new", (A1,), (b"_",)),
        GetVersions("new", A1, (b"d",), 3, raw=True),
        GetVersions("new", A1, (GUARD_COLUMN,)),
        GetVersionsOfRows("new", (A1,), (b"d",), 3, raw=True),
        OpenScanner(SCAN_WITH_GUARD),
        GetRows("old", (b"d1",), (b"d",)),
        OpenScanner(Scan("old")),
        MutateRow("new", RowMutation(A1, (Put(VALUE, b"7"),))),
        Together((GetRows("old", (b"d1",)), GetRows("new_keys", (A1,)))),
    ],
    ids=repr,
)
def test_requests_for_guards_raw_reads_writes_and_other_tables_are_passed_on(
    world: World, request_: Operation[Any]
) -> None:
    steps = through_moves(ask(request_), Moves(CurrentMove(MOVE, MOVING)), world.tables.context)

    assert next(steps) is request_


def test_a_scan_that_reads_guards_stays_with_the_gateway(world: World) -> None:
    world.hand_over(A1)

    assert keys_of(world.scan(SCAN_WITH_GUARD)) == [A1]


@pytest.mark.parametrize("current", [None, CurrentMove(MOVE, NEW)], ids=["no move", "NEW"])
def test_without_a_move_and_in_new_requests_are_passed_on(
    world: World, current: CurrentMove | None
) -> None:
    world.hand_over(A1)
    get, scan = GetRows("new", (A1, B2)), Scan("new", columns=(b"d",), from_ms=1)

    rows = world.read(get, Moves(current))
    scanned_rows = world.scan(scan, Moves(current), 1)

    assert keys_of(rows) == keys_of(scanned_rows) == [A1]
    assert [type(request).__name__ for request in world.sent] == [
        "GetRows", "OpenScanner", "FetchRows", "FetchRows", "CloseScanner",
    ]  # fmt: skip
    assert world.sent[:2] == [get, OpenScanner(scan)]


def test_requests_that_run_together_side_by_side_and_nested_are_answered_alike(
    world: World,
) -> None:
    get_new, get_old = GetRows("new", (A1,)), GetRows("old", (b"d1",))
    expected = [A1]

    together = world.read(Together((get_new, get_old, Together((get_new,)))))
    beside = world.through(_side_by_side(get_new, get_old), Moves(CurrentMove(MOVE, MOVING)))
    nested = world.read(Nested(ask(get_new)))

    assert [keys_of(together[0]), keys_of(together[1])] == [expected, [b"d1"]]
    assert keys_of(together[2][0]) == keys_of(nested) == expected
    assert [keys_of(rows) for rows in beside] == [expected, [b"d1"]]


def _side_by_side(*requests: Operation[Any]) -> Protocol[list[Any]]:
    return (yield from ask(SideBySide(tuple(ask(request) for request in requests))))


def test_a_scanner_is_used_by_protocols_beside_the_one_that_opened_it(world: World) -> None:
    def steps() -> Protocol[list[bytes]]:
        opened = yield from ask(Together((OpenScanner(Scan("new")), OpenScanner(Scan("old")))))
        first = yield from _side_by_side(*(FetchRows(scanner, 2) for scanner in opened))
        yield from ask(Together(tuple(CloseScanner(scanner) for scanner in opened)))
        return [row.key for rows in first for row in rows]

    assert world.through(steps(), Moves(CurrentMove(MOVE, MOVING))) == [A1, B2, b"d1", b"d2"]


def test_made_up_scanners_differ_and_the_gateway_does_not_see_them(world: World) -> None:
    def steps() -> Protocol[list[ScannerId]]:
        first = yield from ask(OpenScanner(Scan("new")))
        opened = [first, (yield from ask(OpenScanner(Scan("new"))))]
        for scanner in opened:
            yield from ask(CloseScanner(scanner))
        with pytest.raises(ScannerExpiredError, match="closed"):
            yield from ask(FetchRows(opened[0], 1))
        return opened

    first, second = world.through(steps(), Moves(CurrentMove(MOVE, MOVING)))

    assert len({first, second, ScannerId(first.number, world.tables.gateway)}) == 3
    assert world.sent == []


def test_an_error_of_a_request_is_raised_in_the_protocol_which_goes_on(world: World) -> None:
    def steps() -> Protocol[str]:
        try:
            yield from ask(GetRows("new", (b"",)))
        except RejectedError as error:
            yield from ask(GetRows("new", (A1,)))
            return str(error)
        return ""

    assert "a row key is empty" in world.through(steps(), Moves(CurrentMove(MOVE, MOVING)))


def test_a_page_without_rows_is_not_the_end_of_a_scan() -> None:
    world = World()
    for number in range(60):
        key = world.write_old(b"%02d" % number, b"", region=b"r", v=b"1")
        if number not in {1, 58}:
            world.write(RowChange(key, kind="delete"))

    assert keys_of(world.scan(Scan("new"), MOVING, 1)) == [b"r\x0001", b"r\x0058"]
    assert len(world.sent) < 60  # pages grow while they are empty


# --- reads of the past, and timeline reads --------------------------------------------------------


@pytest.mark.parametrize("phase", BEFORE_NEW)
@pytest.mark.parametrize(
    "request_",
    [
        GetRows("new", (A1,), before_ms=5),
        GetRows("new", (A1,), from_ms=5),
        OpenScanner(Scan("new", before_ms=5)),
        OpenScanner(Scan("new", from_ms=5)),
    ],
    ids=["get before", "get from", "scan before", "scan from"],
)
def test_the_past_cannot_be_read_while_rows_move(
    world: World, request_: Operation[Any], phase: Phase
) -> None:
    with pytest.raises(QueryError, match="past of a table cannot be read") as caught:
        world.read(request_, phase)

    assert "phase NEW" in str(caught.value)
    assert (caught.value.table, caught.value.phase) == ("new", phase.name)
    assert world.sent == []


@pytest.mark.parametrize("phase", BEFORE_NEW)
def test_timeline_reads_are_answered_by_strong_ones(world: World, phase: Phase) -> None:
    rows = world.read(GetRows("new", (A1, b"x\x00d9"), is_timeline=True), phase)
    rows += world.scan(Scan("new", is_timeline=True), phase)

    assert keys_of(rows) == [A1, A1, B2, C3, D4]
    assert rows[1] is None
    assert not any(isinstance(row, StaleRow) for row in rows)
    assert not any(getattr(request, "is_timeline", False) for request in world.sent)


# --- before the phase PREPARED --------------------------------------------------------------------


def test_before_prepared_the_old_table_is_read_once_for_a_scan(world: World) -> None:
    rows = world.scan(Scan("new", KeyRange(B2)), INDEXING, 1)

    assert keys_of(rows) == [B2, C3, D4]
    opened = [request for request in world.sent if isinstance(request, OpenScanner)]
    assert {request.scan.table for request in opened} == {"old"}
    assert len(opened) == 2  # the rows, and the end


@pytest.mark.parametrize("phase", [phase for phase in Phase if phase < PREPARED])
def test_before_prepared_the_new_table_is_not_read(world: World, phase: Phase) -> None:
    world.tables.gateway.execute(DropTable("new"))

    rows = world.read(GetRows("new", (B2,)), phase)
    assert keys_of(rows) == [B2]
    assert keys_of(world.scan(Scan("new", reverse=True), phase)) == [D4, C3, B2, A1]
    (version,) = world.read(GetVersions("new", B2, (VALUE,)), phase)
    assert version.value == b"1"


SAME_KEY = replace(
    MOVE,
    translation=replace(
        MOVE.translation,
        to_new=lambda row: Row(row.key, {RENAMED[name]: row.cells[name] for name in row.cells}),
        old_key=lambda key: key,
        old_columns=lambda columns: frozenset(FORMER[column] for column in columns),
        older_versions=None,
    ),
    new_key_table=None,
)


@pytest.mark.parametrize("phase", BEFORE_NEW)
@pytest.mark.parametrize("reverse", [False, True])
def test_rows_that_keep_their_keys_are_scanned_page_by_page_in_each_phase(
    world: World, phase: Phase, *, reverse: bool
) -> None:
    world.write_old(b"d3", C3, region=b"c", v=b"3")
    if phase in BOTH_TABLES:
        world.tables.run(hand_over(SAME_KEY, b"d2", world.tables.context))
    else:
        world.tables.gateway.execute(DropTable("new"))
    moves = Moves(CurrentMove(SAME_KEY, phase))

    rows = world.scan(Scan("new", KeyRange(b"d2"), (VALUE,), reverse=reverse), moves, 1)
    versions = world.read(GetVersions("new", b"d3", (VALUE,), 3), moves)

    assert keys_of(rows) == sorted((b"d2", b"d3", b"d4"), reverse=reverse)
    assert [version.value for version in versions] == [b"3"]  # the newest ones are kept only
    fetched = [request for request in world.sent if isinstance(request, FetchRows)]
    assert {request.count for request in fetched} <= {1, 4}


def test_before_prepared_a_range_of_too_many_rows_is_refused(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(moved_scan, "MAX_UNINDEXED_ROWS", 3)

    with pytest.raises(QueryError, match="too many rows to sort") as caught:
        world.scan(Scan("new"), INDEXING)

    assert "PREPARED" in str(caught.value)
    assert caught.value.limit_rows == 3
    assert keys_of(world.scan(Scan("new", KeyRange(B2)), INDEXING)) == [B2, C3, D4]
    assert keys_of(world.scan(Scan("new"), PREPARED)) == [A1, B2, C3, D4]


# --- the lease ------------------------------------------------------------------------------------


def on_first(table: str, act: Callable[[], object]) -> Callable[[Operation[Any]], None]:
    """Return what is done before requests: `act`, before the first one that reads a table."""
    left = [act]

    def before_request(request: Operation[Any]) -> None:
        scan = getattr(request, "scan", request)
        if getattr(scan, "table", "") == table and left:
            left.pop()()

    return before_request


READS: dict[str, Callable[[], Protocol[Any]]] = {
    "get": lambda: ask(GetRows("new", (A1,), (VALUE,))),
    "versions": lambda: ask(GetVersions("new", A1, (VALUE,))),
    "versions of rows": lambda: ask(GetVersionsOfRows("new", (A1,), (VALUE,))),
    "scan": lambda: scanned(Scan("new", KeyRange(b"", B2), (VALUE,)), (9,)),
    "together": lambda: ask(Together((GetRows("new", (A1,), (VALUE,)),))),
}


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_an_answer_from_before_the_move_went_on_does_not_count(
    world: World, read: Callable[[], Protocol[Any]]
) -> None:
    moves = Moves(CurrentMove(MOVE, INDEXING))

    def pause() -> None:
        """Others end the move and write the row while this process stands still."""
        world.write(RowChange(A1, {VALUE: b"2"}))
        moves.enter(MOVING)

    world.before_request = on_first("old", pause)

    assert "b'2'" in repr(world.through(read(), moves))
    assert "b'1'" not in repr(world.through(read(), moves))


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_an_error_from_before_the_move_went_on_does_not_count(
    world: World, read: Callable[[], Protocol[Any]]
) -> None:
    moves = Moves(CurrentMove(MOVE, MOVING))

    def pause() -> None:
        world.tables.move_all()
        world.drop_old()
        moves.enter(NEW)

    world.before_request = on_first("old", pause)

    assert "b'1'" in repr(world.through(read(), moves))


def test_an_error_under_the_lease_is_raised_at_once(world: World) -> None:
    world.tables.gateway.execute(DropTable("old"))
    moves = Moves(CurrentMove(MOVE, MOVING))

    with pytest.raises(TableNotFoundError):
        world.read(GetRows("new", (A1,)), moves)

    assert moves.looks == 1


def test_a_lease_that_ends_at_every_attempt_is_an_error(world: World) -> None:
    moves = Moves(CurrentMove(MOVE, MOVING))
    world.before_request = lambda _: moves.enter(MOVING)

    with pytest.raises(CatalogLeaseError, match="at every attempt") as caught:
        world.read(GetRows("new", (A1,)), moves)

    assert isinstance(caught.value, HBaseORMError)
    assert caught.value.attempts == moves.looks == MAX_READS


def test_a_filter_has_checked_the_rows_of_an_answer_that_counts_only_once(world: World) -> None:
    moves = Moves(CurrentMove(MOVE, MOVING))

    def end_every_other_lease(_: Operation[Any]) -> None:
        if moves.looks % 2 == 0:
            moves.enter(MOVING)

    world.before_request = end_every_other_lease

    rows = world.scan(Scan("new", filter=b"PageFilter(3)"), moves, 1)
    assert keys_of(rows) == [A1, B2, C3]


def test_a_scanner_from_before_the_move_expires_when_rows_begin_to_move(world: World) -> None:
    moves = Moves(None)
    world.tables.gateway.execute(
        MutateRow("new", RowMutation(A1, (Put(VALUE, b"7"), Put(REGION, b"a"))))
    )

    with pytest.raises(ScannerExpiredError, match="rows began to move"):
        world.through(scanned(Scan("new"), (1,), lambda: moves.enter(PREPARED)), moves)
    assert keys_of(world.through(scanned(Scan("new"), (1,), lambda: moves.enter(NEW)), moves))
