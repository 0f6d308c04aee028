"""Tables of readings that move: keyed by device; in the new table by region and device.

The unit has another name in the new table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import TypeVar

from hbase_orm.gateway.memory.gateway import MemoryGateway
from hbase_orm.index.catalog.move_phases import Phase
from hbase_orm.index.entries.targets import (
    GUARD_COLUMN,
    GUARDED_RETRIES,
    GuardContext,
    GuardedTable,
    IndexTarget,
    RowChange,
    WriteOutcome,
)
from hbase_orm.index.protocol.guarded_write import guarded_write
from hbase_orm.moving.layouts import MovedPeriod, RowTranslation
from hbase_orm.moving.moved_write import moved_write, old_table
from hbase_orm.moving.mover import move_page
from hbase_orm.moving.translation import TableMove
from hbase_orm.moving.virtual_reads import virtual_rows
from hbase_orm.moving.virtual_scans import virtual_page
from hbase_orm.ops import (
    Cell,
    CreateTable,
    DropTable,
    FamilyDescriptor,
    GetRows,
    KeyRange,
    ListTables,
    MutateRow,
    Protocol,
    Put,
    Row,
    RowMutation,
    StoredVersion,
    TableDescriptor,
)
from tests.support.stepping import drive

R = TypeVar("R")

REGION, UNIT, VALUE, NAME = b"d:region", b"d:unit", b"d:v", b"d:name"
NOTE = b"e:note"
HITS, MISSES, VISITS, FAILS = b"d:hits", b"d:misses", b"d:visits", b"d:fails"
"""Counters: two of the old table, and the same of the new one. `MOVE` has none."""

RENAMED = {REGION: REGION, UNIT: NAME, VALUE: VALUE, NOTE: NOTE, HITS: VISITS, MISSES: FAILS}
FORMER = {new: old for old, new in RENAMED.items()} | {b"d": b"d", b"e": b"e"}
DEVICE_BYTES = 2


def new_key(device: bytes, cells: dict[bytes, Cell]) -> bytes:
    return cells[REGION].value + b"\x00" + device


def to_new(row: Row) -> Row:
    cells = {RENAMED[column]: cell for column, cell in row.cells.items()}
    return Row(new_key(row.key, row.cells), cells)


def older_versions(versions: Sequence[StoredVersion]) -> Sequence[StoredVersion]:
    return [version._replace(column=RENAMED[version.column]) for version in versions]


def old_change(change: RowChange) -> RowChange:
    puts = {FORMER[column]: value for column, value in change.puts.items()}
    clears = frozenset(FORMER[column] for column in change.clears)
    return RowChange(change.row[-DEVICE_BYTES:], puts, clears, change.kind)


def entries_by(column: bytes) -> Callable[..., frozenset[bytes]]:
    def keys(row: bytes, cells: dict[bytes, bytes]) -> frozenset[bytes]:
        return frozenset({cells[column] + b"\x00" + row} if column in cells else ())

    return keys


def guarded(name: str, columns: set[bytes], *indexes: IndexTarget) -> GuardedTable:
    return GuardedTable(
        name,
        families=(b"d", b"e"),
        anchor=REGION,
        marker=None,
        counters=frozenset(),
        columns=frozenset(columns),
        indexes=indexes,
    )


BY_UNIT = IndexTarget("by_unit", "by_unit", frozenset((UNIT,)), entries_by(UNIT))
BY_NAME = IndexTarget("by_name", "by_name", frozenset((NAME,)), entries_by(NAME))
MOVE = TableMove(
    guarded("old", {REGION, UNIT, VALUE, NOTE}, BY_UNIT),
    guarded("new", {REGION, NAME, VALUE, NOTE}, BY_NAME),
    RowTranslation(
        to_new,
        lambda key: key[-DEVICE_BYTES:],
        old_change,
        lambda columns: frozenset({FORMER[column] for column in columns} | {REGION}),
        older_versions,
    ),
    "new_keys",
)


def values_of(row: Row) -> dict[bytes, bytes]:
    return {column: cell.value for column, cell in row.cells.items()}


def readings_in_memory(now_ms: Callable[[], int] = lambda: 1_000) -> Tables:
    """Return empty tables; the servers' clock stands still: guards of deleted rows do not expire."""
    gateway = MemoryGateway(now_ms)
    for name in ("old", "new", "by_unit", "by_name", "new_keys"):
        _create(gateway, name)
    return Tables(gateway)


def _create(gateway: MemoryGateway, name: str) -> None:
    families = tuple(FamilyDescriptor(name, versions=3) for name in (b"d", b"e"))
    descriptor = TableDescriptor(name, (*families, FamilyDescriptor(b"_")))
    gateway.execute(CreateTable(descriptor))


OTHER_DEVICE = b"z1"
"""A device of another period."""


def readings_of_a_period() -> Tables:
    """Return tables in which the new one is that of a period, and is made when a row comes.

    The old table has the row of another period, too, whose entry is in the index of new keys.
    """
    tables = readings_in_memory()
    tables.gateway.execute(DropTable("new"))

    def make_table() -> Protocol[None]:
        yield from ()
        if "new" not in tables.gateway.execute(ListTables()):
            _create(tables.gateway, "new")

    def prefix_of(old_key: bytes) -> bytes:
        return b"q" if old_key == OTHER_DEVICE else b"p"

    tables.move = replace(MOVE, period=MovedPeriod(b"p", prefix_of, make_table))
    tables.write_old(OTHER_DEVICE, region=b"aa", v=b"7")
    entry = Put(b"d:e", b"", 1)
    mutation = RowMutation(b"qaa\x00" + OTHER_DEVICE, puts=(entry,))
    tables.gateway.execute(MutateRow("new_keys", mutation))
    return tables


@dataclass
class Tables:
    """Both tables in memory."""

    gateway: MemoryGateway
    move: TableMove = MOVE
    clock_ms: int = 1_000
    _nonces: count[int] = field(default_factory=lambda: count(1))

    @property
    def context(self) -> GuardContext:
        return GuardContext(
            now_ms=lambda: self.clock_ms,
            nonce=lambda: next(self._nonces).to_bytes(8, "big"),
            retries=GUARDED_RETRIES,
            permit=lambda _: 1,
        )

    def run(self, protocol: Protocol[R]) -> R:
        return drive(protocol, self.gateway)

    def write_old(self, device: bytes, **cells: bytes) -> WriteOutcome:
        puts = {b"d:" + name.encode(): value for name, value in cells.items()}
        return self.change_old(RowChange(device, puts))

    def change_old(self, change: RowChange) -> WriteOutcome:
        self.clock_ms += 1
        target = old_table(self.move, Phase.INDEXING)
        return self.run(guarded_write(target, change, self.context))

    def write(self, phase: Phase, change: RowChange) -> WriteOutcome:
        self.clock_ms += 1
        return self.run(moved_write(self.move, phase, change, self.context))

    def move_all(self) -> int:
        return self.run(move_page(self.move, KeyRange(), self.context)).handed_over

    def read(self, phase: Phase, *keys: bytes) -> list[dict[bytes, bytes] | None]:
        rows = self.run(virtual_rows(self.move, phase, keys, self.context))
        return [None if row is None else values_of(row) for row in rows]

    def scan(self, phase: Phase, page_rows: int = 2) -> list[bytes]:
        keys: list[bytes] = []
        rest: bytes | None = b""
        while rest is not None:
            steps = virtual_page(
                self.move, phase, KeyRange(rest), self.context, page_rows=page_rows
            )
            page = self.run(steps)
            keys += [row.key for row in page.rows]
            rest = page.next
        return keys

    def guard(self, table: str, key: bytes) -> bytes:
        (row,) = self.gateway.execute(GetRows(table, (key,), (GUARD_COLUMN,)))
        return b"" if row is None else row.cells[GUARD_COLUMN].value
