"""The row keys that a load writes into one table, sorted, and counts of them in ranges."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from hbase_orm.advise.lab.load.value_kinds import Numbers
from hbase_orm.ops import KeyRange

Span = tuple[int, int]
"""A range of places in the sorted keys: the first one, and the one after the last."""


@dataclass(frozen=True, eq=False)
class KeyedTable:
    """The sampled writes of a load into one table: the table of a model, or of one of its indexes.

    If a model has a table for each period, this is all of them together: its keys begin with the
    name of the table and a zero byte, `period_mark`.

    Attributes:
        name: The name of the table; with a table for each period, their pattern.
        index: The name of the index; empty for the table of the rows.
        keys: The row key of each write, in the order of the writes.
        rows: For each write, the place of its row in the sample.
        written_at_s: For each write, the seconds from the start of the load.
        split_keys: The split keys of the new table, ascending.
        scale: How many writes each sampled write stands for.
        row_bytes: The size of a row in store files, without encoding or compression.
        remarks: What is assumed, in sentences.
    """

    name: str
    index: str
    keys: Sequence[bytes]
    rows: Numbers
    written_at_s: npt.NDArray[np.float64]
    split_keys: tuple[bytes, ...]
    scale: float
    row_bytes: int
    remarks: tuple[str, ...] = ()

    @cached_property
    def _order(self) -> list[int]:
        return sorted(range(len(self.keys)), key=self.keys.__getitem__)

    @cached_property
    def sorted_keys(self) -> list[bytes]:
        """The keys of all writes in ascending order; a row that is written twice has two places."""
        return [self.keys[number] for number in self._order]

    @cached_property
    def writes_in_order(self) -> Numbers:
        """For each place in the sorted keys, the number of its write."""
        return np.array(self._order, dtype=np.int64)

    @cached_property
    def places(self) -> Numbers:
        """For each write, its place in the sorted keys."""
        places = np.empty(len(self.keys), dtype=np.int64)
        places[self.writes_in_order] = np.arange(len(self.keys))
        return places

    @cached_property
    def is_new(self) -> npt.NDArray[np.bool_]:
        """For each write, whether no earlier sampled write has its key."""
        keys = self.sorted_keys
        # Sorting is stable: of equal keys the first one in order was written first.
        first = [number == 0 or keys[number - 1] != key for number, key in enumerate(keys)]
        is_new = np.empty(len(keys), dtype=np.bool_)
        is_new[self.writes_in_order] = first
        return is_new

    @property
    def repeated(self) -> int:
        """The number of sampled writes to a row that the load has written before."""
        return len(self.keys) - int(self.is_new.sum())

    def place_of(self, key: bytes) -> int:
        """Return the number of writes whose keys are less than `key`."""
        return bisect_left(self.sorted_keys, key)

    def span_of(self, key_range: KeyRange) -> Span:
        """Return the places of the keys in a range."""
        stop = len(self.keys) if key_range.stop is None else self.place_of(key_range.stop)
        start = self.place_of(key_range.start)
        return start, max(start, stop)

    def new_in(self, span: Span) -> Numbers:
        """Return the numbers of the writes in a span that made a row."""
        writes = self.writes_in_order[span[0] : span[1]]
        return writes[self.is_new[writes]]
