"""The range of one part of a key, as bytes behind the parts before it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from hbase_orm.codecs.formats import Strftime
from hbase_orm.errors import CodecError
from hbase_orm.ops import KeyRange, after_prefix
from hbase_orm.query.bounds import Bounds, End
from hbase_orm.rowkey import KeyLayout, Part
from hbase_orm.rowkey.derivations import OffsetOf, PeriodOf
from hbase_orm.rowkey.nulls import values_of

_NO_KEY = KeyRange(stop=b"")


def limits_of(
    layout: KeyLayout,
    part: Part,
    bounds: Mapping[str, Bounds],
    known: Mapping[str, Any],
    start: datetime | None,
) -> KeyRange | None:
    """Return what the bounds leave of a part, or None if they say nothing of it.

    Args:
        layout: The key.
        part: The part.
        bounds: What is known of each field.
        known: The values of fields and parts before it.
        start: The period of the table, where there is a table for each.
    """
    if part.derivation is None:
        return _of_field(part, bounds.get(part.name))
    try:
        return _of_derived(layout, part, bounds, known, start)
    except CodecError:
        return None  # an end that the part cannot write: the client checks


def spanned(bounds: Bounds) -> Bounds:
    """Return the bounds with equal times between the first and the last of them."""
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
    narrowed = values_of(part) if bounds.excludes_none else KeyRange()
    if bounds.prefix is not None:
        narrowed = narrowed.intersect(_text_prefix(part, bounds.prefix))
    if part.is_ordered:
        narrowed = narrowed.intersect(_between(part, bounds.low, bounds.high))
    return None if narrowed == KeyRange() else narrowed


def _around(part: Part, values: Sequence[Any]) -> KeyRange:
    """Return the range from the first to the last of values, in the order of their bytes."""
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
    """Return the range of the part's values between two ends, in the order of its bytes."""
    if part.is_descending:
        low, high = high, low
    return _span(
        part,
        None if low is None else (part.encode(low.value), low.included),
        None if high is None else (part.encode(high.value), high.included),
    )


def _span(part: Part, low: tuple[bytes, bool] | None, high: tuple[bytes, bool] | None) -> KeyRange:
    """Return the range between the bytes of two ends, each with whether it is included."""
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
    """Return the offset right behind a period if the two sort together as the time does."""
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
    """Return one range over the periods of a time, to the very offset if that comes next."""
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
    """Return the range of the offsets within one period."""
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
    """Return the range of what all values of a part begin with."""
    codec = part.codec
    return KeyRange.prefix(codec.beginning) if isinstance(codec, Strftime) else KeyRange()
