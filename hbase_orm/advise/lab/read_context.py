"""Which sampled rows a statement reads and which of them match: what plans are measured with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from hbase_orm.advise.lab.designs import Design
from hbase_orm.advise.lab.fetched_rows import BucketRows, Flags, Places
from hbase_orm.advise.lab.keyed_tables import KeyedTable, Span
from hbase_orm.advise.lab.load.value_kinds import Numbers
from hbase_orm.errors import ConfigurationError
from hbase_orm.query import IndexPlan, SaltedScanPlan, ScanPlan, Select, compile_match
from hbase_orm.query.planning.candidates import SALT_BYTES
from hbase_orm.schema import Condition, EntryExpr, FunctionExpr, column_field, compared_by

_FEW_CHECKED: Final = 4000
"""So many rows are tested first; all rows are, if fewer than `_ENOUGH_MATCHES` of them match."""

_ENOUGH_MATCHES: Final = 400


@dataclass(frozen=True, slots=True)
class ReadContext:
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
        """Whether `own_row` stands for fewer rows than other sampled rows."""
        return self.own_row is not None and self.design.table.scale > 1

    def share_matching(
        self, table: KeyedTable, writes: Numbers, conditions: Sequence[Condition]
    ) -> float:
        """Return the part of the rows of some sampled writes that match conditions."""
        if not conditions or not len(writes):
            return 1.0
        rows = table.rows[writes]
        if len(rows) > _FEW_CHECKED:
            some = self.random.choice(rows, size=_FEW_CHECKED, replace=False)
            matched = self.matches(some, conditions)
            if np.count_nonzero(matched) >= _ENOUGH_MATCHES:
                return self._share(table, some, matched)
        return self._share(table, rows, self.matches(rows, conditions))

    def _share(self, table: KeyedTable, rows: Numbers, matched: Flags) -> float:
        weights = np.ones(len(rows))
        if self.has_own_row:
            weights[rows == self.own_row] = 1 / table.scale
        return float(weights @ matched / weights.sum())

    def matches(self, rows: Numbers, conditions: Sequence[Condition]) -> Flags:
        """Return for each of some sampled rows whether it matches conditions."""
        names = tuple(_fields_of(conditions))
        match = compile_match(self.design.schema, conditions, names)
        if match is None:
            return np.ones(len(rows), dtype=np.bool_)
        places = rows.tolist()
        columns = [*self.design.values(names).values()]
        values = zip(*[[column[place] for place in places] for column in columns], strict=True)
        return np.fromiter(map(match, values), dtype=np.bool_, count=len(places))

    def buckets(
        self,
        table: KeyedTable,
        spans: Sequence[Sequence[Span]],
        chosen: ScanPlan | SaltedScanPlan | IndexPlan,
        passing: float,
        pushed: Sequence[Condition],
    ) -> list[BucketRows]:
        """Return the rows of each bucket that the server sends.

        Args:
            table: The table that is read.
            spans: The spans of each bucket.
            chosen: The plan.
            passing: The part of the rows in the spans that the server's filter passes.
            pushed: The conditions that the filter decides.
        """
        counts = [
            tuple(self.rows_in(table, table.new_in(span)) * passing for span in bucket)
            for bucket in spans
        ]
        if chosen.limit is None or table.scale > 1:
            return [BucketRows(each) for each in counts]
        every: list[Numbers] = []
        sizes: list[tuple[float, ...]] = []
        for bucket in spans:
            writes = [self._sent(table, span, chosen, pushed) for span in bucket]
            sizes.append(tuple(float(len(each)) for each in writes))
            every.append(np.concatenate(writes) if writes else np.empty(0, dtype=np.int64))
        places = _merge_places(table, every, chosen)
        matches = [self.matches(table.rows[writes], chosen.conditions) for writes in every]
        return [BucketRows(*each) for each in zip(sizes, matches, places, strict=True)]

    def _sent(
        self,
        table: KeyedTable,
        span: Span,
        chosen: ScanPlan | SaltedScanPlan | IndexPlan,
        pushed: Sequence[Condition],
    ) -> Numbers:
        """Return the writes of a span whose rows the server sends, in the order of the read."""
        writes = table.new_in(span)
        if pushed:
            writes = writes[self.matches(table.rows[writes], pushed)]
        return writes[::-1] if chosen.reverse else writes


def _merge_places(
    table: KeyedTable, every: Sequence[Numbers], chosen: ScanPlan | SaltedScanPlan | IndexPlan
) -> list[Places]:
    """Return the place of each write of each bucket among all of them, as they are merged."""
    skipped = chosen.skipped_bytes if isinstance(chosen, SaltedScanPlan) else SALT_BYTES
    keys = [table.keys[number][skipped:] for number in np.concatenate(every).tolist()]
    order = sorted(range(len(keys)), key=keys.__getitem__, reverse=chosen.reverse)
    places = np.empty(len(keys))
    places[order] = np.arange(len(keys))
    return np.split(places, np.cumsum([len(each) for each in every])[:-1])


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
