"""Finds what writers who did not know an index have left of it, once none of them can write.

Such a writer may have changed any row after the build had done it, with a guard of an older epoch
or with none, and no timestamp shows which rows: a plain put has the server's clock, a guard that
of a client. So every row is compared with its entries. Of a covering index, whose copies are
believed, every entry is compared with its row as well.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hbase_orm.index.pages import entries_without_row, led_to, scan_page
from hbase_orm.index.repair import repair_entry
from hbase_orm.index.targets import ENTRY_FAMILY, GuardContext, GuardedTable, IndexTarget
from hbase_orm.index.verify import HARMFUL, Finding, is_verified, verify_rows
from hbase_orm.ops import KeyRange, Protocol


@dataclass(frozen=True, slots=True)
class LatePage:
    """What a page showed.

    Attributes:
        seen: How many rows, or entries, were compared.
        late: Keys of the rows that must be scrubbed: their writers did not know the index.
        moving: Keys of rows that may be so, too, but were just written.
        next: Where to go on; None at the end.
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
    """Return the rows of a page that lack entries, or that a writer of before has written.

    Args:
        target: The table.
        index: The index that was built.
        key_range: Where the page begins, and where the range ends.
        context: For the pauses between tries.
        epoch: The catalog's epoch from which on writers keep it.
        page_rows: Rows read at a time.
    """
    found = yield from verify_rows(
        target, index, key_range, context, page_rows=page_rows, known_epoch=epoch
    )
    kinds = HARMFUL | {Finding.UNKNOWN}  # the scrub says which rows fit no entry
    late = [pair.row for pair in found.pairs if pair.finding in kinds]
    late += [row for row, of_row in found.epochs.items() if of_row < epoch]
    late = list(dict.fromkeys([*late, *found.foreign]))
    moving = dict.fromkeys(row for row in found.moving if row not in late)
    return LatePage(found.seen, tuple(late), tuple(moving), found.next)


def delete_late_copies(
    target: GuardedTable,
    index: IndexTarget,
    base_key_of: Callable[[bytes], bytes],
    key_range: KeyRange,
    context: GuardContext,
    *,
    page_rows: int,
) -> Protocol[LatePage]:
    """Delete those entries of a page that are believed and whose rows are otherwise, or are gone.

    Safe beside writers, and needed beside them: a writer that knows the index does not know of an
    entry that its row should not have.
    """
    page = yield from scan_page(index.table, (ENTRY_FAMILY,), key_range, page_rows, context)
    found, _ = led_to(index, base_key_of, page)  # what is no entry leads queries nowhere
    for entry, base_key in (yield from entries_without_row(target, index, found, context)):
        if is_verified(index, entry):
            yield from repair_entry(
                target,
                index,
                context,
                entry_key=entry.key,
                entry_timestamp_ms=max(cell.timestamp_ms for cell in entry.cells.values()),
                base_key=base_key,
                min_age_ms=0,  # what is verified was acknowledged: no write is under way
            )
    return LatePage(len(page), (), (), page[-1].key + b"\x00" if page else None)
