"""Reading many rows holds few of them: pages of each bucket, whatever the table's size."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Iterator
from typing import Any

import pytest

from hbase_orm import Family, Key, Model, Salt, codecs, key, rowkey
from hbase_orm.execute import rows_of, stream
from hbase_orm.execute.reader import MERGED_BYTES
from hbase_orm.ops import Cell, CloseScanner, FetchRows, OpenScanner, Operation, Row, ScannerId
from hbase_orm.query import plan, select

BUCKETS = 16
ROWS = 200_000
MIB = 1 << 20


class Numbered(Model, table="numbered"):
    d = Family()
    n: Key[int] = key(codecs.uint32())
    __rowkey__ = rowkey(Salt(BUCKETS), n)


class Endless:
    """Makes the rows of each bucket as they are fetched, and counts those not yet handed on."""

    def __init__(self, rows: int, value_bytes: int) -> None:
        self.handed_on = 0
        self.most_held = 0
        self._rows = rows
        self._value_bytes = value_bytes
        self._fetched = 0
        self._buckets: list[Iterator[Row]] = []

    def __call__(self, step: Operation[Any]) -> Any:
        match step:
            case OpenScanner(scan=scan):
                self._buckets.append(self._rows_of(scan.key_range.start[0]))
                return ScannerId(len(self._buckets) - 1, self)
            case FetchRows(scanner=scanner, count=count):
                found = [row for _, row in zip(range(count), self._buckets[scanner.number])]  # noqa: B905 - the shorter ends it
                self._fetched += len(found)
                self.most_held = max(self.most_held, self._fetched - self.handed_on)
                return found
        assert isinstance(step, CloseScanner)
        return None

    def _rows_of(self, salt: int) -> Iterator[Row]:
        for n in range(salt, self._rows, BUCKETS):
            cells = {b"d:v": Cell(n.to_bytes(4) + bytes(self._value_bytes), 1)}
            yield Row(bytes((salt,)) + n.to_bytes(4), cells)


def read_all(server: Endless) -> int:
    """Read everything, check its order, and return how many rows there were."""
    found = plan(select(Numbered).allow_full_scan(), Numbered.__schema__)
    for page in stream(rows_of(found, None), server):
        for row in page:
            assert int.from_bytes(row.key[1:]) == server.handed_on
            server.handed_on += 1
    return server.handed_on


def test_a_merge_of_many_rows_holds_a_page_of_each_bucket() -> None:
    server = Endless(ROWS, 20)

    assert read_all(server) == ROWS
    assert server.most_held <= BUCKETS * 1000 * 9 / 8


@pytest.mark.parametrize("value_bytes", [10_000, 100_000])
def test_a_merge_of_large_rows_holds_so_many_bytes(value_bytes: int) -> None:
    rows = 200 * MIB // value_bytes
    server = Endless(rows, value_bytes)
    gc.collect()
    tracemalloc.start()

    assert read_all(server) == rows
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    # What the buckets hold, and what was just handed out.
    assert peak < 2.5 * MERGED_BYTES


def test_memory_does_not_grow_with_the_number_of_rows() -> None:
    peaks = []
    for rows in (30_000, 60_000):
        gc.collect()
        tracemalloc.start()
        read_all(Endless(rows, 20))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()

    assert peaks[1] < 1.1 * peaks[0]
    assert peaks[1] < 32 * MIB
