"""Random models, rows and statements: the answer equals a plain filter and sort in Python."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from hbase_orm import Engine, connect
from hbase_orm.query import EmptyPlan, GetPlan, IndexPlan, SaltedScanPlan, ScanPlan, TablesPlan
from hbase_orm.testing import RealHBase
from tests.property.aims import aimed_cases
from tests.property.oracle import Bench, Case, Coverage, cases, check, create_tables, load
from tests.property.quotas import fill, short_of
from tests.property.wishes import COMPONENTS

SEVERAL_OF_EACH = 50
KINDS = [
    kind.__name__.removesuffix("Plan")
    for kind in (EmptyPlan, GetPlan, ScanPlan, SaltedScanPlan, TablesPlan, IndexPlan)
]
LEAST = {
    "ends at a row": 200,
    "several pages": 100,
    "partial": 15,
    "nulls": 50,
    "salted index": 20,
    "covered": 6,
}
AIMED = 10
oracle = settings(suppress_health_check=[HealthCheck.too_slow], print_blob=True)


def run(max_examples: int, at_least: int) -> Coverage:
    """Check so many models with their questions, then more of what is too few; return what was met."""
    coverage = Coverage()

    def answers_equal_in(drawn: st.SearchStrategy[Case], count: int) -> Callable[[], None]:
        @settings(oracle, max_examples=count)
        @given(case=drawn)
        def answers_equal(case: Case) -> None:
            check(case, coverage)

        return answers_equal

    answers_equal_in(cases(), max_examples)()
    fill(lambda: too_few(coverage, at_least), lambda aim: answers_equal_in(aimed_cases(aim), AIMED))
    return coverage


def too_few(coverage: Coverage, at_least: int) -> list[str]:
    """Return what a run has not tried as often as it is meant to."""
    seen = coverage.seen
    least = {**LEAST, "non-empty": ceil(0.4 * seen["answers"])}
    # Questions that are aimed at answers ask for no full scan: they make its share smaller.
    least["answers"] = max(at_least, 20 * seen["full scans"])
    return [
        *short_of(seen, least),
        *short_of(coverage.kinds, dict.fromkeys(KINDS, SEVERAL_OF_EACH)),
        *short_of(coverage.components, dict.fromkeys(COMPONENTS, SEVERAL_OF_EACH)),
    ]


def require(coverage: Coverage, at_least: int) -> None:
    """Fail a run that did not meet what it is meant to try."""
    answers = coverage.seen["answers"]
    assert answers >= at_least, coverage
    for kind in KINDS:
        assert coverage.kinds[kind] >= SEVERAL_OF_EACH, coverage
    for component in COMPONENTS:
        assert coverage.components[component] >= SEVERAL_OF_EACH, coverage
    assert coverage.seen["non-empty"] >= 0.4 * answers, coverage
    for case, least in LEAST.items():
        assert coverage.seen[case] >= least, coverage
    assert coverage.seen["full scans"] <= 0.05 * answers, coverage


@pytest.mark.timeout(600)
def test_an_answer_equals_a_filter_and_a_sort_over_all_rows() -> None:
    require(run(900, at_least=2000), at_least=2000)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_no_answer_of_twenty_thousand_differs() -> None:
    require(run(9000, at_least=20_000), at_least=20_000)


# --- on a real HBase ------------------------------------------------------------------------------


def run_on(hbase: RealHBase, models_count: int, at_least: int) -> Coverage:
    """Check so many models, with ten questions each, on a server; more if they had few answers."""
    coverage = Coverage()
    namespace = f"n{uuid4().hex[:12]}"
    try:
        with connect(hbase.url_in(namespace)) as engine:

            def answers_equal_in(drawn: st.SearchStrategy[Case], count: int) -> Callable[[], None]:
                @settings(oracle, max_examples=count, phases=[Phase.generate], database=None)
                @given(case=drawn)
                def answers_equal(case: Case) -> None:
                    check_on(engine, case, coverage)

                return answers_equal

            answers_equal_in(cases(count=10, is_split=False), models_count)()
            fill(
                lambda: short_of(coverage.seen, {"answers": at_least}),
                lambda aim: answers_equal_in(aimed_cases(aim, count=10, is_split=False), 2),
            )
    finally:
        hbase.drop_namespace(namespace)
    return coverage


def check_on(engine: Engine, case: Case, coverage: Coverage) -> None:
    create_tables(engine, case)
    try:
        bench = Bench(case.declared, load(engine, case), coverage, gateway=None)
        for question in case.questions:
            with engine.session() as session:
                bench.ask(question, session)
    finally:
        engine.drop_tables(case.declared.makers[0])


@pytest.mark.hbase
@pytest.mark.timeout(900)
def test_a_real_hbase_answers_as_a_filter_and_a_sort(hbase: RealHBase) -> None:
    assert run_on(hbase, 20, at_least=40).seen["answers"] >= 40


@pytest.mark.hbase
@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_a_real_hbase_answers_for_two_hundred_models(hbase: RealHBase) -> None:
    assert run_on(hbase, 200, at_least=800).seen["answers"] >= 800
