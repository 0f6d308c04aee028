"""The regions of a table while a load is written: their rows, their writes, their splits.

HBase 2 splits a region that has grown too large at the middle of its largest file: about the
middle of its rows. A table's only region is split at 256 MiB already (SteppingSplitPolicy).
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from hbase_orm.advise.lab.keyed_tables import KeyedTable
from hbase_orm.advise.lab.load.load_shapes import LoadShape
from hbase_orm.advise.lab.load.value_kinds import Numbers
from hbase_orm.advise.sizes import ONLY_REGION_BYTES, REGION_BYTES
from hbase_orm.ops import KeyRange

TIME_CELLS: Final = 96
"""The most cells of time into which a load is divided."""

_LEAST_CELLS: Final = 24
_WRITES_IN_CELL: Final = 100
MOST_REGIONS: Final = 2000
"""So many regions of a table are simulated; no region is split any more then."""

Cells = npt.NDArray[np.float64]
"""An amount for each cell of time and each region."""


@dataclass(frozen=True, slots=True)
class Split:
    """A region that was split.

    Attributes:
        at_s: The seconds from the start of the load.
        key: The first key of the new region.
    """

    at_s: float
    key: bytes


@dataclass(frozen=True, eq=False)
class RegionHistory:
    """The regions of a table during a load.

    The regions are those at the end. While a region is not split yet, its writes count in each of
    the regions that it becomes, because one server takes them all: the columns of `owners` that
    have one number are one region.

    Attributes:
        table: The table.
        regions: The regions at the end, in the order of their keys.
        cell_s: The length of a cell of time in seconds.
        writes: The writes in a second, by cell of time and region.
        owners: The number of the region that held each region's keys, by cell of time and region.
        rows: The rows of each region at the end.
        writes_in_all: The writes that went to the keys of each region.
        bounds: The first place of each region but the first.
        splits: The splits, in the order of time.
    """

    table: KeyedTable
    regions: tuple[KeyRange, ...]
    cell_s: float
    writes: Cells
    owners: Numbers
    rows: npt.NDArray[np.float64]
    writes_in_all: npt.NDArray[np.float64]
    bounds: Numbers
    splits: tuple[Split, ...]

    @property
    def regions_at_first(self) -> int:
        """The number of regions of the new table."""
        return len(self.table.split_keys) + 1


@dataclass(slots=True)
class _Growth:
    """The regions at one moment.

    Attributes:
        table: The table.
        region_bytes: The size at which HBase splits a region.
        bounds: The first place of each region but the first, ascending.
        keys: The first key of each region but the first, ascending.
        new_places: The places of the rows that are stored, one array for each cell of time.
        counts: The sampled rows in each region.
        splits: The splits so far.
    """

    table: KeyedTable
    region_bytes: float
    bounds: list[int]
    keys: list[bytes]
    counts: npt.NDArray[np.float64]
    new_places: list[Numbers] = field(default_factory=list[Numbers])
    splits: list[Split] = field(default_factory=list[Split])

    def add(self, places: Numbers) -> None:
        """Add new rows."""
        self.new_places.append(places)
        self.counts = self.counts + _counts(self.bounds, places)

    def split_large(self, at_s: float) -> None:
        """Split each region that has grown too large, once."""
        row_bytes = self.table.scale * self.table.row_bytes
        limit = self.region_bytes
        if not self.bounds:
            limit = min(limit, ONLY_REGION_BYTES)
        large = np.flatnonzero(self.counts * row_bytes > limit).tolist()
        if not large:
            return
        stored = np.concatenate(self.new_places)
        owners = np.searchsorted(self.bounds, stored, side="right")
        for number in large:
            if len(self.bounds) + 1 < MOST_REGIONS:
                self._split(int(np.median(stored[owners == number])), at_s)
        self.counts = _counts(self.bounds, stored)

    def _split(self, place: int, at_s: float) -> None:
        key = self.table.sorted_keys[place]
        place = self.table.place_of(key)  # rows with one key stay together
        where = bisect_right(self.keys, key)
        if place == 0 or key in self.keys[where - 1 : where]:
            return
        self.bounds.insert(where, place)
        self.keys.insert(where, key)
        self.splits.append(Split(at_s, key))


def grow(table: KeyedTable, shape: LoadShape, region_bytes: float = REGION_BYTES) -> RegionHistory:
    """Return the regions of a table during a load.

    Args:
        table: The table, with the sampled writes.
        shape: The load.
        region_bytes: The size at which HBase splits a region (`hbase.hregion.max.filesize`).
    """
    cells = cell_count_of(table, shape)
    cell_s = shape.seconds / cells
    keys = list(table.split_keys)
    bounds = [table.place_of(key) for key in keys]
    growth = _Growth(table, region_bytes, bounds, keys, np.zeros(len(keys) + 1))
    cell_of = np.minimum((table.written_at_s / cell_s).astype(np.int64), cells - 1)
    starts = np.searchsorted(cell_of, np.arange(cells + 1))
    counted: list[tuple[tuple[bytes, ...], Numbers]] = []
    for cell in range(cells):
        writes = slice(int(starts[cell]), int(starts[cell + 1]))
        places = table.places[writes]
        owners = np.searchsorted(growth.bounds, places, side="right")
        counts = np.bincount(owners, minlength=len(growth.bounds) + 1)
        counted.append((tuple(growth.keys), counts))
        growth.add(places[table.is_new[writes]])
        growth.split_large((cell + 1) * cell_s)
    return _history(growth, counted, cell_s)


def cell_count_of(table: KeyedTable, shape: LoadShape) -> int:
    """Return the number of cells of time: few enough that chance does not show in the writes."""
    regions = len(table.split_keys) + 1
    enough = max(_LEAST_CELLS, len(table.keys) // (regions * _WRITES_IN_CELL))
    return int(max(1, min(TIME_CELLS, enough, len(table.keys), shape.seconds)))


def _history(
    growth: _Growth, counted: list[tuple[tuple[bytes, ...], Numbers]], cell_s: float
) -> RegionHistory:
    table, bounds = growth.table, growth.bounds
    firsts = [b"", *growth.keys]
    writes = np.empty((len(counted), len(firsts)))
    owners = np.empty((len(counted), len(firsts)), dtype=np.int64)
    for cell, (keys_then, counts) in enumerate(counted):
        owners[cell] = [bisect_right(keys_then, first) for first in firsts]
        writes[cell] = counts[owners[cell]] * table.scale / cell_s
    regions = zip(firsts, [*growth.keys, None], strict=True)
    return RegionHistory(
        table=table,
        regions=tuple(KeyRange(start, stop) for start, stop in regions),
        cell_s=cell_s,
        writes=writes,
        owners=owners,
        rows=_counts(bounds, table.places[table.is_new]) * table.scale,
        writes_in_all=_counts(bounds, table.places) * table.scale,
        bounds=np.array(bounds, dtype=np.int64),
        splits=tuple(growth.splits),
    )


def _counts(bounds: npt.ArrayLike, places: Numbers) -> npt.NDArray[np.float64]:
    owners = np.searchsorted(bounds, places, side="right")
    return np.bincount(owners, minlength=np.size(bounds) + 1).astype(np.float64)
