"""Writes `RESULTS.md` and its pictures from what a run has measured, and from nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from benchmarks.plots import Bar, bars
from benchmarks.results import (
    BASE,
    COMPILED,
    FOLDER,
    LIMIT,
    OWN,
    PURE,
    Comparison,
    Machine,
    Results,
    markdown,
    to_json,
)
from benchmarks.targets import TARGETS, Measure, Outcome, Verdict, outcome

PAGE: Final = "RESULTS.md"
PICTURES: Final = "pictures"
_TIMES: Final = "\N{MULTIPLICATION SIGN}"

_CPU_OF: Final = (
    "scan", "scan-sparse", "count", "wide-rows", "get", "get-many", "load", "newest",
)  # fmt: skip
_OWN_KEYS: Final = (COMPILED, PURE, OWN)
_LABELS: Final = {
    "scan": "dense scan",
    "scan-sparse": "sparse scan",
    "count": "count of ranges",
    "exists": "exists",
    "wide-rows": "wide row",
    "get": "single get",
    "get-many": "multi-get",
    "load": "bulk put",
    "newest": "newest 30",
}
_KINDS: Final = {BASE: "by hand", PURE: "pure Python", COMPILED: "compiled"}

_HOW_TO_READ: Final = """\
Each repetition runs every variant once, in shuffled order, and compares those of one repetition.
Shown is the median of these ratios with the [least..greatest]; above 1 is faster. **A/A** is the
baseline against itself: a difference within that range means nothing. CPU is that of the client's
process with all its threads, for a row, a query or a get; it hardly depends on what else the
machine does. The **limit** is a raw socket that sends the same requests, one after the other, and
throws the answers away. All fields of all objects are read, on both sides.

`make bench` measures again and writes this page; `make bench-check` compares a few scenarios with
it. What a row costs by the size of tables, columns, buckets and connections is in
[SCALE.md](SCALE.md), what the server itself allows a load in [LIMITS.md](LIMITS.md)."""


def write(results: Results, folder: Path = FOLDER) -> list[Path]:
    """Write the results file, the page and its pictures into a folder; return their paths."""
    outcomes = [outcome(target, results) for target in TARGETS]
    texts = {
        folder / "results.json": to_json(results),
        folder / PAGE: page(results),
        folder / PICTURES / "speeds.svg": speeds(outcomes),
        folder / PICTURES / "limits.svg": limits(results),
        folder / PICTURES / "cpu.svg": cpu(results),
    }
    (folder / PICTURES).mkdir(parents=True, exist_ok=True)
    for path, text in texts.items():
        if text:
            path.write_text(text, encoding="utf-8")
    return [path for path, text in texts.items() if text]


# --- the page -------------------------------------------------------------------------------------


def page(results: Results) -> str:
    """Return the page in Markdown."""
    outcomes = [outcome(target, results) for target in TARGETS]
    parts = [
        "# Results",
        _summary(outcomes),
        machine_text(results.machine, results.rows),
        _table(outcomes),
        *_shown_pictures(outcomes, results),
        "## How to read this",
        _HOW_TO_READ,
        *_missed(outcomes),
        "## All measurements",
        *map(details, results.comparisons),
    ]
    return "\n\n".join(parts) + "\n"


def _summary(outcomes: list[Outcome]) -> str:
    measured = [each for each in outcomes if each.verdict is not Verdict.UNKNOWN]
    met = sum(each.verdict is not Verdict.MISSED for each in measured)
    text = f"{met} of {len(measured)} targets are met."
    if left := len(outcomes) - len(measured):
        text += f" Not measured: {left}."
    return f"{text} All ratios are measured side by side with code written by hand."


def machine_text(machine: Machine, rows: int) -> str:
    """Return what was measured on what, as a list in Markdown."""
    versions = ", ".join(f"{name} {text}" for name, text in machine.versions.items())
    load = f"{machine.load_before:.1f} before, {machine.load_after:.1f} after"
    shared = "client, gateways and HBase share it (loopback, local file system)"
    return "\n".join(
        [
            f"- **Machine**: {machine.processor}, {machine.memory_gb:.0f} GB; {shared}.",
            f"- **Load average**: {load}.",
            f"- **Versions**: {versions}; commit {machine.commit}, {machine.day}.",
            f"- **Reader of rows**: {machine.reader}.",
            f"- **Size**: {rows:,} rows a load, {5 * rows:,} a scan.",
        ]
    )


def _table(outcomes: list[Outcome]) -> str:
    head = ["scenario", "beside", "measured", "A/A", "client CPU, by hand", "target", "stretch", ""]
    return markdown(head, [_row(each) for each in outcomes])


def _row(each: Outcome) -> list[str]:
    target = each.target
    bound = "≤" if target.measure.is_most else "≥"
    wanted = f"{bound} {_amount(target.measure, target.bound)}"
    stretch = "" if target.stretch is None else _amount(target.measure, target.stretch)
    return [
        target.scenario,
        target.beside,
        _value(each),
        each.noise,
        _cpu(each),
        wanted,
        stretch,
        each.verdict.value,
    ]


def _amount(measure: Measure, value: float) -> str:
    return f"{value:.0f} MB" if measure is Measure.PEAK else f"{round(value, 2):g}{_TIMES}"


def _value(each: Outcome) -> str:
    if each.value is None:
        return ""
    shown = _amount(each.target.measure, each.value)
    if each.spread is None:
        return f"**{shown}**"
    return f"**{shown}** [{each.spread.least:.2f}..{each.spread.most:.2f}]"


def _cpu(each: Outcome) -> str:
    variant = None if each.comparison is None else each.comparison.variant(each.target.variant)
    if each.comparison is None or variant is None:
        return ""
    unit = each.comparison.unit
    return f"{_micros(variant.cpu_us)}, {_micros(each.comparison.base.cpu_us)} µs a {unit}"


def _micros(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def _missed(outcomes: list[Outcome]) -> Iterator[str]:
    missed = [each for each in outcomes if each.verdict is Verdict.MISSED]
    if not missed:
        return
    yield "## What is missed, and why"
    lines = []
    for each in missed:
        assert each.value is not None
        measure = each.target.measure
        shown = _amount(measure, each.value)
        wanted = _amount(measure, each.target.bound)
        text = f"- **{each.target.scenario}**, beside {each.target.beside}: {shown}, "
        parts = [f"{text}wanted {wanted}.", *_limit_text(each), each.target.reason]
        lines.append(" ".join(part for part in parts if part))
    yield "\n".join(lines)


def _limit_text(each: Outcome) -> Iterator[str]:
    """Yield how fast the same requests are without a client's cost, if that was measured."""
    limit = None if each.comparison is None else each.comparison.variant(LIMIT)
    if limit is not None and each.target.measure is Measure.SPEED:
        speed = _amount(Measure.SPEED, limit.speed.median)
        yield f"The same requests reach {speed} if the answers are thrown away."


def details(comparison: Comparison) -> str:
    """Return the section of a comparison, in Markdown."""
    has_limit = comparison.variant(LIMIT) is not None
    has_peak = any(each.peak_mb is not None for each in comparison.variants)
    unit = comparison.unit
    head = ["variant", f"{unit}/s", "speed: median [least..greatest]", f"client CPU µs/{unit}"]
    head += ["of the limit"] * has_limit + ["peak memory above imports"] * has_peak
    rows = []
    for each in comparison.variants:
        row = [each.name, f"{each.rate:,.0f}", str(each.speed), f"{each.cpu_us:,.2f}"]
        row += [f"{each.of_limit.median:.2f}" if each.of_limit else ""] * has_limit
        row += [f"{each.peak_mb:.1f} MB" if each.peak_mb is not None else ""] * has_peak
        rows.append(row)
    title = f"### {comparison.title}"
    return f"{title}\n\n`{comparison.name}`, {comparison.repetitions} repetitions.\n\n" + markdown(
        head, rows
    )


# --- pictures -------------------------------------------------------------------------------------


def _shown_pictures(outcomes: list[Outcome], results: Results) -> Iterator[str]:
    if speeds(outcomes):
        yield f"![How many times as fast as by hand, with targets]({PICTURES}/speeds.svg)"
    if limits(results):
        yield f"![Speed as a part of the server's limit]({PICTURES}/limits.svg)"
    if cpu(results):
        yield f"![Client CPU as a part of that by hand]({PICTURES}/cpu.svg)"


def speeds(outcomes: list[Outcome]) -> str:
    """Return the picture of speeds beside the baselines; empty if none were measured."""
    groups = []
    for each in outcomes:
        if each.target.measure is Measure.SPEED and each.spread is not None:
            extremes = each.spread.least, each.spread.most
            kind = each.target.variant if each.target.variant in {COMPILED, PURE} else OWN
            median = each.spread.median
            bar = Bar(kind, median, f"{median:.2f}{_TIMES}", extremes, each.target.bound)
            groups.append((each.target.scenario, [bar]))
    legend = [
        (COMPILED, "the library"),
        (PURE, "the same in pure Python"),
        ("extremes", "extremes"),
        ("wanted", "target"),
    ]
    if not groups:
        return ""
    return bars("Speed, by hand = 1", groups, legend, even=1.0, is_log=True)


def limits(results: Results) -> str:
    """Return the picture of speeds beside the server's limit; empty if there is none."""
    groups = []
    for comparison in results.comparisons:
        if comparison.variant(LIMIT) is None:
            continue
        shown = [comparison.variant(key) for key in _KINDS]
        found = [
            Bar(each.key, each.of_limit.median, f"{each.of_limit.median:.2f}")
            for each in shown
            if each is not None and each.of_limit is not None
        ]
        if found:
            groups.append((_LABELS.get(comparison.name, comparison.name), found))
    title = "Speed, the server's limit = 1 (answers received and thrown away)"
    return bars(title, groups, list(_KINDS.items()), even=1.0) if groups else ""


def cpu(results: Results) -> str:
    """Return the picture of client CPU beside hand-written code; empty if none was measured."""
    groups = []
    for name in _CPU_OF:
        comparison = results.comparison(name)
        if comparison is None:
            continue
        base, unit = comparison.base, comparison.unit
        shares = [
            Bar(each.key, each.cpu_us / base.cpu_us, f"{_micros(each.cpu_us)} µs")
            for each in comparison.variants
            if each.key in _OWN_KEYS and base.cpu_us
        ]
        if shares:
            label = f"{_LABELS[name]}: {_micros(base.cpu_us)} µs/{unit}"
            groups.append((label, shares))
    legend = [(COMPILED, "the library"), (PURE, "the same in pure Python")]
    return bars("Client CPU, by hand = 1", groups, legend, even=1.0) if groups else ""
