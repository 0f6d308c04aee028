"""HTML for notebooks: small tables and texts that take the colours and fonts of their page.

Every text that is given is escaped. There are no colours, so that the HTML is readable on light
and on dark pages, and what is wider than the page scrolls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from html import escape
from types import MethodType
from typing import Any, Final

_LEFT: Final = "text-align:left;vertical-align:top;padding:.1em .8em .1em 0"
_SCROLLS: Final = "max-width:100%;overflow-x:auto"


def heading(name: str, text: str = "") -> str:
    """Return a name in bold, and a text after it."""
    return f"<div><b>{escape(name)}</b>{escape(f' {text}' if text else '')}</div>"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a table with a row of headings."""
    first = "".join(f'<th style="{_LEFT}">{escape(name)}</th>' for name in head)
    lines = ["".join(f'<td style="{_LEFT}">{escape(cell)}</td>' for cell in row) for row in rows]
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return (
        f'<div style="{_SCROLLS}"><table><thead><tr>{first}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def lines_as_written(text: str) -> str:
    """Return a text in a font of equal widths, with its lines and blanks as they are."""
    return f'<pre style="{_SCROLLS};white-space:pre">{escape(text)}</pre>'


class ShownOnBoth:
    """A method that a notebook calls on a class and on its objects, with a function for each."""

    def __init__(self, of_class: Callable[[Any], str], of_object: Callable[[Any], str]) -> None:
        """Store the functions."""
        self._of_class = of_class
        self._of_object = of_object

    def __get__(self, instance: object | None, owner: type) -> Callable[[], str]:
        """Return the bound method of the object, or of the class."""
        if instance is None:
            return MethodType(self._of_class, owner)
        return MethodType(self._of_object, instance)
