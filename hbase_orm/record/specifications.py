"""Specifications: codecs, row keys and columns as plain JSON values.

A specification has everything that affects stored bytes and nothing else: two declarations whose
specifications are equal read and write the same bytes. Names of fields are left out, because a
field may be renamed without a change of the bytes. A part of a row key refers to a key field by the
field's number, in the order in which the parts mention the key fields.

A specification has no functions of the application (`Computed`, the upgrades of a packed value),
because two functions cannot be compared.

Every member is written, also one with its usual value. A member of `MAY_BE_UNKNOWN` that is null
(None) is unknown, and equal to every value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from types import MappingProxyType
from typing import Any, Final, TypeGuard

from hbase_orm.codecs import Codec
from hbase_orm.codecs.choices import Code, Enumerated
from hbase_orm.codecs.fixed import ReversedText
from hbase_orm.codecs.structures import Packed
from hbase_orm.codecs.text import Text
from hbase_orm.record.packed_types import differs_in_none, joined_type_text, packed_type_text
from hbase_orm.rowkey import KeyLayout, Part
from hbase_orm.rowkey.derivations import OffsetOf, PeriodOf
from hbase_orm.rowkey.nulls import OrNone
from hbase_orm.rowkey.parts import Derivation
from hbase_orm.rowkey.periods import Unit
from hbase_orm.rowkey.record_types import RecordTypeCodec
from hbase_orm.schema.canonical import value_text

Spec = dict[str, Any]
"""A JSON object."""

# Fields of derivations that follow from other fields, or affect only how statements are planned.
_UNSTORED: Final = frozenset({"inputs", "sorts", "repeating", "values", "function"})


_CODES: Final = "codes"
_EVERY: Final = "every"
_DIGIT_REVERSED: Final = "digit_reversed"
PACKED: Final = "packed"
"""The version and the type of packed values; null if the type is unknown."""
PACKED_MEMBERS: Final = frozenset({"version", "type"})

SPEC_MEMBERS: Final = frozenset(
    {
        *("codec", "desc", "separator", "width_bytes", "pad", "side", "digit_reversed", "format"),
        *("values", "value", "codes", "packed", "field", "derived", "of", "ends", "end"),
        *("numbers", "hash_name", "algorithm", "form", "unit", "every", "resolution_micros"),
        *("python_type", "dictionary"),
    }
)
"""The members that this version knows, of all codecs of the library and parts of row keys."""

MAY_BE_UNKNOWN: Final = frozenset({_EVERY, _DIGIT_REVERSED, PACKED})
"""The members that may be null because they are unknown: the first records lack them."""

# Several classes have one of these names; so each has the members of all of them.
_MEMBERS_OF_NAME: Final[Mapping[str, Spec]] = MappingProxyType(
    {
        "text": dict.fromkeys(("separator", "width_bytes", "pad", "side", _DIGIT_REVERSED)),
        "raw": {"width_bytes": None},
        "json": {PACKED: None},
        "msgpack": {PACKED: None},
    }
)
_DICTIONARY: Final = "dictionary"
_DEFAULT_NAMESPACE: Final = "default"


def codec_spec(codec: Codec[Any]) -> Spec:
    """Return the specification of a codec."""
    spec: Spec = {"codec": codec.name, **_MEMBERS_OF_NAME.get(codec.name, {})}
    match codec:
        case Packed(type_=type_, version=version):
            text = packed_type_text(type_)
            spec[PACKED] = None if text is None else {"version": version, "type": text}
        case RecordTypeCodec():
            pass  # its values are declared by the classes of a base
        case Enumerated(inner=inner):
            spec["values"] = codec_spec(inner)
        case Code(pairs=pairs):
            spec[_CODES] = {value_text(value): data.hex() for value, data in pairs}
        case OrNone(part=part):
            spec["value"] = _part_spec(part, {})
        case _ if is_dataclass(codec):
            own = {each.name: getattr(codec, each.name) for each in fields(codec) if each.compare}
            spec |= {name: _plain(value) for name, value in own.items() if name != "desc"}
    if isinstance(codec, Text) and _DIGIT_REVERSED in spec:
        spec[_DIGIT_REVERSED] = isinstance(codec, ReversedText)
    return spec | {"desc": codec.desc}


def key_spec(layout: KeyLayout, namespace: str | None = None) -> list[Spec]:
    """Return the specification of a row key: one object for each part.

    Args:
        layout: The layout of the row key.
        namespace: The engine's namespace, which dictionaries have that are named without one; empty
            for HBase's default. None leaves the names of dictionaries as they are declared.
    """
    positions = key_fields(layout)
    numbers = {name: number for number, name in enumerate(positions)}
    return [_part_spec(part, numbers, namespace) for part in layout.parts]


def key_fields(layout: KeyLayout) -> list[str]:
    """Return the key fields in the order in which the parts mention them."""
    return list(dict.fromkeys(name for part in layout.parts for name in _mentioned(part)))


def _mentioned(part: Part) -> Iterator[str]:
    if part.derivation is None:
        yield part.name
    for each in part.inputs:
        yield from _mentioned(each)


def _part_spec(part: Part, numbers: Mapping[str, int], namespace: str | None = None) -> Spec:
    spec: Spec = {}
    if part.derivation is None:
        if part.name in numbers:
            spec["field"] = numbers[part.name]
    else:
        spec |= _derivation_spec(part.derivation, numbers, namespace)
    # A whole hash has a width, although its codec has none.
    spec |= {
        n: each for n, each in codec_spec(part.codec).items() if each is not None or n not in spec
    }
    return spec | {"ends": part.framing.name.lower(), "end": part.end.hex()}


def _derivation_spec(
    derivation: Derivation, numbers: Mapping[str, int], namespace: str | None
) -> Spec:
    own = {each.name: getattr(derivation, each.name) for each in fields(derivation)}
    spec: Spec = {"derived": type(derivation).__name__}
    spec |= {name: _plain(value) for name, value in own.items() if name not in _UNSTORED}
    if isinstance(derivation, (PeriodOf, OffsetOf)):
        spec[_EVERY] = derivation.unit.every
    if derivation.inputs:
        spec["of"] = [_part_spec(each, numbers, namespace) for each in derivation.inputs]
    if derivation.dictionary is not None and namespace is not None:
        spec[_DICTIONARY] = _in_namespace(derivation.dictionary, namespace)
    return spec


def _in_namespace(dictionary: str, namespace: str) -> str:
    return dictionary if ":" in dictionary else f"{namespace or _DEFAULT_NAMESPACE}:{dictionary}"


def _plain(value: Any) -> Any:
    """Return a parameter of a codec or of a derivation as a JSON value."""
    plain: Any = value
    match value:
        case None | bool() | int() | float() | str():
            pass
        case bytes():
            plain = value.hex()
        case Enum() | Unit():
            plain = value.name
        case type():
            plain = value.__name__
        case Codec():
            plain = codec_spec(value)
        case Sequence():
            plain = _plain_list(value)
        case _:
            plain = value_text(value)
    return plain


def _plain_list(values: Sequence[Any]) -> Any:
    """Return a list of JSON values; the list of the bytes 0, 1, 2 … is replaced by its length."""
    if values and all(each == bytes((n,)) for n, each in enumerate(values[:256])):
        return len(values)
    return [_plain(each) for each in values]


def same_codec(recorded: Spec, declared: Spec) -> bool:
    """Return whether two codecs, or two parts of row keys, read each other's bytes alike.

    Codes that only one of them has make no difference, because they do not change the meaning of
    the other codes. Nor does None in packed values, if only one of the types allows it: the other
    one refuses the values that have it. This holds for nested codecs and parts too.
    """
    return _reads_alike(recorded, declared)


def _reads_alike(recorded: Any, declared: Any) -> bool:
    match recorded, declared:
        case dict(), dict():
            old: Spec = recorded
            new: Spec = declared
            return old.keys() == new.keys() and all(
                _reads_member_alike(name, value, new[name]) for name, value in old.items()
            )
        case list(), list():
            olds: list[Any] = recorded
            news: list[Any] = declared
            return len(olds) == len(news) and all(map(_reads_alike, olds, news))
        case _:
            return bool(recorded == declared)


def _reads_member_alike(name: str, old: Any, new: Any) -> bool:
    if _is_unknown(name, old, new):
        return True
    if name == _CODES and _is_codes(old) and _is_codes(new):
        return _same_codes(old, new)
    if name == PACKED and isinstance(old, dict) and isinstance(new, dict):
        # Values carry the version, and the codec has functions that upgrade older ones.
        return old.get("version") != new.get("version") or _read_alike_but_none(old, new)
    if name == _DICTIONARY and isinstance(old, str) and isinstance(new, str):
        return _may_be_one_dictionary(old, new)
    return _reads_alike(old, new)


def _read_alike_but_none(old: Spec, new: Spec) -> bool:
    match old, new:
        case {"type": str(before)}, {"type": str(after)}:
            return differs_in_none(before, after)
        case _:
            return old == new


def _is_unknown(name: str, *values: Any) -> bool:
    return name in MAY_BE_UNKNOWN and None in values


def equal_codec(recorded: Spec, declared: Spec) -> bool:
    """Return whether two codecs, or parts of row keys, are the same as far as they are known."""
    return _equal("", recorded, declared)


def _equal(name: str, old: Any, new: Any) -> bool:
    match old, new:
        case dict(), dict():
            return old.keys() == new.keys() and all(_equal(n, old[n], new[n]) for n in old)
        case list(), list():
            pairs = zip(old, new, strict=False)
            return len(old) == len(new) and all(_equal("", one, other) for one, other in pairs)
        case _:
            return _is_unknown(name, old, new) or bool(old == new)


def _may_be_one_dictionary(old: str, new: str) -> bool:
    """Return whether two names can be those of one dictionary.

    The first records have the names as they were declared: the namespace is unknown then.
    """
    namespaces, names = zip(*((each.rpartition(":")[::2]) for each in (old, new)), strict=True)
    return names[0] == names[1] and (namespaces[0] == namespaces[1] or "" in namespaces)


def _same_codes(old: Mapping[str, str], new: Mapping[str, str]) -> bool:
    """Return whether no value has two different codes, and no code stands for two values."""
    return all(new.get(value, data) == data for value, data in old.items()) and len(
        {**old, **new}
    ) == len({*old.values(), *new.values()})


def _is_codes(codes: object) -> TypeGuard[dict[str, str]]:
    """Return whether `codes` is a dict of texts; a damaged record may have anything else."""
    return isinstance(codes, dict) and all(isinstance(code, str) for code in codes.values())


def joined_codec(recorded: Spec, declared: Spec) -> Spec:
    """Return `declared`, a codec or a part of a row key, with the codes and types of both.

    What only the record knows stays.
    """
    joined: Spec = {PACKED: recorded[PACKED]} if PACKED in recorded else {}
    for name, new in declared.items():
        old = recorded.get(name)
        is_unknown = new is None and name in MAY_BE_UNKNOWN
        joined[name] = old if is_unknown else _joined(name, old, new)
    return joined


def _joined(name: str, old: Any, new: Any) -> Any:
    match old, new:
        case dict(), dict() if name == _CODES:
            return {**old, **new}
        case {"version": int(before)}, {"version": int(after)} if name == PACKED:
            return _joined_type(old, new) if before == after else max(old, new, key=_version)
        case str(), str() if name == _DICTIONARY:
            return old  # without a namespace, nobody knows whether the new name is the same
        case dict(), dict():
            return joined_codec(old, new)
        case list(), list() if len(old) == len(new):
            return [_joined("", before, after) for before, after in zip(old, new, strict=True)]
        case _:
            return new


def _version(packed: Spec) -> int:
    version: int = packed["version"]
    return version


def _joined_type(old: Spec, new: Spec) -> Spec:
    match old, new:
        case {"type": str(before)}, {"type": str(after)} if differs_in_none(before, after):
            return {**new, "type": joined_type_text(before, after)}
        case _:
            return new


def same_key(recorded: Sequence[Spec], declared: Sequence[Spec]) -> bool:
    """Return whether two row keys have the same bytes for the same values."""
    return len(recorded) == len(declared) and all(map(same_codec, recorded, declared))
