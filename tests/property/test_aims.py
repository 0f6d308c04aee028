"""What is aimed at a case meets it, with nothing drawn before: a random suite can rely on it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from tests.property.aims import aimed_cases
from tests.property.oracle import Case, Coverage, check
from tests.property.quotas import MOST_ROUNDS, fill, short_of
from tests.property.test_query_oracle import KINDS, LEAST
from tests.property.wishes import COMPONENTS

EACH = 10
"""Met in fewer rounds than this, a case fills every quota of the suites."""

QUICK = settings(
    max_examples=5, phases=[Phase.generate], suppress_health_check=[HealthCheck.too_slow]
)


@pytest.mark.parametrize("aim", [*KINDS, *COMPONENTS, *LEAST, "answers", "non-empty"])
def test_a_case_is_met_by_the_draws_that_are_aimed_at_it(aim: str) -> None:
    coverage, rounds = Coverage(), 0

    def met() -> Counter[str]:
        return coverage.kinds + coverage.components + coverage.seen

    def aimed_at(case: str) -> Callable[[], None]:
        nonlocal rounds
        rounds += 1

        @settings(QUICK)
        @given(case=aimed_cases(case))
        def answers_equal(case: Case) -> None:
            check(case, coverage)

        return answers_equal

    fill(lambda: short_of(met(), {aim: EACH}), aimed_at)

    assert met()[aim] >= EACH
    assert rounds <= MOST_ROUNDS // 5


def test_draws_end_where_a_case_cannot_be_met() -> None:
    drawn: list[str] = []

    def aimed_at(case: str) -> Callable[[], None]:
        return lambda: drawn.append(case)

    fill(lambda: short_of({"easy": 1}, {"easy": 1, "never": 1}), aimed_at)

    assert drawn == ["never"] * MOST_ROUNDS
