"""How plans print: row keys in HBase's shell notation, and trees of lines."""

from __future__ import annotations

from collections.abc import Sequence

from hbase_orm.ops import KeyRange

_PRINTABLE = frozenset(range(0x20, 0x7F)) - {ord("\\")}


def key_text(key: bytes) -> str:
    r"""Return a row key as HBase's shell prints it (`Bytes.toStringBinary`).

    Examples:
        >>> key_text(b"\x01web\x00")
        '\\x01web\\x00'
    """
    return "".join(chr(byte) if byte in _PRINTABLE else f"\\x{byte:02X}" for byte in key)


def range_text(key_range: KeyRange) -> str:
    """Return a range as `[start, stop)`; an open end is left empty, both are the whole table."""
    if key_range == KeyRange():
        return "the whole table"
    stop = "" if key_range.stop is None else key_text(key_range.stop)
    return f"[{key_text(key_range.start)}, {stop})"


def tree(head: str, lines: Sequence[str]) -> str:
    """Return `head` with `lines` hung below it."""
    drawn = [head]
    for number, line in enumerate(lines):
        branch, stem = ("└─ ", "   ") if number == len(lines) - 1 else ("├─ ", "│  ")
        first, *rest = line.split("\n")
        drawn += [branch + first, *(stem + more for more in rest)]
    return "\n".join(drawn)
