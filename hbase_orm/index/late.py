"""Finds what writers who did not know an index have left of it, once none of them can write.

Such a writer may have changed any row after the build had done it, with a guard of an older epoch
or with none, and no timestamp shows which rows: a plain put has the server's clock, a guard that
of a client. So every row is compared with its entries. Of a covering index, whose copies are
believed, every entry is compared with its row as well.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from hbase_orm.index.repair import repair_entry
from hbase_orm.index.targets import GuardContext, GuardedTable, IndexTarget
from hbase_orm.index.verify import HARMFUL, Finding, verify_entries, verify_rows
from hbase_orm.ops import KeyRange, Protocol


@dataclass(frozen=True, slots=True)
class LatePage:
    """What a page showed.

    Attributes:
        seen: How many rows, or entries, were compared.
        late: Keys of the rows that must be scrubbed, or of the rows whose entries were deleted.
        next: Where to go on; None at the end.
    """

    seen: int
    late: tuple[bytes, ...]
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
    found = yield from verify_rows(target, index, key_range, context, page_rows=page_rows)
    kinds = HARMFUL | {Finding.UNKNOWN}  # the scrub says which rows fit no entry
    late = [pair.row for pair in found.pairs if pair.finding in kinds]
    late += [row for row, of_row in found.epochs.items() if of_row < epoch]
    return LatePage(found.seen, tuple(dict.fromkeys([*late, *found.foreign])), found.next)


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

    Safe beside writers: they put an entry unverified before they change its row.
    """
    found = yield from verify_entries(
        target, index, base_key_of, key_range, context, page_rows=page_rows
    )
    belied = [pair for pair in found.pairs if pair.finding is Finding.INVALID]
    for pair in belied:
        yield from repair_entry(
            target,
            index,
            context,
            entry_key=pair.entry,
            entry_timestamp_ms=pair.entry_ms,
            base_key=pair.row,
            min_age_ms=0,  # what is verified was acknowledged: no write is under way
        )
    return LatePage(found.seen, tuple(pair.row for pair in belied), found.next)
