"""Leaves the replicas of regions out of the answers of gateways, which list them as regions."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

T = TypeVar("T")


def primary_regions(locations: Iterable[T], start_of: Callable[[T], bytes]) -> list[T]:
    """Return the primary region of each range of row keys, in key order.

    A gateway lists the replicas of a region after it, with the same row keys. Thrift2 has no field
    that distinguishes them.

    Args:
        locations: The regions and their replicas, as the gateway lists them.
        start_of: A function that returns the first possible row key of a region.
    """
    by_start: dict[bytes, T] = {}
    for each in locations:
        by_start.setdefault(start_of(each), each)
    return [by_start[start] for start in sorted(by_start)]
