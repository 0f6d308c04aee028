"""From declared components to a `KeyLayout`: every mistake in a row key is found here.

A key field must be told by the key: it stands there as it is, or as a digest, a number from a
dictionary, or a period with its offset. What the key cannot give back must be stored in a column.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta
from types import MappingProxyType
from typing import Any, Final

from hbase_orm.codecs import Codec, uint32, uint64
from hbase_orm.codecs.fixed import FixedRaw
from hbase_orm.codecs.formats import Strftime
from hbase_orm.errors import CodecError, SchemaError
from hbase_orm.rowkey.components import (
    Bucket,
    Component,
    Computed,
    Digest,
    HashPrefix,
    KeySource,
    RandomSalt,
    RecordType,
    Salt,
    Substitute,
)
from hbase_orm.rowkey.derivations import (
    MICROSECONDS,
    BucketOf,
    Calculated,
    Derivation,
    Fixed,
    Hashed,
    HashOf,
    NumberOfName,
    OffsetOf,
    PeriodOf,
    RandomBucket,
    SaltOf,
    check_numbered,
)
from hbase_orm.rowkey.kinds import AnyKind, Kinds
from hbase_orm.rowkey.layout import KeyLayout, TablePeriod
from hbase_orm.rowkey.parts import Part, part_of
from hbase_orm.rowkey.periods import UNITS
from hbase_orm.rowkey.time_components import Offset, Period, TablePerPeriod

# A time with a value in each of its fields, none of which a period or a coarse codec keeps.
_PROBE: Final = datetime(2001, 11, 29, 22, 47, 58, 987_654, tzinfo=UTC)
_OFFSET_TYPES: Final = (int, timedelta, time, datetime)


@dataclass(frozen=True, slots=True)
class KeyFields:
    """The key fields of a model.

    Attributes:
        fields: The declared fields by name, in order of declaration.
        codecs: Their codecs.
        stored: Those that a column holds as well.
    """

    fields: Mapping[str, KeySource]
    codecs: Mapping[str, Codec[Any]]
    stored: Collection[str] = ()


@dataclass(slots=True)
class _Assembly:
    """The components of one key while they become parts."""

    key: KeyFields
    components: tuple[KeySource, ...]
    record: Kinds | str | None
    _parts: dict[int, Part] = field(default_factory=dict)
    _names: list[str] = field(default_factory=list)

    def parts(self) -> tuple[Part, ...]:
        """Return the parts in order."""
        return tuple(self.part(component) for component in self.components)

    def part(self, source: KeySource) -> Part:
        """Return the part of a field or component: that of the key, if it stands there."""
        found = self._parts.get(id(source))
        if found is None:
            is_last = not any(source is component for component in self.components[:-1])
            if isinstance(source, Component):
                found = self._component(source, is_last=is_last)
            else:
                found = self._field(source, is_last=is_last)
            self._parts[id(source)] = found
        return found

    def _field(self, source: KeySource, *, is_last: bool) -> Part:
        name = self._name_of(source)
        return part_of(name, self.key.codecs[name], is_last=is_last)

    def _name_of(self, source: KeySource) -> str:
        for name, declared in self.key.fields.items():
            if declared is source:
                return name
        raise SchemaError(
            "the row key names something that is no key field of the model",
            component=repr(source),
            fix="declare it with key(): only key fields can be in the row key",
        )

    def _component(self, component: Component, *, is_last: bool) -> Part:
        inputs = tuple(self.part(source) for source in component.of)
        make = _MAKERS.get(type(component))
        if make is None:
            raise SchemaError("this component is not known", component=repr(component))
        for source in component.of:
            if isinstance(source, (Salt, RandomSalt, RecordType)):
                raise SchemaError(
                    f"nothing is computed of a {source.kind}",
                    component=repr(component),
                    fix="name key fields in of=",
                )
        words, codec, derivation = make(component, inputs, self.record)
        name = words
        while name in self._names:
            name = f"{words} ({self._names.count(name) + 1})"
        self._names += [name, words] if name != words else [name]
        return part_of(name, codec, is_last=is_last, derivation=derivation)


Made = tuple[str, Codec[Any], Derivation]


def _salt(component: Salt, inputs: tuple[Part, ...], _: Any) -> Made:
    derivation = SaltOf(inputs, component.hash_name, component.numbers)
    return (
        f"salt {component.bucket_count}",
        FixedRaw(width_bytes=component.width_bytes),
        derivation,
    )


def _random_salt(component: RandomSalt, _: tuple[Part, ...], __: Any) -> Made:
    return (
        f"random salt {component.bucket_count}",
        FixedRaw(width_bytes=component.width_bytes),
        RandomBucket((), component.numbers),
    )


def _bucket(component: Bucket, inputs: tuple[Part, ...], _: Any) -> Made:
    check_numbered(inputs[0].codec, inputs[0].name)
    return (
        f"{inputs[0].name} mod {component.bucket_count}",
        FixedRaw(width_bytes=component.width_bytes),
        BucketOf(inputs, component.numbers),
    )


def _hash(component: HashPrefix, inputs: tuple[Part, ...], _: Any) -> Made:
    of = ", ".join(part.name for part in inputs)
    cut = "" if isinstance(component, Digest) else f"[:{component.width_bytes}]"
    shown = f"{component.form} {component.algorithm}{cut}"
    derivation = HashOf(inputs, component.algorithm, component.form, component.width_bytes)
    return f"{shown}({of})", FixedRaw(width_bytes=component.width_bytes), derivation


def _substitute(component: Substitute, inputs: tuple[Part, ...], _: Any) -> Made:
    (source,) = inputs
    codec = uint64() if component.codec is None else component.codec
    if source.derivation is not None or not issubclass(source.codec.python_type, str):
        raise SchemaError("a substitute stands for a text field", of=source.name)
    if not issubclass(codec.python_type, int):
        raise SchemaError(
            "a substitute is a number", codec=codec.name, fix="use codecs.uint32() or uint64()"
        )
    return f"number of {source.name}", codec, NumberOfName(inputs, component.dictionary)


def _computed(component: Computed, inputs: tuple[Part, ...], _: Any) -> Made:
    function = getattr(component.function, "__name__", "function")
    of = ", ".join(part.name for part in inputs)
    derivation = Calculated(inputs, component.function, component.values)
    return f"{function}({of})", component.codec, derivation


def _time_source(inputs: tuple[Part, ...], kind: str) -> Part:
    (source,) = inputs
    if source.derivation is not None or not issubclass(source.codec.python_type, datetime):
        raise SchemaError(
            f"the {kind} of a time is that of a datetime field",
            of=source.name,
            codec=source.codec.name,
            fix="declare the field as Key[datetime]",
        )
    return source


def _period(component: Period, inputs: tuple[Part, ...], _: Any) -> Made:
    source = _time_source(inputs, "period")
    codec = source.codec if component.codec is None else component.codec
    unit = UNITS[component.unit]
    if not issubclass(codec.python_type, datetime):
        raise SchemaError(
            "a period is written as a datetime",
            codec=codec.name,
            fix='use e.g. codecs.strftime("%Y-%m") or codecs.seconds()',
        )
    for probe in (_PROBE, _PROBE.replace(month=12)):
        if codec.normalize(unit.start(probe)) != unit.start(probe):
            raise SchemaError(
                "the codec is too coarse for the period",
                codec=codec.name,
                unit=component.unit,
                fix="give the period's codec a field for each unit down to it",
            )
    return f"{component.unit} of {source.name}", codec, PeriodOf(inputs, unit)


def _offset(component: Offset, inputs: tuple[Part, ...], _: Any) -> Made:
    source = _time_source(inputs, "offset")
    unit, codec = UNITS[component.unit], component.codec
    resolution = MICROSECONDS[component.resolution]
    if codec is None:
        fits = unit.longest / timedelta(microseconds=resolution) < 1 << 32
        codec = uint32() if fits else uint64()
    kind = next((kind for kind in _OFFSET_TYPES if issubclass(codec.python_type, kind)), None)
    if (
        kind is None
        or (kind is time and component.unit != "day")
        or (isinstance(codec, Strftime) and component.unit == "year")
    ):
        raise SchemaError(
            "the codec cannot write this offset",
            codec=codec.name,
            unit=component.unit,
            fix="use a codec of ints or timedelta; of time for a day; strftime up to a month",
        )
    sorts = codec.ordered or (isinstance(codec, Strftime) and codec.is_in_order)
    derivation = OffsetOf(inputs, unit, resolution, kind, sorts)
    _check_exact(derivation, codec, source)
    return f"offset in {component.unit} of {source.name}", codec, derivation


def _check_exact(offset: OffsetOf, codec: Codec[Any], source: Part) -> None:
    """Refuse an offset that rounds what the field keeps, or is too small for the longest period."""
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
                "the offset cannot hold every time that the field can",
                field=source.name,
                field_codec=source.codec.name,
                codec=codec.name,
                time=at,
                fix="give the field a coarser codec, or the offset a finer or wider one",
            )


def _record_type(component: RecordType, _: tuple[Part, ...], record: Kinds | str | None) -> Made:
    if record is None:
        raise SchemaError(
            "the key has a record type, and the model names none",
            fix='write class Sub(Base, record_type="S"); the base itself has only a table',
        )
    if isinstance(record, Kinds):
        return "record type", record, AnyKind()
    if component.codec is not None:
        return "record type", component.codec, Fixed((), record)
    data = record.encode()
    return "record type", FixedRaw(width_bytes=len(data)), Fixed((), data)


_MAKERS: Final[Mapping[type, Callable[[Any, tuple[Part, ...], Any], Made]]] = MappingProxyType(
    {
        Salt: _salt,
        RandomSalt: _random_salt,
        Bucket: _bucket,
        HashPrefix: _hash,
        Digest: _hash,
        Substitute: _substitute,
        Computed: _computed,
        Period: _period,
        Offset: _offset,
        RecordType: _record_type,
    }
)


def assemble(
    components: Sequence[KeySource],
    key: KeyFields,
    *,
    table: TablePerPeriod | None = None,
    record: Kinds | str | None = None,
) -> KeyLayout:
    """Return the layout of a row key.

    Args:
        components: What was declared, in order.
        key: The key fields.
        table: Set where rows are in a table for each period.
        record: The record type, or of the base of several the registry of its kinds.

    Raises:
        SchemaError: Something in the declaration is wrong.
    """
    _check_places(components)
    _check_repeats(components, key)
    parts = _Assembly(key, tuple(components), record).parts()
    period = None if table is None else _table_period(table, key)
    layout = KeyLayout(parts, tuple(key.fields), period)
    _check_told(layout, key)
    return layout


def _check_places(components: Sequence[KeySource]) -> None:
    for number, component in enumerate(components):
        if isinstance(component, (Salt, RandomSalt)) and number:
            raise SchemaError(
                "a salt stands once, in front of the row key",
                fix="write rowkey(Salt(16, of=[host]), host, at)",
            )
    if isinstance(components[0], (Salt, RandomSalt)) and len(components) == 1:
        raise SchemaError(
            "the row key holds no key field", fix="name the key fields after the salt"
        )
    if sum(isinstance(component, RecordType) for component in components) > 1:
        raise SchemaError("a row key has one record type", fix="name RecordType() once")


def _check_repeats(components: Sequence[KeySource], key: KeyFields) -> None:
    for name, declared in key.fields.items():
        if sum(component is declared for component in components) > 1:
            raise SchemaError(
                "the row key must hold every key field exactly once",
                repeated=name,
                fix=f"name each of these once in rowkey(...): {', '.join(key.fields)}",
            )


def _table_period(table: TablePerPeriod, key: KeyFields) -> TablePeriod:
    codec = key.codecs.get(table.of)
    if codec is None or not issubclass(codec.python_type, datetime):
        raise SchemaError(
            "tables per period need a key field that is a datetime",
            of=table.of,
            fix=f"name one of the key fields: {', '.join(key.fields)}",
        )
    return TablePeriod(table.name, table.of, UNITS[table.period], table.create)


def _check_told(layout: KeyLayout, key: KeyFields) -> None:
    left_out, lost = [], []
    for name in key.fields:
        if name in layout.decoded:
            continue
        if not any(_tells(part, name) for part in layout.parts):
            left_out.append(name)
        elif name not in key.stored:
            lost.append(name)
    if left_out:
        raise SchemaError(
            "the row key must hold every key field exactly once: rows that differ only there "
            "would be one",
            left_out=left_out,
            rowkey=[part.name for part in layout.parts],
            fix=f"name each of these once in rowkey(...): {', '.join(key.fields)}; or a Digest "
            "or a Substitute of it, or its Period and Offset",
        )
    if lost:
        raise SchemaError(
            "the row key cannot give these fields back, and no column holds them",
            fields=lost,
            fix='store them as well: key(..., family=d, qualifier="h")',
        )


def _tells(part: Part, name: str) -> bool:
    """Say whether keys of rows that differ only in a field differ in this part."""
    of = part.derivation
    if name not in part.fields:
        return False
    if isinstance(of, HashOf):
        return of.is_whole
    return not isinstance(of, (Hashed, BucketOf, PeriodOf, OffsetOf))
