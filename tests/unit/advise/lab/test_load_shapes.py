"""Rows, rate and seconds: two give the third, and impossible ones are refused."""

from __future__ import annotations

from typing import Any

import pytest

from hbase_orm.advise.lab import LoadShape
from hbase_orm.errors import ConfigurationError


@pytest.mark.parametrize(
    ("given", "rows", "rate_per_s", "seconds"),
    [
        ({}, 10_000_000, 10_000_000 / 3600, 3600),
        ({"rows": 7200}, 7200, 2, 3600),
        ({"rate_per_s": 5}, 18_000, 5, 3600),
        ({"seconds": 100}, 10_000_000, 100_000, 100),
        ({"rows": 100, "rate_per_s": 4}, 100, 4, 25),
        ({"rows": 100, "seconds": 4}, 100, 25, 4),
        ({"rate_per_s": 2.5, "seconds": 4}, 10, 2.5, 4),
        ({"rows": 10, "rate_per_s": 2.5, "seconds": 4}, 10, 2.5, 4),
    ],
)
def test_what_is_not_given_is_computed(
    given: dict[str, Any], rows: int, rate_per_s: float, seconds: float
) -> None:
    assert LoadShape.of(**given) == LoadShape(rows, rate_per_s, seconds)


@pytest.mark.parametrize(
    ("given", "detail"),
    [
        ({"rows": 0}, "rows"),
        ({"rows": -5}, "rows"),
        ({"rows": 10**14}, "rows"),
        ({"rate_per_s": 0.0}, "rate"),
        ({"rate_per_s": float("nan")}, "rate"),
        ({"rate_per_s": 1e12}, "rate"),
        ({"seconds": 0.0}, "seconds"),
        ({"seconds": float("inf")}, "seconds"),
        ({"rows": 10**12, "seconds": 1}, "rate"),
        ({"rate_per_s": 0.001, "seconds": 1}, "rows"),
    ],
)
def test_impossible_numbers_are_refused_by_name(given: dict[str, Any], detail: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        LoadShape.of(**given)

    assert caught.value.details["name"] == detail
    assert caught.value.fix


def test_numbers_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="contradict") as caught:
        LoadShape.of(rows=1000, rate_per_s=10, seconds=10)

    assert caught.value.details["rate_times_seconds"] == 100
