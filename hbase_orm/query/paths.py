"""What a search of a key finds: the combinations of values that are read, and their ranges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from math import copysign
from typing import Any

from hbase_orm.ops import MAX_ROW_KEY_BYTES, KeyRange, after_prefix, merged


@dataclass(frozen=True, slots=True)
class Path:
    """One combination of values.

    Attributes:
        known: The values of fields, and of derived parts by the part's name.
        start: The period of the table, where there is a table for each.
        spread: The bytes of the part that spreads keys, once they are known.
        rest: The bytes of the leading run behind it.
        told: What of `known` the conditions decided.
    """

    known: Mapping[str, Any] = field(default_factory=dict)
    start: datetime | None = None
    spread: bytes = b""
    rest: bytes = b""
    told: frozenset[str] = frozenset()

    def knowing(self, name: str, value: Any, *, is_told: bool = True) -> Path:
        """Return the path with one value more."""
        told = self.told | {name} if is_told else self.told
        return Path({**self.known, name: value}, self.start, self.spread, self.rest, told)

    def longer(self, data: bytes) -> Path:
        """Return the path with more bytes of the leading run."""
        return Path(self.known, self.start, self.spread, self.rest + data, self.told)

    def behind(self, spread: bytes) -> Path:
        """Return the path in one bucket."""
        return Path(self.known, self.start, spread, self.rest, self.told)


@dataclass(frozen=True, slots=True)
class KeyAccess:
    """How far bounds narrow a key.

    Attributes:
        paths: One for each combination of values.
        limits: Of the part after the run, for each path; None if nothing narrows it.
        run: How many parts, behind the one that spreads keys, are known.
        told: How many of these a condition decided.
        is_complete: Whether every part is known, so that the paths are whole keys.
        narrows: Whether less than the whole table, or than every table, is read.
        constant: The fields and parts that have one value along every path.
    """

    paths: tuple[Path, ...]
    limits: tuple[KeyRange | None, ...]
    run: int
    told: int
    is_complete: bool
    narrows: bool
    constant: frozenset[str]

    @property
    def has_range(self) -> bool:
        """Whether there is a range after the run, along every path."""
        return all(limits is not None for limits in self.limits)

    @property
    def rank(self) -> tuple[bool, int, bool]:
        """What a better plan has more of: a whole key, a longer run, a range after it."""
        return self.is_complete, self.told, self.has_range

    def within(self, start: datetime) -> KeyAccess:
        """Return what lies in the table of one period."""
        pairs = [
            (path, limits)
            for path, limits in zip(self.paths, self.limits, strict=True)
            if path.start == start
        ]
        return replace(
            self,
            paths=tuple(path for path, _ in pairs),
            limits=tuple(limits for _, limits in pairs),
        )

    def ranges_by_spread(self) -> dict[bytes, list[KeyRange]]:
        """Return the ranges of row keys, sorted and disjoint, behind each part that spreads."""
        found: dict[bytes, list[KeyRange]] = {}
        for path, limits in zip(self.paths, self.limits, strict=True):
            prefix = path.spread + path.rest
            ranges = found.setdefault(path.spread, [])
            if len(prefix) <= MAX_ROW_KEY_BYTES:  # no stored key is longer
                whole = KeyRange.prefix(prefix)
                ranges.append(whole if limits is None else _shift(limits, prefix))
        return {spread: merged(found[spread]) for spread in sorted(found)}


def _shift(limits: KeyRange, prefix: bytes) -> KeyRange:
    stop = after_prefix(prefix) if limits.stop is None else prefix + limits.stop
    return KeyRange(prefix + limits.start, stop)


def constant_of(paths: Sequence[Path]) -> frozenset[str]:
    """Return what has one and the same value along every path."""
    if not paths:
        return frozenset()
    first = paths[0].known
    return frozenset(
        name
        for name, value in first.items()
        if all(name in path.known and _is_same(path.known[name], value) for path in paths[1:])
    )


def _is_same(one: Any, other: Any) -> bool:
    if isinstance(one, float) and not one:  # the zeros are equal, and stand in two places
        return one == other and copysign(1, one) == copysign(1, other)
    return bool(one == other)
