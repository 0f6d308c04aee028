"""Tables of readings that move with two counters each; see `moved_readings`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

from hbase_orm.gateway.memory.gateway import MemoryGateway
from hbase_orm.ops import (
    Cell,
    CreateTable,
    FamilyDescriptor,
    GetRows,
    Increment,
    Operation,
    TableDescriptor,
)
from tests.support.moved_readings import (
    FAILS,
    FORMER,
    HITS,
    MISSES,
    MOVE,
    RENAMED,
    VISITS,
    Tables,
)
from tests.support.recording import RecordsRequests

R = TypeVar("R")

TTL_S = 10
NORTH = b"north\x00d1"

COUNTING = replace(
    MOVE,
    old=replace(MOVE.old, counters=frozenset((HITS, MISSES))),
    new=replace(MOVE.new, counters=frozenset((VISITS, FAILS))),
    translation=replace(MOVE.translation, old_counters={VISITS: HITS, FAILS: MISSES}),
)
KEPT = replace(
    COUNTING,
    translation=replace(
        COUNTING.translation,
        to_new=lambda row: replace(to_new_cells(row), key=b"r" + row.key),
        old_key=lambda key: key[1:],
        old_columns=lambda columns: frozenset(FORMER[column] for column in columns),
    ),
)
"""The new key depends on nothing but the old one."""


def to_new_cells(row: Any) -> Any:
    return replace(row, cells={RENAMED[column]: cell for column, cell in row.cells.items()})


def add(tables: Tables, column: bytes, amount: int, row: bytes = b"d1") -> None:
    tables.gateway.execute(Increment("old", row, {column: amount}))


def cell(tables: Tables, table: str, row: bytes, column: bytes) -> Cell | None:
    (stored,) = tables.gateway.execute(GetRows(table, (row,), (column,)))
    return None if stored is None else stored.cells.get(column)


def number(stored: Cell | None) -> int | None:
    return None if stored is None else int.from_bytes(stored.value, signed=True)


class Answers(RecordsRequests):
    """Answers requests by a function, which may ask the gateway."""

    def __init__(self, tables: Tables, answer: Callable[[Any], Any]) -> None:
        super().__init__(tables.gateway)
        self._answer = answer

    def execute(self, request: Operation[R], /) -> R:
        result: R = self._answer(request)
        return result


def readings_with_ttl(now_ms: Callable[[], int]) -> Tables:
    """Return empty tables whose family of the counters has a TTL."""
    gateway = MemoryGateway(now_ms)
    families = (FamilyDescriptor(b"d", ttl_s=TTL_S), FamilyDescriptor(b"e"), FamilyDescriptor(b"_"))
    for name in ("old", "new", "by_unit", "by_name", "new_keys"):
        gateway.execute(CreateTable(TableDescriptor(name, families)))
    return Tables(gateway)
