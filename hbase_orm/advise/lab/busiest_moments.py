"""When one region takes the most writes: the moment that limits what a table can take.

The share of a region is measured in cells of time, and the error of the sample is taken off: the
busiest of many equal regions would else seem hotter than it is. The writes of one second are
counted if every row is simulated; else they are what chance makes of the rate of the cell.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log, sqrt

import numpy as np

from hbase_orm.advise.lab.region_growth import RegionHistory

_UNEVEN = 1.5
"""From this multiple of the mean on, more regions and servers do not help a region."""


@dataclass(frozen=True, slots=True)
class BusiestMoment:
    """When one region takes a larger part of the writes than any region at any other time.

    Attributes:
        region: The place of the region among those at the end; the first one, if the region was
            split later.
        at_s: The seconds from the start of the load.
        window_s: How long the moment is.
        share: The part of the table's writes that the region takes then, 0 to 1.
        writes_per_s: The writes that the region takes in a second then, on average.
        writes_in_second: The most writes of any region in any single second.
        regions: The number of regions that the table has then.
        stays: Whether one of several regions takes far more than its part at the end, too.
    """

    region: int
    at_s: float
    window_s: float
    share: float
    writes_per_s: float
    writes_in_second: float
    regions: int
    stays: bool


def busiest_moment(history: RegionHistory) -> BusiestMoment | None:
    """Return the busiest moment of a table; None if the table is not written."""
    if not history.writes.any():
        return None
    totals = np.array([_total(history, cell) for cell in range(len(history.writes))])
    shares = history.writes / np.maximum(totals, 1e-12)[:, None]
    sampled = np.maximum(totals * history.cell_s / history.table.scale, 1.0)[:, None]
    candidates = max(2, history.writes.size)
    # The largest of so many equal shares is about so many standard deviations above them.
    deviations = sqrt(2 * log(candidates))
    certain = shares - deviations * np.sqrt(shares * (1 - shares) / sampled)
    cell, region = map(int, np.unravel_index(certain.argmax(), certain.shape))
    usual = _largest_usual_share(history, totals)
    share = float(max(certain[cell, region], min(usual, shares[cell, region])))
    rate = share * float(totals[cell])
    return BusiestMoment(
        region=region,
        at_s=cell * history.cell_s,
        window_s=history.cell_s,
        share=share,
        writes_per_s=rate,
        writes_in_second=_in_second(history, rate),
        regions=_regions_in(history, cell),
        stays=_is_uneven_at_end(history, shares),
    )


def _regions_in(history: RegionHistory, cell: int) -> int:
    return len(np.unique(history.owners[cell]))


def _is_uneven_at_end(history: RegionHistory, shares: np.ndarray) -> bool:
    """Return whether the largest share of the last written cell is far above the mean."""
    last = int(np.flatnonzero(history.writes.any(axis=1))[-1])
    regions = _regions_in(history, last)
    return regions > 1 and float(shares[last].max()) * regions > _UNEVEN


def _total(history: RegionHistory, cell: int) -> float:
    _, first = np.unique(history.owners[cell], return_index=True)
    return float(history.writes[cell][first].sum())


def _largest_usual_share(history: RegionHistory, totals: np.ndarray) -> float:
    """Return the largest part of all writes that one region takes over the whole load."""
    whole = float(totals.sum())
    return float(history.writes.sum(axis=0).max() / whole) if whole else 0.0


def _in_second(history: RegionHistory, rate_per_s: float) -> float:
    """Return the most writes of a region in one second."""
    if history.table.scale == 1:
        return _counted_in_second(history)
    seconds = len(history.writes) * history.cell_s * len(history.regions)
    chance = log(max(2.0, seconds))
    # The largest of so many Poisson numbers with this mean.
    return rate_per_s + sqrt(2 * rate_per_s * chance) + chance / 3


def _counted_in_second(history: RegionHistory) -> float:
    table, regions = history.table, len(history.regions)
    last = len(history.writes) - 1
    cells = np.minimum((table.written_at_s / history.cell_s).astype(np.int64), last)
    at_end = np.searchsorted(history.bounds, table.places, side="right")
    owners = history.owners[cells, at_end]
    _, counts = np.unique(
        table.written_at_s.astype(np.int64) * regions + owners, return_counts=True
    )
    return float(counts.max())
