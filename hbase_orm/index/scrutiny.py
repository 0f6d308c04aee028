"""Compares an index with its rows, in both directions, and changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hbase_orm.index.asking import is_unmoved, read_before
from hbase_orm.index.pages import (
    PAGE_ROWS,
    entries_without_row,
    get_rows,
    keys_of,
    leads_to,
    led_to,
    scan_page,
)
from hbase_orm.index.targets import (
    ENTRY_FAMILY,
    GuardContext,
    GuardedTable,
    IndexTarget,
    with_guard,
)
from hbase_orm.ops import (
    KeyRange,
    Protocol,
)


@dataclass(frozen=True, slots=True)
class Scrutiny:
    """How an index compares with its rows.

    Attributes:
        rows: Rows that exist.
        entries: Index entries.
        missing: Row key and key of each entry that a row should have and has not.
        stale: Row key and key of each entry that its row does not have.
    """

    rows: int
    entries: int
    missing: tuple[tuple[bytes, bytes], ...]
    stale: tuple[tuple[bytes, bytes], ...]


def scrutinize(
    target: GuardedTable,
    index: IndexTarget,
    base_key_of: Callable[[bytes], bytes],
    context: GuardContext,
    *,
    page_rows: int = PAGE_ROWS,
) -> Protocol[Scrutiny]:
    """Compare an index with its rows in both directions; change nothing.

    Beside writers, "missing" is still exact (a suspect counts only if its row's guard has not
    moved while the entry was looked for); "stale" then includes writes under way.
    """
    row_count, missing = yield from _missing_entries(target, index, context, page_rows)
    entry_count, stale = yield from _stale_entries(target, index, base_key_of, context, page_rows)
    return Scrutiny(row_count, entry_count, tuple(missing), tuple(stale))


def _missing_entries(
    target: GuardedTable, index: IndexTarget, context: GuardContext, page_rows: int
) -> Protocol[tuple[int, list[tuple[bytes, bytes]]]]:
    columns = tuple(sorted(target.existence_columns | index.columns))
    row_count, missing, start = 0, list[tuple[bytes, bytes]](), KeyRange()
    while True:
        page = yield from scan_page(target.table, columns, start, page_rows, context)
        if not page:
            return row_count, missing
        row_count += sum(target.exists(row.cells) for row in page)
        wanted = [(row.key, key) for row in page for key in keys_of(target, index, row)]
        found = yield from get_rows(index.table, [key for _, key in wanted], context)
        for (base_key, key), entry in zip(wanted, found, strict=True):
            if not leads_to(index, entry, base_key) and (
                yield from _is_missing(target, index, base_key, key, context)
            ):
                missing.append((base_key, key))
        start = KeyRange(page[-1].key + b"\x00")


def _is_missing(
    target: GuardedTable, index: IndexTarget, base_key: bytes, key: bytes, context: GuardContext
) -> Protocol[bool]:
    columns = with_guard(target.existence_columns | index.columns)
    before = yield from read_before(target, base_key, columns, context)
    (entry,) = yield from get_rows(index.table, [key], context)
    after = yield from read_before(target, base_key, columns, context)
    has_key = key in target.entry_keys(index, base_key, after.values)
    lacks_entry = not leads_to(index, entry, base_key)
    return lacks_entry and has_key and is_unmoved(target, before, after)


def _stale_entries(
    target: GuardedTable,
    index: IndexTarget,
    base_key_of: Callable[[bytes], bytes],
    context: GuardContext,
    page_rows: int,
) -> Protocol[tuple[int, list[tuple[bytes, bytes]]]]:
    entry_count, stale, start = 0, list[tuple[bytes, bytes]](), KeyRange()
    while True:
        page = yield from scan_page(index.table, (ENTRY_FAMILY,), start, page_rows, context)
        if not page:
            return entry_count, stale
        found, _ = led_to(index, base_key_of, page)
        entry_count += len(found)
        suspects = yield from entries_without_row(target, index, found, context)
        stale += [(base_key, entry.key) for entry, base_key in suspects]
        start = KeyRange(page[-1].key + b"\x00")
