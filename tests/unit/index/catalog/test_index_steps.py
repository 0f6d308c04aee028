"""The steps of a build: in which ranges the rows are read."""

from __future__ import annotations

import pytest

from hbase_orm.index.catalog.index_steps import MOST_RANGES, ranges_of
from hbase_orm.ops import RegionRange


def regions(count: int) -> list[RegionRange]:
    keys = [b"%05d" % number for number in range(1, count)]
    return [
        RegionRange(start, stop, "server")
        for start, stop in zip([b"", *keys], [*keys, None], strict=True)
    ]


@pytest.mark.parametrize(
    ("count", "ranges"),
    [
        (1, 1),
        (MOST_RANGES, MOST_RANGES),
        (MOST_RANGES + 1, MOST_RANGES // 2 + 1),
        (10 * MOST_RANGES, MOST_RANGES),
    ],
)
def test_a_build_has_a_range_for_each_region_but_not_too_many(count: int, ranges: int) -> None:
    made = ranges_of(regions(count))

    assert len(made) == ranges
    assert (made[0].start, made[-1].stop) == (b"", b"")
    assert [each.start for each in made[1:]] == [each.stop for each in made[:-1]]


def test_a_table_without_regions_has_no_range() -> None:
    assert ranges_of([]) == ()
