"""Random models, rows and statements: what is deleted, and what running a plan shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hbase_orm import Session, select
from hbase_orm.errors import QueryError
from tests.property.aims import EVERY_ROW, UNBOUNDED, aimed_cases
from tests.property.key_use import Stored
from tests.property.oracle import Case, Question, cases, create_tables, in_memory, load
from tests.property.questions import holds
from tests.property.quotas import fill, short_of

CASES = 250
LEAST = {"deleted all": 5, "deleted some": 30, "deleted none": 10, "refused": 10}
AIMS = {
    "deleted all": EVERY_ROW,
    "deleted some": "non-empty",
    "deleted none": "Empty",
    "refused": UNBOUNDED,
}


def shown(rows: Sequence[Any]) -> Counter[str]:
    """Return rows as a bag; NaN equals itself there."""
    return Counter(repr(sorted(row.items())) for row in rows)


def test_what_matches_is_deleted_and_the_rest_stays() -> None:
    seen: Counter[str] = Counter()

    def holds_in(drawn: st.SearchStrategy[Case], count: int) -> Callable[[], None]:
        @settings(max_examples=count, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
        @given(case=drawn)
        def holds_for(case: Case) -> None:
            with in_memory() as (engine, _):
                create_tables(engine, case)
                for question in case.questions:
                    stored = load(engine, case)
                    with engine.session() as session:
                        check(case, question, stored, session, seen)

        return holds_for

    holds_in(cases(count=2), CASES)()
    fill(
        lambda: short_of(seen, LEAST),
        lambda case: holds_in(aimed_cases(AIMS[case], count=2), 10),
    )
    for case, least in LEAST.items():
        assert seen[case] >= least, seen


def check(
    case: Case, question: Question, stored: Sequence[Stored], session: Session, seen: Counter[str]
) -> None:
    declared = case.declared
    stmt, fields = question.statement(declared), declared.model.__schema__.fields
    own = [
        row.values
        for row in stored
        if declared.is_base or declared.makers[row.values["class"]] is declared.model
    ]
    matching = [row for row in own if all(holds(c, row) for c in question.conditions)]
    rest = [row for row in own if row not in matching]

    try:
        measured = session.explain(stmt, analyze=True).measured
    except QueryError:
        seen["refused"] += 1
        with pytest.raises(QueryError):
            session.delete_where(stmt)
        matching, rest = [], own
    else:
        assert measured is not None
        assert measured.kept == len(matching)
        assert (measured.stale, measured.unused) == (0, 0) or declared.model.__schema__.packed_bytes
        assert measured.fetched >= measured.kept + measured.dropped
        assert session.delete_where(stmt) == len(matching)
        assert session.delete_where(stmt) == 0
        seen[f"deleted {'none' if not matching else 'some' if rest else 'all'}"] += 1

    left = session.all(select(declared.model).using(None).allow_full_scan())
    assert shown([row.to_dict() for row in left]) == shown(
        [{name: row[name] for name in fields} for row in rest]
    )
    session.delete_where(select(declared.model).using(None).allow_full_scan())


def test_reads_are_counted_as_they_are() -> None:
    """The meter's rows are the rows of the answers: counted here by another way."""

    @settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
    @given(case=cases(count=3))
    def holds_for(case: Case) -> None:
        with in_memory() as (engine, gateway):
            create_tables(engine, case)
            load(engine, case)
            for question in case.questions:
                gateway.fetched = 0
                with engine.session() as session:
                    try:
                        plan = session.explain(question.statement(case.declared), analyze=True)
                    except QueryError:
                        continue
                assert plan.measured is not None
                read = [each for each in plan.measured.requests if each.step == "read"]
                rows = sum(each.rows for each in read if each.table.startswith("rows"))
                assert rows == gateway.fetched

    holds_for()
