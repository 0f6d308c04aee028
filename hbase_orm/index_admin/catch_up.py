"""The last phase of a build: corrects rows that were written without maintaining the index.

It begins when no process can write such rows any more. Every row is compared with its entries, page
by page, and reindexed if entries are missing. This is repeated until a pass has nothing to correct.
Then every entry of a covering index is compared with its row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from hbase_orm.errors import ConflictError
from hbase_orm.index.catalog.entry import CatalogIndex
from hbase_orm.index.entries.targets import GuardContext, GuardedTable, IndexTarget
from hbase_orm.index.upkeep.build_pages import LatePage, delete_late_covering_entries, late_rows
from hbase_orm.index.upkeep.table_pages import read_in_rounds
from hbase_orm.index_admin.reindex import RowReindexer
from hbase_orm.ops import KeyRange, ListRegions, Protocol, ask

CHECKED_ROWS: Final = 500
"""The largest number of rows or entries of a page."""

SHOWN_ROWS: Final = 100
"""The largest number of rows that an error lists."""

MOST_PASSES: Final = 20
"""The largest number of passes over all rows; usually one or two are needed."""

AfterRound = Callable[[int, int], Protocol[None]]
"""A function that is called after each round.

Its arguments are the number of reindexed rows, and the number of compared rows or entries.
"""


class CatchUp:
    """The last phase of a build."""

    def __init__(
        self,
        table: GuardedTable,
        target: IndexTarget,
        index: CatalogIndex,
        base_key_of: Callable[[bytes], bytes],
        reindexer: RowReindexer,
        *,
        context: GuardContext,
        parallel: int,
        page_rows: int,
        after_round: AfterRound,
    ) -> None:
        """Prepare the work; nothing is sent.

        Args:
            table: The table of the rows.
            target: The index, with the index table that is being built.
            index: The index's state in the catalog.
            base_key_of: A function that returns the row key at the end of an entry's key.
            reindexer: The object that puts the entries of rows.
            context: The source of the pauses between attempts.
            parallel: The largest number of pages that are read in parallel.
            page_rows: The number of rows of a page, at most `CHECKED_ROWS`.
            after_round: A function that is called after each round.
        """
        self._table = table
        self._target = target
        self._index = index
        self._base_key_of = base_key_of
        self._reindexer = reindexer
        self._context = context
        self._parallel = parallel
        self._page_rows = min(CHECKED_ROWS, page_rows)
        self._after_round = after_round

    def run(self) -> Protocol[None]:
        """Put all missing entries; delete the verified covering entries that rows do not have.

        Raises:
            ConflictError: Other programs still write rows without entries.
            HBaseORMError: A read or a write failed, or a row's value does not fit the index. The
                next call of `run` compares all rows again.
        """
        late: list[bytes] = []
        for _ in range(MOST_PASSES):
            late = yield from self._pass()
            if not late:
                break
        else:
            raise ConflictError(
                "programs that do not maintain the index still write rows",
                table=self._table.table,
                index=self._target.name,
                rows=late,
                fix="stop programs with a longer lease and programs that write the table "
                "without this library; then build again",
            )
        if self._target.included:
            yield from self._delete_covering_entries()

    def _pass(self) -> Protocol[list[bytes]]:
        """Compare all rows once, and reindex the rows that lack entries.

        Return the keys of up to `SHOWN_ROWS` reindexed rows. The result is empty if no row lacks
        entries.
        """
        late: list[bytes] = []

        def use(pages: Sequence[LatePage]) -> Protocol[None]:
            keys = [key for page in pages for key in page.late]
            # Rows being written may lack entries too; reindexed, they are right, and no reason
            # for another pass.
            moving = [key for page in pages for key in page.moving]
            yield from self._reindexer.reindex([*keys, *moving])
            late.extend(keys[: SHOWN_ROWS - len(late)])
            yield from self._after_round(len(keys) + len(moving), _row_count(pages))

        ranges = [KeyRange(each.start, each.stop or None) for each in self._index.build]
        yield from read_in_rounds(self._rows_of, ranges, use, parallel=self._parallel)
        return late

    def _rows_of(self, key_range: KeyRange) -> Protocol[LatePage]:
        return late_rows(
            self._table,
            self._target,
            key_range,
            self._context,
            epoch=self._index.epoch,
            page_rows=self._page_rows,
        )

    def _delete_covering_entries(self) -> Protocol[None]:
        table, context = yield from self._reindexer.lease.renewable()

        def page(key_range: KeyRange) -> Protocol[LatePage]:
            return delete_late_covering_entries(
                table,
                self._target,
                self._base_key_of,
                key_range,
                context,
                page_rows=self._page_rows,
            )

        def use(pages: Sequence[LatePage]) -> Protocol[None]:
            return self._after_round(0, _row_count(pages))

        regions = yield from ask(ListRegions(self._target.table))
        ranges = [KeyRange(each.start, each.stop) for each in regions]
        yield from read_in_rounds(page, ranges, use, parallel=self._parallel)


def _row_count(pages: Sequence[LatePage]) -> int:
    return sum(page.seen for page in pages)
