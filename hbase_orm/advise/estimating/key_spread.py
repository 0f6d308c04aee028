"""Row keys that are spread over the keys of a table, by the bytes that its keys consist of.

Keys of texts use few of the 256 bytes at each place. Keys spread evenly over all bytes would fall
into the gaps between digits and letters, so the rows behind them would always be those that begin a
group. So each place counts the bytes that stand there in known keys, and the end of a key.
"""

from __future__ import annotations

from collections.abc import Sequence
from string import ascii_lowercase, ascii_uppercase, digits
from typing import Final

_END: Final = -1
_PLACES: Final = 64
"""Places of a key that count; those behind them do not matter for a spread."""

_KINDS: Final = tuple(
    frozenset(each.encode()) for each in (digits, ascii_lowercase, ascii_uppercase)
)
_PRINTABLE: Final = range(0x20, 0x7F)


def between(first: bytes, last: bytes, count: int) -> list[bytes]:
    """Return the first key and others on the way to the last key, `count` or fewer."""
    width = max(len(first), len(last), 1)
    low, high = (int.from_bytes(each.ljust(width, b"\0"), "big") for each in (first, last))
    steps = (low + (high - low) * step // count for step in range(1, count))
    return sorted({first, *(step.to_bytes(width, "big") for step in steps)})


def spread_keys(known: Sequence[bytes], count: int) -> list[bytes]:
    """Return `count` keys or fewer from the least of some known keys towards the greatest.

    They are spread over the keys that consist of the bytes of the known ones.
    """
    places = _places(known)
    low, high = (_number(each, places) for each in (min(known), max(known)))
    return sorted({_key(low + (high - low) * step // count, places) for step in range(count)})


def _places(known: Sequence[bytes]) -> list[list[int]]:
    """Return the bytes of each place, in order; `_END` is the end of a key.

    If texts differ at a place, it has the digits or letters of all places.
    """
    used = {byte for key in known for byte in key}
    places = []
    for place in range(min(_PLACES, max(map(len, known)))):
        symbols = {key[place] if place < len(key) else _END for key in known}
        if len(symbols) > 1 and all(each in _PRINTABLE for each in symbols - {_END}):
            symbols |= {byte for kind in _KINDS if kind & symbols for byte in kind & used}
        places.append(sorted(symbols))
    return places


def _number(key: bytes, places: Sequence[Sequence[int]]) -> int:
    number = 0
    for place, symbols in enumerate(places):
        symbol = key[place] if place < len(key) else _END
        number = number * len(symbols) + (symbols.index(symbol) if symbol in symbols else 0)
    return number


def _key(number: int, places: Sequence[Sequence[int]]) -> bytes:
    chosen = []
    for symbols in reversed(places):
        number, symbol = divmod(number, len(symbols))
        chosen.append(symbols[symbol])
    chosen.reverse()
    return bytes(chosen[: chosen.index(_END)] if _END in chosen else chosen)
