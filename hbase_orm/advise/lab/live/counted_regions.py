"""Counts the rows of a table's regions through the gateway, key by key and without values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from hbase_orm.ops import (
    KeyRange,
    ListRegions,
    Protocol,
    RegionRange,
    RenewTimeLimit,
    ResumableScan,
    Scan,
    ask,
    run_all,
)

_KEYS_ONLY: Final = b"FirstKeyOnlyFilter() AND KeyOnlyFilter()"
_PAGE_ROWS: Final = 5000


@dataclass(frozen=True, slots=True)
class CountedRegion:
    """A region with its rows.

    Attributes:
        region: The region.
        rows: The rows that were counted.
        is_whole: Whether these are all of its rows.
    """

    region: RegionRange
    rows: int
    is_whole: bool


def count_regions(table: str, most_rows: int) -> Protocol[Sequence[CountedRegion]]:
    """Return the regions of a table in key order, with at most `most_rows` counted in each.

    Raises:
        TableNotFoundError: The table does not exist.
    """
    regions = yield from ask(ListRegions(table, needs_times=True))
    return (yield from run_all([_count(table, region, most_rows) for region in regions]))


def _count(table: str, region: RegionRange, most_rows: int) -> Protocol[CountedRegion]:
    scan = Scan(
        table,
        KeyRange(region.start, region.stop),
        filter=_KEYS_ONLY,
        caching_rows=min(most_rows, _PAGE_ROWS),
    )
    reading, rows = ResumableScan(scan), 0
    while rows < most_rows and not reading.is_done:
        yield from ask(RenewTimeLimit())
        rows += len((yield from reading.fetch(min(most_rows - rows, _PAGE_ROWS))))
    is_whole = reading.is_done
    yield from reading.close()
    return CountedRegion(region, rows, is_whole)
