"""Measures variants of one job side by side, such that a busy machine does not decide the result.

In each repetition every variant runs once, in shuffled order. A ratio compares two runs of the same
repetition; the median of the ratios and their extremes are reported. The second variant is the
baseline once more (A/A): what it shows beside 1.00 is noise. CPU time is that of the client's
process, all threads, and hardly depends on what else the machine does.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import median

from benchmarks.results import AGAIN, BASE, LIMIT, Comparison, Measured, Spread

_MICROS = 1_000_000


def _nothing() -> None:
    return None


def _no_time() -> float:
    return 0.0


@dataclass(frozen=True, slots=True)
class Variant:
    """One way to do the job.

    Attributes:
        key: Which one it is, for programs: one of the keys in `results`, or a name of its own.
        name: As it stands in the report.
        work: Does the job and returns how many rows (or queries) it did; this is measured.
        prepare: Runs before each measurement, unmeasured.
        waited_s: How many seconds of the last measurement do not count.
        cpu_s: The CPU time so far of the process that does the work.
        peak_mb: Peak memory of the last measurement, where a process of its own did it.
    """

    key: str
    name: str
    work: Callable[[], int]
    prepare: Callable[[], None] = _nothing
    waited_s: Callable[[], float] = _no_time
    cpu_s: Callable[[], float] = time.process_time
    peak_mb: Callable[[], float] | None = None


@dataclass(slots=True)
class Samples:
    """What one variant took in each repetition."""

    wall_s: list[float] = field(default_factory=list[float])
    cpu_s: list[float] = field(default_factory=list[float])
    peak_mb: list[float] = field(default_factory=list[float])
    count: int = 0


def pair_by_hand(
    name: str, work: Callable[[], int], prepare: Callable[[], None] = _nothing
) -> list[Variant]:
    """Return what the library is compared with, twice: a baseline and its A/A row."""
    return [
        Variant(BASE, name, work, prepare),
        Variant(AGAIN, "the same again (A/A)", work, prepare),
    ]


def compare(
    name: str, title: str, unit: str, variants: Sequence[Variant], *, repetitions: int, seed: int
) -> Comparison:
    """Run the variants and return what they took; the first one is the baseline."""
    samples = measure(title, variants, repetitions=repetitions, seed=seed)
    return summary(name, title, unit, variants, samples)


def measure(
    title: str, variants: Sequence[Variant], *, repetitions: int, seed: int
) -> dict[str, Samples]:
    """Run each variant once in each repetition, in shuffled order.

    Returns:
        What each took, by the keys of the variants.
    """
    order = random.Random(seed)
    samples = {variant.key: Samples() for variant in variants}
    assert len(samples) == len(variants), "two variants have one key"
    for repetition in range(repetitions):
        for variant in order.sample(variants, len(variants)):
            print(f"{title}: {repetition + 1}/{repetitions} {variant.name}", file=sys.stderr)
            variant.prepare()
            _measure(variant, samples[variant.key])
    return samples


def _measure(variant: Variant, taken: Samples) -> None:
    cpu = variant.cpu_s()  # which may have to start a process
    wall = time.perf_counter()
    taken.count = variant.work()
    taken.wall_s.append(time.perf_counter() - wall - variant.waited_s())
    taken.cpu_s.append(variant.cpu_s() - cpu)
    if variant.peak_mb is not None:
        taken.peak_mb.append(variant.peak_mb())


def summary(
    name: str,
    title: str,
    unit: str,
    variants: Sequence[Variant],
    samples: dict[str, Samples],
) -> Comparison:
    """Return the comparison of what variants took with the first of them, and with the limit."""
    base, limit = samples[variants[0].key], samples.get(LIMIT)
    return Comparison(
        name=name,
        title=title,
        unit=unit,
        repetitions=len(base.wall_s),
        variants=tuple(
            _measured(variant, samples[variant.key], base, limit) for variant in variants
        ),
    )


def _measured(variant: Variant, own: Samples, base: Samples, limit: Samples | None) -> Measured:
    return Measured(
        key=variant.key,
        name=variant.name,
        rate=own.count / median(own.wall_s),
        speed=spread(own, base),
        cpu_us=median(own.cpu_s) / own.count * _MICROS,
        of_limit=None if limit is None else spread(own, limit),
        peak_mb=max(own.peak_mb, default=None),
    )


def spread(own: Samples, other: Samples) -> Spread:
    """Return how many times as fast one variant was as another, repetition by repetition.

    Rates are compared, as two variants may do different numbers of units.
    """
    scale = own.count / other.count
    ratios = [scale * others / mine for mine, others in zip(own.wall_s, other.wall_s, strict=True)]
    return Spread(median(ratios), min(ratios), max(ratios))
