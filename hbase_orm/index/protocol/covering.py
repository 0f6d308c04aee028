"""The columns that a covering entry copies, and when a query may use them.

The entry's cell `d:` holds a flag:

- `u` (unverified): a write is or was in progress. Queries must look up the row.
- `v` (verified): the entry has copies of the row's values, in cells `d:<column>`.

The flag `v` is followed by one bit for each included column. The bit is set if the row has a value.
Cells with old values may remain, because the bits show which values are absent. So an entry is
verified by puts only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from hbase_orm.errors import CorruptRowError
from hbase_orm.index.entries.targets import ENTRY_COLUMN, ENTRY_FAMILY
from hbase_orm.ops import Cell, Put, RowMutation

UNVERIFIED: Final = b"u"
VERIFIED: Final = b"v"


def covering_column(column: bytes) -> bytes:
    """Return the column in which an entry holds its copy of a data column."""
    return ENTRY_FAMILY + b":" + column


def covering_puts(
    included: Sequence[bytes], cells: Mapping[bytes, bytes], timestamp_ms: int
) -> tuple[Put, ...]:
    """Return the puts of a verified entry: its flag, and copies of the included columns.

    The copied values are in `cells`. All puts are for one row and are sent in one request, so flag
    and values change together.
    """
    values = [
        Put(covering_column(column), cells[column], timestamp_ms)
        for column in included
        if column in cells
    ]
    flag = _verified([column in cells for column in included])
    return (Put(ENTRY_COLUMN, flag, timestamp_ms), *values)


def verified_entry(
    included: Sequence[bytes], key: bytes, cells: Mapping[bytes, bytes], timestamp_ms: int
) -> RowMutation:
    """Return the mutation that puts the verified flag and copies of `cells` into an entry.

    `timestamp_ms` is the timestamp of the row's guard.
    """
    return RowMutation(key, puts=covering_puts(included, cells, timestamp_ms))


def covering_row(values: Sequence[bytes | None]) -> tuple[bytes | None, ...]:
    """Return the cells of a verified entry: the flag, then `values`.

    Args:
        values: The values of the included columns, in the declared order; None for a column that
            the row does not have.
    """
    return _verified([value is not None for value in values]), *values


def _verified(has_value: Sequence[bool]) -> bytes:
    bits = sum(1 << at for at, is_set in enumerate(has_value) if is_set)
    return VERIFIED + bits.to_bytes(_width_bytes(has_value), "big")


def _width_bytes(included: Sequence[object]) -> int:
    return (len(included) + 7) // 8


def trusted_cells(
    included: Sequence[bytes], entry: Mapping[bytes, Cell]
) -> dict[bytes, bytes] | None:
    """Return the copied values of a verified entry by column; None if it is not verified.

    It is like `covering_cells`, but also returns None if the entry was written with other included
    columns. After None, the caller must look up the row.
    """
    try:
        return covering_cells(included, entry)
    except CorruptRowError:
        return None


def covering_cells(
    included: Sequence[bytes], entry: Mapping[bytes, Cell]
) -> dict[bytes, bytes] | None:
    """Return the copied values of a verified entry by column; None if it is not verified.

    Args:
        included: The index's included columns, in the declared order.
        entry: All cells of the entry.

    Raises:
        CorruptRowError: The entry was written with other included columns.
    """
    flag = entry[ENTRY_COLUMN].value if ENTRY_COLUMN in entry else b""
    if not flag.startswith(VERIFIED):
        return None
    bits = int.from_bytes(flag[len(VERIFIED) :], "big")
    wanted = [covering_column(c) for at, c in enumerate(included) if bits >> at & 1]
    is_whole = len(flag) == len(VERIFIED) + _width_bytes(included) and bits >> len(included) == 0
    if not is_whole or any(column not in entry for column in wanted):
        raise CorruptRowError(
            "the columns in an index entry differ from the columns that the index includes",
            flag=flag,
            included=tuple(included),
            fix="rebuild the index",
        )
    prefix_bytes = len(covering_column(b""))
    return {column[prefix_bytes:]: entry[column].value for column in wanted}
