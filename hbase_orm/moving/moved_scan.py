"""Scans of the new table that read the rows wherever they are, page by page."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final

from hbase_orm.errors import QueryError, ScannerExpiredError
from hbase_orm.gateway.memory.filter_language import parse_filter
from hbase_orm.gateway.memory.filtered_row import filtered_row
from hbase_orm.gateway.memory.filters import FilterCell, ServerFilter
from hbase_orm.index.catalog.move_phases import Phase
from hbase_orm.index.entries.targets import GuardContext
from hbase_orm.index.upkeep.table_pages import PAGE_ROWS, scan_page
from hbase_orm.moving.moved_reads import only_columns
from hbase_orm.moving.translation import TableMove, data_cells
from hbase_orm.moving.virtual_scans import VirtualPage, rest_after, virtual_page
from hbase_orm.ops import KeyRange, Protocol, Row, Scan

MAX_UNINDEXED_ROWS: Final = 100_000
"""The largest number of rows that a scan sorts by their new keys in memory.

Before the phase PREPARED the index of new keys may lack rows, so that a scan of a range of new keys
has to read the whole old table.
"""


@dataclass(frozen=True, slots=True)
class ScanPage:
    """The next rows of a scan, before its filter has checked them.

    Attributes:
        rows: The rows, in the order of the scan.
        rest: The part of the range that follows them; None if no row follows.
        in_order: All remaining rows of the scan, if the whole old table was read for this page.
    """

    rows: tuple[Row, ...]
    rest: KeyRange | None
    in_order: deque[Row] | None = None


@dataclass(slots=True, eq=False)
class MovedScan:
    """A scan of the new table in progress. It takes the place of a scanner of the gateway.

    A page is first read, which changes nothing here, and then taken. So a page that does not count
    can be read again.

    The filter checks the rows as in a table with one region, in which each cell has one version.

    Attributes:
        scan: The scan.
        move: The move, as it was known when the scan began.
        row_filter: The filter, which has checked the rows before `rest`; None if there is none.
        rest: The part of the range that is not read yet; None at the end.
        is_closed: Whether the scanner was closed.
    """

    scan: Scan
    move: TableMove
    row_filter: ServerFilter | None
    rest: KeyRange | None
    is_closed: bool = False
    _in_order: deque[Row] | None = None

    @classmethod
    def begin(cls, scan: Scan, move: TableMove) -> MovedScan:
        """Return a scan that has not read anything.

        Raises:
            RejectedError: The filter is not valid.
        """
        text, rest = scan.filter, scan.key_range
        row_filter = None if text is None else parse_filter(text, is_reverse=scan.reverse)()
        return cls(scan, move, row_filter, None if rest.is_empty else rest)

    def read(
        self, move: TableMove, phase: Phase, page_rows: int, context: GuardContext
    ) -> Protocol[ScanPage]:
        """Return the next page of about `page_rows` rows; call it only before the end.

        Raises:
            QueryError: Before PREPARED: the range has more than `MAX_UNINDEXED_ROWS` rows.
        """
        rest = self.rest or KeyRange()
        if phase < Phase.PREPARED and move.new_key_table is not None:
            rows = self._in_order
            if rows is None:
                rows = yield from self._sorted_rows(move, phase, rest, context)
            return self._page_in_order(rows, rest, page_rows)
        columns, reverse = self.scan.columns, self.scan.reverse
        page = yield from virtual_page(
            move, phase, rest, context, columns, page_rows=page_rows, reverse=reverse
        )
        return ScanPage(page.rows, self._rest_of(page, rest))

    def _rest_of(self, page: VirtualPage, read: KeyRange) -> KeyRange | None:
        if page.next is None:
            return None
        if self.scan.reverse:
            return KeyRange(read.start, page.next)
        return KeyRange(page.next, read.stop)

    def _sorted_rows(
        self, move: TableMove, phase: Phase, key_range: KeyRange, context: GuardContext
    ) -> Protocol[deque[Row]]:
        """Return all rows of a range of new keys in order; read the whole old table."""
        columns = move.old_columns(move.columns_of(self.scan.columns))
        rows: list[Row] = []
        rest = KeyRange()
        while page := (yield from scan_page(move.old.table, columns, rest, PAGE_ROWS, context)):
            now_ms = context.now_ms()
            moved = (move.to_new(row.key, data_cells(row), now_ms) for row in page)
            rows += [row for row in moved if row is not None and row.key in key_range]
            if len(rows) > MAX_UNINDEXED_ROWS:
                raise _too_many_rows(move, phase)
            rest = rest_after(rest, page[-1].key, reverse=False)
        rows.sort(key=lambda row: row.key, reverse=self.scan.reverse)
        return deque(rows)

    def _page_in_order(self, rows: deque[Row], rest: KeyRange, page_rows: int) -> ScanPage:
        while rows and rows[0].key not in rest:  # taken from the page before
            rows.popleft()
        page = tuple(islice(rows, page_rows))
        if len(page) == len(rows):
            return ScanPage(page, None, rows)
        return ScanPage(page, rest_after(rest, page[-1].key, reverse=self.scan.reverse), rows)

    def take(self, page: ScanPage, count: int) -> list[Row]:
        """Return the rows of a page that the filter passes, at most `count`, and go on after them.

        Rows of the page after the last returned row are read again.
        """
        self._in_order = page.in_order
        taken: list[Row] = []
        for row in page.rows:
            shown = self._shown(row)
            if shown is not None:
                taken.append(shown)
            if self.row_filter is not None and self.row_filter.is_done():
                self.rest = None
                return taken
            if len(taken) == count and row is not page.rows[-1]:
                self.rest = rest_after(self.rest or KeyRange(), row.key, reverse=self.scan.reverse)
                return taken
        self.rest = page.rest
        return taken

    def _shown(self, row: Row) -> Row | None:
        row = only_columns(row, self.scan.columns)
        if self.row_filter is not None:
            return filtered_row(row.key, _filter_cells(row), self.row_filter)
        return row if row.cells else None


def _filter_cells(row: Row) -> Iterator[tuple[FilterCell, int]]:
    for column, cell in row.cells.items():
        family, _, qualifier = column.partition(b":")
        yield FilterCell(family, qualifier, cell.value), cell.timestamp_ms


def _too_many_rows(move: TableMove, phase: Phase) -> QueryError:
    return QueryError(
        "the range has too many rows to sort them by their new keys in memory",
        table=move.new.table,
        old_table=move.old.table,
        limit_rows=MAX_UNINDEXED_ROWS,
        phase=phase.name,
        fix="read a smaller range or by key, run the migration on to its phase PREPARED, or deploy "
        "the new class later",
    )


def expired_scanner(table: str) -> ScannerExpiredError:
    """Return the error of a scanner that cannot be read any more."""
    return ScannerExpiredError(
        "the scanner is closed, or rows began to move to its table",
        table=table,
        fix="open a new one after the last key seen",
    )
