"""Writes `SCALE.md`, its pictures and `scale.json` from what a run has measured."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

import msgspec

from benchmarks.page import PICTURES, machine_text
from benchmarks.plots import Series, lines
from benchmarks.results import FOLDER, markdown
from benchmarks.scale import Part, Point, Scale

_HEAD: Final = """\
# Scale

What a row, a get or a query costs by the number of rows, columns, salt buckets and connections:
happybase with hand-written code, and the library, which do the same. All fields of all objects are
read. Each figure is the median of the repetitions; compare the two lines, and the shape of a line,
not single figures. CPU is that of the client. Hollow points and figures in *italics* are computed,
not measured. `make bench-scale` measures again and writes this page; the [results](RESULTS.md) have
ratios with their noise."""

_FIGURES: Final[dict[str, Callable[[Point], float]]] = {
    "time": lambda point: point.wall_us,
    "cpu": lambda point: point.cpu_us,
}
_LABELS: Final = {"time": "time", "cpu": "client CPU"}


def write(scale: Scale, folder: Path = FOLDER) -> list[Path]:
    """Write the results file, the page and its pictures into a folder; return their paths."""
    json = msgspec.json.format(msgspec.json.encode(scale), indent=0).decode()
    texts = {folder / "scale.json": json + "\n", folder / "SCALE.md": page(scale)}
    for part in scale.parts:
        for figure in _FIGURES:
            texts[folder / _path(part, figure)] = picture(part, figure)
    (folder / PICTURES).mkdir(parents=True, exist_ok=True)
    for path, text in texts.items():
        path.write_text(text, encoding="utf-8")
    return list(texts)


def _path(part: Part, figure: str) -> str:
    return f"{PICTURES}/scale-{part.name}-{figure}.svg"


def page(scale: Scale) -> str:
    """Return the page in Markdown."""
    parts = [_HEAD, machine_text(scale.machine, scale.rows)]
    for part in scale.parts:
        title, _, rest = section(part).partition("\n\n")
        images = [
            f"![{_LABELS[figure]} by {part.size}]({_path(part, figure)})" for figure in _FIGURES
        ]
        parts += [title, *images, rest]
    return "\n\n".join(parts) + "\n"


def section(part: Part) -> str:
    """Return the section of one part in Markdown, without its pictures."""
    head = [part.size]
    for curve in part.curves:
        head += [f"{curve.name}: µs/{part.unit}", "client CPU"]
    rows = []
    for number, first in enumerate(part.curves[0].points):
        row = [f"{first.size:,}"]
        for curve in part.curves:
            point = curve.points[number]
            mark = "*" if point.is_computed else ""
            row += [f"{mark}{_micros(each(point))}{mark}" for each in _FIGURES.values()]
        rows.append(row)
    texts = [f"## {part.title}", markdown(head, rows)]
    return "\n\n".join([*texts, part.note] if part.note else texts)


def _micros(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.2f}"


def picture(part: Part, figure: str) -> str:
    """Return the picture of the time, or of the client CPU, of one part."""
    value = _FIGURES[figure]
    series = [
        Series(
            curve.key,
            curve.name,
            [(each.size, value(each)) for each in curve.points if not each.is_computed],
            [(each.size, value(each)) for each in curve.points if each.is_computed],
        )
        for curve in part.curves
    ]
    label = f"µs of {_LABELS[figure]} for a {part.unit}"
    title = f"{part.title}: {_LABELS[figure]}"
    return lines(title, part.size, label, series)
