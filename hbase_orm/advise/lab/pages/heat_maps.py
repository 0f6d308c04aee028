"""Heat maps: for each region and each moment, its part of the table's writes or reads."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
import numpy.typing as npt

from hbase_orm.advise.lab.lab_results import TableResult
from hbase_orm.advise.lab.pages.marks import (
    WIDTH,
    drawing,
    figure,
    key_text,
    line,
    square,
    stroke,
    text_at,
)
from hbase_orm.advise.lab.region_growth import Cells
from hbase_orm.advise.lab.verdicts import duration_text

LEVELS: Final = (0.01, 0.02, 0.05, 0.10, 0.25, 0.50)
"""The upper ends of the shares that are shown alike; 0 and more than the last one are besides."""

_LEFT: Final = 88
_RIGHT: Final = 10
_TOP: Final = 20
_MOST_ROWS: Final = 48
_LEAST_HEIGHT: Final = 120
_MOST_HEIGHT: Final = 260
_ROW_HEIGHT: Final = 12
_MOST_LABELS: Final = 9
_TICKS: Final = 3

Levels = npt.NDArray[np.int64]


def heat_map(table: TableResult, amounts: Cells, title: str, noun: str) -> str:
    """Return a heat map of a table.

    Args:
        table: The table.
        amounts: The amount in a second, by cell of time and region.
        title: The title.
        noun: What is counted: "writes" or "rows read".
    """
    levels, group = _levels(table, amounts)
    cells, rows = levels.shape
    height = min(_MOST_HEIGHT, max(_LEAST_HEIGHT, rows * _ROW_HEIGHT))
    step_x, step_y = (WIDTH - _LEFT - _RIGHT) / cells, height / rows
    parts = [
        *_cells(levels, step_x, step_y),
        *_splits(table, group, step_x, step_y),
        *_region_axis(table, group, rows, height),
        *_time_axis(table, cells, height),
    ]
    label = f"{title}: {rows} rows of regions by {cells} moments"
    return figure(title, drawing(_TOP + height + 38, label, parts), _legend(table, group, noun))


def _levels(table: TableResult, amounts: Cells) -> tuple[Levels, int]:
    """Return the level of each cell, and how many regions a row of cells stands for."""
    totals = table.total(amounts)[:, None]
    shares = np.divide(amounts, totals, out=np.zeros_like(amounts), where=totals > 0)
    regions = shares.shape[1]
    group = -(-regions // _MOST_ROWS)
    starts = np.arange(0, regions, group)
    shares = np.maximum.reduceat(shares, starts, axis=1)
    levels = np.searchsorted(LEVELS, shares, side="left") + 1
    return np.where(shares > 0, levels, 0), group


def _cells(levels: Levels, step_x: float, step_y: float) -> Iterator[str]:
    """Yield one path for each level: cells side by side with one level are one rectangle."""
    cells, rows = levels.shape
    paths: dict[int, list[str]] = {}
    for row in range(rows):
        column = levels[:, row]
        ends = [*(np.flatnonzero(np.diff(column)) + 1).tolist(), cells]
        start = 0
        for end in ends:
            x, y = _LEFT + start * step_x, _TOP + row * step_y
            width = (end - start) * step_x
            paths.setdefault(int(column[start]), []).append(
                f"M{x:.1f} {y:.1f}h{width:.1f}v{step_y:.2f}h{-width:.1f}z"
            )
            start = end
    for level, path in sorted(paths.items()):
        yield f'<path class="l{level}" d="{"".join(path)}"/>'


def _splits(table: TableResult, group: int, step_x: float, step_y: float) -> Iterator[str]:
    """Yield a line for each split: from its moment on, two regions are there."""
    starts = [region.start for region in table.regions]
    right = WIDTH - _RIGHT
    for each in table.splits:
        x = _LEFT + each.at_s / table.cell_s * step_x
        y = _TOP + starts.index(each.key) / group * step_y
        yield line(min(x, right - 3), y, right, y, "split")


def _region_axis(table: TableResult, group: int, rows: int, height: float) -> Iterator[str]:
    yield line(_LEFT, _TOP, _LEFT, _TOP + height, "axis")
    yield text_at(0, 12, "region: its first row key")
    step = -(-rows // _MOST_LABELS)
    for row in range(0, rows, step):
        y = _TOP + (row + 0.5) * height / rows + 4
        start = table.regions[row * group].start
        shown = f"{row * group + 1}: {key_text(start) if start else 'start'}"
        yield text_at(_LEFT - 5, y, shown, anchor="end")


def _time_axis(table: TableResult, cells: int, height: float) -> Iterator[str]:
    bottom, width = _TOP + height, WIDTH - _LEFT - _RIGHT
    yield line(_LEFT, bottom, _LEFT + width, bottom, "axis")
    seconds = cells * table.cell_s
    for tick in range(_TICKS + 1):
        x = _LEFT + width * tick / _TICKS
        yield line(x, bottom, x, bottom + 4, "axis")
        anchor = "end" if tick == _TICKS else "start" if tick == 0 else "middle"
        shown = duration_text(seconds * tick / _TICKS) if tick else "0 s"
        yield text_at(x, bottom + 16, shown, anchor=anchor)
    yield text_at(_LEFT + width / 2, bottom + 32, "time since the start", anchor="middle")


def _legend(table: TableResult, group: int, noun: str) -> list[tuple[str, str]]:
    ends = [f"{end:.0%}" for end in LEVELS]
    texts = [f"no {noun}", *(f"to {end}" for end in ends), f"above {ends[-1]}"]
    signs = [(square(f"l{level}"), text) for level, text in enumerate(texts)]
    if table.splits:
        signs.append((stroke("split"), "a split, from its time on"))
    if group > 1:
        signs.append(("", f"each row is the busiest of {group} regions"))
    return signs
