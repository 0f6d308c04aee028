"""Random models, rows and statements: the answer equals a plain filter and sort in Python."""

from __future__ import annotations

from uuid import uuid4

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from hbase_orm import Engine, connect
from hbase_orm.query import EmptyPlan, GetPlan, IndexPlan, SaltedScanPlan, ScanPlan, TablesPlan
from hbase_orm.testing import RealHBase
from tests.property.oracle import Bench, Case, Coverage, cases, check, create_tables, load
from tests.property.random_models import COMPONENTS

SEVERAL_OF_EACH = 50
oracle = settings(suppress_health_check=[HealthCheck.too_slow], print_blob=True)


def run(max_examples: int) -> Coverage:
    """Check so many models with their questions; return what was met."""
    coverage = Coverage()

    @settings(oracle, max_examples=max_examples)
    @given(case=cases())
    def answers_equal(case: Case) -> None:
        check(case, coverage)

    answers_equal()
    return coverage


def require(coverage: Coverage, at_least: int) -> None:
    """Fail a run that did not meet what it is meant to try."""
    answers = coverage.seen["answers"]
    assert answers >= at_least, coverage
    for kind in (EmptyPlan, GetPlan, ScanPlan, SaltedScanPlan, TablesPlan, IndexPlan):
        assert coverage.kinds[kind.__name__.removesuffix("Plan")] >= SEVERAL_OF_EACH, coverage
    for component in COMPONENTS:
        assert coverage.components[component] >= SEVERAL_OF_EACH, coverage
    assert coverage.seen["non-empty"] >= 0.4 * answers, coverage
    assert coverage.seen["ends at a row"] >= 200, coverage
    assert coverage.seen["several pages"] >= 100, coverage
    for option, least in (("partial", 15), ("nulls", 50), ("salted index", 20), ("covered", 6)):
        assert coverage.seen[option] >= least, coverage
    assert coverage.seen["full scans"] <= 0.05 * answers, coverage


@pytest.mark.timeout(600)
def test_an_answer_equals_a_filter_and_a_sort_over_all_rows() -> None:
    require(run(900), at_least=2000)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_no_answer_of_twenty_thousand_differs() -> None:
    require(run(9000), at_least=20_000)


# --- on a real HBase ------------------------------------------------------------------------------


def run_on(hbase: RealHBase, models_count: int) -> Coverage:
    """Check so many models, with ten questions each, on a server."""
    coverage = Coverage()
    namespace = f"n{uuid4().hex[:12]}"
    try:
        with connect(hbase.url_in(namespace)) as engine:

            @settings(oracle, max_examples=models_count, phases=[Phase.generate], database=None)
            @given(case=cases(count=10, is_split=False))
            def answers_equal(case: Case) -> None:
                check_on(engine, case, coverage)

            answers_equal()
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
    assert run_on(hbase, 20).seen["answers"] >= 40


@pytest.mark.hbase
@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_a_real_hbase_answers_for_two_hundred_models(hbase: RealHBase) -> None:
    assert run_on(hbase, 200).seen["answers"] >= 800
