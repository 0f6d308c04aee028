"""Corrects the rows of writers that did not know an index, once none of them can write.

Every row is compared with its entries, page by page, and reindexed where it lacks some; that is
repeated until a pass finds nothing. Then, of a covering index, every entry with its row.
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
"""Most rows, or entries, of a page."""

SHOWN_ROWS: Final = 100
"""Rows that an error names."""

MOST_PASSES: Final = 20
"""Passes over all rows until one finds none late; one or two are usual."""

AfterRound = Callable[[int, int], Protocol[None]]
"""Called after each round with the number of rows reindexed, and of rows or entries compared."""


class CatchUp:
    """The last part of one build."""

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
        """Prepare; nothing is sent.

        Args:
            table: The table of the rows.
            target: The index, with the table that is built.
            index: What the catalog says of it.
            base_key_of: Returns the row key that an entry's key ends with.
            reindexer: Puts the entries of rows.
            context: For the pauses between tries.
            parallel: Most pages read side by side.
            page_rows: Rows read at a time, at most `CHECKED_ROWS`.
            after_round: Called after each round.
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
        """Give each row its entries, and delete verified covering entries without a row.

        Raises:
            ConflictError: Other programs write on without them.
            HBaseORMError: A read or a write failed, or a row fits no entry; begun again, it starts
                from the beginning.
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
        """Compare all rows once; return the late rows, as many as an error names."""
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
