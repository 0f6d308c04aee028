"""Scans of a table in memory, region by region as HBase runs them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from hbase_orm.errors import RejectedError
from hbase_orm.gateway.memory.cells import When
from hbase_orm.gateway.memory.filter_language import parse_filter
from hbase_orm.gateway.memory.filters import ServerFilter
from hbase_orm.gateway.memory.table import MemoryTable, Selection
from hbase_orm.ops import KeyRange, RegionRange, Row, Scan


def scan_rows(table: MemoryTable, scan: Scan, clock: Callable[[], int]) -> Iterator[Row]:
    """Return an iterator over the rows of a scan; each row is read when it is requested.

    Raises:
        FamilyNotFoundError: A family does not exist. Raised by the call, not at the first row.
        RejectedError: The filter is not valid; this is raised by the call. Or a reverse scan cannot
            use the filter with these families; this is raised at the first row.
    """
    if scan.key_range.is_empty:
        # Such a scan is not sent to a real HBase either, so it is never refused.
        return iter(())
    selection = table.select(scan.columns)
    if scan.filter is None:
        return _scan_plain(table, scan, selection, clock)
    build = parse_filter(scan.filter, is_reverse=scan.reverse)
    return _scan_filtered(table, scan, selection, clock, build)


def _scan_plain(
    table: MemoryTable, scan: Scan, selection: Selection, clock: Callable[[], int]
) -> Iterator[Row]:
    for key in _keys(table, scan, scan.key_range):
        row = table.read(key, selection, When(clock(), scan.before_ms, scan.from_ms))
        if row is not None:
            yield row


def _scan_filtered(
    table: MemoryTable,
    scan: Scan,
    selection: Selection,
    clock: Callable[[], int],
    build: Callable[[], ServerFilter],
) -> Iterator[Row]:
    """Yield the rows that a filter passes; the filter starts again in each region.

    When the filter is done, the scan of its region ends, and the next region follows. But if the
    region has returned no row, the whole scan ends, as in HBase.
    """
    if scan.reverse:
        _refuse_reverse_on_demand(build(), selection)
    regions = table.regions()
    for region in reversed(regions) if scan.reverse else regions:
        row_filter = build()
        gave_rows = False
        for key in _keys(table, scan, _within(scan.key_range, region)):
            when = When(clock(), scan.before_ms, scan.from_ms)
            row = table.read_filtered(key, selection, when, row_filter)
            if row is not None:
                gave_rows = True
                yield row
            if row_filter.is_done():
                break
        if row_filter.is_done() and not gave_rows:
            return


def _refuse_reverse_on_demand(row_filter: ServerFilter, selection: Selection) -> None:
    """Refuse a reverse scan with families that the filter does not need, as HBase does.

    HBase reads such families only for rows that pass, which it cannot do in a reverse scan.
    """
    spared = [name for name in selection if not row_filter.needs_family(name)]
    if spared:
        raise RejectedError(
            "a reverse scan with this filter must not read other families",
            families=spared,
            fix="scan only the filter's family, let rows without the column pass, or scan forward",
        )


def _within(key_range: KeyRange, region: RegionRange) -> KeyRange:
    return key_range.intersect(KeyRange(region.start, region.stop))


def _keys(table: MemoryTable, scan: Scan, key_range: KeyRange) -> Iterator[bytes]:
    """Yield row keys one by one, so that rows may be added and deleted in between."""
    key = table.next_key(key_range, None, reverse=scan.reverse)
    while key is not None:
        yield key
        key = table.next_key(key_range, key, reverse=scan.reverse)
