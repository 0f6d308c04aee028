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
    """Return the rows of a scan, in its order; each row is read when it is taken.

    Raises:
        FamilyNotFoundError: At once, as for a bad filter, and not when the first row is taken.
        RejectedError: The filter is not of the filter language.
    """
    if scan.key_range.is_empty:
        # Nothing of it is sent to a real HBase either, so nothing of it is refused.
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
    """Yield what a filter lets through; it starts again in each region.

    A region that gave no row and whose filter is done ends the whole scan: HBase's region server
    then answers that there is no more, where a region that gave rows only ends itself.
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
    """Refuse a reverse scan of families that the filter does not need, as HBase does.

    HBase would read those only for the rows that pass, and cannot do that backwards.
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
    """Yield row keys one by one, so that rows may come and go in the meantime."""
    key = table.next_key(key_range, None, reverse=scan.reverse)
    while key is not None:
        yield key
        key = table.next_key(key_range, key, reverse=scan.reverse)
