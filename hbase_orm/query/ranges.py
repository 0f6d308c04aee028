"""From bounds to ranges of keys: a leading run of known parts, then at most one range of values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

from hbase_orm.errors import CodecError
from hbase_orm.ops import MAX_ROW_KEY_BYTES, KeyRange, after_prefix
from hbase_orm.query.bounds import Bounds, End
from hbase_orm.rowkey import FieldPart, SaltPart

# More ranges than this are not enumerated: one wider range and the client's check cost less.
MAX_RANGES = 1000

_NO_KEY = KeyRange(stop=b"")


@dataclass(frozen=True, slots=True)
class KeyAccess:
    """How far bounds narrow a key.

    Attributes:
        prefixes: The bytes of the leading run of known parts, one for each combination.
        run: How many leading parts are known exactly.
        single_run: How many leading parts have exactly one value: they do not affect the order.
        within: The range of the next part after each prefix, or None if nothing narrows it.
        is_complete: Whether every part is known, so that the prefixes are whole keys.
        combinations: The values behind each prefix, in order of the parts.
    """

    prefixes: tuple[bytes, ...]
    run: int
    single_run: int
    within: KeyRange | None
    is_complete: bool
    combinations: tuple[tuple[Any, ...], ...]

    @property
    def narrows(self) -> bool:
        """Whether less than the whole table is read."""
        return self.run > 0 or self.within is not None

    @property
    def rank(self) -> tuple[bool, int, bool]:
        """What a better plan has more of: a whole key, a longer run, a range after it."""
        return self.is_complete, self.run, self.within is not None

    def ranges(self, salt: bytes = b"", prefixes: Sequence[bytes] | None = None) -> list[KeyRange]:
        """Return the ranges of row keys behind a salt, sorted, disjoint."""
        found = []
        for prefix in sorted(self.prefixes if prefixes is None else prefixes):
            if len(salt + prefix) <= MAX_ROW_KEY_BYTES:  # no stored key is longer
                whole = KeyRange.prefix(salt + prefix)
                found.append(whole if self.within is None else _shift(self.within, salt + prefix))
        return [key_range for key_range in found if not key_range.is_empty]


def _shift(within: KeyRange, prefix: bytes) -> KeyRange:
    stop = after_prefix(prefix) if within.stop is None else prefix + within.stop
    return KeyRange(prefix + within.start, stop)


def access_by(parts: Sequence[FieldPart], bounds: Mapping[str, Bounds]) -> KeyAccess:
    """Return how the bounds narrow a key of these parts."""
    combinations: list[tuple[Any, ...]] = [()]
    single_run = run = 0
    for part in parts:
        values = _equal_values(part, bounds)
        if values is None or len(combinations) * len(values) > MAX_RANGES:
            break
        combinations = [(*known, value) for known, value in product(combinations, values)]
        single_run += single_run == run and len(values) == 1
        run += 1
    prefixes = [
        b"".join(part.encode(value) for part, value in zip(parts, values, strict=False))
        for values in combinations
    ]
    following = parts[run] if run < len(parts) else None
    return KeyAccess(
        prefixes=tuple(prefixes),
        run=run,
        single_run=single_run,
        within=None if following is None else _range_within(following, bounds),
        is_complete=run == len(parts),
        combinations=tuple(combinations),
    )


def _equal_values(part: FieldPart, bounds: Mapping[str, Bounds]) -> list[Any] | None:
    known = bounds.get(part.name)
    if known is None or known.equals is None:
        return None
    unique = {part.encode(value): value for value in known.equals}
    return list(unique.values())


def _range_within(part: FieldPart, bounds: Mapping[str, Bounds]) -> KeyRange | None:
    known = bounds.get(part.name)
    if known is None or not known.has_range or known.equals is not None:
        return None
    narrowed = KeyRange()
    if known.prefix is not None:
        narrowed = narrowed.intersect(_text_prefix(part, known.prefix))
    if part.is_ordered:
        low, high = (known.low, known.high)
        if part.is_descending:
            low, high = high, low
        narrowed = narrowed.intersect(KeyRange(_start(part, low), _stop(part, high)))
    return None if narrowed == KeyRange() else narrowed


def _text_prefix(part: FieldPart, prefix: Any) -> KeyRange:
    try:
        data = part.leading(prefix)
    except CodecError:
        return _NO_KEY  # a lone surrogate: no value has it
    return KeyRange(data, after_prefix(data))


def _start(part: FieldPart, end: End | None) -> bytes:
    if end is None:
        return b""
    data = part.encode(end.value)
    return data if end.included else _just_after(part, data) or b"\xff" * (len(data) + 1)


def _stop(part: FieldPart, end: End | None) -> bytes | None:
    if end is None:
        return None
    data = part.encode(end.value)
    return _just_after(part, data) if end.included else data


def _just_after(part: FieldPart, data: bytes) -> bytes | None:
    # Keys that hold this value start with `data` if the part shows its end; else they are `data`.
    return after_prefix(data) if part.is_delimited else data + b"\x00"


def salt_buckets(
    salt: SaltPart, parts: Sequence[FieldPart], access: KeyAccess, bounds: Mapping[str, Bounds]
) -> list[tuple[bytes, list[bytes]]]:
    """Return the salts to read, each with the prefixes to read behind it.

    A salt is known where everything it is computed of is; otherwise every bucket is read.
    """
    sources = salt.of if salt.of is not None else tuple(part.name for part in parts)
    by_name = {part.name: part for part in parts}
    position = {part.name: number for number, part in enumerate(parts)}
    if all(position[name] < access.run for name in sources):
        found: dict[bytes, list[bytes]] = {}
        for values, prefix in zip(access.combinations, access.prefixes, strict=True):
            if salt.of is None:
                hashed = prefix
            else:
                hashed = b"".join(by_name[n].bare(values[position[n]]) for n in sources)
            found.setdefault(salt.bucket(hashed), []).append(prefix)
        return sorted(found.items())
    salts = _possible_salts(salt, [by_name[name] for name in sources], bounds)
    return [(bucket, list(access.prefixes)) for bucket in salts]


def _possible_salts(
    salt: SaltPart, sources: Sequence[FieldPart], bounds: Mapping[str, Bounds]
) -> Sequence[bytes]:
    if salt.of is None:
        return salt.prefixes
    choices = [_equal_values(part, bounds) for part in sources]
    if prod(MAX_RANGES + 1 if c is None else len(c) for c in choices) > MAX_RANGES:
        return salt.prefixes
    hashed = product(
        *(
            [part.bare(value) for value in values or ()]
            for part, values in zip(sources, choices, strict=True)
        )
    )
    return sorted({salt.bucket(b"".join(pieces)) for pieces in hashed})
