"""Converts a declared `Period` or `Offset` to a part of the row key.

A codec with which a time could not be decoded exactly is refused.
"""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta
from typing import Any, Final

from hbase_orm.codecs import Codec, uint32, uint64
from hbase_orm.codecs.formats import Strftime
from hbase_orm.errors import CodecError, SchemaError
from hbase_orm.rowkey.derivations import MICROSECONDS, OffsetOf, PeriodOf
from hbase_orm.rowkey.parts import Made, Part
from hbase_orm.rowkey.periods import Unit, unit_of
from hbase_orm.rowkey.time_components import Offset, Period

# A time in which no unit has its smallest value, so that rounding down always changes it.
_PROBE: Final = datetime(2001, 11, 29, 22, 47, 58, 987_654, tzinfo=UTC)
_OFFSET_TYPES: Final = (int, timedelta, time, datetime)


def _time_source(inputs: tuple[Part, ...], kind: str) -> Part:
    (source,) = inputs
    if source.derivation is not None or not issubclass(source.codec.python_type, datetime):
        raise SchemaError(
            f"of= of a {kind} must be a datetime field",
            of=source.name,
            codec=source.codec.name,
            fix="declare the field as Key[datetime]",
        )
    return source


def period_made(component: Period, inputs: tuple[Part, ...], _: Any) -> Made:
    """Return the name, the codec and the derivation of the part for a `Period`.

    Raises:
        SchemaError: The field is not a datetime. Or the codec does not store datetimes, or would
            round the start of the period.
    """
    source = _time_source(inputs, "period")
    codec = source.codec if component.codec is None else component.codec
    unit = unit_of(component.unit, component.every)
    if not issubclass(codec.python_type, datetime):
        raise SchemaError(
            "the codec of a period must store datetimes",
            codec=codec.name,
            fix='use e.g. codecs.strftime("%Y-%m") or codecs.seconds()',
        )
    for probe in (_PROBE, _PROBE.replace(month=12)):
        if codec.normalize(unit.start(probe)) != unit.start(probe):
            raise SchemaError(
                "the codec's resolution is too coarse for the period",
                codec=codec.name,
                unit=str(unit),
                fix="use a codec that writes every unit down to that of the period",
            )
    return f"{unit} of {source.name}", codec, PeriodOf(inputs, unit)


def offset_made(component: Offset, inputs: tuple[Part, ...], _: Any) -> Made:
    """Return the name, the codec and the derivation of the part for an `Offset`.

    Raises:
        SchemaError: The field is not a datetime, or the codec cannot hold every offset.
    """
    source = _time_source(inputs, "offset")
    unit, codec = unit_of(component.unit, component.every), component.codec
    resolution = MICROSECONDS[component.resolution]
    if codec is None:
        fits = unit.longest / timedelta(microseconds=resolution) < 1 << 32
        desc = source.codec.desc  # as a Period does: the two sort as the field would
        codec = uint32(desc=desc) if fits else uint64(desc=desc)
    kind = next((kind for kind in _OFFSET_TYPES if issubclass(codec.python_type, kind)), None)
    if (
        kind is None
        or (kind is time and component.unit != "day")
        or (isinstance(codec, Strftime) and component.unit == "year")
    ):
        raise SchemaError(
            "the codec cannot write this offset",
            codec=codec.name,
            unit=str(unit),
            fix="use a codec of int or timedelta; for a day also time; up to a month strftime",
        )
    sorts = codec.ordered or (isinstance(codec, Strftime) and codec.is_in_order)
    repeating = codec if kind is datetime and _repeats(codec, unit) else None
    derivation = OffsetOf(inputs, unit, resolution, kind, sorts, repeating)
    _check_exact(derivation, codec, source)
    return f"offset in {unit} of {source.name}", codec, derivation


def _repeats(codec: Codec[Any], unit: Unit) -> bool:
    """Return whether a codec encodes equal offsets differently in different periods."""
    start = unit.start(_PROBE)
    after = (unit.following(start) or start) + (_PROBE - start)
    return codec.encode(_PROBE) != codec.encode(after)


def _check_exact(offset: OffsetOf, codec: Codec[Any], source: Part) -> None:
    """Refuse an offset that rounds the field's values or cannot hold the longest period."""
    latest = [
        datetime(2004, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC),
        offset.unit.following(offset.unit.start(_PROBE)),
    ]
    probes = [_PROBE, latest[0], *(at - timedelta(microseconds=1) for at in latest[1:] if at)]
    for probe in probes:
        try:
            at = source.codec.normalize(probe)
        except CodecError:
            continue  # the field itself ends before the probe
        try:
            joined = offset.join(
                offset.unit.start(at), codec.decode(codec.encode(offset.compute(at)))
            )
        except CodecError:
            joined = None
        if joined != at:
            raise SchemaError(
                "the offset cannot hold every time that the field can hold",
                field=source.name,
                field_codec=source.codec.name,
                codec=codec.name,
                time=at,
                fix="give the field a coarser codec, or the offset a finer or wider one",
            )
