"""Converts declared components to a `KeyLayout`, and refuses every mistake in a row key.

Rows with different key fields must have different row keys. So the key must distinguish the values
of every key field: see `distinct_keys`. A field that cannot be decoded from the key must be stored
in a column.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from types import MappingProxyType
from typing import Any, Final

from hbase_orm.codecs import Codec, uint64
from hbase_orm.codecs.fixed import FixedRaw
from hbase_orm.errors import CodecError, SchemaError
from hbase_orm.rowkey.components import (
    Bucket,
    Component,
    Digest,
    HashPrefix,
    KeySource,
    RandomSalt,
    RecordType,
    Salt,
    Substitute,
    unquoted,
)
from hbase_orm.rowkey.computed import Computed, computed_made
from hbase_orm.rowkey.derivations import (
    BucketOf,
    Fixed,
    HashOf,
    NumberOfName,
    PeriodOf,
    RandomBucket,
    SaltOf,
    check_numbered,
)
from hbase_orm.rowkey.distinct_keys import check_distinct
from hbase_orm.rowkey.layout import KeyLayout
from hbase_orm.rowkey.parts import Framing, Made, Part, part_of
from hbase_orm.rowkey.periods import UNITS, TablePeriod
from hbase_orm.rowkey.record_types import AnyRecordType, RecordTypeCodec
from hbase_orm.rowkey.time_components import Offset, Period, TablePerPeriod
from hbase_orm.rowkey.time_parts import offset_made, period_made


class RowKey:
    """The declared order of a row key's components."""

    def __init__(self, components: tuple[KeySource, ...]) -> None:
        """Store the components in order."""
        self.components = components

    def __repr__(self) -> str:
        """Return the declaration."""
        return f"rowkey({', '.join(map(repr, self.components))})"


def rowkey(*components: KeySource) -> RowKey:
    """Declare the components of the row key, in the order of their bytes.

    Raises:
        SchemaError: There is no argument, or one is neither a field nor a component.
    """
    if not components:
        raise SchemaError("rowkey() has no components", fix="name at least one key field")
    for component in components:
        if not isinstance(component, KeySource):
            raise SchemaError(
                "an argument of rowkey() is neither a key field nor a component",
                got=component,
                fix=unquoted(components),
            )
    return RowKey(components)


@dataclass(frozen=True, slots=True)
class KeyFields:
    """The key fields of a model.

    Attributes:
        fields: The declared fields by name, in order of declaration.
        codecs: The codecs of the fields.
        stored: The fields that are also stored in a column.
    """

    fields: Mapping[str, KeySource]
    codecs: Mapping[str, Codec[Any]]
    stored: Collection[str] = ()


@dataclass(slots=True)
class _Assembly:
    """Converts the components of one key to parts."""

    key: KeyFields
    components: tuple[KeySource, ...]
    record: RecordTypeCodec | str | None
    _parts: dict[int, Part] = field(default_factory=dict)
    _names: list[str] = field(default_factory=list)

    def parts(self) -> tuple[Part, ...]:
        return tuple(self.part(component) for component in self.components)

    def part(self, source: KeySource) -> Part:
        """Return the part for a field or a component, always the same part for the same object."""
        part = self._parts.get(id(source))
        if part is None:
            is_last = not any(source is component for component in self.components[:-1])
            if isinstance(source, Component):
                part = self._component(source, is_last=is_last)
            else:
                name = self._name_of(source)
                part = part_of(name, self.key.codecs[name], is_last=is_last)
            part = self._parts[id(source)] = self._placed(part, source, is_last=is_last)
        return part

    def _placed(self, part: Part, source: KeySource, *, is_last: bool) -> Part:
        """Check that a part's codec can be used at its position in the key; return the part.

        If Phoenix would write another key for an empty value at this position, the returned part
        refuses empty values.

        Raises:
            SchemaError: The codec cannot be used at this position; the error names another codec.
        """
        codec = part.codec
        if not codec.place.holds(is_last=is_last, desc=codec.desc):
            raise SchemaError(
                "the codec cannot be used at this position of a row key",
                component=part.name,
                codec=codec.name,
                desc=codec.desc,
                reason=codec.place.value,
                fix=f"use {codec.instead}",
            )
        if not codec.empty_is_null:
            return part
        is_dropped = part.framing is Framing.REST and self._is_behind_separator(source)
        return replace(part, is_filled=codec.desc or is_dropped)

    def _is_behind_separator(self, source: KeySource) -> bool:
        places = [n for n, component in enumerate(self.components) if component is source]
        if not places or not places[0]:
            return False
        before = self.components[places[0] - 1]
        if isinstance(before, Component):
            codec = getattr(before, "codec", None)
        else:
            codec = self.key.codecs[self._name_of(before)]
        if codec is None or codec.desc:  # Phoenix ends a descending part even if nothing follows
            return False
        return part_of("", codec, is_last=False).framing is Framing.SEPARATED

    def _name_of(self, source: KeySource) -> str:
        for name, declared in self.key.fields.items():
            if declared is source:
                return name
        raise SchemaError(
            "the row key names something that is not a key field of the model",
            component=repr(source),
            fix="declare it with key(): only key fields can be in the row key",
        )

    def _component(self, component: Component, *, is_last: bool) -> Part:
        inputs = tuple(self.part(source) for source in component.of)
        make = _MAKERS.get(type(component))
        if make is None:
            raise SchemaError(
                "rowkey() got a component of an unknown type", component=repr(component)
            )
        for source in component.of:
            if isinstance(source, (Salt, RandomSalt, RecordType)):
                raise SchemaError(
                    f"a component cannot be computed from a {source.kind}",
                    component=repr(component),
                    fix="name key fields in of=",
                )
        words, codec, derivation = make(component, inputs, self.record)
        name = words
        while name in self._names:
            name = f"{words} ({self._names.count(name) + 1})"
        self._names += [name, words] if name != words else [name]
        return part_of(name, codec, is_last=is_last, derivation=derivation)


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
    if not isinstance(inputs[0].derivation, PeriodOf):
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
        raise SchemaError("only a text field can have a substitute", of=source.name)
    if not issubclass(codec.python_type, int):
        raise SchemaError(
            "the codec of a substitute must store numbers",
            codec=codec.name,
            fix="use codecs.uint32() or uint64()",
        )
    return f"number of {source.name}", codec, NumberOfName(inputs, component.dictionary)


def _record_type(
    component: RecordType, _: tuple[Part, ...], record: RecordTypeCodec | str | None
) -> Made:
    if record is None:
        raise SchemaError(
            "the row key has RecordType(), but the model has no record_type=",
            fix='write class Sub(Base, record_type="S"); only the base itself has table=',
        )
    if isinstance(record, RecordTypeCodec):
        return "record type", record, AnyRecordType()
    if component.codec is None:
        data = record.encode()
        return "record type", FixedRaw(width_bytes=len(data)), Fixed((), data)
    try:
        component.codec.encode(record)
    except CodecError as error:
        raise SchemaError(
            "the record type does not fit its codec",
            record_type=record,
            codec=component.codec.name,
            reason=error.text,
            fix="choose another text, or leave the codec out",
        ) from None
    return "record type", component.codec, Fixed((), record)


_MAKERS: Final[Mapping[type, Callable[[Any, tuple[Part, ...], Any], Made]]] = MappingProxyType(
    {
        Salt: _salt,
        RandomSalt: _random_salt,
        Bucket: _bucket,
        HashPrefix: _hash,
        Digest: _hash,
        Substitute: _substitute,
        Computed: computed_made,
        Period: period_made,
        Offset: offset_made,
        RecordType: _record_type,
    }
)


def assemble(
    components: Sequence[KeySource],
    key: KeyFields,
    *,
    table: TablePerPeriod | None = None,
    record: RecordTypeCodec | str | None = None,
    model: str | None = None,
) -> KeyLayout:
    """Return the layout of a row key.

    Args:
        components: The declared components, in order.
        key: The key fields.
        table: The declaration of a table for each period, or None.
        record: The record type of the model. For the base of record types, the codec of the record
            types. None if the model has no record type.
        model: The name of the model, for error messages.

    Raises:
        SchemaError: Something in the declaration is wrong.
    """
    _check_places(components)
    _check_repeats(components, key)
    parts = _Assembly(key, tuple(components), record).parts()
    period = None if table is None else _table_period(table, key)
    layout = KeyLayout(parts, tuple(key.fields), period, model)
    check_distinct(layout, tuple(key.fields), key.stored)
    return layout


def _check_places(components: Sequence[KeySource]) -> None:
    for number, component in enumerate(components):
        if isinstance(component, (Salt, RandomSalt)) and number:
            raise SchemaError(
                "a row key can have only one salt, as its first component",
                fix="give the salt first, and the key fields after it",
            )
    if isinstance(components[0], (Salt, RandomSalt)) and len(components) == 1:
        raise SchemaError("the row key has no key field", fix="name the key fields after the salt")
    if sum(isinstance(component, RecordType) for component in components) > 1:
        raise SchemaError(
            "the row key has RecordType() more than once", fix="name RecordType() once"
        )


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
            "a model with a table for each period needs a key field of type datetime",
            of=table.of,
            fix=f"name one of the key fields: {', '.join(key.fields)}",
        )
    return TablePeriod(table.name, table.of, UNITS[table.period], table.create)
