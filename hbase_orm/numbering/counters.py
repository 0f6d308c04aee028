"""Unique numbers from an atomic counter."""

from __future__ import annotations

from typing import Final

from hbase_orm.errors import CorruptRowError
from hbase_orm.numbering.retries import RETRIES
from hbase_orm.ops import Increment, Protocol, ask_with_retry

MAX_NUMBER: Final = 2**63 - 1
"""The largest value of a counter: HBase's counters are signed 64-bit numbers.

An increment beyond it gives a negative value, without an error.
"""


def take(table: str, row: bytes, column: bytes, count: int) -> Protocol[range]:
    """Reserve the next `count` numbers of a counter and return them; each is 1 or more.

    An increment without an answer may have been applied, or may still be applied. The next
    increment reserves other numbers in any case, so the numbers of a lost increment are skipped.

    Raises:
        CorruptRowError: The counter is negative, because it overflowed or was set to a negative
            number. A counter that overflowed stays negative, so every further call raises this
            error.
    """
    answer = yield from ask_with_retry(Increment(table, row, {column: count}), RETRIES)
    last = answer[column]
    if last < count:
        raise CorruptRowError(
            "the counter is negative: it passed 2^63-1, or was set to a negative number",
            table=table,
            row=row,
            last=last,
            fix="use another dictionary or sequence; if the cell was set by hand, write the "
            "highest number in use into it, as 8 bytes big-endian",
        )
    return range(last - count + 1, last + 1)
