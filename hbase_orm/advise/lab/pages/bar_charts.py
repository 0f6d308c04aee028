"""Bar charts: the rows of each region at the end, and the rows that statements read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil, floor, log10
from typing import Final

import numpy as np

from hbase_orm.advise.lab.lab_results import TableResult
from hbase_orm.advise.lab.pages.marks import (
    WIDTH,
    drawing,
    figure,
    line,
    square,
    stroke,
    text_at,
    upright_stroke,
    upright_text,
)
from hbase_orm.advise.lab.skew import Amounts
from hbase_orm.advise.lab.statement_costs import StatementCost
from hbase_orm.advise.lab.text_report import size_text
from hbase_orm.advise.lab.verdicts import number_text, percent_text
from hbase_orm.advise.sizes import count_text

_LEFT: Final = 52
_RIGHT: Final = 10
_TOP: Final = 18
_HEIGHT: Final = 130
_MOST_BARS: Final = 64
_MOST_LABELS: Final = 8
_BAR_ROW: Final = 42
_COST_LEFT: Final = 12
_COST_RIGHT: Final = 16


def distribution(table: TableResult, title: str) -> str:
    """Return a chart of the rows of each region at the end."""
    shares, group = _grouped(table)
    width, count = WIDTH - _LEFT - _RIGHT, len(shares)
    top = _nice(max(float(shares.max()), 1e-6))
    step = width / count
    bottom = _TOP + _HEIGHT
    parts: list[str] = []
    for number, share in enumerate(shares.tolist()):
        x, height = _LEFT + number * step, share / top * _HEIGHT
        bar = max(1.0, step - (2 if step > 5 else 0.5))  # noqa: PLR2004 - a gap where there is room
        if share:
            parts.append(
                f'<rect class="bar" x="{x:.1f}" y="{bottom - height:.1f}" width="{bar:.1f}" '
                f'height="{height:.1f}"/>'
            )
        else:
            parts.append(
                f'<circle class="empty" cx="{x + bar / 2:.1f}" cy="{bottom - 4}" r="2.5"/>'
            )
    parts += _share_axis(top)
    even = group / len(table.regions)
    if count > 1:
        y = bottom - min(1.0, even / top) * _HEIGHT
        parts.append(line(_LEFT, y, _LEFT + width, y, "even"))
    parts += _number_axis(count, group, step, bottom)
    legend = [(square("bar"), _rows_text(table, group))]
    if count > 1:
        legend.append((stroke("even"), f"if all were equal: {percent_text(even)}"))
    if table.skew.empty:
        sign = '<circle class="empty" cx="7" cy="7" r="3.5"/>'
        legend.append((sign, f"never filled: {table.skew.empty}"))
    return figure(title, drawing(bottom + 38, title, parts), legend)


def _rows_text(table: TableResult, group: int) -> str:
    of = "a region" if group == 1 else f"{group} regions"
    rows, size = float(table.rows.sum()), float(table.size_bytes.sum())
    return f"rows of {of}, of {count_text(round(rows))} in all ({size_text(size)})"


def _grouped(table: TableResult) -> tuple[Amounts, int]:
    total = max(1e-12, float(table.rows.sum()))
    group = -(-len(table.rows) // _MOST_BARS)
    starts = np.arange(0, len(table.rows), group)
    return np.add.reduceat(table.rows, starts) / total, group


def _nice(share: float) -> float:
    """Return the upper end of an axis: the share, rounded up to 1, 2 or 5 of its decimal place."""
    place = 10.0 ** floor(log10(share))
    return min(1.0, next(place * step for step in (1, 2, 5, 10) if share <= place * step * 1.001))


def _share_axis(top: float) -> Iterator[str]:
    bottom = _TOP + _HEIGHT
    yield line(_LEFT, _TOP, _LEFT, bottom, "axis")
    yield line(_LEFT, bottom, WIDTH - _RIGHT, bottom, "axis")
    yield upright_text(10, _TOP + _HEIGHT / 2, "part of all rows, %")
    for tick in (0.0, 0.5, 1.0):
        y = bottom - tick * _HEIGHT
        yield line(_LEFT - 4, y, _LEFT, y, "axis")
        shown = percent_text(top * tick)
        yield text_at(_LEFT - 6, y + 4, shown, anchor="end")


def _number_axis(count: int, group: int, step: float, bottom: float) -> Iterator[str]:
    every = -(-count // _MOST_LABELS)
    for number in range(0, count, every):
        x = _LEFT + (number + 0.5) * step
        yield text_at(x, bottom + 14, str(number * group + 1), anchor="middle")
    middle = (_LEFT + WIDTH - _RIGHT) / 2
    yield text_at(middle, bottom + 30, "region, in the order of row keys", anchor="middle")


# --- statements -----------------------------------------------------------------------------------


def cost_chart(statement: str, costs: Sequence[StatementCost]) -> str:
    """Return a chart of what a statement reads in each design."""
    most = max(max(_read(cost), cost.wanted) for cost in costs)
    decades = max(1, ceil(log10(max(most, 10))))
    width = WIDTH - _COST_LEFT - _COST_RIGHT
    bottom = 6 + len(costs) * _BAR_ROW

    def place(rows: float) -> float:
        return _COST_LEFT + log10(max(rows, 1)) / decades * width

    parts: list[str] = []
    for number, cost in enumerate(costs):
        y = 6 + number * _BAR_ROW
        end = max(place(_read(cost)), _COST_LEFT + 2)
        parts.append(text_at(_COST_LEFT, y + 12, _cost_text(cost), kind="value"))
        parts.append(
            f'<rect class="bar" x="{_COST_LEFT}" y="{y + 17}" width="{end - _COST_LEFT:.1f}" '
            'height="14" rx="2"/>'
        )
        wanted = place(cost.wanted)
        parts.append(line(wanted, y + 14, wanted, y + 34, "wanted"))
    parts.append(line(_COST_LEFT, bottom, _COST_LEFT + width, bottom, "axis"))
    for decade in range(decades + 1):
        x = _COST_LEFT + decade / decades * width
        parts.append(line(x, bottom, x, bottom + 4, "axis"))
        anchor = "start" if decade == 0 else "end" if decade == decades else "middle"
        parts.append(text_at(x, bottom + 16, _short(10**decade), anchor=anchor))
    middle = _COST_LEFT + width / 2
    parts.append(text_at(middle, bottom + 32, "rows, logarithmic", anchor="middle"))
    title = f"{statement}: rows read in each design"
    legend = [
        (square("bar"), "rows and entries that regions read"),
        (upright_stroke("wanted"), "rows wanted"),
    ]
    return figure(title, drawing(bottom + 38, title, parts), legend)


def _read(cost: StatementCost) -> float:
    return cost.scanned + cost.gets


def _cost_text(cost: StatementCost) -> str:
    requests = [
        f"{number_text(number)} {noun}{'' if number == 1 else 's'}"
        for number, noun in ((cost.scanners, "scanner"), (cost.gets, "get"))
        if number
    ]
    whole = "the whole table, " if cost.is_full_scan else ""
    with_requests = f", {' and '.join(requests)}" if requests else ""
    return f"{cost.design}: {whole}{number_text(_read(cost))} rows{with_requests}"


def _short(number: int) -> str:
    for unit, size in (("T", 10**12), ("G", 10**9), ("M", 10**6), ("k", 10**3)):
        if number >= size:
            return f"{number // size} {unit}"
    return str(number)
