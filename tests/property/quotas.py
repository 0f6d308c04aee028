"""Quotas of random suites: drawing goes on, aimed at the cases of which there are too few."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import hypothesis.core
from hypothesis import seed

MOST_ROUNDS = 50
"""Many times the rounds that a case takes whose draws are aimed at it."""


def short_of(met: Mapping[str, int], least: Mapping[str, int]) -> list[str]:
    """Return the cases that were met less often than they must be."""
    return [case for case, count in least.items() if met.get(case, 0) < count]


def fill(
    too_few: Callable[[], Iterable[str]], aimed_at: Callable[[str], Callable[[], None]]
) -> None:
    """Draw examples for the cases of which there are too few, until there are enough of each.

    The rounds have an end: what draws that are aimed at a case do not meet, the caller's assertion
    then shows. Each round has a seed of its own, which follows from that of the run.

    Args:
        too_few: Returns the cases that are still short of their quota.
        aimed_at: Returns a test made by `given`, whose examples are mostly of a case.
    """
    for number in range(MOST_ROUNDS):
        cases = list(too_few())
        if not cases:
            return
        for case in cases:
            seed(f"{hypothesis.core.global_force_seed} {case} {number}")(aimed_at(case))()
