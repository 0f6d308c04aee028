"""Values, counts, groups and sorts of random statements equal what Python makes of the objects."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from decimal import localcontext
from math import ceil
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from hbase_orm import Engine, Expr, Session, connect, func, select
from hbase_orm.errors import QueryError
from hbase_orm.query import Select
from hbase_orm.query.statements.aggregates import SORTED_TYPES, SUMMED_TYPES
from hbase_orm.testing import RealHBase
from tests.property.aims import aimed_cases
from tests.property.oracle import Case, Question, cases, create_tables, in_memory, load
from tests.property.quotas import fill, short_of

Row = Mapping[str, Any]
selections = settings(suppress_health_check=[HealthCheck.too_slow], print_blob=True)


def selecting(case: Case, question: Question, items: Sequence[Expr[Any]]) -> Select[Any]:
    """Return a question's statement for values instead of objects."""
    asked = question.statement(case.declared)
    chosen: Select[Any] = select(*items)
    object.__setattr__(chosen, "conditions", asked.conditions)
    for name in ("orders", "index", "full_scan_allowed", "caching_rows"):
        object.__setattr__(chosen, name, getattr(asked, name))
    assert chosen.model is case.declared.model
    return chosen


def bare(values: Sequence[Any]) -> Any:
    return values[0] if len(values) == 1 else tuple(values)


def shown(results: Sequence[Any]) -> str:
    """Return results as text, in which several values are a plain tuple."""
    return repr([tuple(each) if isinstance(each, tuple) else each for each in results])


def field_of(case: Case, name: str) -> Expr[Any]:
    field: Expr[Any] = getattr(case.declared.model, name)
    return field


def kind_of(case: Case, name: str) -> type:
    return case.declared.fields[name].codec.python_type


def check_values(
    case: Case, question: Question, names: Sequence[str], session: Session, found: Sequence[Row]
) -> None:
    stmt = selecting(case, question, [field_of(case, name) for name in names])
    expected = [bare([row[name] for name in names]) for row in found]

    assert shown(session.all(stmt)) == repr(expected), str(session.explain(stmt))
    assert shown(session.all(stmt.limit(question.limit))) == repr(expected[: question.limit])
    assert session.count(stmt) == len(found)
    assert session.exists(stmt) is bool(found)
    pages, token = list[Any](), None
    while True:
        page = session.page(stmt, size=question.limit, token=token)
        pages += page.items
        token = page.token
        if token is None:
            break
    assert shown(pages) == repr(expected)


def check_sorted(
    case: Case, question: Question, names: Sequence[str], session: Session, found: Sequence[Row]
) -> bool:
    names = [name for name in names if issubclass(kind_of(case, name), SORTED_TYPES)]
    if not names:
        return False
    expected = list(found)
    for place, name in reversed([*enumerate(names)]):
        expected.sort(key=lambda row: rank(row[name]), reverse=place % 2 == 1)
    orders = [
        field_of(case, name).desc() if place % 2 else field_of(case, name).asc()
        for place, name in enumerate(names)
    ]
    most = max(1, len(found))
    objects = question.statement(case.declared).sort_in_memory(*orders, max_rows=most)
    values = selecting(case, question, [field_of(case, names[0])])

    assert repr([row.to_dict() for row in session.all(objects)]) == repr(expected)
    sorted_values = session.all(values.sort_in_memory(*orders, max_rows=most).limit(2))
    assert repr(sorted_values) == repr([row[names[0]] for row in expected][:2])
    if len(found) > 1:
        with pytest.raises(QueryError, match="to sort in memory"):
            session.all(objects.sort_in_memory(*orders, max_rows=len(found) - 1))
    return True


def rank(value: Any) -> Any:
    return value is not None, value != value, value  # noqa: PLR0124 - NaN


def aggregates_of(case: Case, name: str, rows: Sequence[Row]) -> list[Expr[Any]]:
    field, kind = field_of(case, name), kind_of(case, name)
    found: list[Expr[Any]] = [func.count(field)]
    if kind in SUMMED_TYPES:
        found.append(func.sum(field))
    if kind in SUMMED_TYPES and not any(
        kind is int and abs(row[name] or 0) > 2**900 for row in rows
    ):
        found.append(func.avg(field))
    if issubclass(kind, SORTED_TYPES):
        found += [func.min(field), func.max(field)]
    return found


def computed(item: Any, rows: Sequence[Row]) -> Any:
    if item.field is None:
        return len(rows)
    values = [v for row in rows if (v := row[item.field.name]) is not None]
    if item.function == "count":
        return len(values)
    if item.function == "sum":
        return sum(values, SUMMED_TYPES[type(values[0])]) if values else None
    if item.function == "avg":
        with localcontext(prec=30_000):
            total = sum(values, SUMMED_TYPES[type(values[0])]) if values else None
        return None if total is None else total / len(values)
    best = min if item.function == "min" else max
    return best(values) if values else None


def check_aggregates(
    case: Case, question: Question, name: str, session: Session, found: Sequence[Row]
) -> None:
    items = [*aggregates_of(case, name, found), func.count()]
    stmt = selecting(case, question, items)

    (answer,) = session.all(stmt)

    for item, value in zip(items, answer, strict=True):
        expected = computed(item, found)
        assert repr(value) == repr(expected) or (expected is None and not value), (item, found)
    assert session.count(stmt) == 1


def told(values: Sequence[Any]) -> str:
    """Return values as text that is the same where they are one group: the zeros are equal."""
    return repr([abs(v) if isinstance(v, float) and not v else v for v in values])


def check_groups(
    case: Case, question: Question, names: Sequence[str], session: Session, found: Sequence[Row]
) -> bool:
    """Check groups by the first key fields; say whether the statement was planned."""
    fields = [field_of(case, name) for name in names]
    items = [*fields, *aggregates_of(case, names[-1], found), func.count()]
    stmt = selecting(case, question, items).group_by(*fields)
    try:
        answer = session.all(stmt)
    except QueryError:
        return False
    # The groups may be read in another way than the objects, and come in another order.
    groups: dict[str, list[Row]] = {}
    for row in found:
        groups.setdefault(told([row[n] for n in names]), []).append(row)
    given = {told(values[: len(names)]): values for values in answer}
    assert len(given) == len(answer)
    assert given.keys() == groups.keys(), str(session.explain(stmt))
    for key, rows in groups.items():
        expected = [computed(item, rows) for item in items[len(names) :]]
        assert [repr(v) for v in given[key][len(names) :]] == [repr(v) for v in expected]
    assert session.count(stmt.limit(1)) == min(1, len(groups))
    return True


def check(case: Case, engine: Engine, data: st.DataObject, seen: Counter[str]) -> None:
    load(engine, case)
    declared = case.declared
    some = st.lists(st.sampled_from(sorted(declared.fields)), min_size=1, max_size=3, unique=True)
    for question in case.questions:
        with engine.session() as session:
            stmt = question.statement(declared)
            try:
                plan = session.explain(stmt)
            except QueryError:
                seen["refused"] += 1
                continue
            found = [obj.to_dict() for obj in session.all(stmt)]
            names = [n for n in data.draw(some) if n in declared.model.__schema__.fields]
            if not names:
                continue
            seen["answers"] += 1
            seen[plan.kind] += 1
            seen["non-empty"] += bool(found)
            check_values(case, question, names, session, found)
            check_aggregates(case, question, names[0], session, found)
            seen["sorted"] += check_sorted(case, question, names, session, found)
            keys = [n for n in declared.keys if n in declared.model.__schema__.fields]
            first = data.draw(st.integers(1, len(keys)))
            seen["grouped"] += check_groups(case, question, keys[:first], session, found)


def run(max_examples: int, least: Mapping[str, int]) -> Counter[str]:
    seen: Counter[str] = Counter()

    def are_equal_in(drawn: st.SearchStrategy[Case], count: int) -> Callable[[], None]:
        @settings(selections, max_examples=count)
        @given(case=drawn, data=st.data())
        def are_equal(case: Case, data: st.DataObject) -> None:
            with in_memory() as (engine, _):
                create_tables(engine, case)
                check(case, engine, data, seen)

        return are_equal

    are_equal_in(cases(), max_examples)()
    fill(
        lambda: short_of(seen, {**least, "non-empty": ceil(0.25 * seen["answers"])}),
        lambda aim: are_equal_in(aimed_cases(aim), 10),
    )
    return seen


LEAST = {
    "answers": 150,
    "grouped": 25,
    "sorted": 90,
    **dict.fromkeys(("Empty", "Scan", "SaltedScan", "Tables", "Index"), 5),
}


@pytest.mark.timeout(600)
def test_values_groups_and_sorts_equal_what_python_makes_of_the_objects() -> None:
    seen = run(90, LEAST)

    for case, least in LEAST.items():
        assert seen[case] >= least, seen
    assert seen["non-empty"] >= 0.25 * seen["answers"], seen


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_no_value_of_ten_thousand_statements_differs() -> None:
    assert run(6000, {"answers": 10_000})["answers"] >= 10_000


@pytest.mark.hbase
@pytest.mark.timeout(900)
def test_a_real_hbase_gives_the_same_values(hbase: RealHBase) -> None:
    namespace = f"n{uuid4().hex[:12]}"
    seen: Counter[str] = Counter()
    try:
        with connect(hbase.url_in(namespace)) as engine:

            def are_equal_in(drawn: st.SearchStrategy[Case], count: int) -> Callable[[], None]:
                @settings(selections, max_examples=count, phases=[Phase.generate], database=None)
                @given(case=drawn, data=st.data())
                def are_equal(case: Case, data: st.DataObject) -> None:
                    create_tables(engine, case)
                    try:
                        check(case, engine, data, seen)
                    finally:
                        engine.drop_tables(case.declared.makers[0])

                return are_equal

            are_equal_in(cases(is_split=False), 10)()
            fill(
                lambda: short_of(seen, {"answers": 15}),
                lambda aim: are_equal_in(aimed_cases(aim, is_split=False), 2),
            )
    finally:
        hbase.drop_namespace(namespace)
    assert seen["answers"] >= 15, seen
