"""Reads rows from all parts of a table: stretches of neighbours, as many as fill blocks."""

from __future__ import annotations

import math
from typing import Final

from hbase_orm.advise.estimating.key_spread import between, spread_keys
from hbase_orm.ops import (
    CloseScanner,
    FetchRows,
    KeyRange,
    ListRegions,
    OpenScanner,
    Protocol,
    RegionRange,
    Row,
    Scan,
    ask,
)

STRETCHES: Final = 16
"""How many stretches of neighbouring rows are read of a table, at most."""

_PROBES: Final = 16  # places of a region where keys are read first
_PROBED_ROWS: Final = 8
_FETCHED_ROWS: Final = 1_000
_FIRST_ROWS: Final = 10  # they show how large rows are
_FETCHED_BYTES: Final = 1 << 20
_STRETCH_ROWS: Final = 600  # small ones fill half a block
_STRETCH_BYTES: Final = 1 << 20  # 16 blocks of the default size


def spread_rows(table: str, rows: int) -> Protocol[list[list[Row]]]:
    """Read stretches of neighbouring rows from all parts of a table.

    A stretch ends after a MiB. Of a table with very many regions only some are read.

    Args:
        table: The table.
        rows: About how many rows are read in all.

    Returns:
        The stretches, in order. No row is in two of them.
    """
    regions = yield from ask(ListRegions(table))
    count = max(2, min(STRETCHES, rows // _STRETCH_ROWS))
    chosen = regions[:: math.ceil(len(regions) / count)]
    of_region = math.ceil(count / len(chosen))
    left, stretches = rows, list[list[Row]]()
    for place, region in enumerate(chosen):
        starts = yield from _starts(table, region, of_region)
        most_of_region = left / (len(chosen) - place)
        of_this, after = 0, b""
        for number, start in enumerate(starts):
            bounds = KeyRange(max(start, after), region.stop)
            if bounds.is_empty:
                break
            # Keys that look far apart may be close together: no row is read twice.
            most = math.ceil((most_of_region - of_this) / (len(starts) - number))
            stretch = yield from read_rows(table, bounds, most, most_bytes=_STRETCH_BYTES)
            if stretch:
                stretches.append(stretch)
                after, of_this = stretch[-1].key + b"\0", of_this + len(stretch)
        left -= of_this
    return stretches


def read_rows(
    table: str, bounds: KeyRange, most: int, *, most_bytes: float = math.inf
) -> Protocol[list[Row]]:
    """Read the rows of a range, `most` of them at most; stop after so many bytes."""
    scanner = yield from ask(OpenScanner(Scan(table, bounds, caching_rows=_FETCHED_ROWS)))
    read: list[Row] = []
    size, count = 0, _FIRST_ROWS
    while len(read) < most and size < most_bytes:
        fetched = yield from ask(FetchRows(scanner, min(count, most - len(read))))
        if not fetched:
            break
        read += fetched
        size += sum(row.content_bytes for row in fetched)
        count = max(1, min(_FETCHED_ROWS, _FETCHED_BYTES * len(read) // size))
    yield from ask(CloseScanner(scanner))
    return read


def _starts(table: str, region: RegionRange, count: int) -> Protocol[list[bytes]]:
    """Return the keys at which stretches of a region begin; none if it is empty."""
    bounds = KeyRange(region.start, region.stop)
    scanner = yield from ask(OpenScanner(Scan(table, bounds, reverse=True)))
    last = yield from ask(FetchRows(scanner, 1))
    yield from ask(CloseScanner(scanner))
    first = yield from read_rows(table, bounds, 1)
    if not first or not last:
        return []
    known = {first[0].key, last[0].key}
    for probe in between(first[0].key, last[0].key, _PROBES):
        rows = yield from read_rows(table, KeyRange(probe, region.stop), _PROBED_ROWS)
        known.update(row.key for row in rows)
    return spread_keys(sorted(known), count)
