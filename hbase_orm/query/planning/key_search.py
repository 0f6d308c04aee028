"""The search for the leading run: the known parts at the beginning of a key, with their values.

A part is known in three cases:

- Its field is compared by == or in_().
- It is derived from known values.
- It can have only few values.

A path is one combination of known values. The parts of a key are computed for each path. So a part
that is derived from a later field (`[salt of user][user]`) always fits the field's value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from types import MappingProxyType
from typing import Final

from hbase_orm.errors import CodecError, UnboundedScanError
from hbase_orm.ops import KeyRange
from hbase_orm.query.conditions.bounds import Bounds
from hbase_orm.query.planning.key_ranges import (
    MAX_PATHS,
    MAX_RANGES,
    KeyAccess,
    Path,
    constant_of,
    limits_of,
    offset_behind,
    spanned,
)
from hbase_orm.rowkey import KeyLayout, Part
from hbase_orm.rowkey.computed import Calculated
from hbase_orm.rowkey.derivations import Fixed, Hashed, PeriodOf
from hbase_orm.rowkey.periods import Unit
from hbase_orm.rowkey.record_types import AnyRecordType

Numbers = Mapping[tuple[str, str], int]
"""The numbers of names in dictionaries, by the dictionary's table and the name."""

Extend = Callable[[Path, Part, int], list[Path] | None]

NO_NUMBERS: Final[Numbers] = MappingProxyType({})


class Search:
    """Finds the paths of one key: the combinations of known values that the bounds allow."""

    def __init__(
        self,
        layout: KeyLayout,
        bounds: Mapping[str, Bounds],
        numbers: Numbers = NO_NUMBERS,
        tables: Sequence[datetime] | None = None,
    ) -> None:
        """Prepare the search.

        Args:
            layout: The layout of the key.
            bounds: The bounds of each field.
            numbers: The numbers of names that were looked up in dictionaries.
            tables: The starts of the periods that have a table. None if only the bounds decide
                which tables to read.
        """
        self._layout = layout
        self._bounds = bounds
        self._spans = {name: spanned(of) for name, of in bounds.items()}
        self._of_fields: dict[str, KeyRange | None] = {}
        self._numbers = numbers
        self._tables = tables
        self._room = MAX_PATHS

    def access(self) -> KeyAccess:
        """Return the paths of the key within the bounds, each with the range of the next part."""
        paths, run, decided_count = self._leading_run()
        spread = self._layout.spread
        if spread is not None:
            in_buckets = self._in_buckets(paths, spread, run, MAX_RANGES)
            if in_buckets is None:  # search again, for fewer paths that fit in all buckets
                derivation = spread.derivation
                assert derivation is not None
                buckets_count = len(tuple(derivation.choices() or (b"",)))
                self._room = max(len(self._roots()), MAX_RANGES // buckets_count)
                paths, run, decided_count = self._leading_run()
                in_buckets = self._in_buckets(paths, spread, run, None)
            paths = in_buckets or []
        limits = tuple(self._limits(path, run) for path in paths)
        has_range = all(each is not None for each in limits)
        is_placed = self._layout.table_period is not None and self._tables is None
        narrows = decided_count > 0 or has_range or is_placed
        is_complete = run == len(self._layout.behind)
        return KeyAccess(
            tuple(paths), limits, run, decided_count, is_complete, narrows, constant_of(paths)
        )

    def _leading_run(self) -> tuple[list[Path], int, int]:
        paths = self._roots()
        spread = self._layout.spread
        if spread is not None:
            paths = self._each(paths, spread, self._with_exact) or paths
        return self._follow(paths)

    def _in_buckets(
        self, paths: Sequence[Path], spread: Part, run: int, most: int | None
    ) -> list[Path] | None:
        """Return each path once for every bucket in which its rows can be.

        The result is None if there would be more than `most` paths.
        """
        is_complete = run == len(self._layout.behind)
        in_buckets: list[Path] = []
        for path in paths:
            in_buckets += self._with_buckets(path, spread, is_complete=is_complete)
            if most is not None and len(in_buckets) > most:
                return None
        return in_buckets

    def _follow(self, paths: list[Path]) -> tuple[list[Path], int, int]:
        """Return the paths of the leading run, its length, and the number of parts from conditions.

        The values of some parts only split one range of rows into several. Such parts are left out
        at the end of the run. They stay if bounds narrow the next part, or if the key is complete.
        """
        run = decided_count = 0
        shorter: list[tuple[list[Path], int, int]] = []
        for number, part in enumerate(self._layout.behind):
            grown = self._grow(paths, number, part)
            if grown is None:
                break
            if _only_splits(part, paths, grown):
                shorter.append((paths, run, decided_count))
            else:
                shorter.clear()
            paths = [each for path in grown for each in _with_bytes(path, part)]
            run += 1
            decided_count += all(part.name in path.decided for path in paths)
        if not shorter or run == len(self._layout.behind):
            return paths, run, decided_count
        is_open = all(self._limits(path, run) is None for path in paths)
        return shorter[0] if is_open else (paths, run, decided_count)

    # --- the table, the part that spreads ---------------------------------------------------------

    def _roots(self) -> list[Path]:
        period = self._layout.table_period
        if period is None:
            return [Path()]
        by_value = self._with_equals(Path(), period.field, MAX_PATHS)
        if by_value is not None:
            return [replace(p, start=period.unit.start(p.known[period.field])) for p in by_value]
        starts = self._starts(period.field, period.unit, MAX_PATHS)
        if starts is None and self._tables is not None:
            starts = self._within(period.field, period.unit, self._tables)
        if starts is None:
            raise UnboundedScanError(
                "the statement does not limit which tables to read",
                field=period.field,
                tables=period.pattern,
                fix=f"give {period.field} a lower and an upper bound, at most {MAX_PATHS} "
                "periods apart; or add .allow_full_scan()",
            )
        return [Path(start=start) for start in starts]

    def _with_buckets(self, path: Path, spread: Part, *, is_complete: bool) -> Iterable[Path]:
        """Return `path` once for every bucket in which its rows can be."""
        derivation = spread.derivation
        assert derivation is not None
        if spread.name in path.known:
            return [path.in_bucket(path.known[spread.name])]
        if is_complete and isinstance(derivation, Hashed) and not derivation.inputs:
            return [path.in_bucket(derivation.of_bytes(path.rest))]
        computed = self._with_exact(path, spread, 1)
        if computed is not None:
            return [path.in_bucket(one.known[spread.name]) for one in computed]
        return [path.in_bucket(bucket) for bucket in sorted(derivation.choices() or ())]

    # --- one part more ----------------------------------------------------------------------------

    def _grow(self, paths: list[Path], number: int, part: Part) -> list[Path] | None:
        if isinstance(part.derivation, PeriodOf) and self._is_one_range(number):
            return self._each(paths, part, self._with_exact)
        return self._each(paths, part, self._with_part)

    def _each(self, paths: list[Path], part: Part, extend: Extend) -> list[Path] | None:
        """Return the results of `extend` for all paths; None if the result for one path is None."""
        grown: list[Path] = []
        for path in paths:
            extended = extend(path, part, self._room - len(grown))
            if extended is None:
                return None
            grown += extended
        return grown

    def _is_one_range(self, number: int) -> bool:
        """Return whether one range over all periods reads the same rows as one range per period.

        `number` is the position of the period part.
        """
        if offset_behind(self._layout, self._layout.behind[number]) is not None:
            return True
        for part in self._layout.behind[number + 1 :]:
            if any(name in self._bounds for name in part.fields):
                return False
            if not _is_few(part):
                return True
        return True

    def _with_part(self, path: Path, part: Part, room: int) -> list[Path] | None:
        """Return one path for each value that `part` can have: `path` with that value.

        None if the values are unknown, or if there are more than `room` values.
        """
        if part.name in path.known:
            return [path]
        if part.derivation is None:
            return self._with_equals(path, part.name, room)
        exact = self._with_exact(path, part, room)
        return self._with_possible(path, part, room) if exact is None else exact

    def _with_equals(self, path: Path, name: str, room: int) -> list[Path] | None:
        if name in path.known:
            return [path]
        bounds = self._bounds.get(name)
        if bounds is None or bounds.equals is None:
            return None
        codec = self._layout.codec(name)
        unique = {codec.encode(v) if codec else v: v for v in bounds.equals}
        return [path.with_value(name, v) for v in unique.values()] if len(unique) <= room else None

    def _with_exact(self, path: Path, part: Part, room: int) -> list[Path] | None:
        """Return one path for each value of `part` that is computed from known inputs.

        None if an input is unknown, or if there are more than `room` combinations of inputs.
        """
        derivation = part.derivation
        if part.name in path.known or derivation is None:
            return self._with_part(path, part, room)
        if isinstance(derivation, Fixed):
            return [path.with_value(part.name, derivation.value, from_condition=False)]
        if not derivation.inputs:
            return None
        paths = [path]
        for source in derivation.inputs:
            grown = self._each(paths, source, self._with_part)
            if grown is None or len(grown) > room:
                return None
            paths = grown
        if part.lookup is not None:
            return self._with_number(paths, part)
        return [computed for each in paths for computed in _with_computed(each, part)]

    def _with_number(self, paths: list[Path], part: Part) -> list[Path]:
        """Return the paths, each with the number of its name in the dictionary of `part`.

        A path whose name has no number is left out, because no row key has this name.
        """
        lookup = part.lookup
        assert lookup is not None
        numbered = []
        for path in paths:
            number = self._numbers.get((lookup.dictionary, path.known[lookup.field]))
            if number is not None:
                numbered.append(path.with_value(part.name, number))
        return numbered

    def _with_possible(self, path: Path, part: Part, room: int) -> list[Path] | None:
        derivation = part.derivation
        if isinstance(derivation, PeriodOf):
            starts = self._starts(derivation.inputs[0].name, derivation.unit, room)
            return None if starts is None else [path.with_value(part.name, at) for at in starts]
        if not isinstance(derivation, Calculated) or isinstance(derivation, AnyRecordType):
            return None if derivation is None else self._with_choices([path], part, room)
        if callable(derivation.values):
            narrowed = self._with_choices(
                self._with_inputs(path, derivation.inputs, room), part, room
            )
            if narrowed is not None:
                return narrowed
        return self._with_choices([path], part, room)

    def _with_inputs(self, path: Path, inputs: Sequence[Part], room: int) -> list[Path]:
        paths = [path]
        for source in inputs:
            grown: list[Path] = []
            for each in paths:
                extended = self._with_part(each, source, max(1, room - len(grown)))
                grown += [each] if extended is None else extended
            if len(grown) <= room:
                paths = grown
        return paths

    def _with_choices(self, paths: Sequence[Path], part: Part, room: int) -> list[Path] | None:
        """Return the paths, each once for every possible value of `part`.

        None if the possible values of a path are unknown, or if there are more than `room` results.
        """
        chosen: list[Path] = []
        for path in paths:
            inputs = [path.known.get(source.name) for source in part.inputs]
            choices = None if part.derivation is None else part.derivation.choices(*inputs)
            if choices is None:
                return None
            is_decided = any(value is not None for value in inputs)
            for value in choices:
                chosen.append(path.with_value(part.name, value, from_condition=is_decided))
                if len(chosen) > room:
                    return None
        return chosen

    def _starts(self, name: str, unit: Unit, room: int) -> list[datetime] | None:
        """Return the starts of the periods within the bounds of the time field `name`.

        None if the lower or the upper end is missing, or if there are more than `room` periods.
        """
        bounds = self._spans.get(name)
        if bounds is None or bounds.low is None or bounds.high is None:
            return None
        starts = []
        for start in unit.starts(bounds.low.value, bounds.high.value):
            if start == bounds.high.value and not bounds.high.included:
                break
            starts.append(start)
            if len(starts) > room:
                return None
        return starts

    def _within(self, name: str, unit: Unit, starts: Sequence[datetime]) -> list[datetime]:
        """Return the starts whose periods the bounds of the time field `name` allow, sorted."""
        bounds = self._spans.get(name, Bounds())
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
        if part.derivation is not None:
            return limits_of(self._layout, part, self._spans, path.known, path.start)
        if part.name not in self._of_fields:  # equal for all paths
            self._of_fields[part.name] = limits_of(self._layout, part, self._bounds, {}, None)
        return self._of_fields[part.name]


def _with_computed(path: Path, part: Part) -> list[Path]:
    """Return a list with one path: `path`, extended by the computed value of a derived part.

    The list is empty if no row can have the values that the part is derived from.
    """
    assert part.derivation is not None
    try:
        value = part.derivation.compute(*[path.known[source.name] for source in part.inputs])
    except CodecError:
        return []
    return [path.with_value(part.name, value)]


def _with_bytes(path: Path, part: Part) -> list[Path]:
    """Return a list with one path: `path`, extended by the bytes of `part`.

    The list is empty if no row can have the value of the part.
    """
    try:
        return [path.extended(part.encode(path.known[part.name]))]
    except CodecError:
        return []


def _only_splits(part: Part, before: Sequence[Path], grown: Sequence[Path]) -> bool:
    """Return whether a part's values only split a range, because no condition excludes a value."""
    if not isinstance(part.derivation, Calculated) or isinstance(part.derivation, AnyRecordType):
        return False
    return len(grown) > len(before) and not any(part.name in path.decided for path in grown)


def _is_few(part: Part) -> bool:
    """Return whether a part has only a few possible values, whatever the conditions are."""
    derivation = part.derivation
    if derivation is None or isinstance(derivation, AnyRecordType):
        return False
    is_fixed = isinstance(derivation, Fixed)
    return is_fixed or derivation.choices(*[None] * len(derivation.inputs)) is not None
