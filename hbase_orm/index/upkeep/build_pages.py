"""The work of a build on one page: put entries, or find rows and entries to correct.

A writer that does not maintain the index yet may change a row after the build has processed it.
Such a writer leaves a guard of an older epoch, or none. Timestamps do not show which rows it
changed: a plain put has the server's time, and a guard has a client's time.

So when no such writer can write any more, every row is compared with its entries. In a covering
index, whose copies queries use, every entry is also compared with its row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hbase_orm.index.entries.targets import (
    ENTRY_FAMILY,
    GuardContext,
    GuardedTable,
    IndexTarget,
    with_guard,
)
from hbase_orm.index.protocol.attempt import entry_puts
from hbase_orm.index.protocol.requests import joined
from hbase_orm.index.upkeep.compare import HARMFUL, Finding, is_verified, verify_rows
from hbase_orm.index.upkeep.repair import newest_ms, repair_entry
from hbase_orm.index.upkeep.table_pages import entries_without_row, scan_page, with_base_keys
from hbase_orm.ops import KeyRange, MutateRows, Protocol, Row, ask_all_with_retry


@dataclass(frozen=True, slots=True)
class LatePage:
    """The result of comparing a page of rows, or a page of entries.

    Attributes:
        seen: The number of rows or entries that were compared.
        late: The keys of rows that must be reindexed; `late_rows` lists the reasons. For a page of
            entries it is empty.
        moving: The keys of rows that were written during the comparison. They must be reindexed
            too, because they may lack entries. For a page of entries it is empty.
        next: The key at which the next page starts; None after the last page.
    """

    seen: int
    late: tuple[bytes, ...]
    moving: tuple[bytes, ...]
    next: bytes | None


def late_rows(
    target: GuardedTable,
    index: IndexTarget,
    key_range: KeyRange,
    context: GuardContext,
    *,
    epoch: int,
    page_rows: int,
) -> Protocol[LatePage]:
    """Compare a page of rows with their entries, and return the rows that must be reindexed.

    A row must be reindexed in each of these cases:

    - It lacks an entry, or has a wrong one.
    - Its entries cannot be computed.
    - Another program has written it, without this library.
    - Its guard has an epoch that is less than `epoch`.

    Args:
        target: The table.
        index: The index that is built.
        key_range: The range from the start of the page to the end of the build's range.
        context: The source of the pauses between attempts.
        epoch: The catalog's epoch since which writers maintain the index.
        page_rows: The number of rows of a page.
    """
    findings = yield from verify_rows(
        target, index, key_range, context, page_rows=page_rows, known_epoch=epoch
    )
    kinds = HARMFUL | {Finding.UNKNOWN}  # reindexing names the rows that fit no entry
    late = [pair.row for pair in findings.pairs if pair.finding in kinds]
    late += [row for row, of_row in findings.epochs.items() if of_row < epoch]
    late = list(dict.fromkeys([*late, *findings.foreign]))
    moving = dict.fromkeys(row for row in findings.moving if row not in late)
    return LatePage(findings.seen, tuple(late), tuple(moving), findings.next)


def delete_late_covering_entries(
    target: GuardedTable,
    index: IndexTarget,
    base_key_of: Callable[[bytes], bytes],
    key_range: KeyRange,
    context: GuardContext,
    *,
    page_rows: int,
) -> Protocol[LatePage]:
    """Delete the verified covering entries of one page that their rows do not have.

    Writers leave such entries, because a writer deletes only entries of the row that it has read.
    Deleting them is safe while other programs write.
    """
    page = yield from scan_page(index.table, (ENTRY_FAMILY,), key_range, page_rows, context)
    pairs, _ = with_base_keys(index, base_key_of, page)  # what is no entry leads queries nowhere
    for entry, base_key in (yield from entries_without_row(target, index, pairs, context)):
        if is_verified(index, entry):
            yield from repair_entry(
                target,
                index,
                context,
                entry_key=entry.key,
                entry_timestamp_ms=newest_ms(entry),
                base_key=base_key,
                min_age_ms=0,  # what is verified was acknowledged: no write is under way
            )
    return LatePage(len(page), (), (), page[-1].key + b"\x00" if page else None)


def put_entries_of_page(
    target: GuardedTable,
    index: IndexTarget,
    key_range: KeyRange,
    page_rows: int,
    context: GuardContext,
) -> Protocol[list[Row]]:
    """Put the entries of one page of rows into a manual index; return the rows.

    An entry has the newest timestamp of its row's cells. Rows may change during the build, because
    readers check entries against rows. Entries of a covering index are put unverified, because
    later writes do not maintain a manual index.

    Returns:
        The rows of the page; an empty list at the end of the range.
    """
    columns = with_guard(target.existence_columns | index.columns)
    page = yield from scan_page(target.table, columns, key_range, page_rows, context)
    puts: list[MutateRows] = []
    for row in page:
        newest_seen_ms = max(cell.timestamp_ms for cell in row.cells.values())
        cells = {column: cell.value for column, cell in row.cells.items()}
        keys = target.needed_keys(index, row.key, cells)
        entries = [index.entry(key) for key in sorted(keys)]
        puts += entry_puts(entries, newest_seen_ms)
    yield from ask_all_with_retry(joined(puts), context.retries)
    return page
