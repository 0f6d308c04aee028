"""The processes of a table that moves.

Reads of several rows are made row by row, so that a row can move in the midst of a scan. Readers
leave a note of what they have seen, which is checked when all is quiet.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import Any

from hbase_orm.errors import HBaseORMError, RowNotFoundError
from hbase_orm.index.catalog.move_phases import Phase
from hbase_orm.index.entries.targets import (
    GUARD_COLUMN,
    GuardContext,
    RowChange,
)
from hbase_orm.index.protocol import guarded_write as guard
from hbase_orm.index.protocol.requests import guarded_row
from hbase_orm.index.upkeep.repair import repair_pass
from hbase_orm.index.upkeep.table_pages import scan_page, with_base_keys
from hbase_orm.moving import new_entries
from hbase_orm.moving.adoption import taking_over
from hbase_orm.moving.moved_increment import moved_increment
from hbase_orm.moving.moved_write import moved_write, new_table, old_table
from hbase_orm.moving.mover import check_page, move_page
from hbase_orm.moving.translation import TableMove
from hbase_orm.moving.virtual_reads import rows_of_entries, virtual_rows
from hbase_orm.moving.virtual_scans import rest_after, virtual_page
from hbase_orm.ops import (
    FetchRows,
    GetRows,
    Increment,
    KeyRange,
    Operation,
    Protocol,
    ProtocolRun,
    Row,
    ScannerId,
    ask,
)
from tests.model.cells import (
    NOTES,
    SERVER_NOW_MS,
    Amounts,
    Compact,
    ExpireDeadGuards,
    Note,
    ScannedRange,
)
from tests.model.explorer import LeasesEnd, in_turn
from tests.model.moving_tables import (
    INDEXED,
    INDEXING,
    MOVING,
    NEW,
    NEW_INDEX,
    NEW_KEYS,
    NEW_TABLE,
    OF_OLD,
    OLD_INDEX,
    OLD_TABLE,
    PAGE_ROWS,
    PREPARED,
    Cells,
    MoveSystem,
    N,
    Seen,
    Task,
    W,
    move_of,
    universe_of,
)
from tests.model.systems import context
from tests.support.replays import base_key_of

# --- the processes --------------------------------------------------------------------------------


def protocol(system: MoveSystem, number: int, task: Task) -> Protocol[Any]:
    return row_by_row(_waiting_for_phase(system, number, task))


def _waiting_for_phase(system: MoveSystem, number: int, task: Task) -> Protocol[Any]:
    """Begin a process of the phase NEW only once the mover has noted that all is moved."""
    floor_ms = 0
    if task.phase is NEW:
        movers = [n for n, other in enumerate(system.tasks) if other.kind == "mover"]
        yield from ask(LeasesEnd(tuple(movers), is_quiet=False))
        (note,) = yield from ask(GetRows(NOTES, (b"moved",)))
        if note is None:
            raise HBaseORMError("the phase is not reached")
        floor_ms = int(note.cells[b""].value)
    own = context(number, task.clock_ms, system.epoch_of(task.phase))
    steps = steps_of(system, number, task, own, floor_ms)
    return (yield from (without_old_tables(steps) if task.phase is NEW else steps))


def steps_of(  # noqa: PLR0911  # one return a kind of task
    system: MoveSystem, number: int, task: Task, own: GuardContext, floor_ms: int
) -> Protocol[Any]:
    move = move_of(system)
    match task.kind:
        case "indexer":
            return rows_indexed(system, own)
        case "mover":
            return moved(system, own)
        case "repair":
            return repair(move, task.phase, own, floor_ms)
        case "old repair":
            return repair_old(move, own)
        case "get" | "scan" | "scan back" | "find":
            return noted(number, read(system, task, own))
        case "expire":
            return ask(ExpireDeadGuards())
        case "compact":
            return ask(Compact())
        case _:
            return written(move, task, own, floor_ms)


def written(move: TableMove, task: Task, own: GuardContext, floor_ms: int) -> Protocol[Any]:
    match task.kind:
        case "old put":
            change = RowChange(task.key, task.puts)
            return guard.guarded_write(old_table(move, task.phase), change, own)
        case "old delete":
            change = RowChange(task.key, kind="delete")
            return guard.guarded_write(old_table(move, task.phase), change, own)
        case "old count":
            return ask(Increment(OLD_TABLE, task.key, {N: 1}))
        case "count":
            return moved_increment(move, task.phase, Increment(NEW_TABLE, task.key, {N: 1}), own)
        case "put" | "insert" | "update" | "delete" as kind:
            change = RowChange(task.key, task.puts, kind=kind)
            return moved_write(move, task.phase, change, own, floor_ms=floor_ms)
        case _:
            raise AssertionError(task)


def moved(system: MoveSystem, own: GuardContext) -> Protocol[None]:
    """Move all rows, wait for the writers of PREPARED, move what they have left, and check."""
    move = move_of(system)
    earlier = [n for n, task in enumerate(system.tasks) if task.phase < MOVING]
    yield from move_all(move, own)
    if earlier:
        yield from ask(LeasesEnd(tuple(earlier), system.keeps_promise, of_writers=True))
        yield from move_all(move, own)
    floor_ms = yield from checked_floor(move, own)
    yield from ask(Note(b"moved", str(floor_ms).encode()))


def rows_indexed(system: MoveSystem, own: GuardContext) -> Protocol[None]:
    """Put all rows into the new indexes, those that change meanwhile one by one."""
    move = move_of(system)
    target = old_table(move, INDEXING)
    known = {index.table for index in move.old.indexes}
    added = [index for index in target.indexes if index.table not in known]
    rest: bytes | None = b""
    while rest is not None:
        columns = (*move.old.families, GUARD_COLUMN)
        page = yield from scan_page(OLD_TABLE, columns, KeyRange(rest), PAGE_ROWS, own)
        read = {row.key: guarded_row(row.cells) for row in page}
        finished = yield from new_entries.index_unchanged_rows(target, added, read, own)
        for key in [key for key in read if key not in finished]:
            with suppress(RowNotFoundError):
                yield from guard.guarded_write(target, RowChange(key, kind="reindex"), own)
        rest = page[-1].key + b"\x00" if page else None
    yield from ask(Note(INDEXED, b""))


def move_all(move: TableMove, own: GuardContext) -> Protocol[None]:
    rest: bytes | None = b""
    while rest is not None:
        page = yield from move_page(move, KeyRange(rest), own, page_rows=PAGE_ROWS)
        rest = page.next


def checked_floor(move: TableMove, own: GuardContext) -> Protocol[int]:
    floor_ms, rest = 0, b""
    while True:
        page = yield from check_page(move, KeyRange(rest), own, page_rows=PAGE_ROWS)
        if page.left:
            raise HBaseORMError("rows are left", rows=page.left)
        if page.next is None:
            return floor_ms
        floor_ms, rest = max(floor_ms, page.newest_ms), page.next


def repair_old(move: TableMove, own: GuardContext) -> Protocol[None]:
    """Repair all indexes that writers of the old table maintain, as a program of PREPARED does."""
    target = old_table(move, PREPARED)
    for index in target.indexes:
        base_key_of_index = {
            OLD_INDEX: base_key_of,
            NEW_KEYS: lambda key: move.old_key(move.key_of_entry(key)),
            NEW_INDEX: lambda key: move.old_key(base_key_of(key)),
        }
        base = base_key_of_index[index.table]
        yield from repair_pass(target, index, base, own, min_age_ms=-SERVER_NOW_MS * 2)


def repair(move: TableMove, phase: Phase, own: GuardContext, floor_ms: int = 0) -> Protocol[None]:
    context_ = taking_over(move, own) if phase is MOVING else own
    target = new_table(move, phase, floor_ms)
    for index in target.indexes:
        yield from repair_pass(target, index, base_key_of, context_, min_age_ms=-SERVER_NOW_MS * 2)


def read(system: MoveSystem, task: Task, own: GuardContext) -> Protocol[Seen]:
    move, universe = move_of(system), universe_of(system)
    if task.kind == "get":
        keys = [task.key] if task.key else universe
        rows = yield from virtual_rows(move, task.phase, keys, own)
        return dict(zip(keys, map(_values, rows), strict=True))
    read_all = indexed if task.kind == "find" else scanned
    all_rows = yield from read_all(move, task, own)
    if task.kind == "scan back":
        all_rows.reverse()
    keys = [row.key for row in all_rows]
    if len(keys) != len(set(keys)) or keys != sorted(keys):
        return {b"": {}}
    return dict.fromkeys(universe) | {row.key: _values(row) for row in all_rows}


def scanned(move: TableMove, task: Task, own: GuardContext) -> Protocol[list[Row]]:
    rows: list[Row] = []
    is_back, rest = task.kind == "scan back", KeyRange()
    while True:
        page = yield from virtual_page(
            move, task.phase, rest, own, page_rows=PAGE_ROWS, reverse=is_back
        )
        rows += page.rows
        if page.next is None:
            return rows
        rest = KeyRange(b"", page.next) if is_back else KeyRange(page.next)


def indexed(move: TableMove, task: Task, own: GuardContext) -> Protocol[list[Row]]:
    (index,) = move.new.indexes
    sought = KeyRange.prefix(task.puts[W]) if W in task.puts else KeyRange()
    entries = yield from scan_page(index.table, (b"d",), sought, 99, own)
    pairs, _ = with_base_keys(index, base_key_of, entries)
    keys = {entry.key: key for entry, key in pairs}
    rows = yield from rows_of_entries(move, task.phase, index, keys, own)
    by_key = {row.key: row for row in rows.values()}
    return [by_key[key] for key in sorted(by_key)]


def _values(row: Row | None) -> Cells | None:
    return None if row is None else {column: cell.value for column, cell in row.cells.items()}


def noted(number: int, steps: Protocol[Seen]) -> Protocol[None]:
    seen = yield from steps
    yield from ask(Note(b"%d" % number, repr(seen).encode()))


def row_by_row(steps: Protocol[Any]) -> Protocol[Any]:
    """Pass on what a protocol asks; several rows are read, and handed over, one at a time."""
    run = ProtocolRun(in_turn(steps))
    run.begin()
    while (request := run.request) is not None:
        try:
            match request:
                case GetRows(_, keys) if len(keys) > 1:
                    answer: Any = []
                    for key in keys:
                        answer += yield from ask(replace(request, keys=(key,)))
                case FetchRows(scanner, count) if count > 1:
                    answer = yield from _rows_one_by_one(scanner, count)
                case Increment(amounts=amounts):
                    answer = yield replace(request, amounts=Amounts(amounts))
                case _:
                    answer = yield request
        except HBaseORMError as error:
            run.throw(error)
        else:
            run.send(answer)
    return run.result


def _rows_one_by_one(scanner: ScannerId, count: int) -> Protocol[list[Row]]:
    scan = scanner.owner
    assert isinstance(scan, ScannedRange)
    rows: list[Row] = []
    while len(rows) < count:
        fetched = yield from ask(FetchRows(ScannerId(0, scan), 1))
        if not fetched:
            break
        rows += fetched
        rest = rest_after(scan.key_range, fetched[-1].key, reverse=scan.reverse)
        scan = scan._replace(key_range=rest)
    return rows


def without_old_tables(steps: Protocol[Any]) -> Protocol[Any]:
    run = ProtocolRun(steps)
    run.begin()
    while run.request is not None:
        assert _table_of(run.request) not in OF_OLD, run.request
        yield from run.pass_on()
    return run.result


def _table_of(request: Operation[Any]) -> str:
    scan = getattr(request, "scan", request)
    return str(getattr(scan, "table", ""))
