"""How many rows a statement fetches: the same fetches as `execute/reader` and `execute/merge` make.

Where a limit ends a read early, it matters which rows match, and in which order the rows of several
buckets are merged. If every row of the load is simulated, both are known. Otherwise chance decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Final

import numpy as np
import numpy.typing as npt

from hbase_orm.execute.reader import FETCH_BYTES, GROWTH, MERGED_BYTES
from hbase_orm.query.plans.fetch_sizes import Fetches

Flags = npt.NDArray[np.bool_]
Places = npt.NDArray[np.float64]

_LOW: Final = 8
_LEAST_BYTES: Final = 64 << 10
_MOST_FETCHES: Final = 10_000


@dataclass(frozen=True, slots=True)
class BucketRows:
    """The rows of one bucket that the server sends if nothing ends the read early.

    Attributes:
        counts: The rows of each of the bucket's ranges, in the order of the read.
        matches: For each row in this order, whether it matches. None if chance decides.
        places: For each row, its place among the rows of all buckets. None if chance decides.
    """

    counts: tuple[float, ...]
    matches: Flags | None = None
    places: Places | None = None


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

    def fetched(self, buckets: Sequence[BucketRows], random: np.random.Generator) -> float:
        """Return how many rows are fetched; `random` decides what is not known."""
        total = float(sum(chain.from_iterable(bucket.counts for bucket in buckets)))
        if self.limit is None or self.matching * total < self.limit:
            return total
        if len(buckets) == 1:
            return min(total, self._one_by_one(buckets[0], self.limit))
        return min(total, self._merged(buckets, self.limit, random))

    def _one_by_one(self, bucket: BucketRows, limit: int) -> float:
        rows, fetched, matched = self._capped(self.fetches.first, 1), 0.0, 0.0
        for count in bucket.counts:
            left = count
            while left > 0:
                step = min(rows, left)
                matched += self._matching_rows(bucket.matches, fetched, step)
                fetched, left = fetched + step, left - step
                if matched >= limit:
                    return fetched
                rows = self._next(rows, 1)
        return fetched

    def _matching_rows(self, matches: Flags | None, start: float, step: float) -> float:
        if matches is None:
            return step * self.matching
        return float(np.count_nonzero(matches[round(start) : round(start + step)]))

    def _merged(
        self, every: Sequence[BucketRows], limit: int, random: np.random.Generator
    ) -> float:
        first = self._capped(self.fetches.first, len(every))
        readers = [_Reader(rows, sum(rows.counts), first) for rows in every]
        matched = fetched = 0.0
        for _ in range(_MOST_FETCHES):
            for reader in readers:
                if reader.is_low:
                    fetched += reader.fill(random)
                    reader.next_rows = self._next(reader.next_rows, len(readers))
            ends = [reader.held[-1] for reader in readers if not reader.is_done]
            bound = min(ends) if ends else float("inf")
            matched += sum(reader.take(bound, self.matching, random) for reader in readers)
            if matched >= limit or not ends:
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
class _Reader:
    """The reader of one bucket.

    Attributes:
        rows: The rows of the bucket.
        count: How many they are.
        next_rows: How many rows the next fetch has.
        read: How many rows were fetched.
        taken: How many rows were merged.
        page: How many rows the last fetch had.
        held: The places of the rows that are fetched and not merged yet, ascending.
        end: The place of the last row, if chance decides the places.
    """

    rows: BucketRows
    count: float
    next_rows: int
    read: float = 0.0
    taken: int = 0
    page: float = 0.0
    held: Places = field(default_factory=lambda: np.empty(0))
    end: float = 0.0

    @property
    def is_done(self) -> bool:
        return self.read >= self.count

    @property
    def is_low(self) -> bool:
        return not self.is_done and len(self.held) * _LOW <= self.page

    def fill(self, random: np.random.Generator) -> float:
        """Fetch rows, and return how many."""
        step = min(float(self.next_rows), self.count - self.read)
        if self.rows.places is not None:
            places = self.rows.places[round(self.read) : round(self.read + step)]
        else:
            places = self.end + np.cumsum(random.exponential(1 / self.count, max(1, round(step))))
            self.end = float(places[-1])
        self.page, self.read = step, self.read + step
        self.held = np.concatenate((self.held, places))
        return step

    def take(self, bound: float, matching: float, random: np.random.Generator) -> float:
        """Merge the rows up to a place, and return how many of them match."""
        count = int(np.searchsorted(self.held, bound, side="right"))
        self.held = self.held[count:]
        start, self.taken = self.taken, self.taken + count
        if self.rows.matches is not None:
            return float(np.count_nonzero(self.rows.matches[start : self.taken]))
        return float(random.binomial(count, min(1.0, matching)))
