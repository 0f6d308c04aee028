"""How plans print: row keys in HBase's shell notation, and trees of lines."""

from __future__ import annotations

from collections.abc import Sequence

from hbase_orm.ops import KeyRange
from hbase_orm.rowkey.notation import to_string_binary


def range_text(key_range: KeyRange) -> str:
    """Return a range as `[start, stop)`; an open end is left empty, both are the whole table."""
    if key_range == KeyRange():
        return "the whole table"
    stop = "" if key_range.stop is None else to_string_binary(key_range.stop)
    return f"[{to_string_binary(key_range.start)}, {stop})"


def tree(head: str, lines: Sequence[str]) -> str:
    """Return `head` with `lines` hung below it."""
    drawn = [head]
    for number, line in enumerate(lines):
        branch, stem = ("└─ ", "   ") if number == len(lines) - 1 else ("├─ ", "│  ")
        first, *rest = line.split("\n")
        drawn += [branch + first, *(stem + more for more in rest)]
    return "\n".join(drawn)
