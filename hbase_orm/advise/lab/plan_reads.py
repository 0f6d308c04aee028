"""What one plan reads of the sampled keys of a design: spans of keys, and numbers of rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from hbase_orm.advise.lab.designs import Design, period_front
from hbase_orm.advise.lab.fetched_rows import Fetching
from hbase_orm.advise.lab.keyed_tables import KeyedTable, Span
from hbase_orm.advise.lab.load.value_kinds import Numbers
from hbase_orm.errors import ConfigurationError
from hbase_orm.ops import KeyRange
from hbase_orm.ops.ranges import after_prefix
from hbase_orm.query import (
    GetPlan,
    IndexPlan,
    Plan,
    SaltedScanPlan,
    ScanPlan,
    Select,
    TablesPlan,
    compile_match,
)
from hbase_orm.query.planning.pushdown import push_down
from hbase_orm.schema import (
    Condition,
    EntryExpr,
    FunctionExpr,
    Match,
    column_field,
    compared_by,
)

_FEW_CHECKED: Final = 4000
"""So many rows are tested first; all rows are, if fewer than `_ENOUGH_MATCHES` of them match."""

_ENOUGH_MATCHES: Final = 400


_MOST_LOOK_UPS: Final = 500
"""The most look-ups of rows that are followed to their regions, of one statement."""


@dataclass(frozen=True, slots=True)
class TableRead:
    """The spans of one table's keys that a statement reads.

    Attributes:
        table: The place of the table among those of the design: 0 for the rows.
        spans: The spans.
        share: How many rows are read for each row in the spans: less than 1 with a limit.
    """

    table: int
    spans: tuple[Span, ...]
    share: float


@dataclass(frozen=True, slots=True)
class PlanReads:
    """What one run of a plan reads; the attributes are those of `StatementCost`.

    Attributes:
        reads: The spans of keys that are read.
    """

    kind: str
    scanners: int = 0
    gets: float = 0
    ranges: int = 0
    buckets: int = 1
    scanned: float = 0.0
    fetched: float = 0.0
    entries: float = 0.0
    wanted: float = 0.0
    is_full_scan: bool = False
    reads: tuple[TableRead, ...] = ()


@dataclass(frozen=True, slots=True)
class _Context:
    """What a plan is measured with.

    Attributes:
        design: The design.
        statement: The statement.
        own_row: The sampled row whose values the statement has; it stands for itself only. None if
            the values are not those of a sampled row.
        random: The source of randomness.
    """

    design: Design
    statement: Select[Any]
    own_row: int | None
    random: np.random.Generator

    def rows_in(self, table: KeyedTable, writes: Numbers) -> float:
        """Return how many rows some sampled writes stand for."""
        own = int(np.count_nonzero(table.rows[writes] == self.own_row)) if self.has_own_row else 0
        return (len(writes) - own) * table.scale + own

    @property
    def has_own_row(self) -> bool:
        return self.own_row is not None and self.design.table.scale > 1

    def share_matching(
        self, table: KeyedTable, writes: Numbers, conditions: Sequence[Condition]
    ) -> float:
        """Return the part of the rows of some sampled writes that match conditions."""
        if not conditions or not len(writes):
            return 1.0
        names = tuple(_fields_of(conditions))
        match = compile_match(self.design.schema, conditions, names)
        assert match is not None
        columns = [*self.design.values(names).values()]
        rows = table.rows[writes]
        if len(rows) > _FEW_CHECKED:
            some = self.random.choice(rows, size=_FEW_CHECKED, replace=False)
            matched = _matches(match, columns, some)
            if np.count_nonzero(matched) >= _ENOUGH_MATCHES:
                return self._share(table, some, matched)
        return self._share(table, rows, _matches(match, columns, rows))

    def _share(self, table: KeyedTable, rows: Numbers, matched: npt.NDArray[np.bool_]) -> float:
        weights = np.ones(len(rows))
        if self.has_own_row:
            weights[rows == self.own_row] = 1 / table.scale
        return float(weights @ matched / weights.sum())


def _matches(match: Match, columns: Sequence[list[Any]], rows: Numbers) -> npt.NDArray[np.bool_]:
    places = rows.tolist()
    values = zip(*[[column[place] for place in places] for column in columns], strict=True)
    return np.fromiter(map(match, values), dtype=np.bool_, count=len(places))


def reads_of(
    design: Design,
    statement: Select[Any],
    chosen: Plan,
    *,
    own_row: int | None,
    random: np.random.Generator,
) -> PlanReads:
    """Return what one run of a plan reads at the end of the load.

    Args:
        design: The design.
        statement: The statement.
        chosen: Its plan.
        own_row: The sampled row whose values the statement has; None if there is none.
        random: The source of randomness.
    """
    return _reads(_Context(design, statement, own_row, random), chosen, b"")


def _reads(context: _Context, chosen: Plan, front: bytes) -> PlanReads:
    match chosen:
        case GetPlan():
            return _get(context, chosen, front)
        case ScanPlan():
            return _scan(context, chosen, (chosen.ranges,), front)
        case SaltedScanPlan():
            return _scan(context, chosen, chosen.buckets, front)
        case TablesPlan():
            return _tables(context, chosen)
        case IndexPlan():
            return _index(context, chosen)
        case _:
            return PlanReads("Empty")


def _get(context: _Context, chosen: GetPlan, front: bytes) -> PlanReads:
    table = context.design.table
    spans = tuple(table.span_of(KeyRange.single(front + key)) for key in chosen.keys)
    writes = _writes(table, spans)
    share = context.share_matching(table, writes, chosen.conditions)
    stored = min(float(len(chosen.keys)), context.rows_in(table, writes))
    return PlanReads(
        kind=chosen.kind,
        gets=len(chosen.keys),
        ranges=len(chosen.keys),
        fetched=stored,
        wanted=_limited(stored * share, chosen.limit),
        reads=(TableRead(0, spans, 1.0),),
    )


def _scan(
    context: _Context,
    chosen: ScanPlan | SaltedScanPlan,
    buckets: Sequence[Sequence[KeyRange]],
    front: bytes,
) -> PlanReads:
    table = context.design.table
    spans = [[table.span_of(_behind(front, each)) for each in ranges] for ranges in buckets]
    counts = [[context.rows_in(table, table.new_in(span)) for span in row] for row in spans]
    flat = tuple(chain.from_iterable(spans))
    writes, in_ranges = _writes(table, flat), float(sum(map(sum, counts)))
    passed = _passed(context, chosen, table, writes)
    matching = context.share_matching(table, writes, chosen.conditions)
    within = Fetching(
        chosen.fetches, chosen.limit, min(1.0, matching / max(passed, 1e-12)), table.row_bytes
    )
    passing = [[count * passed for count in row] for row in counts]
    fetched = within.fetched(passing, context.random)
    share = min(1.0, fetched / passed / in_ranges) if passed and in_ranges else 1.0
    return PlanReads(
        kind=chosen.kind,
        scanners=len(flat),
        ranges=len(flat),
        buckets=len(buckets),
        scanned=in_ranges * share,
        fetched=fetched,
        wanted=_limited(in_ranges * matching, chosen.limit),
        is_full_scan=_is_whole(buckets),
        reads=(TableRead(0, flat, share),),
    )


def _passed(
    context: _Context, chosen: ScanPlan | SaltedScanPlan, table: KeyedTable, writes: Numbers
) -> float:
    """Return the part of the rows in the ranges that the server's filter passes."""
    if chosen.filter is None:
        return 1.0
    pushed = push_down(
        chosen.schema, chosen.conditions, reverse=chosen.reverse, columns=chosen.columns or None
    )
    decided = [each for each in chosen.conditions if each not in pushed.remaining]
    return context.share_matching(table, writes, decided)


def _tables(context: _Context, chosen: TablesPlan) -> PlanReads:
    design = context.design
    every: list[PlanReads] = []
    left = chosen.limit
    for start, inner in chosen.plans:
        if start not in design.periods or left == 0:
            continue
        limited = inner.in_each_table(lambda each, most=left: replace(each, limit=most))  # type: ignore[misc]  # a default
        every.append(_reads(context, limited, period_front(design.schema, start)))
        if left is not None:
            left = max(0, left - round(every[-1].wanted))
    return PlanReads(
        kind=chosen.kind,
        scanners=sum(each.scanners for each in every),
        gets=sum(each.gets for each in every),
        ranges=sum(each.ranges for each in every),
        buckets=max((each.buckets for each in every), default=1),
        scanned=sum(each.scanned for each in every),
        fetched=sum(each.fetched for each in every),
        wanted=_limited(sum(each.wanted for each in every), chosen.limit),
        is_full_scan=bool(every) and all(each.is_full_scan for each in every),
        reads=tuple(read for each in every for read in each.reads),
    )


def _index(context: _Context, chosen: IndexPlan) -> PlanReads:
    design = context.design
    number = next(n for n, each in enumerate(design.tables) if each.index == chosen.index.name)
    table = design.tables[number]
    buckets = chosen.buckets or (chosen.ranges,)
    if chosen.keys:
        buckets = (tuple(map(KeyRange.single, chosen.keys)),)
    spans = [[table.span_of(each) for each in ranges] for ranges in buckets]
    counts = [[context.rows_in(table, table.new_in(span)) for span in row] for row in spans]
    flat = tuple(chain.from_iterable(spans))
    writes, in_ranges = _writes(table, flat), float(sum(map(sum, counts)))
    matching = context.share_matching(table, writes, chosen.conditions)
    within = Fetching(chosen.fetches, chosen.limit, matching, table.row_bytes)
    entries = in_ranges if chosen.keys else within.fetched(counts, context.random)
    share = min(1.0, entries / in_ranges) if in_ranges else 1.0
    look_ups = 0.0 if chosen.is_covered else entries
    owners, weight = _owner_spans(design, table, writes)
    return PlanReads(
        kind=chosen.kind,
        scanners=0 if chosen.keys else len(flat),
        gets=look_ups + len(chosen.keys),
        ranges=len(flat),
        buckets=len(buckets),
        scanned=entries,
        fetched=look_ups,
        entries=entries,
        wanted=_limited(in_ranges * matching, chosen.limit),
        is_full_scan=not chosen.keys and _is_whole(buckets),
        reads=(
            TableRead(number, flat, share),
            *(() if chosen.is_covered else (TableRead(0, owners, share * weight),)),
        ),
    )


def _owner_spans(
    design: Design, table: KeyedTable, writes: Numbers
) -> tuple[tuple[Span, ...], float]:
    """Return the places of the rows of index entries, and how many rows each stands for."""
    step = max(1, len(writes) // _MOST_LOOK_UPS)
    places = design.table.places[table.rows[writes[::step]]].tolist()
    return tuple((place, place + 1) for place in places), float(step)


def _fields_of(conditions: Sequence[Condition]) -> set[str]:
    names = set[str]()
    for of in (of for condition in conditions for of in compared_by(condition)):
        if isinstance(of, EntryExpr):
            raise ConfigurationError(
                "the lab makes no dynamic columns, so it cannot count rows by them",
                field=of.name,
                fix="leave the condition out",
            )
        names.add(column_field(of).name if isinstance(of, FunctionExpr) else of.name)
    return names


def _writes(table: KeyedTable, spans: Sequence[Span]) -> Numbers:
    every = [table.new_in(span) for span in spans]
    return np.concatenate(every) if every else np.empty(0, dtype=np.int64)


def _behind(front: bytes, key_range: KeyRange) -> KeyRange:
    """Return a range of the keys of one of several tables."""
    if not front:
        return key_range
    stop = after_prefix(front) if key_range.stop is None else front + key_range.stop
    return KeyRange(front + key_range.start, stop)


def _limited(rows: float, limit: int | None) -> float:
    return rows if limit is None else min(rows, float(limit))


def _is_whole(buckets: Sequence[Sequence[KeyRange]]) -> bool:
    """Return whether a plan reads a table from its beginning to its end."""
    return any(not each.start and each.stop is None for ranges in buckets for each in ranges)
