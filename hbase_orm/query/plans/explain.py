"""The text of plans: row keys in the HBase shell's notation, short lists, and trees of lines."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from hbase_orm.ops import KeyRange
from hbase_orm.rowkey.notation import to_string_binary

T = TypeVar("T")

_SHOWN: Final = 4
_SHOWN_FILTER_BYTES: Final = 500
_SHOWN_KEY_BYTES: Final = 200


def range_text(key_range: KeyRange) -> str:
    """Return a range as `[start, stop)`.

    An open end is an empty text; a range with two open ends is "the whole table".
    """
    if key_range == KeyRange():
        return "the whole table"
    stop = "" if key_range.stop is None else key_in_short(key_range.stop)
    return f"[{key_in_short(key_range.start)}, {stop})"


def key_in_short(key: bytes) -> str:
    """Return a row key in HBase's notation, cut if it is long."""
    text = to_string_binary(key[:_SHOWN_KEY_BYTES])
    return text if len(key) <= _SHOWN_KEY_BYTES else f"{text}… {len(key)} bytes in all"


def tree(head: str, lines: Sequence[str]) -> str:
    """Return `head` with `lines` as a tree below it."""
    shown = [head]
    for number, line in enumerate(lines):
        branch, stem = ("└─ ", "   ") if number == len(lines) - 1 else ("├─ ", "│  ")
        first, *rest = line.split("\n")
        shown += [branch + first, *(stem + more for more in rest)]
    return "\n".join(shown)


def first_lines(things: Sequence[T], text_of: Callable[[T], str], what: str) -> list[str]:
    """Return the texts of the first few `things`, and a line that counts the rest."""
    more = [f"… {len(things) - _SHOWN} more {what}"] if len(things) > _SHOWN else []
    return [text_of(each) for each in things[:_SHOWN]] + more


def filter_line(text: bytes | None) -> list[str]:
    """Return the line that shows a filter, cut if it is long; an empty list without a filter."""
    if text is None:
        return []
    cut = "…" if len(text) > _SHOWN_FILTER_BYTES else ""
    return [f"filter: {to_string_binary(text[:_SHOWN_FILTER_BYTES])}{cut}"]


def plural(things: Sequence[object]) -> str:
    """Return the ending of a noun that counts `things`: "" for one thing, "s" for other numbers."""
    return "" if len(things) == 1 else "s"
