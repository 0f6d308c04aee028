"""Reads tables page by page, and computes the index entries of rows.

Each page has its own scanner, so that no scanner expires while the rows of a page are processed.
"""

from __future__ import annotations

import typing
from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeVar

from hbase_orm.errors import (
    CorruptRowError,
)
from hbase_orm.index.entries.targets import (
    GuardContext,
    GuardedTable,
    IndexTarget,
)
from hbase_orm.index.protocol.claims import CLAIM_COLUMN, StoredClaim, corrupt_claim
from hbase_orm.index.protocol.covering import trusted_cells
from hbase_orm.ops import (
    GetRows,
    KeyRange,
    Protocol,
    Row,
    Scan,
    ask_with_retry,
    first_rows,
    run_all,
)

PAGE_ROWS: Final = 500
"""The default number of rows of a page."""


class TablePage(typing.Protocol):
    """A page of a table that was read; `next` is the start of the page after it."""

    @property
    def next(self) -> bytes | None:
        """The key at which the next page starts; None if this page is the last page."""
        ...


P = TypeVar("P", bound=TablePage)


def read_in_rounds(
    read_page: Callable[[KeyRange], Protocol[P]],
    ranges: Iterable[KeyRange],
    use_pages: Callable[[list[P]], Protocol[None]],
    *,
    parallel: int,
) -> Protocol[None]:
    """Read ranges page by page, in rounds of several pages that are read in parallel.

    Args:
        read_page: A function that reads the first page of a range.
        ranges: The ranges to read, each to its end.
        use_pages: A function that processes the pages of one round, before the next round begins.
        parallel: The largest number of pages of a round.
    """
    left = list(ranges)
    while left:
        now, left = left[:parallel], left[parallel:]
        pages = yield from run_all([read_page(each) for each in now])
        yield from use_pages(pages)
        read = zip(now, pages, strict=True)
        left += [KeyRange(p.next, r.stop) for r, p in read if p.next is not None]


def get_rows(
    table: str, keys: Sequence[bytes], context: GuardContext, columns: tuple[bytes, ...] = ()
) -> Protocol[list[Row | None]]:
    """Return the rows with these keys; for a row that does not exist, the result has None.

    If `columns` is empty, all columns are read.
    """
    if not keys:
        return []
    return (yield from ask_with_retry(GetRows(table, tuple(keys), columns), context.retries))


def scan_page(
    table: str,
    columns: tuple[bytes, ...],
    key_range: KeyRange,
    page_rows: int,
    context: GuardContext,
    *,
    reverse: bool = False,
) -> Protocol[list[Row]]:
    """Return the first rows of `key_range`, at most `page_rows`, and close the scanner.

    With `reverse` these are its last rows, in descending order of their keys.
    """
    if key_range.is_empty:
        return []
    scan = Scan(table, key_range, columns, reverse=reverse, caching_rows=page_rows)
    return (yield from first_rows(scan, context.retries))


def keys_of(target: GuardedTable, index: IndexTarget, row: Row) -> list[bytes]:
    """Return the sorted keys of a row's entries in one index; empty if a value does not decode."""
    cells = {column: cell.value for column, cell in row.cells.items()}
    try:
        return sorted(target.entry_keys(index, row.key, cells))
    except CorruptRowError:
        return []


def with_base_keys(
    index: IndexTarget, base_key_of: Callable[[bytes], bytes], entries: Sequence[Row]
) -> tuple[list[tuple[Row, bytes]], dict[bytes, CorruptRowError]]:
    """Return entries, each with the key of its row; leave out FREE markers.

    Args:
        index: The index.
        base_key_of: A function that returns the row key at the end of an entry's key.
        entries: Rows of the index table, with all their cells.

    Returns:
        Two values. The first is the entries, each with the key of its row. The second has the
        errors of rows that are not entries of the index, by their key.
    """
    pairs: list[tuple[Row, bytes]] = []
    corrupt: dict[bytes, CorruptRowError] = {}
    for entry in entries:
        try:
            owner = _owner(index, base_key_of, entry)
        except CorruptRowError as error:
            corrupt[entry.key] = error
        else:
            pairs += [] if owner is None else [(entry, owner)]
    return pairs, corrupt


def _owner(index: IndexTarget, base_key_of: Callable[[bytes], bytes], entry: Row) -> bytes | None:
    if not index.unique:
        return base_key_of(entry.key)
    stored = StoredClaim.of(entry.cells.get(CLAIM_COLUMN))
    if stored.is_corrupt:
        raise corrupt_claim(index, entry.key, stored)
    return None if stored.claim is None else stored.claim.owner


def points_to(index: IndexTarget, entry: Row | None, base_key: bytes) -> bool:
    """Return whether an entry exists and belongs to the row with the key `base_key`."""
    if entry is None or not index.unique:
        return entry is not None
    claim = StoredClaim.of(entry.cells.get(CLAIM_COLUMN)).claim
    return claim is not None and claim.owner == base_key


def doubtful_entries(
    target: GuardedTable,
    index: IndexTarget,
    entries: Sequence[tuple[Row, bytes]],
    context: GuardContext,
) -> Protocol[list[tuple[Row, bytes]]]:
    """Return the entries that are stale or not verified, each with the key of its row."""
    stale = yield from entries_without_row(target, index, entries, context)
    gone = {entry.key for entry, _ in stale}
    return [
        (entry, base_key)
        for entry, base_key in entries
        if entry.key in gone
        or (index.included and trusted_cells(index.included, entry.cells) is None)
    ]


def entries_without_row(
    target: GuardedTable,
    index: IndexTarget,
    entries: Sequence[tuple[Row, bytes]],
    context: GuardContext,
) -> Protocol[list[tuple[Row, bytes]]]:
    """Return the entries that their rows do not have, each with the key of its row."""
    base_keys = sorted({base_key for _, base_key in entries})
    columns = tuple(sorted(target.existence_columns | index.columns))
    rows = yield from get_rows(target.table, base_keys, context, columns)
    kept = {
        (row.key, key) for row in rows if row is not None for key in keys_of(target, index, row)
    }
    return [(entry, base_key) for entry, base_key in entries if (base_key, entry.key) not in kept]
