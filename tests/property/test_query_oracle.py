"""Random models, rows and statements: HBase's answer equals a plain filter and sort in Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hbase_orm import Condition, Order, Session
from hbase_orm.codecs import Codec
from hbase_orm.errors import CodecError, QueryError
from hbase_orm.gateway.memory import MemoryGateway
from hbase_orm.index.catalog import CATALOG_TABLE
from hbase_orm.ops import FetchRows, GetRows, Operation
from hbase_orm.query import GetPlan, IndexPlan, Plan, Select, select
from hbase_orm.schema import Comparison, InValues, StartsWith, conjuncts
from hbase_orm.session.engine import Engine
from hbase_orm.session.url import parse_url
from tests.property.strategies import Declared, holds, models, orders, part_rank, rank, rows, where

Values = Mapping[str, Any]


class CountingGateway(MemoryGateway):
    """Counts the rows that reads bring, but for the catalog's."""

    fetched = 0

    def execute(self, operation: Operation[Any], /) -> Any:
        answer = super().execute(operation)
        of_catalog = isinstance(operation, GetRows) and operation.table == CATALOG_TABLE
        if isinstance(operation, (FetchRows, GetRows)) and not of_catalog:
            self.fetched += sum(row is not None for row in answer)
        return answer


@dataclass(frozen=True)
class Case:
    """A model, its rows, and a question to them."""

    declared: Declared
    rows: tuple[Values, ...]
    conditions: tuple[Condition, ...]
    orders: tuple[Order, ...]
    using: str | None
    limit: int
    caching: int

    def statement(self) -> Select[Any]:
        stmt = select(self.declared.model).where(*self.conditions).order_by(*self.orders)
        stmt = stmt.allow_full_scan().caching(self.caching)
        if self.using is None:
            return stmt
        index = getattr(self.declared.model, self.using) if self.using else None
        return stmt.using(index)

    @property
    def matching(self) -> list[Values]:
        return [row for row in self.rows if all(holds(c, row) for c in self.conditions)]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    declared = draw(models())
    using = st.sampled_from([None, None, None, "", *declared.indexes])
    return Case(
        declared=declared,
        rows=tuple(draw(rows(declared))),
        conditions=tuple(draw(where(declared))),
        orders=tuple(draw(orders(declared))),
        using=draw(using),
        limit=draw(st.integers(1, 4)),
        caching=draw(st.sampled_from((1, 2, 1000))),
    )


def loaded(case: Case) -> tuple[Engine, CountingGateway]:
    gateway = CountingGateway()
    engine = Engine(gateway, parse_url("memory://"))
    engine.create_tables(case.declared.model)
    with engine.session() as session:
        session.add_all(case.declared.model(**row) for row in case.rows)
    return engine, gateway


def key_rank(declared: Declared, row: Values) -> tuple[Any, ...]:
    last = declared.keys[-1]
    return tuple(
        part_rank(declared.fields[name].codec, row[name], is_last=name == last)
        for name in declared.keys
    )


def index_rank(declared: Declared, name: str, row: Values) -> tuple[Any, ...]:
    own = tuple(rank(row[field], desc=falls) for field, falls in declared.indexes[name])
    if not declared.is_salted:
        return (*own, *key_rank(declared, row))
    return (*own, declared.model.encode_key(**{key: row[key] for key in declared.keys}))


def expected(case: Case, plan: Plan) -> list[Values]:
    """Return the matching rows in the order that the plan's table has them."""
    declared = case.declared
    if isinstance(plan, IndexPlan):
        name = plan.index.name
        found = sorted(case.matching, key=lambda row: index_rank(declared, name, row))
    else:
        found = sorted(case.matching, key=lambda row: key_rank(declared, row))
    return found[::-1] if _is_reverse(case, plan) else found


def _is_reverse(case: Case, plan: Plan) -> bool:
    if isinstance(plan, GetPlan):
        behind_salt = [key[case.declared.is_salted :] for key in plan.keys]
        return behind_salt[0] > behind_salt[-1]
    return bool(getattr(plan, "reverse", False))


def ordered_by(asked: Sequence[Order], found: Sequence[Values]) -> list[Values]:
    """Return rows stably sorted by the asked orders, by value alone."""
    result = list(found)
    for order in reversed(asked):
        result.sort(key=lambda row: rank(row[order.field.name], desc=order.descending))
    return result


def key_conditions_hold(case: Case, plan: Plan, row: Values) -> bool:
    """Say whether a row fulfils the conditions that a range of the plan's keys can express.

    The fields compared by `==` or `in_`, in the order of the key, and the next one's range.
    """
    names = list(case.declared.keys)
    if isinstance(plan, IndexPlan):
        names = [field for field, _ in case.declared.indexes[plan.index.name]]
    flat = [part for condition in case.conditions for part in conjuncts(condition)]
    for name in names:
        codec = case.declared.fields[name].codec
        own = [c for c in flat if _is_expressible(c, name, codec)]
        if not all(holds(condition, row) for condition in own):
            return False
        if not any(isinstance(c, InValues) or getattr(c, "operator", "") == "==" for c in own):
            return True
    return True


def _is_expressible(condition: Condition, name: str, codec: Codec[Any]) -> bool:
    match condition:
        case Comparison(field=of, operator="==", value=value):
            return of.name == name and value is not None
        case Comparison(field=of, operator="<" | "<=" | ">" | ">=", value=value):
            is_sorted = getattr(codec, "separator", None) != b"_"
            return of.name == name and is_sorted and _is_storable(codec, value)
        case InValues(field=of, values=values):
            return of.name == name and None not in values
        case StartsWith(field=of, prefix=prefix):
            return of.name == name and _is_storable(codec, prefix)
    return False


def _is_storable(codec: Codec[Any], value: Any) -> bool:
    try:
        codec.encode(value)
    except CodecError:
        return False
    return True


def keys_of(case: Case, found: Sequence[Values]) -> list[bytes]:
    encode = case.declared.model.encode_key
    return [encode(**{name: row[name] for name in case.declared.keys}) for row in found]


def answered(case: Case, session: Session, stmt: Select[Any]) -> list[bytes]:
    return keys_of(case, [row.to_dict() for row in session.all(stmt)])


def check(case: Case) -> None:
    engine, gateway = loaded(case)
    with engine, engine.session() as session:
        stmt = case.statement()
        try:
            plan = session.explain(stmt)
        except QueryError:
            assert case.orders or case.using
            return

        gateway.fetched = 0
        found = session.all(stmt)
        fetched = gateway.fetched

        wanted = expected(case, plan)
        keys = keys_of(case, wanted)
        assert keys_of(case, [row.to_dict() for row in found]) == keys
        assert [row.to_dict() for row in found] == [_in_order(case, row) for row in wanted]
        assert keys_of(case, ordered_by(case.orders, wanted)) == keys
        assert answered(case, session, stmt.limit(case.limit)) == keys[: case.limit]
        assert session.count(stmt) == len(keys)
        within = sum(key_conditions_hold(case, plan, row) for row in case.rows)
        assert fetched <= within * (2 if isinstance(plan, IndexPlan) else 1)


def _in_order(case: Case, row: Values) -> dict[str, Any]:
    return {name: row[name] for name in case.declared.model.__schema__.fields}


@settings(max_examples=500, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
@given(case=cases())
def test_an_answer_equals_a_filter_and_a_sort_over_all_rows(case: Case) -> None:
    check(case)


@pytest.mark.soak
@pytest.mark.timeout(3600)
@settings(max_examples=20_000, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
@given(case=cases())
def test_no_answer_of_twenty_thousand_differs(case: Case) -> None:
    check(case)
