"""What one plan reads of the sampled keys of a design: spans of keys, and numbers of rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Final

import numpy as np

from hbase_orm.advise.lab.designs import Design, period_front
from hbase_orm.advise.lab.fetched_rows import Fetching
from hbase_orm.advise.lab.keyed_tables import KeyedTable, Span
from hbase_orm.advise.lab.load.value_kinds import Numbers
from hbase_orm.advise.lab.read_context import ReadContext
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
)
from hbase_orm.query.planning.pushdown import push_down
from hbase_orm.schema import (
    Condition,
)

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
    reads: tuple[TableRead, ...] = ()


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
    return _reads(ReadContext(design, statement, own_row, random), chosen, b"")


def _reads(context: ReadContext, chosen: Plan, front: bytes) -> PlanReads:
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


def _get(context: ReadContext, chosen: GetPlan, front: bytes) -> PlanReads:
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
    context: ReadContext,
    chosen: ScanPlan | SaltedScanPlan,
    buckets: Sequence[Sequence[KeyRange]],
    front: bytes,
) -> PlanReads:
    table = context.design.table
    spans = [[table.span_of(_behind(front, each)) for each in ranges] for ranges in buckets]
    flat = tuple(chain.from_iterable(spans))
    writes = _writes(table, flat)
    in_ranges = context.rows_in(table, writes)
    pushed = _pushed(chosen)
    passing = context.share_matching(table, writes, pushed)
    matching = context.share_matching(table, writes, chosen.conditions)
    of_passing = min(1.0, matching / passing) if passing else 0.0
    within = Fetching(chosen.fetches, chosen.limit, of_passing, table.row_bytes)
    fetched = within.fetched(context.buckets(table, spans, chosen, passing, pushed), context.random)
    share = min(1.0, fetched / passing / in_ranges) if passing and in_ranges else 1.0
    return PlanReads(
        kind=chosen.kind,
        scanners=len(flat),
        ranges=len(flat),
        buckets=len(buckets),
        scanned=in_ranges * share,
        fetched=fetched,
        wanted=_limited(in_ranges * matching, chosen.limit),
        reads=(TableRead(0, flat, share),),
    )


def _pushed(chosen: ScanPlan | SaltedScanPlan) -> tuple[Condition, ...]:
    """Return the conditions that the server's filter decides."""
    if chosen.filter is None:
        return ()
    pushed = push_down(
        chosen.schema, chosen.conditions, reverse=chosen.reverse, columns=chosen.columns or None
    )
    return tuple(each for each in chosen.conditions if each not in pushed.remaining)


def _tables(context: ReadContext, chosen: TablesPlan) -> PlanReads:
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
        reads=tuple(read for each in every for read in each.reads),
    )


def _index(context: ReadContext, chosen: IndexPlan) -> PlanReads:
    design = context.design
    number = next(n for n, each in enumerate(design.tables) if each.index == chosen.index.name)
    table = design.tables[number]
    buckets = chosen.buckets or (chosen.ranges,)
    if chosen.keys:
        buckets = (tuple(map(KeyRange.single, chosen.keys)),)
    spans = [[table.span_of(each) for each in ranges] for ranges in buckets]
    flat = tuple(chain.from_iterable(spans))
    writes = _writes(table, flat)
    in_ranges = context.rows_in(table, writes)
    matching = context.share_matching(table, writes, chosen.conditions)
    within = Fetching(chosen.fetches, chosen.limit, matching, table.row_bytes)
    entries = in_ranges
    if not chosen.keys:
        rows = context.buckets(table, spans, chosen, 1.0, ())
        entries = within.fetched(rows, context.random)
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
