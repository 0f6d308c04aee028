"""Walks over all rows of tables: page by page, throttled, and resumed where it stopped.

The rows are split into the ranges of the regions, several of which are worked on in parallel. After
each round the position is saved: for each range the first key that is left. A crash repeats at most
one round, and so does a lost connection. So what is done to a row must be safe to repeat.
"""

from __future__ import annotations

import json
import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Generic, TypeVar

from hbase_orm.errors import ConnectionLostError, RetryableError
from hbase_orm.index.catalog.entry import BuildRange
from hbase_orm.index.catalog.index_steps import ranges_of
from hbase_orm.index_admin.pace import ROUND_ROWS, RowPace, fraction_of
from hbase_orm.migrate.operations.migrated_table import MigratedTable
from hbase_orm.migrate.operations.operation import Checkpoint, Progress
from hbase_orm.migrate.operations.rows.row_copies import RowsDigest
from hbase_orm.ops import KeyRange, ListRegions, Protocol, RenewTimeLimit, ask, run_all
from hbase_orm.ops.waits import wait

logger = logging.getLogger("hbase_orm.migrate")

P = TypeVar("P")
R = TypeVar("R")

LEAST_PAGE_ROWS: Final = 20
MOST_SAMPLES: Final = 10
MOST_FAILURES: Final = 100
"""How many rows that were left alone are named; the others are only counted."""

_PAUSES_S: Final = (0.5, 1.0, 2.0, 4.0, 8.0, 15.0)
"""The pauses after rounds that failed: a gateway that was restarted is back after them."""

_DONE: Final = "done"
_LEAST_GAIN: Final = 0.005
"""The fraction that a run must finish before its speed says how much time is left."""


@dataclass(frozen=True, slots=True)
class RowSample:
    """A row before and after an operation: the values of the columns that it changes.

    Attributes:
        table: The table.
        row: The row key.
        before: The values before, by column.
        after: The values after, by column; None for a column that is deleted.
    """

    table: str
    row: bytes
    before: Mapping[bytes, bytes]
    after: Mapping[bytes, bytes | None]


@dataclass(frozen=True, slots=True)
class RowFailure:
    """A row that was left as it is, because its values do not decode or do not fit.

    Attributes:
        table: The table.
        row: The row key.
        reason: Why.
    """

    table: str
    row: bytes
    reason: str


@dataclass(frozen=True)
class RowsProgress(Progress):
    """The progress of an operation on rows.

    Attributes:
        changed: The number of rows that were changed, or in a dry run would be.
        failed: The number of rows that were left as they are, because they do not decode.
        failures: The first of them.
        samples: Some rows of this run before and after.
    """

    changed: int = 0
    failed: int = 0
    failures: tuple[RowFailure, ...] = ()
    samples: tuple[RowSample, ...] = ()


@dataclass(frozen=True, slots=True)
class PageOutcome:
    """What became of one page of rows.

    Attributes:
        rows: The number of rows that were read.
        next: The first key that is left; None if the range is finished.
        changed: The number of rows that were changed.
        failures: The rows that were left as they are.
        samples: Some changed rows.
        digest: The digest of the rows that are compared with those of another table.
    """

    rows: int
    next: bytes | None
    changed: int = 0
    failures: tuple[RowFailure, ...] = ()
    samples: tuple[RowSample, ...] = ()
    digest: RowsDigest = RowsDigest()  # noqa: RUF009 - frozen


PageWork = Callable[[str, KeyRange, int], Protocol[PageOutcome]]
"""A function from a table, a range and the most rows to the work on the range's first page."""


@dataclass(frozen=True, slots=True)
class WalkPosition:
    """How far a walk is.

    Attributes:
        ranges: The ranges, each with its table.
        rows: The number of rows that were read.
        changed: The number of rows that were changed.
        failed: The number of rows that were left as they are.
        failures: The first of them.
        digest: The digest of the rows of all pages. It is saved together with the ranges, so that a
            page that is read again after a crash counts once.
    """

    ranges: tuple[tuple[str, BuildRange], ...]
    rows: int = 0
    changed: int = 0
    failed: int = 0
    failures: tuple[RowFailure, ...] = ()
    digest: RowsDigest = RowsDigest()  # noqa: RUF009 - frozen

    @property
    def fraction(self) -> float:
        """The finished fraction, as if row keys were spread evenly in each range."""
        if not self.ranges:
            return 1.0
        return sum(fraction_of(each) for _, each in self.ranges) / len(self.ranges)

    @property
    def is_done(self) -> bool:
        """Whether all ranges are finished."""
        return all(each.next is None for _, each in self.ranges)

    def encode(self) -> dict[str, str]:
        """Return the position as texts by name."""
        ranges = {f"range {n}": _range_text(*each) for n, each in enumerate(self.ranges)}
        counts = {"rows": self.rows, "changed": self.changed, "failed": self.failed}
        named = [[each.table, each.row.hex(), each.reason] for each in self.failures]
        return {
            **ranges,
            **{name: str(count) for name, count in counts.items()},
            "failures": json.dumps(named),
            "digest": self.digest.encode(),
        }

    @classmethod
    def decode(cls, position: Mapping[str, str]) -> WalkPosition | None:
        """Return the position that was saved; None if none was."""
        if "rows" not in position:
            return None
        count = sum(1 for name in position if name.startswith("range "))
        named: list[list[str]] = json.loads(position["failures"])
        return cls(
            tuple(_range_of(position[f"range {n}"]) for n in range(count)),
            int(position["rows"]),
            int(position["changed"]),
            int(position["failed"]),
            tuple(RowFailure(table, bytes.fromhex(row), why) for table, row, why in named),
            RowsDigest.decode(position["digest"]),
        )

    def after(self, place: int, outcome: PageOutcome) -> WalkPosition:
        """Return the position after a page of the range with this number."""
        table, each = self.ranges[place]
        ranges = list(self.ranges)
        ranges[place] = (table, replace(each, next=outcome.next))
        failures = (*self.failures, *outcome.failures)[:MOST_FAILURES]
        return replace(
            self,
            ranges=tuple(ranges),
            rows=self.rows + outcome.rows,
            changed=self.changed + outcome.changed,
            failed=self.failed + len(outcome.failures),
            failures=failures,
            digest=self.digest.plus(outcome.digest),
        )


def _range_text(table: str, each: BuildRange) -> str:
    left = _DONE if each.next is None else each.next.hex()
    return f"{table} {each.start.hex()}-{each.stop.hex()} {left}"


def _range_of(text: str) -> tuple[str, BuildRange]:
    table, bounds, left = text.split(" ")
    start, stop = (bytes.fromhex(each) for each in bounds.split("-"))
    return table, BuildRange(start, stop, None if left == _DONE else bytes.fromhex(left))


@dataclass
class Walk(ABC, Generic[P]):
    """The walk of one step over the rows of tables.

    Attributes:
        table: The table, or the tables of a pattern.
        step: The name of the step, for the progress.
        work: A function from a table, a range and the most rows to the work on the first page of
            the range.
        checkpoint: Where the position is saved.
        expected_rows: How many rows there are about; 0 if unknown. Without it the finished fraction
            is estimated by the row keys.
        most_rows: The largest number of rows of a round.
        least_page_rows: The number of rows that a page should have at least: with fewer rows, pages
            of fewer ranges are read in a round.
    """

    table: MigratedTable
    step: str
    work: Callable[[str, KeyRange, int], Protocol[P]]
    checkpoint: Checkpoint
    expected_rows: int = 0
    most_rows: int = ROUND_ROWS
    least_page_rows: int = LEAST_PAGE_ROWS
    _samples: list[RowSample] = field(init=False, default_factory=list[RowSample])

    def run(self, tables: Sequence[str]) -> WalkPosition:
        """Walk over all rows, or over those that an earlier run left; return the final position."""
        runtime, options = self.table.runtime, self.table.migration.options
        position = WalkPosition.decode(self.checkpoint.position) or self._start(tables)
        pace = RowPace(options.rows_per_second, runtime.catalog.monotonic_s, self.most_rows)
        begun_s, begun_at = runtime.catalog.monotonic_s(), self._fraction(position)
        while not position.is_done:
            position = self._patient_round(position, pace)
            self._save(position)
            taken_s = runtime.catalog.monotonic_s() - begun_s
            self._report(position, taken_s, self._fraction(position) - begun_at)
        return position

    def _fraction(self, position: WalkPosition) -> float:
        if not self.expected_rows:
            return position.fraction
        return 1.0 if position.is_done else min(position.rows / self.expected_rows, 0.99)

    def _start(self, tables: Sequence[str]) -> WalkPosition:
        ranges: list[tuple[str, BuildRange]] = []
        for table in tables:
            regions = self.table.run(ask(ListRegions(table)))
            ranges += [(table, each) for each in ranges_of(regions)]
        position = WalkPosition(tuple(ranges))
        self._save(position)
        return position

    def _patient_round(self, position: WalkPosition, pace: RowPace) -> WalkPosition:
        """Do one round; repeat it, with fewer rows, while gateways or regions are out of service.

        Raises:
            GatewayError: They still were after all repetitions.
        """
        for pause_s in _PAUSES_S:
            try:
                return self._round(position, pace)
            except (ConnectionLostError, RetryableError) as error:
                logger.warning("%s: a round failed, and is repeated: %s", self.step, error)
                self._give_up_round()
                pace.slow_down()
                self.table.run(wait(pause_s, self._report_pause))
        return self._round(position, pace)

    def _give_up_round(self) -> None:
        """Forget what a round that has failed has left; the position is not changed."""

    def _report_pause(self, _: float) -> None:
        """Look for an end of the lock during a pause; it may be lost."""
        self.table.migration.report(
            Progress(f"{self.step}: no answer, it is tried again", 0, None, None)
        )

    @abstractmethod
    def _round(self, position: WalkPosition, pace: RowPace) -> WalkPosition:
        """Work on the next page of several ranges; return the position after them."""

    def _chosen(self, position: WalkPosition, pace: RowPace) -> list[int]:
        """Return the numbers of the ranges whose next pages are read in one round."""
        left = [n for n, (_, each) in enumerate(position.ranges) if each.next is not None]
        most = max(1, pace.round_rows // self.least_page_rows)
        return left[: min(self.table.runtime.parallel, most)]

    def _save(self, position: WalkPosition) -> None:
        self.checkpoint.save(position.encode())

    def _report(self, position: WalkPosition, taken_s: float, gained: float) -> None:
        fraction = self._fraction(position)
        left_s = taken_s * (1 - fraction) / gained if gained >= _LEAST_GAIN else None
        self.table.migration.report(
            RowsProgress(
                self.step,
                position.rows,
                fraction,
                left_s,
                position.changed,
                position.failed,
                position.failures,
                tuple(self._samples),
            )
        )


@dataclass
class RowWalk(Walk[PageOutcome]):
    """A walk that does the whole work on its pages, round by round."""

    def _round(self, position: WalkPosition, pace: RowPace) -> WalkPosition:
        chosen = self._chosen(position, pace)
        page_rows = max(1, pace.round_rows // len(chosen))
        pages = [self.work(*page_start(position, n), page_rows) for n in chosen]
        outcomes = self.table.run(paced(run_all(pages), rows_of, pace))
        for place, outcome in zip(chosen, outcomes, strict=True):
            position = position.after(place, outcome)
            self._samples += outcome.samples[: MOST_SAMPLES - len(self._samples)]
        return position


def page_start(position: WalkPosition, place: int) -> tuple[str, KeyRange]:
    """Return the table and what is left of the range with this number."""
    table, each = position.ranges[place]
    return table, KeyRange(each.start if each.next is None else each.next, each.stop or None)


def rows_of(outcomes: Sequence[PageOutcome]) -> int:
    """Return the number of rows of pages."""
    return sum(outcome.rows for outcome in outcomes)


def paced(work: Protocol[R], count: Callable[[R], int], pace: RowPace) -> Protocol[R]:
    """Run the work of one round, and keep the pace of its rows."""
    yield from ask(RenewTimeLimit())
    result = yield from work
    yield from ask(RenewTimeLimit())
    yield from pace.keep(count(result))
    return result


def failure_text(error: BaseException) -> str:
    """Return why a row was left as it is, as one line."""
    shown: Any = str(error) or type(error).__name__
    return str(shown).splitlines()[0]
