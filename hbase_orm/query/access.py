"""How far bounds narrow a key: its leading run of known parts, in every combination of values.

A part is known if its field is compared by ==, if all that it is derived of is known, or if the
values it can have are few: then each is a path of its own, and the parts that follow are known or
not along that path. So a part that is derived of a later field (`[salt of user][user]`) and that
field stay together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from math import copysign
from types import MappingProxyType
from typing import Any, Final

from hbase_orm.errors import CodecError, UnboundedScanError
from hbase_orm.ops import MAX_ROW_KEY_BYTES, KeyRange, after_prefix, merged
from hbase_orm.query.bounds import Bounds
from hbase_orm.query.ranges import limits_of, offset_behind
from hbase_orm.rowkey import KeyLayout, Part
from hbase_orm.rowkey.computed import Calculated
from hbase_orm.rowkey.derivations import Fixed, Hashed, PeriodOf
from hbase_orm.rowkey.kinds import AnyKind
from hbase_orm.rowkey.periods import Unit

MAX_PATHS: Final = 1000
"""More combinations are not enumerated: a wider range and the client's check cost less."""

Numbers = Mapping[tuple[str, str], int]
"""From a dictionary's table and a name to its number."""

Settle = Callable[["Path", Part, int], "list[Path] | None"]

NO_NUMBERS: Final[Numbers] = MappingProxyType({})


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
        return replace(self, known={**self.known, name: value}, told=told)


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


class Search:
    """Finds the paths of one key for the bounds of one statement."""

    def __init__(
        self,
        layout: KeyLayout,
        bounds: Mapping[str, Bounds],
        numbers: Numbers = NO_NUMBERS,
        tables: Sequence[datetime] | None = None,
    ) -> None:
        """Prepare.

        Args:
            layout: The key.
            bounds: What the conditions say of each field.
            numbers: The numbers of names, as the dictionaries have them.
            tables: The periods that have a table; None if only the bounds tell which to read.
        """
        self._layout = layout
        self._bounds = bounds
        self._numbers = numbers
        self._tables = tables

    def access(self) -> KeyAccess:
        """Return how far the bounds narrow the key."""
        spread = self._layout.spread
        paths = self._roots()
        is_placed = self._layout.table_period is not None and self._tables is None
        if spread is not None:
            paths = self._each(paths, spread, self._exact) or paths
        run = told = 0
        for number, part in enumerate(self._layout.behind):
            grown = self._grown(paths, number, part)
            if grown is None:
                break
            paths = [each for path in grown for each in _behind(path, part)]
            run += 1
            told += all(part.name in path.told for path in paths)
        is_complete = run == len(self._layout.behind)
        if spread is not None:
            paths = [
                each
                for path in paths
                for each in self._spread(path, spread, is_complete=is_complete)
            ]
        limits = tuple(self._limits(path, run) for path in paths)
        has_range = all(each is not None for each in limits)
        narrows = told > 0 or has_range or is_placed
        return KeyAccess(tuple(paths), limits, run, told, is_complete, narrows, constant_of(paths))

    # --- the table, the part that spreads ---------------------------------------------------------

    def _roots(self) -> list[Path]:
        period = self._layout.table_period
        if period is None:
            return [Path()]
        by_value = self._equals(Path(), period.field, MAX_PATHS)
        if by_value is not None:
            return [replace(p, start=period.unit.start(p.known[period.field])) for p in by_value]
        starts = self._starts(period.field, period.unit, MAX_PATHS)
        if starts is None and self._tables is not None:
            starts = self._within(period.field, period.unit, self._tables)
        if starts is None:
            raise UnboundedScanError(
                "the statement does not say which tables to read",
                field=period.field,
                tables=period.pattern,
                fix=f"compare {period.field} on both sides, by at most {MAX_PATHS} periods; or say "
                ".allow_full_scan()",
            )
        return [Path(start=start) for start in starts]

    def _spread(self, path: Path, spread: Part, *, is_complete: bool) -> Iterable[Path]:
        """Return the path behind each bucket that its rows can be in."""
        derivation = spread.derivation
        assert derivation is not None
        if spread.name in path.known:
            return [replace(path, spread=path.known[spread.name])]
        if is_complete and isinstance(derivation, Hashed) and not derivation.inputs:
            return [replace(path, spread=derivation.of_bytes(path.rest))]
        computed = self._exact(path, spread, 1)
        if computed is not None:
            return [replace(path, spread=one.known[spread.name]) for one in computed]
        return [replace(path, spread=bucket) for bucket in sorted(derivation.choices() or ())]

    # --- one part more ----------------------------------------------------------------------------

    def _grown(self, paths: list[Path], number: int, part: Part) -> list[Path] | None:
        if isinstance(part.derivation, PeriodOf) and self._reads_on(number):
            return self._each(paths, part, self._exact)
        return self._each(paths, part, self._settled)

    def _each(self, paths: list[Path], part: Part, settle: Settle) -> list[Path] | None:
        """Return what `settle` makes of each path; None if it is unknown, or far too many."""
        grown: list[Path] = []
        for path in paths:
            found = settle(path, part, MAX_PATHS - len(grown))
            if found is None:
                return None
            grown += found
        return grown

    def _reads_on(self, number: int) -> bool:
        """Say whether one range over this period does as well as a range for each period."""
        if offset_behind(self._layout, self._layout.behind[number]) is not None:
            return True
        for part in self._layout.behind[number + 1 :]:
            if any(name in self._bounds for name in part.fields):
                return False
            if not _is_few(part):
                return True
        return True

    def _settled(self, path: Path, part: Part, room: int) -> list[Path] | None:
        """Return the path once for each value the part can have; None if they are not known."""
        if part.name in path.known:
            return [path]
        if part.derivation is None:
            return self._equals(path, part.name, room)
        exact = self._exact(path, part, room)
        return self._possible(path, part, room) if exact is None else exact

    def _equals(self, path: Path, name: str, room: int) -> list[Path] | None:
        if name in path.known:
            return [path]
        bounds = self._bounds.get(name)
        if bounds is None or bounds.equals is None:
            return None
        codec = self._layout.codec(name)
        unique = {codec.encode(v) if codec else v: v for v in bounds.equals}
        return [path.knowing(name, v) for v in unique.values()] if len(unique) <= room else None

    def _exact(self, path: Path, part: Part, room: int) -> list[Path] | None:
        """Return the path for each value computed of known inputs; None if one is not known."""
        derivation = part.derivation
        if part.name in path.known or derivation is None:
            return self._settled(path, part, room)
        if isinstance(derivation, Fixed):
            return [path.knowing(part.name, derivation.value, is_told=False)]
        if not derivation.inputs:
            return None
        paths = [path]
        for source in derivation.inputs:
            grown = self._each(paths, source, self._settled)
            if grown is None or len(grown) > room:
                return None
            paths = grown
        if part.lookup is not None:
            return self._numbered(paths, part)
        return [computed for each in paths for computed in _computed(each, part)]

    def _numbered(self, paths: list[Path], part: Part) -> list[Path]:
        """Return the paths whose name has a number: a row can have no other."""
        lookup = part.lookup
        assert lookup is not None
        found = []
        for path in paths:
            number = self._numbers.get((lookup.dictionary, path.known[lookup.field]))
            if number is not None:
                found.append(path.knowing(part.name, number))
        return found

    def _possible(self, path: Path, part: Part, room: int) -> list[Path] | None:
        derivation = part.derivation
        if isinstance(derivation, PeriodOf):
            starts = self._starts(derivation.inputs[0].name, derivation.unit, room)
            return None if starts is None else [path.knowing(part.name, at) for at in starts]
        if not isinstance(derivation, Calculated) or isinstance(derivation, AnyKind):
            return None if derivation is None else self._chosen([path], part, room)
        if callable(derivation.values):
            found = self._chosen(self._with_inputs(path, derivation.inputs, room), part, room)
            if found is not None:
                return found
        return self._chosen([path], part, room)

    def _with_inputs(self, path: Path, inputs: Sequence[Part], room: int) -> list[Path]:
        paths = [path]
        for source in inputs:
            grown: list[Path] = []
            for each in paths:
                found = self._settled(each, source, max(1, room - len(grown)))
                grown += [each] if found is None else found
            if len(grown) <= room:
                paths = grown
        return paths

    def _chosen(self, paths: Sequence[Path], part: Part, room: int) -> list[Path] | None:
        """Return each path once for each value that it leaves possible; None if far too many."""
        found: list[Path] = []
        for path in paths:
            inputs = [path.known.get(source.name) for source in part.inputs]
            choices = None if part.derivation is None else part.derivation.choices(*inputs)
            if choices is None:
                return None
            is_told = any(value is not None for value in inputs)
            for value in choices:
                found.append(path.knowing(part.name, value, is_told=is_told))
                if len(found) > room:
                    return None
        return found

    def _starts(self, name: str, unit: Unit, room: int) -> list[datetime] | None:
        """Return the starts of the periods within the bounds of a time; None if far too many."""
        bounds = self._bounds.get(name)
        if bounds is None or bounds.low is None or bounds.high is None:
            return None
        found = []
        for start in unit.starts(bounds.low.value, bounds.high.value):
            if start == bounds.high.value and not bounds.high.included:
                break
            found.append(start)
            if len(found) > room:
                return None
        return found

    def _within(self, name: str, unit: Unit, starts: Sequence[datetime]) -> list[datetime]:
        """Return those of the periods that hold times within the bounds."""
        bounds = self._bounds.get(name, Bounds())
        low = None if bounds.low is None else unit.start(bounds.low.value)
        return [
            start
            for start in sorted(starts)
            if (low is None or start >= low) and (bounds.high is None or start <= bounds.high.value)
        ]

    # --- the part after the run -------------------------------------------------------------------

    def _limits(self, path: Path, run: int) -> KeyRange | None:
        if run == len(self._layout.behind):
            return None
        part = self._layout.behind[run]
        return limits_of(self._layout, part, self._bounds, path.known, path.start)


def _computed(path: Path, part: Part) -> list[Path]:
    """Return the path with a derived part computed, or nothing: no row has these inputs."""
    assert part.derivation is not None
    try:
        value = part.derivation.compute(*[path.known[source.name] for source in part.inputs])
    except CodecError:
        return []
    return [path.knowing(part.name, value)]


def _behind(path: Path, part: Part) -> list[Path]:
    """Return the path one part longer, or nothing: no row has this value."""
    try:
        return [replace(path, rest=path.rest + part.encode(path.known[part.name]))]
    except CodecError:
        return []


def _is_few(part: Part) -> bool:
    """Say whether a part has but a few values, whatever the conditions are."""
    derivation = part.derivation
    if derivation is None or isinstance(derivation, AnyKind):
        return False
    is_fixed = isinstance(derivation, Fixed)
    return is_fixed or derivation.choices(*[None] * len(derivation.inputs)) is not None


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
