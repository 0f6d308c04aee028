"""Asks questions of random rows and compares the answers with a plain filter and sort in Python."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import timedelta
from math import copysign
from typing import Any

from hypothesis import strategies as st

from hbase_orm import Condition, Engine, Order, Session
from hbase_orm.binding.url import parse_url
from hbase_orm.errors import QueryError, UnboundedScanError
from hbase_orm.gateway.memory.gateway import MemoryGateway
from hbase_orm.ops import FetchRows, GetRows, KeyRange, OpenScanner, Operation
from hbase_orm.query import (
    IndexPlan,
    Plan,
    SaltedScanPlan,
    ScanPlan,
    Select,
    TablesPlan,
    select,
)
from tests.property.key_use import Stored, key_use, reads_some
from tests.property.questions import Values, holds, orders, where
from tests.property.random_models import Declared, models, rows
from tests.property.strategies import rank


class CountingGateway(MemoryGateway):
    """Counts the rows that reads bring, and those of them that were got by their keys."""

    fetched = 0
    got = 0

    def __init__(self) -> None:
        super().__init__()
        self._own: set[Any] = set()

    def execute(self, operation: Operation[Any], /) -> Any:
        answer = super().execute(operation)
        if isinstance(operation, OpenScanner) and operation.scan.table.startswith("rows"):
            self._own.add(answer)
        is_own = isinstance(operation, GetRows) and operation.table.startswith("rows")
        self.got += is_own and len(answer)
        if is_own or (isinstance(operation, FetchRows) and operation.scanner in self._own):
            self.fetched += sum(row is not None for row in answer)
        return answer


@dataclass(frozen=True)
class Question:
    """What is asked of a model's rows."""

    conditions: tuple[Condition, ...]
    orders: tuple[Order, ...]
    using: str | None
    is_full_scan_allowed: bool
    limit: int
    caching: int

    def statement(self, declared: Declared) -> Select[Any]:
        stmt = select(declared.model).where(*self.conditions).order_by(*self.orders)
        stmt = stmt.caching(self.caching)
        if self.is_full_scan_allowed:
            stmt = stmt.allow_full_scan()
        if self.using is None:
            return stmt
        return stmt.using(getattr(declared.model, self.using) if self.using else None)


@dataclass(frozen=True)
class Case:
    """A model, its rows, and questions to them."""

    declared: Declared
    rows: tuple[Values, ...]
    questions: tuple[Question, ...]


@st.composite
def questions(draw: st.DrawFn, declared: Declared, found: Sequence[Values]) -> Question:
    asked = draw(orders(declared))
    return Question(
        conditions=tuple(draw(where(declared, found))),
        orders=tuple(asked),
        using=draw(st.sampled_from([None] * 5 + ["", *declared.indexes])),
        is_full_scan_allowed=draw(st.sampled_from([False] * 11 + [True])),
        limit=draw(st.integers(1, 4)),
        caching=draw(st.sampled_from((1, 2, 1000))),
    )


@st.composite
def cases(draw: st.DrawFn, *, count: int = 5, is_split: bool = True) -> Case:
    declared = draw(models(is_split=is_split))
    found = draw(rows(declared))
    asked = draw(st.lists(questions(declared, found), min_size=count, max_size=count))
    return Case(declared, tuple(found), tuple(asked))


# --- the rows as they are stored ------------------------------------------------------------------


def create_tables(engine: Engine, case: Case) -> None:
    model = case.declared.makers[0]
    period = model.__schema__.layout.table_period
    if period is None:
        engine.create_tables(model)
        return
    for start in {period.unit.start(row[period.field]) for row in case.rows}:
        engine.create_tables(model, periods=(start, start + timedelta(microseconds=1)))


def load(engine: Engine, case: Case) -> list[Stored]:
    """Store the rows; return where each of them is."""
    objects = []
    with engine.session() as session:
        for row in case.rows:
            values = {name: row[name] for name in case.declared.fields}
            objects.append(case.declared.makers[row["class"]](**values))
        session.add_all(objects)
        session.flush()
        return [_stored(session, obj, row) for obj, row in zip(objects, case.rows, strict=True)]


def _stored(session: Session, obj: Any, row: Values) -> Stored:
    bound = session._state.bound_to(obj)
    key = session._state.runtime.run(bound.keys.of(obj))
    pieces = {part.name: data for part, data in bound.schema.layout.split(key)}
    start = None if bound.context is None else bound.context.start
    return Stored(row, start, key, pieces)


# --- what is expected -----------------------------------------------------------------------------


def in_order(declared: Declared, plan: Plan, found: Sequence[Stored]) -> list[Stored]:
    """Return rows as the plan's table has them, from its beginning."""
    layout = declared.model.__schema__.layout
    skipped = 0 if layout.spread is None else layout.spread.codec.width_bytes or 0
    if isinstance(plan, IndexPlan):
        parts = plan.index.layout.parts
        return sorted(
            found,
            key=lambda row: b"".join(p.encode(row.values[p.name]) for p in parts) + row.key,
        )
    if layout.table_period is None:
        return sorted(found, key=lambda row: row.key[skipped:])
    return sorted(found, key=lambda row: (row.start, row.key[skipped:]))


def other_ways(declared: Declared, plan: Plan, found: list[Stored]) -> list[list[Stored]]:
    """Return the orders that a plan may have when one is asked for."""
    turned = in_order(declared, plan, found)[::-1]
    if not isinstance(plan, TablesPlan):
        return [turned]
    starts = sorted({row.start for row in found if row.start is not None})
    each = [[row for row in in_order(declared, plan, found) if row.start == s] for s in starts]
    return [
        turned,
        [row for some in each[::-1] for row in some],
        [row for some in each for row in some[::-1]],
    ]


def ordered_by(asked: Sequence[Order], found: Sequence[Stored]) -> list[Stored]:
    """Return rows stably sorted by the asked orders, by value alone."""
    result = list(found)
    for order in reversed(asked):
        name, falls = order.field.name, order.descending
        result.sort(key=lambda row: rank(row.values[name], desc=falls))
    return result


def told_value(declared: Declared, row: Stored, name: str) -> Any:
    """Return the value that a part named in a plan's order has in a row."""
    if name in row.values:
        return rank(row.values[name])
    layout = declared.model.__schema__.layout
    period = layout.table_period
    if period is not None and name == f"{period.unit.name} of {period.field}":
        return row.start
    part = next(p for p in layout.parts if p.name == name)
    return part.value_of(row.pieces[name])


def is_same(one: Sequence[Values], other: Sequence[Values]) -> bool:
    """Return whether values are equal, and the two zeros the same."""
    return list(one) == list(other) and signs(one) == signs(other)


def signs(found: Sequence[Values]) -> list[float]:
    """Return the sign of each float: -0.0 equals 0.0, but its bytes sort below."""
    values = (value for values in found for value in values.values())
    return [copysign(1, value) for value in values if isinstance(value, float)]


def as_told(declared: Declared, plan: Plan, found: Sequence[Stored]) -> list[Stored]:
    """Return rows stably sorted by what the plan says of its order."""
    result = list(found)
    claims = re.findall(r"(.+?) (asc|desc)(?:, |$)", plan.order)
    for name, direction in reversed(claims):
        falls = direction == "desc"
        result.sort(key=lambda row: told_value(declared, row, name), reverse=falls)
    return result


# --- coverage -------------------------------------------------------------------------------------


@dataclass
class Coverage:
    """What a run of the oracle met."""

    kinds: Counter[str] = field(default_factory=Counter)
    components: Counter[str] = field(default_factory=Counter)
    seen: Counter[str] = field(default_factory=Counter)

    def note(
        self, declared: Declared, plan: Plan, stored: Sequence[Stored], answer: Sequence[Values]
    ) -> None:
        self.seen["answers"] += 1
        self.kinds[plan.kind] += 1
        self.components.update(set(declared.components))
        self.seen["non-empty"] += bool(answer)
        ranges = ranges_of(plan)
        self.seen["full scans"] += KeyRange() in ranges
        ends = {end for r in ranges for end in (r.start, r.stop)}
        self.seen["ends at a row"] += any(row.key in ends for row in stored)
        self.seen["several ranges"] += len(ranges) > 1
        if isinstance(plan, IndexPlan):
            self.seen["partial"] += bool(plan.index.where)
            self.seen["nulls"] += plan.index.nulls
            self.seen["salted index"] += bool(plan.index.salt)

    def __str__(self) -> str:
        return f"{dict(self.seen)} {dict(self.kinds)} {dict(self.components)}"


def ranges_of(plan: Plan) -> list[KeyRange]:
    if isinstance(plan, TablesPlan):
        return [key_range for _, inner in plan.plans for key_range in ranges_of(inner)]
    if isinstance(plan, SaltedScanPlan) or (isinstance(plan, IndexPlan) and plan.buckets):
        return [key_range for bucket in plan.buckets for key_range in bucket]
    return list(plan.ranges) if isinstance(plan, (ScanPlan, IndexPlan)) else []


# --- the check ------------------------------------------------------------------------------------


@contextmanager
def in_memory() -> Iterator[tuple[Engine, CountingGateway]]:
    gateway = CountingGateway()
    with Engine(gateway, parse_url("memory://")) as engine:
        yield engine, gateway


def check(case: Case, coverage: Coverage) -> None:
    with in_memory() as (engine, gateway):
        create_tables(engine, case)
        bench = Bench(case.declared, load(engine, case), coverage, gateway)
        for question in case.questions:
            with engine.session() as session:
                bench.ask(question, session)


@dataclass(frozen=True)
class Bench:
    """Stored rows, to ask questions of; the gateway counts what is read, if there is one."""

    declared: Declared
    stored: Sequence[Stored]
    coverage: Coverage
    gateway: CountingGateway | None

    def ask(self, question: Question, session: Session) -> None:
        stmt = question.statement(self.declared)
        try:
            plan = session.explain(stmt)
        except UnboundedScanError:
            self.coverage.seen["refused as unbounded"] += 1
            assert self._is_unbounded(question)
            return
        except QueryError:
            self.coverage.seen["refused for its order"] += 1
            assert question.orders or question.using
            return

        before = self.gateway.fetched if self.gateway else 0
        answer = answered(session, stmt)
        if self.gateway:
            self._check_tight(question, plan, self.gateway.fetched - before)

        self.coverage.note(self.declared, plan, self.stored, answer)
        self._check_order(question, plan, answer)
        assert answered(session, stmt.limit(question.limit)) == answer[: question.limit]
        assert session.count(stmt) == len(answer)
        self._check_values(stmt, plan, answer, session)
        self._check_pages(stmt, question, answer, session)
        if question.orders:
            turned = [Order(o.field, descending=not o.descending) for o in question.orders]
            backwards = answered(session, stmt.order_by(*turned))
            assert backwards == answer[::-1] or (is_tied(turned, answer) and backwards == answer)

    def _check_values(
        self, stmt: Select[Any], plan: Plan, answer: Sequence[Values], session: Session
    ) -> None:
        """Check that the values that entries repeat are those of the rows, which nobody reads."""
        if not isinstance(plan, IndexPlan) or not plan.index.covering:
            return
        told = {of.name for of in plan.index.expressions}
        names = sorted(told | {column.name for column in plan.index.included})
        fields = [plan.schema.fields[name] for name in names]
        selection = select(fields[0]).selection if len(fields) == 1 else select(*fields).selection
        asked = replace(stmt, selection=selection)
        before = self.gateway.got if self.gateway else 0
        found = [tuple(each) if len(names) > 1 else (each,) for each in session.all(asked)]
        shown = [tuple(row[name] for name in names) for row in answer]
        assert repr(found) == repr(shown), (found, shown, str(session.explain(asked)))
        covered = session.explain(asked)
        is_covered = isinstance(covered, IndexPlan) and covered.is_covered
        assert not (is_covered and self.gateway) or self.gateway.got == before
        self.coverage.seen["covered"] += is_covered

    def _check_pages(
        self, stmt: Select[Any], question: Question, answer: list[Values], session: Session
    ) -> None:
        """Check that the pages, each asked by the token of the one before, are the answer."""
        for limit in (None, question.limit + 1):
            asked = stmt if limit is None else stmt.limit(limit)
            page = session.page(asked, size=question.limit)
            joined, count = [row.to_dict() for row in page.items], 1
            while page.token is not None:
                page = session.page(asked, size=question.limit, token=page.token)
                joined += [row.to_dict() for row in page.items]
                count += 1
            assert joined == answer[:limit], (joined, answer)
            self.coverage.seen["several pages"] += count > 1

    def _check_order(self, question: Question, plan: Plan, answer: Sequence[Values]) -> None:
        matching = [row for row in self.stored if self._matches(question, row)]
        ways = [in_order(self.declared, plan, matching)]
        if question.orders:
            ways += other_ways(self.declared, plan, matching)
        found = next((w for w in ways if is_same([self._shown(row) for row in w], answer)), None)
        assert found is not None, (answer, [self._shown(row) for row in ways[0]], str(plan))
        assert ordered_by(question.orders, found) == found, str(plan)
        assert as_told(self.declared, plan, found) == found, str(plan)

    def _matches(self, question: Question, row: Stored) -> bool:
        declared = self.declared
        is_own = declared.is_base or declared.makers[row.values["class"]] is declared.model
        return is_own and all(holds(c, row.values) for c in question.conditions)

    def _shown(self, row: Stored) -> Values:
        return {name: row.values[name] for name in self.declared.model.__schema__.fields}

    def _check_tight(self, question: Question, plan: Plan, fetched: int) -> None:
        """No row is read that the conditions on the leading parts exclude."""
        is_index = isinstance(plan, IndexPlan)
        layout = plan.index.layout if isinstance(plan, IndexPlan) else plan.schema.layout
        within = reads_some(self.declared, layout, question.conditions, self.stored)
        assert within is None or fetched <= within * (1 + is_index), (fetched, within, str(plan))

    def _is_unbounded(self, question: Question) -> bool:
        """Return whether a refusal is right, as far as the row key alone tells."""
        use = key_use(self.declared, self.declared.model.__schema__.layout, question.conditions)
        is_by_key = not question.orders and not question.using
        narrows = bool(use.used) and not use.is_capped and use.tells_tables
        return not question.is_full_scan_allowed and not (is_by_key and narrows)


def answered(session: Session, stmt: Select[Any]) -> list[Values]:
    return [row.to_dict() for row in session.all(stmt)]


def is_tied(asked: Sequence[Order], answer: Sequence[Values]) -> bool:
    """Return whether the asked orders leave open which of the rows comes first."""
    fields = [order.field.name for order in asked]
    return len({tuple(repr(row[name]) for name in fields) for row in answer}) < 2
