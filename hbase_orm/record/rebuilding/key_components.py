"""Makes the components of a row key from their specifications in a record."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

from hbase_orm.errors import DeclarationError
from hbase_orm.record.rebuilding.recorded_codecs import bytes_of, recorded_codec, unknown_member
from hbase_orm.record.rebuilding.supplied import Supplied
from hbase_orm.record.stored_values import StoredValue
from hbase_orm.rowkey import (
    Bucket,
    Digest,
    HashPrefix,
    KeySource,
    Offset,
    Period,
    RandomSalt,
    RecordType,
    Salt,
    Substitute,
)
from hbase_orm.rowkey.components import Component, Form
from hbase_orm.rowkey.computed import Computed
from hbase_orm.rowkey.derivations import MICROSECONDS

RECORD_TYPE: Final = "record type"
_RESOLUTIONS: Final = MappingProxyType({micros: name for name, micros in MICROSECONDS.items()})
_UNNAMED: Final = "computed part"

Members = Mapping[str, StoredValue]
Inputs = Sequence[KeySource]


@dataclass(slots=True)
class KeyBuilder:
    """Makes the components of one row key, each component once.

    Attributes:
        fields: The key fields by their positions in the record.
        names: The names of the derived parts, each before those of its inputs; none in a record of
            an earlier version.
        values: The possible values of computed parts by the parts' names, as hexadecimal digits.
        supplied: What the program supplies.
        known: The components that were made, by name or specification.
    """

    fields: Mapping[int, KeySource]
    names: Iterator[str]
    values: Mapping[str, tuple[str, ...]]
    supplied: Supplied
    known: dict[str, Component] = field(default_factory=dict[str, Component])

    def source(self, part: StoredValue) -> KeySource:
        """Return the field or the component of a part.

        Raises:
            DeclarationError: The component needs a function that is not supplied, or is unknown.
            RecordError: The specification is damaged.
            SchemaError: There is no such component.
        """
        content = dict(part.each())
        if "derived" not in content:
            return self._field(content.get("field", part))
        name = next(self.names, "")
        inputs = [self.source(each) for each in content["of"].items()] if "of" in content else []
        kind = content["derived"].typed(str)
        # A component of the key may be an input of another one: it must be the same object.
        identity = name or json.dumps(without_ends(part.value))
        identity = RECORD_TYPE if kind in {"Fixed", "AnyRecordType"} else identity
        if identity not in self.known:
            self.known[identity] = self._component(kind, part, name, inputs)
        return self.known[identity]

    def _field(self, number: StoredValue) -> KeySource:
        if number.typed(int) not in self.fields:
            raise number.damage()
        return self.fields[number.value]

    def _component(self, kind: str, part: StoredValue, name: str, inputs: Inputs) -> Component:
        content = dict(part.each())
        if kind == "Calculated":
            return self._computed(part, name, inputs)
        if kind not in _MAKERS:
            raise DeclarationError(
                "this version of the library does not have the component of the row key",
                table=part.table,
                place=part.place,
                component=kind,
            )
        try:
            return _MAKERS[kind](content, inputs, name, part)
        except (KeyError, IndexError):
            raise part.damage() from None

    def _computed(self, part: StoredValue, name: str, inputs: Inputs) -> Component:
        shown = name or _UNNAMED
        function = self.supplied.needed(
            shown, "the function of a computed part is not in the record", place=part.place
        )
        codec = recorded_codec(part)
        values: Any = self.supplied.get(f"values of {shown}")
        if values is None and name in self.values:
            values = [codec.decode(bytes.fromhex(each)) for each in self.values[name]]
        return Computed(_named(function, name), of=inputs, codec=codec, values=values)


def without_ends(part: Any) -> Any:
    """Return a part without its end, which only the place in the key decides."""
    if not isinstance(part, dict):
        return part
    inputs = part.get("of")
    of = {"of": list(map(without_ends, inputs))} if isinstance(inputs, list) else {}
    return {name: value for name, value in part.items() if name not in {"ends", "end"}} | of


def _named(function: Callable[..., Any], part: str) -> Callable[..., Any]:
    """Return a function with the name of the original one, which declarations of indexes have."""

    def computed(*values: Any) -> Any:
        return function(*values)

    computed.__name__ = part.partition("(")[0] or getattr(function, "__name__", "function")
    return computed


def _numbers(stored: StoredValue) -> tuple[int, Form]:
    """Return the number of buckets, and the form in which they are encoded."""
    if not isinstance(stored.value, list):
        return stored.typed(int), "byte"
    numbers = [bytes_of(each) for each in stored.items()]
    width = len(str(len(numbers) - 1))
    if numbers == [str(number).zfill(width).encode() for number in range(len(numbers))]:
        return len(numbers), "text"
    return len(numbers), numbers.__getitem__


def _salt(content: Members, inputs: Inputs, _: str, __: StoredValue) -> Component:
    count, form = _numbers(content["numbers"])
    hash_name = content["hash_name"].typed(str)
    return Salt(count, of=inputs or None, hash=hash_name, form=form)


def _random_salt(content: Members, _: Inputs, __: str, ___: StoredValue) -> Component:
    count, form = _numbers(content["numbers"])
    return RandomSalt(count, form=form)


def _bucket(content: Members, inputs: Inputs, _: str, __: StoredValue) -> Component:
    count, form = _numbers(content["numbers"])
    return Bucket(count, of=inputs[0], form=form)


def _hash(content: Members, inputs: Inputs, name: str, _: StoredValue) -> Component:
    algorithm, form = content["algorithm"].typed(str), content["form"].value
    width_bytes = content["width_bytes"].typed(int)
    whole = Digest(of=inputs, algorithm=algorithm, form=form)
    is_cut = name.startswith(f"{form} {algorithm}[")  # a prefix may be as long as the whole hash
    if width_bytes == whole.width_bytes and not is_cut:
        return whole
    return HashPrefix(width_bytes, of=inputs, algorithm=algorithm, form=form)


def _every(content: Members) -> int:
    every = content["every"]
    if every.value is None:
        raise unknown_member(every, "how many units a period has")
    return every.typed(int)


def _period(content: Members, inputs: Inputs, _: str, part: StoredValue) -> Component:
    unit, codec = content["unit"].typed(str), recorded_codec(part)
    return Period(unit, of=inputs[0], every=_every(content), codec=codec)


def _offset(content: Members, inputs: Inputs, _: str, part: StoredValue) -> Component:
    resolution: Any = _RESOLUTIONS[content["resolution_micros"].typed(int)]
    unit, codec = content["unit"].typed(str), recorded_codec(part)
    every = _every(content)
    return Offset(unit, of=inputs[0], every=every, resolution=resolution, codec=codec)


def _substitute(content: Members, inputs: Inputs, _: str, part: StoredValue) -> Component:
    dictionary = content["dictionary"].typed(str)
    return Substitute(of=inputs[0], dictionary=dictionary, codec=recorded_codec(part))


def _fixed(_: Members, __: Inputs, ___: str, part: StoredValue) -> Component:
    codec = recorded_codec(part)
    return RecordType() if codec.python_type is bytes else RecordType(codec)


def _any_record_type(_: Members, __: Inputs, ___: str, ____: StoredValue) -> Component:
    return RecordType()


_MAKERS: Final[Mapping[str, Callable[[Members, Inputs, str, StoredValue], Component]]] = (
    MappingProxyType(
        {
            "SaltOf": _salt,
            "RandomBucket": _random_salt,
            "BucketOf": _bucket,
            "HashOf": _hash,
            "PeriodOf": _period,
            "OffsetOf": _offset,
            "NumberOfName": _substitute,
            "Fixed": _fixed,
            "AnyRecordType": _any_record_type,
        }
    )
)
