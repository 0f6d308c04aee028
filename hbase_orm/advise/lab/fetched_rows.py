"""How many rows a statement fetches: the same fetches as `execute/reader` and `execute/merge` make.

Rows of a bucket come in the order of the rest of their keys. Where a limit ends the read early,
this order decides which buckets are read on; it is as random here as a salt makes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from hbase_orm.execute.reader import FETCH_BYTES, GROWTH, MERGED_BYTES
from hbase_orm.query.plans.fetch_sizes import Fetches

_LOW: Final = 8
_LEAST_BYTES: Final = 64 << 10
_MOST_FETCHES: Final = 10_000


@dataclass(frozen=True, slots=True)
class Fetching:
    """What decides how far a read goes.

    Attributes:
        fetches: The sizes of the fetches of each scanner.
        limit: The largest number of results; None means all.
        matching: The part of the fetched rows that match, 0 to 1.
        row_bytes: The size of a row.
    """

    fetches: Fetches
    limit: int | None
    matching: float
    row_bytes: int

    def fetched(self, buckets: Sequence[Sequence[float]], random: np.random.Generator) -> float:
        """Return how many rows are fetched.

        Args:
            buckets: For each bucket, the rows of each of its ranges, in order.
            random: Decides in which order the rows of several buckets are merged.
        """
        total = float(sum(map(sum, buckets)))
        if self.limit is None or self.matching * total < self.limit:
            return total
        # Without a match within the limit, nothing ends the read early.
        wanted = self.limit / max(self.matching, 1e-12)
        if len(buckets) == 1:
            return min(total, self._one_by_one(buckets[0], wanted))
        return min(total, self._merged([sum(ranges) for ranges in buckets], wanted, random))

    def _one_by_one(self, ranges: Sequence[float], wanted: float) -> float:
        rows, fetched = self._capped(self.fetches.first, 1), 0.0
        for count in ranges:
            left = count
            while left > 0:
                step = min(rows, left)
                fetched, left = fetched + step, left - step
                if fetched >= wanted:
                    return fetched
                rows = self._next(rows, 1)
        return fetched

    def _merged(self, counts: Sequence[float], wanted: float, random: np.random.Generator) -> float:
        buckets = [
            _Bucket(count, self._capped(self.fetches.first, len(counts))) for count in counts
        ]
        emitted = fetched = 0.0
        for _ in range(_MOST_FETCHES):
            for bucket in buckets:
                if bucket.is_low:
                    fetched += bucket.fill(random)
                    bucket.rows = self._next(bucket.rows, len(buckets))
            ends = [bucket.held[-1] for bucket in buckets if not bucket.is_done]
            bound = min(ends) if ends else float("inf")
            emitted += sum(bucket.take(bound) for bucket in buckets)
            if emitted >= wanted or not ends:
                break
        return fetched

    def _next(self, rows: int, buckets: int) -> int:
        if self.fetches.is_fixed:
            return rows
        return self._capped(min(rows * GROWTH, self.fetches.most), buckets)

    def _capped(self, rows: int, buckets: int) -> int:
        most_bytes = FETCH_BYTES
        if buckets > 1:
            most_bytes = min(FETCH_BYTES, max(MERGED_BYTES // buckets, _LEAST_BYTES))
        return max(1, min(rows, most_bytes // max(1, self.row_bytes)))


@dataclass(slots=True)
class _Bucket:
    """The rows of one bucket that are read in the order of random places between 0 and 1.

    Attributes:
        count: How many rows the bucket has in all.
        rows: How many rows the next fetch has.
        read: How many rows were fetched.
        held: The places of the rows that were fetched and not taken yet, ascending.
        page: How many rows the last fetch had.
    """

    count: float
    rows: int
    read: float = 0.0
    end: float = 0.0
    page: float = 0.0
    held: npt.NDArray[np.float64] = field(default_factory=lambda: np.empty(0))

    @property
    def is_done(self) -> bool:
        return self.read >= self.count

    @property
    def is_low(self) -> bool:
        return not self.is_done and len(self.held) * _LOW <= self.page

    def fill(self, random: np.random.Generator) -> float:
        """Fetch rows, and return how many."""
        step = min(float(self.rows), self.count - self.read)
        gaps = random.exponential(1 / self.count, size=max(1, round(step)))
        places = self.end + np.cumsum(gaps)
        self.end, self.page, self.read = float(places[-1]), step, self.read + step
        self.held = np.concatenate((self.held, places))
        return step

    def take(self, bound: float) -> int:
        """Take the rows up to a place, and return how many."""
        taken = int(np.searchsorted(self.held, bound, side="right"))
        self.held = self.held[taken:]
        return taken
