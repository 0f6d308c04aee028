"""What each scenario should reach at least, and whether it did.

A target names a comparison and one of its variants, what counts of it, and a bound. A scenario that
was not measured says so in the table, instead of being left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

from benchmarks.results import AGAIN, COMPILED, OWN, PURE, Comparison, Results, Spread


class Measure(Enum):
    """What of a variant a target is about."""

    SPEED = "how many times as fast as the baseline"
    OF_LIMIT = "how many times as fast as the server's limit"
    CPU = "client CPU as a part of the baseline's"
    PEAK = "peak memory, in megabytes"

    @property
    def is_most(self) -> bool:
        """Whether less is better."""
        return self in {Measure.CPU, Measure.PEAK}


class Verdict(Enum):
    """Whether a target was reached."""

    MISSED = "**missed**"
    MET = "met"
    STRETCH = "met, stretch too"
    UNKNOWN = "not measured"


@dataclass(frozen=True, slots=True)
class Target:
    """One line of the table.

    Attributes:
        scenario: What is done.
        comparison: The comparison that measures it.
        variant: The key of the variant.
        bound: At least that; of CPU and memory at most that.
        stretch: What would be very good.
        measure: What is compared with the bound.
        beside: What the variant is compared with.
        reason: What is known of the cause; shown if the target is missed, after what was measured.
    """

    scenario: str
    comparison: str
    variant: str
    bound: float
    stretch: float | None = None
    measure: Measure = Measure.SPEED
    beside: str = "happybase + dataclass"
    reason: str = ""


_INDEX_LIMIT: Final = (
    "An entry is one more row for HBase: if entries cost the client nothing, loads with 1, 2 and 3 "
    "indexes would reach 0.72, 0.59 and 0.54 (see LIMITS.md); fewer rows for the server is what "
    "would move that."
)

TARGETS: Final = (
    Target("dense scan, pure Python", "scan", PURE, 2.0, 2.8),
    Target("dense scan, compiled", "scan", COMPILED, 3.5),
    Target(
        "dense scan, compiled",
        "scan",
        COMPILED,
        0.8,
        0.95,
        Measure.OF_LIMIT,
        "the server's limit",
        "The rest is the client's CPU for objects and fields, while the gateway waits.",
    ),
    Target("sparse scan, pure Python", "scan-sparse", PURE, 1.5, 2.0),
    Target("sparse scan, compiled", "scan-sparse", COMPILED, 3.0, 3.5),
    Target("count of ranges", "count", COMPILED, 2.0, beside="happybase, keys only"),
    Target("wide row, pure Python", "wide-rows", PURE, 1.5),
    Target("wide row, compiled", "wide-rows", COMPILED, 3.0, 5.0),
    Target("Arrow of a scan", "arrow", COMPILED, 3.0, 8.0, beside="a table made by hand"),
    Target("single get", "get", COMPILED, 1.0, 1.3),
    Target("multi-get of 1,000", "get-many", COMPILED, 1.3, 2.0),
    Target(
        "bulk put, plain",
        "load",
        OWN,
        1.5,
        1.9,
        beside="happybase Batch",
        reason="Writes are bound by HBase: log, memstore and two passes of the gateway.",
    ),
    Target("bulk put, plain: client CPU", "load", OWN, 0.5, 1 / 3, Measure.CPU, "happybase Batch"),
    Target(
        "newest 30 over 16 buckets",
        "newest",
        OWN,
        20.0,
        40.0,
        beside="merge of default scans",
        reason="Sixteen scanners are opened, read and closed, each by calls of its own.",
    ),
    Target(
        "load with 1 index",
        "load-indexed",
        "1-index",
        0.65,
        0.70,
        beside="the plain load",
        reason=_INDEX_LIMIT,
    ),
    Target(
        "load with 2 indexes",
        "load-indexed",
        "2-indexes",
        0.53,
        0.58,
        beside="the plain load",
        reason=_INDEX_LIMIT,
    ),
    Target(
        "load with 3 indexes",
        "load-indexed",
        "3-indexes",
        0.49,
        0.53,
        beside="the plain load",
        reason=_INDEX_LIMIT,
    ),
    Target(
        "page of 100 by an index",
        "index-lookup",
        OWN,
        0.8,
        1.0,
        beside="a multi-get of 100",
        reason="A page is a scan of entries, then a multi-get of their rows: one call more.",
    ),
    Target(
        "stream of 1 M rows, compiled: peak memory",
        "memory",
        COMPILED,
        60.0,
        measure=Measure.PEAK,
        beside="imports",
    ),
    Target(
        "stream of 1 M rows, pure Python: peak memory",
        "memory",
        PURE,
        60.0,
        measure=Measure.PEAK,
        beside="imports",
    ),
)
"""All targets, in the order of the table."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was measured of a target.

    Attributes:
        target: The target.
        comparison: The comparison; None if it was not measured.
        value: What is compared with the bound.
        spread: The value with its extremes, where it is a ratio of speeds.
        verdict: Whether the target was reached.
    """

    target: Target
    comparison: Comparison | None = None
    value: float | None = None
    spread: Spread | None = None
    verdict: Verdict = Verdict.UNKNOWN

    @property
    def noise(self) -> str:
        """What the baseline showed beside itself; empty for memory."""
        again = None if self.comparison is None else self.comparison.variant(AGAIN)
        if self.comparison is None or again is None or self.target.measure is Measure.PEAK:
            return ""
        if self.target.measure is Measure.CPU:
            return f"{self.comparison.cpu_share(AGAIN):.2f}"
        return f"{again.speed.least:.2f}..{again.speed.most:.2f}"


def outcome(target: Target, results: Results) -> Outcome:
    """Return what was measured of a target."""
    comparison = results.comparison(target.comparison)
    variant = None if comparison is None else comparison.variant(target.variant)
    if comparison is None or variant is None:
        return Outcome(target)
    spread = None
    match target.measure:
        case Measure.SPEED:
            spread = variant.speed
        case Measure.OF_LIMIT:
            spread = variant.of_limit
        case Measure.CPU | Measure.PEAK:
            pass
    value = spread.median if spread else None
    if target.measure is Measure.CPU:
        value = comparison.cpu_share(target.variant)
    elif target.measure is Measure.PEAK:
        value = variant.peak_mb
    if value is None:
        return Outcome(target, comparison)
    return Outcome(target, comparison, value, spread, _verdict(target, value))


def _verdict(target: Target, value: float) -> Verdict:
    if not _reaches(target, value, target.bound):
        return Verdict.MISSED
    if target.stretch is not None and _reaches(target, value, target.stretch):
        return Verdict.STRETCH
    return Verdict.MET


def _reaches(target: Target, value: float, bound: float) -> bool:
    """Return whether a value is as good as a bound, both as the table shows them."""
    shown, wanted = round(value, 2), round(bound, 2)
    return shown <= wanted if target.measure.is_most else shown >= wanted
