"""Catches up with what writers have left who did not know an index, once none of them can write.

Every row is compared with its entries, page by page, and scrubbed where it lacks some; that is
repeated until a pass finds nothing. Then, of a covering index, every entry with its row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from hbase_orm.errors import ConflictError
from hbase_orm.index.catalog_entry import CatalogIndex
from hbase_orm.index.entries import base_key_of
from hbase_orm.index.late import LatePage, delete_late_copies, late_rows
from hbase_orm.index.targets import GuardedTable, IndexTarget
from hbase_orm.ops import KeyRange, ListRegions, Protocol, ask
from hbase_orm.session.binding import BoundModel
from hbase_orm.session.runtime import Runtime
from hbase_orm.session.scrubbing import Scrubber

CHECKED_ROWS: Final = 500
"""Most rows, or entries, of a page."""

SHOWN_ROWS: Final = 100
"""Rows that an error names."""

MOST_PASSES: Final = 20
"""Passes over all rows until one finds none late; one or two are usual."""

Tell = Callable[[int, int], None]
"""Told after each round how many rows were scrubbed, and how many rows or entries compared."""


class CatchUp:
    """The last part of one build."""

    def __init__(
        self,
        bound: BoundModel,
        target: IndexTarget,
        index: CatalogIndex,
        runtime: Runtime,
        scrubber: Scrubber,
        *,
        page_rows: int,
        tell: Tell,
    ) -> None:
        """Prepare; nothing is sent.

        Args:
            bound: The model.
            target: The index, with the table that is built.
            index: What the catalog says of it.
            runtime: Where requests go.
            scrubber: Scrubs rows for its sake.
            page_rows: Rows read at a time, at most `CHECKED_ROWS`.
            tell: Called after each round.
        """
        if bound.guarded is None:
            raise AssertionError(bound)
        self._table: GuardedTable = bound.guarded
        self._target = target
        self._index = index
        self._schema = next(i for i in bound.schema.indexes if i.name == target.name)
        self._runtime = runtime
        self._scrubber = scrubber
        self._page_rows = min(CHECKED_ROWS, page_rows)
        self._tell = tell

    def run(self) -> None:
        """Leave each row with its entries, and no entry that queries believe without its row.

        Raises:
            ConflictError: Other programs write on without them.
            HBaseORMError: A read or a write failed, or a row fits no entry; begun again, it starts
                from the beginning.
        """
        late: list[bytes] = []
        for _ in range(MOST_PASSES):
            late = self._pass()
            if not late:
                break
        else:
            raise ConflictError(
                "rows are still written by programs that do not keep the index",
                table=self._table.table,
                index=self._target.name,
                rows=late,
                fix="stop programs of a longer lease, and those that write the table without this "
                "library; then build again",
            )
        if self._target.included:
            self._delete_copies()

    def _pass(self) -> list[bytes]:
        """Compare all rows once; return those that were late, as many as an error names."""
        ranges = [KeyRange(each.start, each.stop or None) for each in self._index.build]
        late: list[bytes] = []
        for pages in self._rounds(self._rows_of, ranges):
            keys = [key for page in pages for key in page.late]
            # Of rows that move nobody knows; scrubbed, they are right, and no reason to go on.
            moving = [key for page in pages for key in page.moving]
            self._scrubber.scrub([*keys, *moving])
            self._tell(len(keys) + len(moving), sum(page.seen for page in pages))
            late += keys[: SHOWN_ROWS - len(late)]
        return late

    def _rows_of(self, key_range: KeyRange) -> Protocol[LatePage]:
        return late_rows(
            self._table,
            self._target,
            key_range,
            self._runtime.guard_context,
            epoch=self._index.epoch,
            page_rows=self._page_rows,
        )

    def _delete_copies(self) -> None:
        table, context = self._scrubber.renewing()
        base_key, rows = base_key_of(self._schema), self._page_rows

        def page(key_range: KeyRange) -> Protocol[LatePage]:
            return delete_late_copies(
                table, self._target, base_key, key_range, context, page_rows=rows
            )

        regions = self._runtime.run(ask(ListRegions(self._target.table)))
        for pages in self._rounds(page, [KeyRange(each.start, each.stop) for each in regions]):
            self._tell(0, sum(each.seen for each in pages))

    def _rounds(
        self, page: Callable[[KeyRange], Protocol[LatePage]], todo: Sequence[KeyRange]
    ) -> Iterator[list[LatePage]]:
        """Go through ranges page by page; yield those of each round, which are made at once."""
        parallel = self._runtime.parallel
        while todo:
            some, todo = todo[:parallel], todo[parallel:]
            pages = [each.result() for each in self._runtime.run_many([page(r) for r in some])]
            yield pages
            left = zip(some, pages, strict=True)
            todo = [*todo, *(KeyRange(p.next, r.stop) for r, p in left if p.next is not None)]
