"""Plots as SVG files of their own, for light and dark pages: grouped bars, and lines.

Colours and marks are those of the lab's pages.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Final

from hbase_orm.advise.lab.pages.marks import line, text_at, upright_text
from hbase_orm.advise.lab.pages.style import STYLE

_WIDTH: Final = 680
_LEFT: Final = 190
_RIGHT: Final = 150
_TOP: Final = 58
_BAR: Final = 13
_GAP: Final = 10
_BOTTOM: Final = 34
_WIDEST_KEY: Final = 7.0
"""How wide a letter of the legend is, about."""

_RULES: Final = """
text { font: 12px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; fill: var(--soft); }
text.value, text.title { fill: var(--ink); } text.title { font-weight: 600; font-size: 14px; }
.card { fill: var(--card); stroke: var(--line); }
.axis { stroke: var(--line); fill: none; } .even { stroke: var(--soft); fill: none; }
.extremes { stroke: var(--ink); fill: none; stroke-width: 1.2; }
.wanted { stroke: var(--good); stroke-width: 3; fill: none; }
.hand { fill: var(--soft); } .pure { fill: var(--mark); } .compiled { fill: var(--bar); }
.orm { fill: var(--bar); }
.path { fill: none; stroke-width: 2; } .computed { stroke-dasharray: 4 4; }
.path.hand { stroke: var(--soft); } .path.pure { stroke: var(--mark); }
.path.compiled, .path.orm { stroke: var(--bar); }
.hollow { fill: var(--card); stroke-width: 2; } .hollow.hand { stroke: var(--soft); }
.hollow.pure { stroke: var(--mark); } .hollow.compiled, .hollow.orm { stroke: var(--bar); }
""".strip()


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar.

    Attributes:
        kind: Its colour: "hand", "pure", "compiled" or "orm".
        value: How long it is.
        text: What stands behind it.
        extremes: The least and the greatest value of all repetitions.
        wanted: The value that is wanted.
    """

    kind: str
    value: float
    text: str
    extremes: tuple[float, float] | None = None
    wanted: float | None = None


@dataclass(frozen=True, slots=True)
class Scale:
    """Where values are between two places.

    Attributes:
        low: The value at the first place.
        high: The value at the last place.
        start: The first place.
        end: The last place.
        is_log: Whether equal distances are equal ratios.
    """

    low: float
    high: float
    start: float
    end: float
    is_log: bool = False

    def at(self, value: float) -> float:
        """Return the place of a value; one outside is at the nearer end."""
        value = min(max(value, self.low), self.high)
        if self.is_log:
            part = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            part = (value - self.low) / (self.high - self.low)
        return self.start + part * (self.end - self.start)

    def ticks(self) -> Iterator[float]:
        """Yield round values within the scale."""
        if not self.is_log:
            step = _round_step((self.high - self.low) / 7)
            for number in range(math.ceil(self.low / step), math.floor(self.high / step) + 1):
                yield number * step
            return
        decades = math.log10(self.high / self.low)
        for exponent in range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))):
            for digit in (1, 2, 5) if decades < 4 else (1,):
                if self.low <= digit * 10.0**exponent <= self.high:
                    yield digit * 10.0**exponent
        if math.log10(self.high).is_integer():
            yield self.high


def _round_step(about: float) -> float:
    power: float = 10.0 ** math.floor(math.log10(about))
    return next(power * digit for digit in (1, 2, 5, 10) if power * digit >= about)


def bars(
    title: str,
    groups: Sequence[tuple[str, Sequence[Bar]]],
    legend: Sequence[tuple[str, str]],
    *,
    even: float,
    is_log: bool = False,
) -> str:
    """Return a picture of bars.

    Args:
        title: What is shown, with its unit.
        groups: Labels, each with its bars.
        legend: Kinds of bars, each with its meaning.
        even: The value of which a line is drawn; bars of a logarithmic scale begin there.
        is_log: Whether equal distances are equal ratios.
    """
    values = [value for _, group in groups for bar in group for value in _values(bar)]
    high = max([even, *values]) * 1.05
    low = min([even, *values]) / 1.2 if is_log else 0.0
    scale = Scale(low, high, _LEFT, _WIDTH - _RIGHT, is_log)
    parts, y = [text_at(12, 22, title, kind="title"), *_legend(legend)], float(_TOP)
    drawn = []
    for label, group in groups:
        height = _BAR * len(group)
        drawn.append(text_at(_LEFT - 8, y + height / 2 + 4, label, anchor="end", kind="value"))
        for bar in group:
            drawn += _bar(bar, y, scale, even if is_log else low)
            y += _BAR
        y += _GAP
    for tick in scale.ticks():
        parts.append(line(scale.at(tick), _TOP - 6, scale.at(tick), y, "axis"))
        parts.append(text_at(scale.at(tick), y + 15, _short(tick), anchor="middle"))
    parts += drawn
    parts.append(line(scale.at(even), _TOP - 6, scale.at(even), y, "even"))
    return _picture(title, _WIDTH, y + _BOTTOM, parts)


def _values(bar: Bar) -> Iterator[float]:
    yield bar.value
    yield from bar.extremes or ()
    if bar.wanted is not None:
        yield bar.wanted


def _bar(bar: Bar, y: float, scale: Scale, base: float) -> Iterator[str]:
    start, end = sorted((scale.at(base), scale.at(bar.value)))
    yield (
        f'<rect class="{bar.kind}" x="{start:.1f}" y="{y:.1f}" width="{max(end - start, 1):.1f}" '
        f'height="{_BAR - 2}" rx="2"/>'
    )
    last = max(end, scale.at(base))
    if bar.extremes is not None:
        middle = y + _BAR / 2 - 1
        least, most = map(scale.at, bar.extremes)
        yield line(least, middle, most, middle, "extremes")
        last = max(last, most)
    if bar.wanted is not None:
        at = scale.at(bar.wanted)
        yield line(at, y - 2, at, y + _BAR, "wanted")
        last = max(last, at)
    yield text_at(last + 6, y + _BAR - 3, bar.text, kind="value")


@dataclass(frozen=True, slots=True)
class Series:
    """Points that belong together, connected by a line.

    Attributes:
        kind: Its colour.
        name: What it is.
        points: Pairs of x and y that were measured.
        computed: Pairs that were computed, to the right of these.
    """

    kind: str
    name: str
    points: Sequence[tuple[float, float]]
    computed: Sequence[tuple[float, float]] = ()


def lines(title: str, x_label: str, y_label: str, series: Sequence[Series]) -> str:
    """Return a picture of lines; both scales are logarithmic, computed points are hollow."""
    every = [point for each in series for point in (*each.points, *each.computed)]
    height, left, right = 330, 78, _WIDTH - 36
    across = Scale(min(x for x, _ in every), max(x for x, _ in every), left, right, is_log=True)
    low, high = min(y for _, y in every) / 1.3, max(y for _, y in every) * 1.3
    upward = Scale(low, high, height - 48, _TOP, is_log=True)
    parts = [text_at(12, 22, title, kind="title")]
    parts += _legend([(each.kind, each.name) for each in series])
    for tick in upward.ticks():
        parts.append(line(left, upward.at(tick), right, upward.at(tick), "axis"))
        parts.append(text_at(left - 6, upward.at(tick) + 4, _short(tick), anchor="end"))
    for x in sorted({x for x, _ in every}):
        parts.append(line(across.at(x), height - 48, across.at(x), height - 43, "even"))
        parts.append(text_at(across.at(x), height - 29, _short(x), anchor="middle"))
    parts.append(text_at((left + right) / 2, height - 10, x_label, anchor="middle"))
    parts.append(upright_text(20, (height - 48 + _TOP) / 2, y_label))
    for each in series:
        parts += _path(each, across, upward)
    return _picture(title, _WIDTH, height, parts)


def _path(series: Series, across: Scale, upward: Scale) -> Iterator[str]:
    measured = [(across.at(x), upward.at(y)) for x, y in series.points]
    computed = [(across.at(x), upward.at(y)) for x, y in series.computed]
    yield f'<path class="path {series.kind}" d="{_moves(measured)}"/>'
    if computed:
        moves = _moves([measured[-1], *computed])
        yield f'<path class="path computed {series.kind}" d="{moves}"/>'
    for x, y in measured:
        yield f'<circle class="{series.kind}" cx="{x:.1f}" cy="{y:.1f}" r="4"/>'
    for x, y in computed:
        yield f'<circle class="hollow {series.kind}" cx="{x:.1f}" cy="{y:.1f}" r="4"/>'


def _moves(points: Sequence[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)


def _legend(legend: Sequence[tuple[str, str]]) -> Iterator[str]:
    x = 12.0
    for kind, name in legend:
        if kind == "wanted":
            yield line(x + 5, 33, x + 5, 45, kind)
        elif kind == "extremes":
            yield line(x, 39, x + 11, 39, kind)
        else:
            yield f'<rect class="{kind}" x="{x:.1f}" y="33" width="11" height="11" rx="2"/>'
        yield text_at(x + 16, 43, name)
        x += 30 + _WIDEST_KEY * len(name)


def _short(value: float) -> str:
    """Return a number as axes show it."""
    for size, letter in ((1_000_000, " M"), (1_000, " k")):
        if value >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"


def _picture(title: str, width: float, height: float, parts: Sequence[str]) -> str:
    colours = STYLE[: STYLE.index("@media print")].replace(":root", "svg")
    inside = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" aria-label="{escape(title)}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}">\n<style>{colours}{_RULES}</style>\n'
        f'<rect class="card" x="0.5" y="0.5" width="{width - 1:.0f}" height="{height - 1:.0f}" '
        f'rx="6"/>\n{inside}\n</svg>\n'
    )
