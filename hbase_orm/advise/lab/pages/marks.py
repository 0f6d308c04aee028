"""The elements of plots: escaped text, axes, and the frame of an SVG drawing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Final

from hbase_orm.rowkey.notation import to_string_binary

WIDTH: Final = 440
"""The width of a drawing in its own units; on a phone about one unit is a pixel."""

_MOST_CHARACTERS: Final = 11


def drawing(height: float, label: str, parts: Iterable[str]) -> str:
    """Return an SVG drawing of the usual width.

    Args:
        height: The height.
        label: What the drawing shows, for readers of the page who do not see it.
        parts: The elements.
    """
    return (
        f'<svg viewBox="0 0 {WIDTH} {height:.0f}" role="img" aria-label="{escape(label)}">'
        f"{''.join(parts)}</svg>"
    )


def text_at(x: float, y: float, text: str, *, anchor: str = "start", kind: str = "") -> str:
    """Return a text; `anchor` is "start", "middle" or "end"."""
    css = f' class="{kind}"' if kind else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{css}>{escape(text)}</text>'


def upright_text(x: float, y: float, text: str) -> str:
    """Return a text that is read from below to above, with its middle at a point."""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="middle" '
        f'transform="rotate(-90 {x:.1f} {y:.1f})">{escape(text)}</text>'
    )


def line(x1: float, y1: float, x2: float, y2: float, kind: str) -> str:
    """Return a straight line of one of the style sheet's kinds."""
    return f'<path class="{kind}" d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}"/>'


def figure(title: str, body: str, legend: Sequence[tuple[str, str]] = ()) -> str:
    """Return a figure with its title, its drawing and its legend.

    Args:
        title: The title, with the unit of what is shown.
        body: The drawing.
        legend: For each sign, an SVG element in a square of 14 units, and what it means.
    """
    signs = "".join(
        f'<span><svg viewBox="0 0 14 14" aria-hidden="true">{sign}</svg>{escape(meaning)}</span>'
        for sign, meaning in legend
    )
    shown = f'<div class="legend">{signs}</div>' if signs else ""
    return f"<figure><figcaption>{escape(title)}</figcaption>{body}{shown}</figure>"


def square(kind: str) -> str:
    """Return a filled square for a legend."""
    return f'<rect class="{kind}" x="1" y="1" width="12" height="12" rx="2"/>'


def stroke(kind: str) -> str:
    """Return a line for a legend."""
    return f'<path class="{kind}" d="M0 7L14 7"/>'


def upright_stroke(kind: str) -> str:
    """Return an upright line for a legend."""
    return f'<path class="{kind}" d="M7 1L7 13"/>'


def key_text(key: bytes) -> str:
    """Return the beginning of a row key as HBase prints it."""
    text = to_string_binary(key)
    if len(text) <= _MOST_CHARACTERS:
        return text
    return f"{text[: _MOST_CHARACTERS - 1]}…"
