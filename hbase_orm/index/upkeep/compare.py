"""Compares an index with its rows, page by page, in both directions, and counts the findings.

- From the rows: the entries of each row must exist.
- From the entries: each entry must be an entry of its row.

When an entry and a row differ, both are read again before the difference is counted. So concurrent
writes do not count as differences. The counters have the names that Phoenix's index tool uses.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from hbase_orm.errors import CorruptRowError, RowKeyError, ValidationError
from hbase_orm.index.entries.guard_cell import MAX_EPOCH, guard_of
from hbase_orm.index.entries.targets import (
    ENTRY_FAMILY,
    GUARD_COLUMN,
    GuardContext,
    GuardedTable,
    IndexTarget,
    RowBefore,
    with_guard,
)
from hbase_orm.index.protocol.covering import covering_cells
from hbase_orm.index.protocol.requests import is_unmoved, read_before
from hbase_orm.index.upkeep.repair import MIN_AGE_MS
from hbase_orm.index.upkeep.table_pages import (
    PAGE_ROWS,
    get_rows,
    points_to,
    scan_page,
    with_base_keys,
)
from hbase_orm.ops import KeyRange, Protocol, Row

FOREVER_MS: Final = (1 << 63) - 1


class Finding(Enum):
    """The result of comparing one entry with its row."""

    VALID = "the row and its entry agree"
    MISSING = "the row should have this entry, but does not: queries do not find the row"
    INVALID = "the covering entry is verified, but does not agree with the row"
    UNVERIFIED = "the covering entry is not verified: queries look the row up"
    EXPIRED = "the row has expired; queries skip the entry"
    OLD = "the row has changed and no longer has this entry; queries skip the entry"
    EXTRA = "the row does not exist; queries skip the entry"
    IN_FLIGHT = "the row does not have the entry: its write is in progress, or was interrupted"
    UNKNOWN = (
        "an entry, a guard or a value does not decode, or the value does not fit the index or has "
        "no code in this program"
    )


HARMFUL: Final = frozenset({Finding.MISSING, Finding.INVALID})
"""The findings that make queries return wrong results."""

FAULTS: Final = HARMFUL | {Finding.UNKNOWN}
"""The findings that a crash of a process that uses this library cannot cause."""


@dataclass(frozen=True, slots=True)
class RowPair:
    """A row and an entry that do not agree.

    Attributes:
        finding: The kind of the difference.
        row: The row key; empty if the entry does not decode.
        entry: The key of the entry; empty if it cannot be computed from the row.
        row_ms: The timestamp of the row's last write; 0 if there is no row.
        entry_ms: The entry's timestamp; 0 if there is no entry.
    """

    finding: Finding
    row: bytes
    entry: bytes
    row_ms: int = 0
    entry_ms: int = 0


@dataclass(frozen=True, slots=True)
class TimeSpan:
    """A range of write times: `since_ms` included, `until_ms` excluded."""

    since_ms: int = 0
    until_ms: int = FOREVER_MS

    def holds(self, timestamp_ms: int) -> bool:
        """Return whether a time is in the range."""
        return self.since_ms <= timestamp_ms < self.until_ms


EVER: Final = TimeSpan()


@dataclass(slots=True)
class PageFindings:
    """The findings of one page of a comparison.

    Attributes:
        counts: The number of entries by finding.
        pairs: The rows and entries that do not agree.
        foreign: The keys of rows that a program without this library has written: they have no
            valid guard, or cells newer than the guard.
        next: The key at which the next page starts; None after the last page.
        seen: The number of rows or entries of the page.
        epochs: The epochs in the guards of the rows, by row key.
        moving: The keys of rows that lacked an entry, or had a wrong one, only in the first read.
            Perhaps they were being written. They count as VALID, although that is not certain.
    """

    counts: Counter[Finding] = field(default_factory=Counter[Finding])
    pairs: list[RowPair] = field(default_factory=list[RowPair])
    foreign: list[bytes] = field(default_factory=list[bytes])
    next: bytes | None = None
    seen: int = 0
    epochs: dict[bytes, int] = field(default_factory=dict[bytes, int])
    moving: list[bytes] = field(default_factory=list[bytes])

    def add(self, finding: Finding, pair: RowPair | None = None) -> None:
        """Count a finding; keep `pair` in `pairs` unless the finding is VALID."""
        self.counts[finding] += 1
        if pair is not None and finding is not Finding.VALID:
            self.pairs.append(pair)


# --- from the rows --------------------------------------------------------------------------------


def verify_rows(
    target: GuardedTable,
    index: IndexTarget,
    key_range: KeyRange,
    context: GuardContext,
    *,
    page_rows: int = PAGE_ROWS,
    span: TimeSpan = EVER,
    known_epoch: int = MAX_EPOCH,
) -> Protocol[PageFindings]:
    """Compare a page of rows with their entries; `known_epoch` is the catalog's epoch."""
    columns = _columns(target, index)
    page = yield from scan_page(target.table, columns, key_range, page_rows, context)
    findings = _findings_of(page)
    rows = [
        row
        for row in page
        if span.holds(_written_ms(row)) and target.exists(_without_guard(row).cells)
    ]
    findings.foreign = [row.key for row in rows if _is_foreign(target, row, known_epoch)]
    guards = {row.key: guard_of(row.cells.get(GUARD_COLUMN), known_epoch) for row in rows}
    findings.epochs = {key: guard.epoch for key, guard in guards.items() if guard is not None}
    for row in rows:
        if _has_corrupt_guard(target, row, known_epoch):
            findings.add(Finding.UNKNOWN, RowPair(Finding.UNKNOWN, row.key, b"", _written_ms(row)))
    wanted = [(row, key) for row in rows for key in _keys(target, index, row, findings)]
    entries = yield from get_rows(index.table, [key for _, key in wanted], context)
    for (row, key), entry in zip(wanted, entries, strict=True):
        finding = _finding_of(index, row, entry)
        if finding is not Finding.VALID:
            is_harmful = finding in HARMFUL
            finding = yield from _finding_at_rest(target, index, row.key, key, context)
            findings.moving += [row.key] if is_harmful and finding is Finding.VALID else []
        pair = RowPair(finding, row.key, key, _written_ms(row), _entry_ms(entry))
        findings.add(finding, pair)
    return findings


def _keys(
    target: GuardedTable, index: IndexTarget, row: Row, findings: PageFindings
) -> list[bytes]:
    """Return the keys of a row's entries.

    If they cannot be computed, add an UNKNOWN finding to `findings` and return an empty list.
    """
    try:
        own = {name: cell.value for name, cell in row.cells.items() if name != GUARD_COLUMN}
        return sorted(target.needed_keys(index, row.key, own))
    except (CorruptRowError, RowKeyError, ValidationError):
        findings.add(Finding.UNKNOWN, RowPair(Finding.UNKNOWN, row.key, b"", _written_ms(row)))
        return []


def _finding_of(index: IndexTarget, row: Row, entry: Row | None) -> Finding:
    """Return the finding for a row and one of its entries.

    `entry` is None if the index table does not have the entry.
    """
    if entry is None or not points_to(index, entry, row.key):
        return Finding.MISSING
    if not index.included:
        return Finding.VALID
    try:
        covering = covering_cells(index.included, entry.cells)
    except CorruptRowError:
        return Finding.INVALID
    if covering is None:
        return Finding.UNVERIFIED
    own = {column: row.cells[column].value for column in index.included if column in row.cells}
    return Finding.VALID if covering == own else Finding.INVALID


def _finding_at_rest(
    target: GuardedTable, index: IndexTarget, key: bytes, entry_key: bytes, context: GuardContext
) -> Protocol[Finding]:
    """Read a row and its entry again, and return the finding.

    The finding is VALID if another write changed or deleted the row in the meantime.
    """
    columns = _columns(target, index)
    before = yield from read_before(target, key, columns, context)
    (entry,) = yield from get_rows(index.table, [entry_key], context)
    after = yield from read_before(target, key, columns, context)
    if not target.exists(after.cells):
        return Finding.EXPIRED if target.expires and not _is_dead(after) else Finding.VALID
    try:
        has_entry = entry_key in target.entry_keys(index, key, after.values)
    except CorruptRowError:
        return Finding.UNKNOWN
    if not has_entry or not is_unmoved(target, before, after):
        return Finding.VALID
    return _finding_of(index, Row(key, dict(after.cells)), entry)


# --- from the entries -----------------------------------------------------------------------------


def verify_entries(
    target: GuardedTable,
    index: IndexTarget,
    base_key_of: Callable[[bytes], bytes],
    key_range: KeyRange,
    context: GuardContext,
    *,
    page_rows: int = PAGE_ROWS,
    span: TimeSpan = EVER,
) -> Protocol[PageFindings]:
    """Compare a page of entries with their rows."""
    page = yield from scan_page(index.table, (ENTRY_FAMILY,), key_range, page_rows, context)
    findings = _findings_of(page)
    entries = [entry for entry in page if span.holds(_entry_ms(entry))]
    pairs = _entries_with_base_keys(index, base_key_of, entries, findings)
    columns = _columns(target, index)
    keys = sorted({key for _, key in pairs})
    rows = yield from get_rows(target.table, keys, context, columns)
    by_key = dict(zip(keys, rows, strict=True))
    for entry, key in pairs:
        row = by_key[key]
        finding, row_ms = Finding.VALID, 0
        if row is None or entry.key not in _keys(target, index, row, PageFindings()):
            finding, row_ms = yield from _why_not(target, index, entry, key, context)
        elif index.included:
            finding, row_ms = _finding_of(index, row, entry), _written_ms(row)
            if finding is not Finding.VALID:
                finding = yield from _finding_at_rest(target, index, key, entry.key, context)
        findings.add(finding, RowPair(finding, key, entry.key, row_ms, _entry_ms(entry)))
    return findings


def _entries_with_base_keys(
    index: IndexTarget,
    base_key_of: Callable[[bytes], bytes],
    entries: Sequence[Row],
    findings: PageFindings,
) -> list[tuple[Row, bytes]]:
    """Return the entries, each with the key of its row.

    A row of the index table that is not an entry is left out, and recorded as UNKNOWN in
    `findings`.
    """
    pairs, corrupt = with_base_keys(index, base_key_of, entries)
    for entry in entries if corrupt else ():
        if entry.key in corrupt:
            pair = RowPair(Finding.UNKNOWN, b"", entry.key, 0, _entry_ms(entry))
            findings.add(Finding.UNKNOWN, pair)
    return pairs


def _why_not(
    target: GuardedTable, index: IndexTarget, entry: Row, key: bytes, context: GuardContext
) -> Protocol[tuple[Finding, int]]:
    """Return the finding for an entry that its row did not have, and the time of the row's write.

    The row is read again. If it has the entry now, the finding is VALID.
    """
    row = yield from read_before(target, key, _columns(target, index), context)
    written_ms = row.written_ms(index.columns if target.is_lww else ())
    decided = _of_entry(target, index, entry, Row(key, dict(row.cells)))
    if decided is not None:
        return decided, written_ms
    exists = target.exists(row.cells)
    is_expired = target.expires and not exists and not _is_dead(row)
    if not is_expired and index.included:
        (now,) = yield from get_rows(index.table, [entry.key], context)
        after = yield from read_before(target, key, _columns(target, index), context)
        if is_verified(index, now) and is_unmoved(target, row, after):
            return Finding.INVALID, written_ms
    if row.guard is None and not exists and not target.expires:
        is_young = context.now_ms() - _entry_ms(entry) < MIN_AGE_MS
        return Finding.IN_FLIGHT if is_young else Finding.EXTRA, 0
    if written_ms < _entry_ms(entry) and not (target.expires and not exists):
        return Finding.IN_FLIGHT, written_ms
    if exists:
        return Finding.OLD, written_ms
    return Finding.EXPIRED if target.expires and not _is_dead(row) else Finding.EXTRA, written_ms


def _of_entry(target: GuardedTable, index: IndexTarget, entry: Row, row: Row) -> Finding | None:
    """Return VALID if a row has an entry, UNKNOWN if this program may not know it, else None."""
    try:
        values = {column: cell.value for column, cell in row.cells.items()}
        return Finding.VALID if entry.key in target.entry_keys(index, row.key, values) else None
    except CorruptRowError:  # a newer program may have put it
        return Finding.UNKNOWN if index.may_have_unknown_values else None


def is_verified(index: IndexTarget, entry: Row | None) -> bool:
    """Return whether `entry` exists and is verified, so that queries do not look up its row."""
    try:
        return entry is not None and covering_cells(index.included, entry.cells) is not None
    except CorruptRowError:
        return False


# --- rows -----------------------------------------------------------------------------------------


def _findings_of(page: Sequence[Row]) -> PageFindings:
    return PageFindings(next=page[-1].key + b"\x00" if page else None, seen=len(page))


def _columns(target: GuardedTable, index: IndexTarget) -> tuple[bytes, ...]:
    return with_guard(target.existence_columns | index.columns | set(index.included))


def _without_guard(row: Row) -> Row:
    return Row(row.key, {name: cell for name, cell in row.cells.items() if name != GUARD_COLUMN})


def _is_dead(row: RowBefore) -> bool:
    return row.guard is not None and row.guard.is_dead


def _is_foreign(target: GuardedTable, row: Row, known_epoch: int) -> bool:
    if target.is_lww:
        return False  # nothing tells
    guard = row.cells.get(GUARD_COLUMN)
    if guard is None:
        return True
    known = guard_of(guard, known_epoch)
    if known is None:
        return True
    cells = row.cells.items()
    return any(
        c.timestamp_ms > known.timestamp_ms for name, c in cells if name not in target.counters
    )


def _has_corrupt_guard(target: GuardedTable, row: Row, known_epoch: int) -> bool:
    guard = None if target.is_lww else row.cells.get(GUARD_COLUMN)
    return guard is not None and bool(guard.value) and guard_of(guard, known_epoch) is None


def _written_ms(row: Row) -> int:
    return max(cell.timestamp_ms for cell in row.cells.values())


def _entry_ms(entry: Row | None) -> int:
    return max((cell.timestamp_ms for cell in entry.cells.values()), default=0) if entry else 0
