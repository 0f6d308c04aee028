"""The codes of an index's own codec, as the catalog keeps them: comparison and join.

Programs may add codes while older ones run. So the catalog keeps the codes of all programs that
called `create_tables`, and two programs contradict each other only if a value has two codes, or a
code two values.

A value is known by its text, in which a member of an enum has its name. Rows store the member in
another way, usually by its value, and the name may change. So codes of enums are kept together with
the bytes that rows store, and are compared by these bytes if both sides have them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum
from typing import Any, Final

from hbase_orm.codecs.choices import Code
from hbase_orm.schema.canonical import value_text

CODES: Final = "codes"
"""The codes in hexadecimal digits, by the texts of the values."""

STORED: Final = "stored"
"""What rows store for the values, by the same texts; only if a value is a member of an enum."""

Codes = Mapping[str, Mapping[str, str]]


def codes_of(codec: Code[Any], stored: Callable[[Any], str]) -> dict[str, dict[str, str]]:
    """Return the codes of a codec, as the catalog keeps them.

    Args:
        codec: The codec.
        stored: A function that returns what rows store for a value, as a text.
    """
    codes = {CODES: {value_text(value): data.hex() for value, data in codec.pairs}}
    in_rows = {value_text(value): stored(value) for value, _ in codec.pairs}
    is_enum = any(isinstance(value, Enum) for value, _ in codec.pairs)
    is_distinct = len(set(in_rows.values())) == len(codec.pairs)
    return {**codes, STORED: in_rows} if is_enum and is_distinct else codes


def is_agreed(stored: Codes, declared: Codes) -> bool:
    """Return whether no value has two codes, and no code stands for two values."""
    old, new = _alike(stored, declared)
    joined = {**old, **new}
    keeps_values = all(joined[value] == code for value, code in old.items())
    return keeps_values and len(set(joined.values())) == len(joined)


def is_equal(stored: Codes, declared: Codes) -> bool:
    """Return whether both sides have the same values, with the same codes."""
    old, new = _alike(stored, declared)
    return old == new


def joined(stored: Codes, declared: Codes) -> dict[str, dict[str, str]]:
    """Return the codes of both sides, which must agree; known values keep their texts."""
    meanings = _meanings(declared) if _are_by_rows(stored, declared) else {}
    known, in_rows = _alike(stored, declared)[0], {**_meanings(declared), **_meanings(stored)}
    codes = dict(stored[CODES])
    for text, code in declared[CODES].items():
        meaning = meanings.get(text, text)
        if meaning in known:
            continue
        # The text may be that of an earlier member of this name, which had another value.
        name = text if text not in codes else f"{text} {meaning}"
        codes[name] = code
        in_rows |= {name: meaning} if meanings else {}
    if not codes.keys() <= in_rows.keys():
        return {CODES: codes}
    return {CODES: codes, STORED: {text: in_rows[text] for text in codes}}


def _alike(stored: Codes, declared: Codes) -> tuple[dict[str, str], dict[str, str]]:
    """Return the codes of both sides by what rows store if both have it, else by the texts."""
    if not _are_by_rows(stored, declared):
        return dict(stored[CODES]), dict(declared[CODES])
    old, new = (
        {meanings[text]: code for text, code in each[CODES].items()}
        for each, meanings in ((stored, _meanings(stored)), (declared, _meanings(declared)))
    )
    return old, new


def _are_by_rows(stored: Codes, declared: Codes) -> bool:
    return all(each[CODES].keys() == _meanings(each).keys() for each in (stored, declared))


def _meanings(codes: Codes) -> Mapping[str, str]:
    return codes.get(STORED, {})
