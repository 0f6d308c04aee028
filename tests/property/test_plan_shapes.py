"""A plan by a shape that was planned before is the plan that is made again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hbase_orm import Family, Index, Key, Mapped, Model, Salt, column, key, rowkey, select
from hbase_orm.errors import QueryError
from hbase_orm.query import ROWS_ONLY, Plan, Select, Shapes, Sort
from hbase_orm.query.planning.planner import plan
from hbase_orm.query.planning.shapes import MAX_SHAPES
from hbase_orm.schema import Comparison, Condition, StartsWith, TableSchema
from tests.property.aims import aimed_cases
from tests.property.oracle import Case, cases
from tests.property.questions import Values
from tests.property.quotas import fill, short_of


def variants(stmt: Select[Any], rows: Sequence[Values]) -> Iterator[Select[Any]]:
    """Yield statements of the same shape, each with the values of another row."""
    for row in rows:
        yield replace(stmt, conditions=tuple(with_values_of(c, row) for c in stmt.conditions))


def with_values_of(condition: Condition, row: Values) -> Condition:
    match condition:
        case Comparison(field=of, operator=operator, value=value) if value is not None:
            return Comparison(of, operator, row[of.name])
        case StartsWith(field=of):
            return StartsWith(of, row[of.name] or condition.prefix)
    return condition


def facts(found: Plan | Exception) -> Any:
    """Return everything that a plan is, but its statement."""
    if isinstance(found, Exception):
        return type(found), str(found)
    skipped = {"conditions", "schema", "plans"}
    shown = {f.name: getattr(found, f.name) for f in fields(found) if f.name not in skipped}
    return type(found), str(found), shown


def planned(stmt: Select[Any], schema: TableSchema, shapes: Shapes | None) -> Plan | Exception:
    try:
        return plan(stmt, schema, shapes=shapes)
    except QueryError as error:
        return error


def run(max_examples: int, least: Mapping[str, int]) -> Counter[str]:
    met: Counter[str] = Counter()

    def plans_equal_in(drawn: st.SearchStrategy[Case], count: int) -> Callable[[], None]:
        @settings(max_examples=count, deadline=None, suppress_health_check=[HealthCheck.too_slow])
        @given(case=drawn)
        def plans_equal(case: Case) -> None:
            compare_plans(case, met)

        return plans_equal

    plans_equal_in(cases(is_split=False), max_examples)()
    fill(
        lambda: short_of(met, least),
        lambda kind: plans_equal_in(aimed_cases(kind.removesuffix("Plan"), is_split=False), 10),
    )
    return met


def compare_plans(case: Case, met: Counter[str]) -> None:
    schema, shapes = case.declared.model.__schema__, Shapes()
    for question in case.questions:
        first = question.statement(case.declared)
        for stmt in (first, *variants(first, case.rows), first):
            is_known = shapes.find(stmt) is not None
            cached, fresh = planned(stmt, schema, shapes), planned(stmt, schema, None)
            assert facts(cached) == facts(fresh), (str(cached), str(fresh))
            met["statements"] += 1
            met["known"] += is_known
            if is_known:
                met[type(cached).__name__] += 1


KINDS = ("GetPlan", "ScanPlan", "SaltedScanPlan", "IndexPlan")


@pytest.mark.timeout(300)
@pytest.mark.parametrize("examples", [1, 300], ids=["aimed draws alone", "usual draws"])
def test_a_plan_of_a_known_shape_is_the_plan_made_anew(examples: int) -> None:
    met = run(examples, dict.fromkeys(KINDS, 5))

    for kind in KINDS:
        assert met[kind] >= 5, met


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_ten_thousand_models_have_no_other_plan_by_their_shapes() -> None:
    assert run(10_000, {"known": 10_000})["known"] >= 10_000


class Part(Model, table="parts"):
    d = Family()
    maker: Key[str] = key()
    number: Key[int] = key()
    price: Mapped[int] = column(d)
    by_price = Index(price)


OTHERS: dict[str, Any] = {
    "is_timeline": True,
    "orders": (Part.number.desc(),),
    "row_limit": 5,
    "index": Part.by_price,
    "full_scan_allowed": True,
    "caching_rows": 7,
}


# Each of them keeps a statement from having a shape.
WITHOUT_SHAPE: dict[str, Any] = {
    "related": (object(),),
    "entries": object(),
    "selection": ROWS_ONLY,
    "groups": (Part.maker,),
    "sort": Sort((), 1),
    "times": object(),
}


# No plan depends on them: they say what is done with rows that were read.
OF_NO_PLAN: dict[str, Any] = {"corrupt_rule": "skip", "related_limits": (("orders", 3),)}


def test_whatever_a_plan_depends_on_beside_values_is_in_the_shape() -> None:
    stmt = select(Part).where(Part.maker == "a")

    # The values are what a shape leaves out, and a model has shapes of its own.
    known = {*OTHERS, *WITHOUT_SHAPE, *OF_NO_PLAN, "model", "conditions"}
    assert {f.name for f in fields(stmt)} == known
    for name, value in OF_NO_PLAN.items():
        changed = replace(stmt, **{name: value})
        assert (changed.shape, changed != stmt) == (stmt.shape, True), name
    for name, value in OTHERS.items():
        assert replace(stmt, **{name: value}).shape not in {stmt.shape, None}, name
    for name, value in WITHOUT_SHAPE.items():
        assert replace(stmt, **{name: value}).shape is None, name


def test_a_shape_is_of_fields_and_operators_not_of_values() -> None:
    stmt = select(Part).where(Part.maker == "a", Part.number > 3)

    assert stmt.shape == select(Part).where(Part.maker == "b", Part.number > 4).shape
    assert stmt.shape != select(Part).where(Part.maker == "a", Part.number >= 3).shape
    assert select(Part).where(Part.price == 1).shape != select(Part).where(Part.number == 1).shape


def test_only_so_many_shapes_are_kept() -> None:
    shapes = Shapes()
    for limit in range(1, MAX_SHAPES + 2):
        plan(select(Part).where(Part.maker == "a").limit(limit), Part.__schema__, shapes=shapes)

    assert len(shapes) == 1


class Salted(Model, table="salted_parts"):
    d = Family()
    maker: Key[str] = key()
    number: Key[int] = key()
    __rowkey__ = rowkey(Salt(4), maker, number)


class SaltedByMaker(Model, table="maker_salted_parts"):
    d = Family()
    maker: Key[str] = key()
    number: Key[int] = key()
    __rowkey__ = rowkey(Salt(4, of=maker), maker, number)


@pytest.mark.parametrize("model", [Part, Salted, SaltedByMaker])
def test_a_statement_of_a_whole_key_is_planned_once_for_all_keys(model: Any) -> None:
    schema, shapes = model.__schema__, Shapes()
    plan(select(model).where(model.maker == "a", model.number == 1), schema, shapes=shapes)

    for number in range(9):
        stmt = select(model).where(model.maker == "b", model.number == number)
        known = shapes.find(stmt)
        assert known is not None
        assert facts(known) == facts(plan(stmt, schema))
