"""Results of benchmarks that nobody has measured, for the tests of what is made of them."""

from __future__ import annotations

from benchmarks.results import (
    AGAIN,
    BASE,
    COMPILED,
    LIMIT,
    OWN,
    PURE,
    Comparison,
    Machine,
    Measured,
    Results,
    Spread,
)

MACHINE = Machine(
    day="2031-02-03",
    processor="A processor, 2 cores",
    memory_gb=16.0,
    versions={"Python": "3.11.7", "HBase": "2.6.1, embedded"},
    commit="0123456789",
    reader="compiled, and Python",
    load_before=0.25,
    load_after=1.5,
)


def variant(
    key: str,
    speed: float,
    cpu_us: float,
    *,
    extremes: tuple[float, float] | None = None,
    of_limit: float | None = None,
    peak_mb: float | None = None,
) -> Measured:
    """Return a variant; without extremes all of its repetitions were equal."""
    least, most = extremes or (speed, speed)
    return Measured(
        key=key,
        name=f"variant {key}",
        rate=10_000 * speed,
        speed=Spread(speed, least, most),
        cpu_us=cpu_us,
        of_limit=None if of_limit is None else Spread(of_limit, of_limit, of_limit),
        peak_mb=peak_mb,
    )


def comparison(name: str, *variants: Measured, unit: str = "row") -> Comparison:
    """Return a comparison with a baseline of 20 µs of CPU, and an A/A row from 0.97 to 1.05."""
    pair = (
        variant(BASE, 1.0, 20.0, of_limit=0.25),
        variant(AGAIN, 1.01, 20.4, extremes=(0.97, 1.05)),
    )
    return Comparison(name, f"Title of {name}", unit, 7, (*pair, *variants))


RESULTS = Results(
    machine=MACHINE,
    rows=20_000,
    comparisons=(
        comparison(
            "scan",
            variant(COMPILED, 3.7, 2.0, extremes=(3.5, 4.0), of_limit=0.92),
            variant(PURE, 1.4, 11.0, of_limit=0.35),
            variant(LIMIT, 4.0, 0.4, of_limit=1.0),
        ),
        comparison("load", variant(OWN, 1.9, 6.0)),
        comparison("memory", variant(COMPILED, 3.0, 2.0, peak_mb=12.5)),
    ),
)
"""A scan that reaches some targets and misses one, a load, and memory; nothing else."""
