"""The numbers that a region gives to writes, for the cells of a sample.

HBase stores the number of the write with each cell. Its length and how it changes from one cell to
the next are part of the size of a file.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from hbase_orm.gateway.coalesce import IN_STEP
from hbase_orm.ops import Row

_MOST_OF_REGION: Final = 50_000_000
_STEPS: Final = 50  # of a bisection


def numbers_of_single_writes(
    rows: Sequence[Row], of_rows: float, rows_of_write: int = 1
) -> dict[tuple[bytes, int], int]:
    """Return the numbers if rows are written one by one, as those with guards and claims are.

    Args:
        rows: The sampled rows.
        of_rows: How many rows the table has.
        rows_of_write: How many rows are written at once.

    Returns:
        The number of the write by row key and timestamp.
    """
    by_time = sorted(rows, key=lambda row: (max(_times(row)), row.key))
    step = _step(rows, of_rows)
    return {
        (row.key, time_ms): 1 + int(place * step) // rows_of_write
        for place, row in enumerate(by_time)
        for time_ms in _times(row)
    }


def numbers_of_entries(rows: Sequence[Row], of_rows: float) -> dict[tuple[bytes, int], int]:
    """Return the numbers of index entries, which are written for 100 rows at once."""
    return numbers_of_single_writes(rows, of_rows, IN_STEP)


def numbers_of_batches(
    rows: Sequence[Row], of_rows: float, *, is_thinned: bool
) -> dict[tuple[bytes, int], int]:
    """Return the numbers if cells with equal timestamps were written at once.

    Args:
        rows: The sampled rows.
        of_rows: How many rows the table has.
        is_thinned: Whether the rows were written at all times of the load, with others between
            them; otherwise they were written one after the other.

    Returns:
        The number of the write by row key and timestamp.
    """
    written = sorted({(time_ms, row.key) for row in rows for time_ms in _times(row)})
    times = sorted({time_ms for time_ms, _ in written})
    step = _step(rows, of_rows)
    if is_thinned and times:
        step = _estimated_writes(len(times), len(written), step) / len(times)
    numbers = {time_ms: 1 + int(place * step) for place, time_ms in enumerate(times)}
    return {(key, time_ms): numbers[time_ms] for time_ms, key in written}


def _times(row: Row) -> set[int]:
    return {cell.timestamp_ms for cell in row.cells.values()}


def _step(rows: Sequence[Row], of_rows: float) -> float:
    return max(1.0, min(of_rows, _MOST_OF_REGION) / max(1, len(rows)))


def _estimated_writes(seen: int, sampled: int, step: float) -> float:
    """Return how many writes there were, if one of `step` cells is known: cells of `seen` writes.

    Of D writes of b cells each, D * (1 - (1 - 1 / step) ** b) are seen.
    """
    low, high = float(seen), sampled * step
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if middle * (1 - (1 - 1 / step) ** (sampled * step / middle)) < seen:
            low = middle
        else:
            high = middle
    return low
