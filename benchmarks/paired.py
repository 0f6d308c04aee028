"""Measures variants of one job side by side, such that a busy machine does not decide the result.

In each repetition every variant runs once, in shuffled order. A ratio compares two runs of the same
repetition; the median of the ratios and their extremes are reported. The second variant is the
baseline once more (A/A): what it shows beside 1.00 is noise. CPU time is that of this process, all
threads, and hardly depends on what else the machine does.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import median

_MICROS = 1_000_000


@dataclass(frozen=True, slots=True)
class Variant:
    """One way to do the job.

    Attributes:
        name: As it stands in the report.
        work: Does the job and returns how many rows (or queries) it did; this is measured.
        prepare: Runs before each measurement, unmeasured.
        waited_s: How many seconds of the last measurement were waits that do not count.
    """

    name: str
    work: Callable[[], int]
    prepare: Callable[[], None] = lambda: None
    waited_s: Callable[[], float] = lambda: 0.0


@dataclass(slots=True)
class _Samples:
    wall_s: list[float] = field(default_factory=list)
    cpu_s: list[float] = field(default_factory=list)
    count: int = 0


def compare(
    title: str, unit: str, variants: Sequence[Variant], *, repetitions: int, seed: int
) -> str:
    """Run the variants and return a table in Markdown; the first one is the baseline."""
    order = random.Random(seed)
    samples = {variant.name: _Samples() for variant in variants}
    for repetition in range(repetitions):
        for variant in order.sample(variants, len(variants)):
            print(f"{title}: {repetition + 1}/{repetitions} {variant.name}", file=sys.stderr)
            variant.prepare()
            _measure(variant, samples[variant.name])
    base = samples[variants[0].name]
    lines = [
        f"### {title}",
        "",
        f"| variant | {unit}/s | speed, paired: median (min..max) | client CPU µs/{unit} |",
        "|---|---|---|---|",
        *(_line(name, found, base) for name, found in samples.items()),
    ]
    return "\n".join(lines)


def _measure(variant: Variant, found: _Samples) -> None:
    wall, cpu = time.perf_counter(), time.process_time()
    found.count = variant.work()
    found.wall_s.append(time.perf_counter() - wall - variant.waited_s())
    found.cpu_s.append(time.process_time() - cpu)


def _line(name: str, found: _Samples, base: _Samples) -> str:
    ratios = [b / own for own, b in zip(found.wall_s, base.wall_s, strict=True)]
    rate = found.count / median(found.wall_s)
    cpu = median(found.cpu_s) / found.count * _MICROS
    spread = f"{median(ratios):.2f} ({min(ratios):.2f}..{max(ratios):.2f})"
    return f"| {name} | {rate:,.0f} | {spread} | {cpu:,.2f} |"
