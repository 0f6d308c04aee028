"""Merges the rows of several readers into one sorted stream.

Rows are emitted in blocks: all rows up to the smallest of the last keys that the readers hold. All
later rows of every reader are greater, so the order is right. Sorting a block of sorted runs takes
less than a microsecond per row.
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
"""Most rows handed out at once."""

_KeyOf = Callable[[Row], bytes]


def merge(
    readers: Sequence[RangeReader],
    *,
    skipped_bytes: int,
    reverse: bool,
    emit: Callable[[Sequence[Row]], Emit],
) -> Rows:
    """Read all readers in the order of the keys without their first `skipped_bytes` bytes.

    Readers with few rows left are filled in parallel. Each reader must return its rows in this
    order, with `reverse` in descending order; rows with equal keys keep the order of the readers.

    Args:
        readers: The readers, one for each bucket.
        skipped_bytes: The width of the salt.
        reverse: Whether keys are in descending order.
        emit: A function that makes the emission from rows.
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
    """Remove and return, in order, the rows that no row read later can precede.

    At least one of the unfinished readers is empty afterwards.
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
