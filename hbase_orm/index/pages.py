"""Tables read page by page, and the index entries of the rows read.

A page has a scanner of its own, so none waits, and none expires, while its rows are worked on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from hbase_orm.errors import (
    ConnectionLostError,
    CorruptRowError,
    GatewayError,
    HBaseORMError,
    RetryableError,
    ScannerExpiredError,
)
from hbase_orm.index.asking import MAX_SENDS, ask_patiently, pause
from hbase_orm.index.claims import CLAIM_COLUMN, StoredClaim, corrupt_claim
from hbase_orm.index.copies import believed_cells
from hbase_orm.index.targets import (
    GuardContext,
    GuardedTable,
    IndexTarget,
)
from hbase_orm.ops import (
    CloseScanner,
    FetchRows,
    GetRows,
    KeyRange,
    OpenScanner,
    Protocol,
    Row,
    Scan,
    ask,
)

PAGE_ROWS: Final = 500
"""Rows read at a time where the caller does not say."""


def get_rows(
    table: str, keys: Sequence[bytes], context: GuardContext, columns: tuple[bytes, ...] = ()
) -> Protocol[list[Row | None]]:
    """Read rows by key; columns empty means all of them."""
    if not keys:
        return []
    return (yield from ask_patiently(GetRows(table, tuple(keys), columns), context))


def scan_page(
    table: str,
    columns: tuple[bytes, ...],
    key_range: KeyRange,
    page_rows: int,
    context: GuardContext,
) -> Protocol[list[Row]]:
    """Return the first rows of a range, by a scanner that does not wait for the caller."""
    if key_range.is_empty:
        return []
    scan = Scan(table, key_range, columns, caching_rows=page_rows)
    return (yield from first_rows(scan, context))


def first_rows(scan: Scan, context: GuardContext) -> Protocol[list[Row]]:
    """Return the first rows of a scan, as many as its `caching_rows`; see `scan_page`."""
    for sends in range(1, MAX_SENDS):
        try:
            return (yield from fetch_once(scan))
        except (RetryableError, ConnectionLostError, ScannerExpiredError):
            yield from pause(context, sends)
    return (yield from fetch_once(scan))


def fetch_once(scan: Scan) -> Protocol[list[Row]]:
    """Return the first rows of a scan, as many as its `caching_rows`; an error is the caller's."""
    scanner = yield from ask(OpenScanner(scan))
    try:
        rows = yield from ask(FetchRows(scanner, scan.caching_rows))
    except HBaseORMError:
        yield from _close(CloseScanner(scanner))
        raise
    yield from _close(CloseScanner(scanner))
    return rows


def _close(close: CloseScanner) -> Protocol[None]:
    try:
        yield from ask(close)
    except GatewayError:
        return  # the lease releases it


def keys_of(target: GuardedTable, index: IndexTarget, row: Row) -> list[bytes]:
    """Return the keys of one index's entries of a row that was read, sorted.

    Of a row whose bytes do not decode none is known.
    """
    cells = {column: cell.value for column, cell in row.cells.items()}
    try:
        return sorted(target.entry_keys(index, row.key, cells))
    except CorruptRowError:
        return []


def led_to(
    index: IndexTarget, base_key_of: Callable[[bytes], bytes], entries: Sequence[Row]
) -> tuple[list[tuple[Row, bytes]], dict[bytes, CorruptRowError]]:
    """Return entries with the keys of the rows they lead to; without values that nobody owns.

    Args:
        index: The index.
        base_key_of: Returns the row key that an entry's key ends with.
        entries: Rows of the index table with all their cells.

    Returns:
        The entries; and what is wrong with rows of the index table that are none, by their keys.
    """
    found: list[tuple[Row, bytes]] = []
    corrupt: dict[bytes, CorruptRowError] = {}
    for entry in entries:
        try:
            owner = _owner(index, base_key_of, entry)
        except CorruptRowError as error:
            corrupt[entry.key] = error
        else:
            found += [] if owner is None else [(entry, owner)]
    return found, corrupt


def _owner(index: IndexTarget, base_key_of: Callable[[bytes], bytes], entry: Row) -> bytes | None:
    if not index.unique:
        return base_key_of(entry.key)
    stored = StoredClaim.of(entry.cells.get(CLAIM_COLUMN))
    if stored.is_corrupt:
        raise corrupt_claim(index, entry.key, stored)
    return None if stored.claim is None else stored.claim.owner


def leads_to(index: IndexTarget, entry: Row | None, base_key: bytes) -> bool:
    """Say whether an entry, as read by its key, is there and leads to a row that has its key."""
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
    """Return the entries that their rows do not have, and those that are not verified."""
    stale = yield from entries_without_row(target, index, entries, context)
    gone = {entry.key for entry, _ in stale}
    return [
        (entry, base_key)
        for entry, base_key in entries
        if entry.key in gone
        or (index.included and believed_cells(index.included, entry.cells) is None)
    ]


def entries_without_row(
    target: GuardedTable,
    index: IndexTarget,
    entries: Sequence[tuple[Row, bytes]],
    context: GuardContext,
) -> Protocol[list[tuple[Row, bytes]]]:
    """Return the entries, each with the key of its row, that their rows do not have."""
    base_keys = sorted({base_key for _, base_key in entries})
    columns = tuple(sorted(target.existence_columns | index.columns))
    rows = yield from get_rows(target.table, base_keys, context, columns)
    kept = {
        (row.key, key) for row in rows if row is not None for key in keys_of(target, index, row)
    }
    return [(entry, base_key) for entry, base_key in entries if (base_key, entry.key) not in kept]
