"""Merges the rows of several readers into one sorted stream.

Each reader reads rows in key order and holds some fetched rows. A reader's last key is the key of
the last row that it holds. A reader cannot later return a smaller key than its last key. So all
held rows up to the smallest last key of the unfinished readers are emitted, as one sorted block. In
a reverse read, the block ends at the greatest of these last keys.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Final

from hbase_orm.execute.reader import RangeReader
from hbase_orm.execute.steps import Emit, Rows
from hbase_orm.ops import Row, SideBySide

EMITTED_ROWS: Final = 1000
"""The largest number of rows in one emission."""

_KeyOf = Callable[[Row], bytes]


def merge(
    readers: Sequence[RangeReader],
    *,
    skipped_bytes: int,
    reverse: bool,
    emit: Callable[[Sequence[Row]], Emit],
) -> Rows:
    """Emit the rows of all readers, sorted by the keys without their first `skipped_bytes` bytes.

    Readers with few rows left are filled in parallel. Each reader must return its own rows in this
    order. Rows whose keys differ only in the skipped bytes keep the order of `readers`.

    Args:
        readers: The readers, one for each bucket.
        skipped_bytes: The width of the salt, in bytes.
        reverse: Whether the order is descending.
        emit: A function that makes an `Emit` from rows.
    """
    key_of = _key_behind(skipped_bytes)
    while True:
        low = [reader for reader in readers if reader.is_low]
        if low:
            yield SideBySide(tuple(reader.fill() for reader in low))
        ready = _take(readers, key_of, reverse=reverse)
        if not ready:
            return
        while ready:
            yield emit(ready[:EMITTED_ROWS])
            del ready[:EMITTED_ROWS]


def _key_behind(skipped_bytes: int) -> _KeyOf:
    if not skipped_bytes:
        return attrgetter("key")
    return lambda row: row.key[skipped_bytes:]


def _take(readers: Sequence[RangeReader], key_of: _KeyOf, *, reverse: bool) -> list[Row]:
    """Remove from the readers all rows that no later row can precede, and return them in order.

    Unless all readers are done, at least one unfinished reader holds no rows afterwards.
    """
    ends = [key_of(reader.rows[-1]) for reader in readers if not reader.is_done]
    bound = (max(ends) if reverse else min(ends)) if ends else None
    ready: list[Row] = []
    for reader in readers:
        rows = reader.rows
        count = len(rows) if bound is None else _count_up_to(rows, bound, key_of, reverse=reverse)
        ready += rows[:count]
        del rows[:count]
    ready.sort(key=key_of, reverse=reverse)
    return ready


def _count_up_to(rows: Sequence[Row], bound: bytes, key_of: _KeyOf, *, reverse: bool) -> int:
    if reverse:
        return len(rows) - bisect_left(rows[::-1], bound, key=key_of)
    return bisect_right(rows, bound, key=key_of)
