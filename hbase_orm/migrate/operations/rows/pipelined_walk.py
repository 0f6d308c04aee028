"""A walk over rows that reads, computes and writes three successive pages at the same time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial

from hbase_orm.index_admin.pace import RowPace
from hbase_orm.migrate.operations.rows.row_walk import (
    PageOutcome,
    Walk,
    WalkPosition,
    paced,
    page_start,
)
from hbase_orm.ops import KeyRange, Operation, Protocol, ask_with_retry, run_all


@dataclass(frozen=True, slots=True)
class PageWrites:
    """What is to be written for a page.

    Attributes:
        outcome: What becomes of the page when all is written.
        writes: The requests, which may be sent in any order, and again after a crash.
    """

    outcome: PageOutcome
    writes: tuple[Operation[None], ...]


@dataclass(frozen=True, slots=True)
class ReadPage:
    """A page that was read.

    Attributes:
        next: The first key after the page; None if the range is finished.
        work: What computes the writes; it has not begun.
    """

    next: bytes | None
    work: Protocol[PageWrites]


@dataclass(slots=True)
class _Stages:
    """The pages of one range that are not written yet."""

    read: ReadPage | None = None
    computed: PageWrites | None = None


@dataclass
class PipelinedWalk(Walk[ReadPage]):
    """A walk that in each round writes pages, computes the next ones and reads those after them.

    So the server has work while this process computes. A page is finished when it is written. After
    a crash, what was only read or computed is read again.
    """

    _stages: dict[int, _Stages] = field(init=False, default_factory=dict[int, _Stages])

    def _round(self, position: WalkPosition, pace: RowPace) -> WalkPosition:
        while True:
            chosen = self._chosen(position, pace)
            before = {place: self._stages.setdefault(place, _Stages()) for place in chosen}
            written = [(n, each.computed) for n, each in before.items() if each.computed]
            rows = sum(page.outcome.rows for _, page in written)
            page_rows = max(1, pace.round_rows // len(chosen))
            work = run_all([*self._work(before, position, page_rows)])
            self.table.run(paced(work, partial(_known, rows), pace))
            if written:
                break
        for place, page in written:
            position = position.after(place, page.outcome)
        return position

    def _give_up_round(self) -> None:
        """Read again what is not known to be written."""
        self._stages.clear()

    def _work(
        self, stages: dict[int, _Stages], position: WalkPosition, rows: int
    ) -> Iterator[Protocol[None]]:
        """Yield what is done side by side in one round."""
        retries = self.table.runtime.guard_context.retries
        for place, before in stages.items():
            after = self._stages[place] = _Stages()
            table, rest = page_start(position, place)
            if before.read is not None:
                yield self._computed(before.read, after)
                start = before.read.next
            elif before.computed is not None:
                start = before.computed.outcome.next
            else:
                start = rest.start
            if start is not None:
                yield self._read(table, KeyRange(start, rest.stop), rows, after)
            if before.computed is not None:
                for write in before.computed.writes:
                    yield ask_with_retry(write, retries)

    def _read(self, table: str, key_range: KeyRange, rows: int, stages: _Stages) -> Protocol[None]:
        stages.read = yield from self.work(table, key_range, rows)

    def _computed(self, page: ReadPage, stages: _Stages) -> Protocol[None]:
        stages.computed = yield from page.work


def _known(rows: int, _: list[None]) -> int:
    return rows
