"""How many rows a read fetches before its limit ends it."""

from __future__ import annotations

import numpy as np

from hbase_orm.advise.lab.fetched_rows import BucketRows, Fetching
from hbase_orm.query.plans.fetch_sizes import Fetches

RANDOM = np.random.default_rng(1)


def fetching(limit: int | None, *, matching: float = 1.0, row_bytes: int = 10) -> Fetching:
    return Fetching(Fetches(4, 1000), limit, matching, row_bytes)


def bucket(*places: float) -> BucketRows:
    return BucketRows((float(len(places)),), np.ones(len(places), dtype=np.bool_), np.array(places))


def test_without_a_limit_all_rows_are_fetched() -> None:
    assert fetching(None).fetched([BucketRows((70, 30)), BucketRows((5,))], RANDOM) == 105


def test_fetches_grow_until_the_limit_is_reached() -> None:
    assert fetching(4).fetched([BucketRows((500,))], RANDOM) == 4
    assert fetching(5).fetched([BucketRows((500,))], RANDOM) == 4 + 16
    assert fetching(5, matching=0.1).fetched([BucketRows((500,))], RANDOM) == 4 + 16 + 64


def test_a_fetch_ends_with_its_range() -> None:
    assert fetching(6).fetched([BucketRows((3, 2, 500))], RANDOM) == 3 + 2 + 64


def test_large_rows_are_fetched_few_at_a_time() -> None:
    large = fetching(5, row_bytes=1 << 20)

    assert large.fetched([BucketRows((500,))], RANDOM) == 2 + 2 + 2


def test_a_bucket_is_read_on_while_a_few_of_its_rows_are_held() -> None:
    first = bucket(*range(19), *range(60, 141))
    second = bucket(2.5, *range(50, 149))

    # Of the first bucket's 16 rows one is held when the second one has none left.
    assert fetching(30).fetched([first, second], RANDOM) == 4 + 4 + 16 + 64 + 16


def test_a_limit_that_is_never_reached_reads_everything() -> None:
    assert fetching(50, matching=0.01).fetched([BucketRows((100,))] * 2, RANDOM) == 200
