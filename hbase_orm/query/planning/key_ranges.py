"""The ranges of row keys that a statement reads: one range for each combination of known values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from math import copysign
from typing import Any, Final

from hbase_orm.codecs.formats import Strftime
from hbase_orm.errors import CodecError
from hbase_orm.ops import MAX_ROW_KEY_BYTES, KeyRange, after_prefix, merged
from hbase_orm.query.conditions.bounds import Bounds, End
from hbase_orm.rowkey import KeyLayout, Part
from hbase_orm.rowkey.derivations import OffsetOf, PeriodOf
from hbase_orm.rowkey.nulls import OrNone

MAX_PATHS: Final = 1000
"""The most combinations of values that are read separately. With more, a wide range costs less."""

MAX_RANGES: Final = 16_384
"""The most ranges of a statement: enough for 64 combinations in each of 256 buckets."""

_NO_KEY: Final = KeyRange(stop=b"")
_NOTHING_MORE: Final = KeyRange(stop=b"\x00")


@dataclass(frozen=True, slots=True)
class Path:
    """One combination of known values, and the bytes of the key that they give.

    Attributes:
        known: The known values, by the name of their field or derived part.
        start: The start of the table's period, for a model with a table for each period.
        spread: The bytes of the part that spreads keys, such as a salt. Empty until the bucket is
            known.
        rest: The bytes of the known parts that follow the part that spreads keys.
        decided: The names in `known` whose values come from conditions.
    """

    known: Mapping[str, Any] = field(default_factory=dict)
    start: datetime | None = None
    spread: bytes = b""
    rest: bytes = b""
    decided: frozenset[str] = frozenset()

    def with_value(self, name: str, value: Any, *, from_condition: bool = True) -> Path:
        """Return the path with one more known value; `from_condition` adds `name` to `decided`."""
        decided = self.decided | {name} if from_condition else self.decided
        return Path({**self.known, name: value}, self.start, self.spread, self.rest, decided)

    def extended(self, data: bytes) -> Path:
        """Return the path with the bytes of one more known part."""
        return Path(self.known, self.start, self.spread, self.rest + data, self.decided)

    def in_bucket(self, spread: bytes) -> Path:
        """Return the path for one bucket; `spread` has the bytes of the bucket."""
        return Path(self.known, self.start, spread, self.rest, self.decided)


@dataclass(frozen=True, slots=True)
class KeyAccess:
    """The paths that the bounds allow for a key, each with the range of the next part.

    Attributes:
        paths: One path for each combination of known values.
        limits: For each path, the range of the part after the known parts. None for a path
            means that the bounds do not narrow this part.
        run: How many parts from the beginning of the key are known. The part that spreads keys is
            not counted.
        decided_count: How many of these parts have values that come from conditions.
        is_complete: Whether every part is known, so that the paths are whole keys.
        narrows: Whether the read leaves out some rows of the table, or some tables of the model.
        constant: The fields and parts that have the same value in all rows.
    """

    paths: tuple[Path, ...]
    limits: tuple[KeyRange | None, ...]
    run: int
    decided_count: int
    is_complete: bool
    narrows: bool
    constant: frozenset[str]

    @property
    def has_range(self) -> bool:
        """Whether every path has a range for the part after the known parts."""
        return all(limits is not None for limits in self.limits)

    @property
    def rank(self) -> tuple[bool, int, bool]:
        """The sort key for the choice of a key to read; the greatest is best.

        A complete key ranks highest. The others rank by the number of known parts from conditions.
        A range after the known parts decides a tie.
        """
        return self.is_complete, self.decided_count, self.has_range

    def with_constants(self, names: frozenset[str]) -> KeyAccess:
        """Return the access with more names of fields and parts that have one value in all rows."""
        return replace(self, constant=self.constant | names)

    def within(self, start: datetime) -> KeyAccess:
        """Return the access with only the paths in the table of one period."""
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
        """Return sorted, disjoint ranges of keys, by the bytes of the part that spreads keys."""
        by_spread: dict[bytes, list[KeyRange]] = {}
        for path, limits in zip(self.paths, self.limits, strict=True):
            prefix = path.spread + path.rest
            ranges = by_spread.setdefault(path.spread, [])
            if len(prefix) <= MAX_ROW_KEY_BYTES:  # else the key is longer than any stored key
                whole = KeyRange.prefix(prefix)
                ranges.append(whole if limits is None else _shift(limits, prefix))
        return {spread: merged(by_spread[spread]) for spread in sorted(by_spread)}


def _shift(limits: KeyRange, prefix: bytes) -> KeyRange:
    stop = after_prefix(prefix) if limits.stop is None else prefix + limits.stop
    return KeyRange(prefix + limits.start, stop)


def constant_of(paths: Sequence[Path]) -> frozenset[str]:
    """Return the fields and parts that have the same value in all paths."""
    if not paths:
        return frozenset()
    first = paths[0].known
    return frozenset(
        name
        for name, value in first.items()
        if all(name in path.known and _is_same(path.known[name], value) for path in paths[1:])
    )


def _is_same(one: Any, other: Any) -> bool:
    if isinstance(one, float) and not one:  # 0.0 and -0.0 are equal, but have different bytes
        return one == other and copysign(1, one) == copysign(1, other)
    return bool(one == other)


def united(accesses: Sequence[KeyAccess], *, are_whole_keys: bool) -> KeyAccess | None:
    """Return one `KeyAccess` for all alternatives of a statement; None for too many ranges.

    Args:
        accesses: The access of each alternative.
        are_whole_keys: Whether the bytes of all parts are one whole key. False for an index that is
            not unique: its entry keys continue with the row key.
    """
    if len(accesses) == 1:
        return accesses[0]
    is_complete = all(access.is_complete for access in accesses)
    pairs: dict[tuple[Any, ...], tuple[Path, KeyRange | None]] = {}
    for access in accesses:
        is_one_row = access.is_complete and are_whole_keys and not is_complete
        for path, limits_of_path in zip(access.paths, access.limits, strict=True):
            limits = _NOTHING_MORE if is_one_row else limits_of_path
            pairs.setdefault((path.start, path.spread, path.rest, limits), (path, limits))
    combinations = {(start, rest, limits) for start, _, rest, limits in pairs}
    if len(combinations) > MAX_PATHS or len(pairs) > MAX_RANGES:
        return None
    return KeyAccess(
        paths=tuple(path for path, _ in pairs.values()),
        limits=tuple(limits for _, limits in pairs.values()),
        run=min(access.run for access in accesses),
        decided_count=min(access.decided_count for access in accesses),
        is_complete=is_complete,
        narrows=all(access.narrows for access in accesses),
        constant=constant_of([path for access in accesses for path in access.paths]),
    )


# --- the part after the known ones ----------------------------------------------------------------


def limits_of(
    layout: KeyLayout,
    part: Part,
    bounds: Mapping[str, Bounds],
    known: Mapping[str, Any],
    start: datetime | None,
) -> KeyRange | None:
    """Return the range of a part's bytes within the bounds; None if the bounds do not narrow it.

    Args:
        layout: The layout of the key.
        part: The part.
        bounds: The bounds of each field.
        known: The values of fields and parts before this part.
        start: The start of the table's period, for a model with a table for each period.
    """
    if part.derivation is None:
        return _of_field(part, bounds.get(part.name))
    try:
        return _of_derived(layout, part, bounds, known, start)
    except CodecError:
        return None  # the part cannot encode an end of the bounds: the client checks


def spanned(bounds: Bounds) -> Bounds:
    """Return `bounds` with the range from the first to the last time in `bounds.equals`.

    Bounds that do not list times are returned unchanged.
    """
    equals = bounds.equals
    if not equals or None in equals or not isinstance(equals[0], datetime):
        return bounds
    low, high = (End(end, included=True) for end in (min(equals), max(equals)))
    return replace(bounds, low=low, high=high)


def _of_derived(
    layout: KeyLayout,
    part: Part,
    bounds: Mapping[str, Bounds],
    known: Mapping[str, Any],
    start: datetime | None,
) -> KeyRange | None:
    derivation = part.derivation
    if isinstance(derivation, PeriodOf):
        return _of_period(layout, part, derivation, bounds.get(derivation.inputs[0].name))
    if isinstance(derivation, OffsetOf):
        name = derivation.inputs[0].name
        joining = layout.joining(name)
        if joining is None:
            return None
        period = start if joining[0] is None else known.get(joining[0].name)
        return _of_offset(part, derivation, bounds.get(name), period)
    return None


def _of_field(part: Part, bounds: Bounds | None) -> KeyRange | None:
    if bounds is None:
        return None
    if bounds.equals is not None:
        return _around(part, bounds.equals)
    narrowed = KeyRange()
    if bounds.excludes_none and isinstance(part.codec, OrNone):
        narrowed = part.codec.values
    if bounds.prefix is not None:
        narrowed = narrowed.intersect(_text_prefix(part, bounds.prefix))
    if part.is_ordered:
        narrowed = narrowed.intersect(_between(part, bounds.low, bounds.high))
    return None if narrowed == KeyRange() else narrowed


def _around(part: Part, values: Sequence[Any]) -> KeyRange:
    """Return the range of bytes from the smallest to the largest of the encoded values."""
    encoded = []
    for value in values:
        try:
            encoded.append(part.encode(value))
        except CodecError:
            continue  # no row has it
    if not encoded:
        return _NO_KEY
    return KeyRange(min(encoded), _just_after(part, max(encoded)))


def _text_prefix(part: Part, prefix: Any) -> KeyRange:
    try:
        data = part.leading(prefix)
    except CodecError:
        return _NO_KEY  # a lone surrogate: no value has it
    return KeyRange(data, after_prefix(data))


def _between(part: Part, low: End | None, high: End | None) -> KeyRange:
    """Return the range of the part's bytes for values between two ends; None means no end."""
    if part.is_descending:
        low, high = high, low
    return _span(
        part,
        None if low is None else (part.encode(low.value), low.included),
        None if high is None else (part.encode(high.value), high.included),
    )


def _span(part: Part, low: tuple[bytes, bool] | None, high: tuple[bytes, bool] | None) -> KeyRange:
    """Return the range between two ends, each given as its bytes and whether it is included."""
    start: bytes | None = b""
    if low is not None:
        start = low[0] if low[1] else _just_after(part, low[0])
    if start is None:
        return _NO_KEY  # nothing sorts behind FF FF ...
    if high is None:
        return KeyRange(start)
    return KeyRange(start, _just_after(part, high[0]) if high[1] else high[0])


def _just_after(part: Part, data: bytes) -> bytes | None:
    # Keys that hold this value start with `data` if the part shows its end; else they are `data`.
    return after_prefix(data) if part.is_delimited else data + b"\x00"


def offset_behind(layout: KeyLayout, period: Part) -> Part | None:
    """Return the offset part after a period part if both together sort like the time; else None."""
    joining = layout.joining(period.fields[0])
    following = layout.parts[layout.parts.index(period) + 1 :]
    if joining is None or joining[0] is not period or following[:1] != (joining[1],):
        return None
    offset = joining[1]
    is_alike = offset.is_ordered and offset.is_descending is period.is_descending
    return offset if is_alike and period.is_ordered else None


def _of_period(
    layout: KeyLayout, part: Part, period: PeriodOf, bounds: Bounds | None
) -> KeyRange | None:
    """Return the range of a period part's bytes within the bounds of a time, or None.

    The range has whole periods. If the offset of the time follows the period in the key, the range
    ends exactly at the bounds. The result is None if the bounds have no end. It is also None if
    the bytes of the part do not sort like the time.
    """
    if bounds is None or (bounds.low is None and bounds.high is None) or not part.is_ordered:
        return None
    offset = offset_behind(layout, part)
    if offset is None:
        low, high = (
            None if end is None else End(period.unit.start(end.value), included=True)
            for end in (bounds.low, bounds.high)
        )
        if bounds.high is not None and high is not None and high.value == bounds.high.value:
            high = End(high.value, included=bounds.high.included)
        return _between(part, low, high)

    def whole(at: datetime) -> bytes:
        first = part.encode(period.unit.start(at))
        return first + offset.encode(offset.derivation.compute(at))  # type: ignore[union-attr]  # an OffsetOf

    ends = bounds.low, bounds.high
    low, high = reversed(ends) if part.is_descending else ends
    return _span(
        offset,
        None if low is None else (whole(low.value), low.included),
        None if high is None else (whole(high.value), high.included),
    )


def _of_offset(
    part: Part, offset: OffsetOf, bounds: Bounds | None, period: datetime | None
) -> KeyRange | None:
    """Return the range of an offset part's bytes in the period that starts at `period`.

    None if the bounds or the period are unknown. Also None if the bytes do not sort like the time.
    """
    if bounds is None or period is None or not part.is_ordered:
        return None
    following = offset.unit.following(period)
    low, high = bounds.low, bounds.high
    if low is not None:
        if following is not None and low.value >= following:
            return _NO_KEY
        is_within = low.value > period or (low.value == period and not low.included)
        low = End(offset.compute(low.value), low.included) if is_within else None
    if high is not None:
        if high.value < period:
            return _NO_KEY
        beyond = following is not None and high.value >= following
        high = None if beyond else End(offset.compute(high.value), high.included)
    return _between(part, low, high).intersect(_beginning(part))


def _beginning(part: Part) -> KeyRange:
    """Return the range of all bytes that a part can have, by its time format.

    For the format `log-%Y`, all bytes begin with `log-`. A part without a time format can have any
    bytes.
    """
    codec = part.codec
    return KeyRange.prefix(codec.beginning) if isinstance(codec, Strftime) else KeyRange()
