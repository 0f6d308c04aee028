"""Packed values: JSON or MessagePack of dataclasses, lists, sets, dicts, attrs and pydantic values.

Each value is stored with its version number. The functions in `upgrades` convert a value of an
older version, as plain dicts, one version at a time. Then missing fields get their defaults, and
unknown fields are ignored.

JSON is `{"v": version, "d": value}`. MessagePack is the version in one byte, then the value. The
members of sets, and of dicts with str keys, are sorted, so that equal values have equal bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from types import UnionType
from typing import Annotated, Any, ClassVar, get_origin, is_typeddict

import msgspec

from hbase_orm.codecs.base import Codec, T
from hbase_orm.codecs.nesting import MOST_LEVELS, is_too_deep
from hbase_orm.errors import CodecError, SchemaError

Upgrade = Callable[[dict[str, Any]], dict[str, Any]]

_NO_TYPES = (UnionType, Annotated)  # these are classes, but values are not their instances
# In older releases MsgspecError is no ValueError; hooks raise TypeError, pydantic ValueError.
_UNFIT = (msgspec.MsgspecError, TypeError, ValueError, OverflowError)
_TOO_DEEP = "the value is nested too deep"
_MAX_VERSION = 127  # MessagePack writes it in one byte
# MessagePack's lists and maps of up to 15 members begin with 80 to 9f, longer ones with dc to df.
_NO_CONTAINERS = bytes({*range(256)} - {*range(0x80, 0xA0), *range(0xDC, 0xE0)})


class _Envelope(msgspec.Struct):
    v: int
    d: msgspec.Raw


def _dump(value: Any) -> Any:
    """Return a pydantic value's fields as plain data, for msgspec."""
    if hasattr(value, "model_dump"):
        return value.model_dump()
    raise TypeError(f"{type(value).__name__} has no packed form")


def _load(type_: type, data: Any) -> Any:
    """Return a pydantic value with these fields."""
    if hasattr(type_, "model_validate"):
        return type_.model_validate(data)
    raise TypeError(f"{type_.__name__} has no packed form")


@lru_cache
def _python_type(type_: Any) -> type:
    """Return the class of a type's values; object if they have several classes."""
    base = get_origin(type_) or type_
    if is_typeddict(base):
        return dict
    if not isinstance(base, type) or base in _NO_TYPES:
        return object
    try:
        isinstance(None, base)
    except TypeError:  # Any, and protocols
        return object
    return base


@lru_cache
def _json_decoder(type_: Any) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(type_, dec_hook=_load)


@lru_cache
def _msgpack_decoder(type_: Any) -> msgspec.msgpack.Decoder[Any]:
    return msgspec.msgpack.Decoder(type_, dec_hook=_load)


_SORTED_JSON = msgspec.json.Encoder(enc_hook=_dump, order="deterministic")
_SORTED_MSGPACK = msgspec.msgpack.Encoder(enc_hook=_dump, order="deterministic")
_JSON = msgspec.json.Encoder(enc_hook=_dump)
_MSGPACK = msgspec.msgpack.Encoder(enc_hook=_dump)


def _to_json(value: Any) -> bytes:
    try:
        return _SORTED_JSON.encode(value)
    except TypeError:  # msgspec sorts keys that are text only
        return _JSON.encode(value)


def _to_msgpack(value: Any) -> bytes:
    try:
        return _SORTED_MSGPACK.encode(value)
    except TypeError:
        return _MSGPACK.encode(value)


_ENVELOPE = msgspec.json.Decoder(_Envelope)


@dataclass(frozen=True, slots=True)
class Packed(Codec[T]):
    """The base of codecs of packed values.

    Attributes:
        type_: The type of the values, for example `list[Line]`.
        version: The version number that is written, 1 to 127.
        upgrades: For each earlier version number, a function. It takes a value's fields as a dict,
            and returns the dict of the next version.
    """

    type_: Any = field(kw_only=True)
    version: int = 1
    upgrades: Mapping[int, Upgrade] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        """Refuse versions without an upgrade, unsupported types, and a descending form."""
        if self.desc:
            raise SchemaError("packed values have no descending form", codec=self.name)
        if type(self.version) is not int:
            raise SchemaError(
                "the version is not a positive integer", codec=self.name, version=self.version
            )
        if not 1 <= self.version <= _MAX_VERSION or set(self.upgrades) != set(
            range(1, self.version)
        ):
            raise SchemaError(
                "an upgrade is missing: each earlier version needs one",
                codec=self.name,
                version=self.version,
                upgrades=sorted(self.upgrades),
                fix="for version=3 write upgrades={1: from_1_to_2, 2: from_2_to_3}",
            )
        try:
            _json_decoder(self.type_)
        except TypeError as error:
            raise SchemaError(
                "the type cannot be packed", codec=self.name, type=self.type_, reason=str(error)
            ) from None

    @property
    def python_type(self) -> type:  # type: ignore[override]  # the one codec made for a type
        """The type without its parameters; object for unions and the like."""
        return _python_type(self.type_)

    @property
    def ordered(self) -> bool:
        """Always False: packed values do not sort."""
        return False

    def pack(self, value: Any, /) -> bytes:
        """Return the packed value, without its version."""
        raise NotImplementedError

    def unpack(self, data: bytes, /) -> T:
        """Return the value in `data`, which the current version packed."""
        raise NotImplementedError

    def unpack_plain(self, data: bytes, /) -> Any:
        """Return the value in `data`, which any version packed, as dicts and lists."""
        raise NotImplementedError

    def containers(self, packed: bytes, /) -> int:
        """Return an upper limit of the number of lists, maps and objects in a packed value."""
        raise NotImplementedError

    def joined(self, packed: bytes, /) -> bytes:
        """Join the version and the packed value; `parted` is the inverse."""
        raise NotImplementedError

    def parted(self, data: bytes, /) -> tuple[int, bytes]:
        """Split stored bytes into the version and the packed value; `joined` is the inverse."""
        raise NotImplementedError

    def encode(self, value: T, /) -> bytes:
        """Return the version and the packed value, joined.

        Raises:
            CodecError: The value or a part of it does not fit the type. Or it is nested deeper than
                200 levels. Or it would be read back as a different value, such as NaN in JSON.
        """
        if not isinstance(value, self.python_type):
            raise self.refuse(value, "the value has another type", expected=self.type_)
        try:
            packed = self.pack(value)
            # MessagePack distinguishes what JSON does not: NaN from null, 1 from "1" as a key.
            is_kept = _to_msgpack(self.unpack(packed)) == _to_msgpack(value)
            is_deep = self._is_too_deep(packed)
        except RecursionError:
            raise self._refuse_deep(value) from None
        except _UNFIT as error:
            raise self.refuse(
                value, "the value does not fit its type", expected=self.type_, cause=str(error)
            ) from None
        if is_deep:
            raise self._refuse_deep(value)
        if not is_kept:
            raise self.refuse(
                value, "the value would be read back as a different value", expected=self.type_
            )
        return self.joined(packed)

    def decode(self, data: bytes, /) -> T:
        """Return the value, upgraded to the current version.

        Raises:
            CodecError: The bytes are not a packed value of this type, have a newer version, or are
                nested too deep for the call stack.
        """
        try:
            version, packed = self.parted(data)
            if version == self.version:
                return self.unpack(packed)
            plain = self.unpack_plain(packed)
        except RecursionError:
            raise self._too_deep(data) from None
        except (*_UNFIT, IndexError):
            raise self.corrupt(data) from None
        if not 1 <= version < self.version:
            raise self.corrupt(data)
        try:
            for earlier in range(version, self.version):
                plain = _upgraded(plain, self.upgrades[earlier])
            value: T = msgspec.convert(plain, self.type_, dec_hook=_load, str_keys=True)
        except RecursionError:
            raise self._too_deep(data) from None
        except _UNFIT:
            raise self.corrupt(data) from None
        return value

    def stored_version(self, data: bytes, /) -> int:
        """Return the version of a packed value; 0 if the bytes are none."""
        try:
            return self.parted(data)[0]
        except (*_UNFIT, IndexError, RecursionError):
            return 0

    def has_none(self, data: bytes, /) -> bool:
        """Return whether a packed value has None in any place; False if the bytes are none."""
        try:
            values = [self.unpack_plain(self.parted(data)[1])]
        except (*_UNFIT, IndexError, RecursionError):
            return False
        while values:
            value = values.pop()
            if value is None:
                return True
            if isinstance(value, Mapping):
                values += [*value.keys(), *value.values()]
            elif isinstance(value, (list, tuple)):
                values += value
        return False

    def _is_too_deep(self, packed: bytes) -> bool:
        return self.containers(packed) > MOST_LEVELS and is_too_deep(self.unpack_plain(packed))

    def _refuse_deep(self, value: Any) -> CodecError:
        return self.refuse(
            value,
            _TOO_DEEP,
            most_levels=MOST_LEVELS,
            fix="store a flatter value, or store its parts in separate rows",
        )

    def _too_deep(self, data: bytes) -> CodecError:
        return CodecError(
            _TOO_DEEP,
            codec=self.name,
            data=data,
            fix="read it where the call stack is less deep; this library writes values of at "
            "most 200 levels",
        )


def _upgraded(plain: Any, upgrade: Upgrade) -> Any:
    """Upgrade a value by one version; if the value is a list, upgrade each item."""
    if isinstance(plain, list):
        return [_upgraded(one, upgrade) for one in plain]
    return upgrade(plain) if isinstance(plain, dict) else plain


@dataclass(frozen=True, slots=True)
class Json(Packed[T]):
    """A JSON object of the version and the value: `{"v":1,"d":…}`."""

    name: ClassVar[str] = "json"

    def pack(self, value: Any, /) -> bytes:
        """Return the value as JSON."""
        return _to_json(value)

    def unpack(self, data: bytes, /) -> T:
        """Return the value that was packed as JSON."""
        value: T = _json_decoder(self.type_).decode(data)
        return value

    def unpack_plain(self, data: bytes, /) -> Any:
        """Return the value as dicts and lists."""
        return msgspec.json.decode(data)

    def containers(self, packed: bytes, /) -> int:
        """Return the number of opening brackets, including those in texts."""
        return packed.count(b"[") + packed.count(b"{")

    def joined(self, packed: bytes, /) -> bytes:
        """Return a JSON object with the version and the packed value."""
        return b'{"v":%d,"d":%b}' % (self.version, packed)

    def parted(self, data: bytes, /) -> tuple[int, bytes]:
        """Split stored bytes into the version and the packed value."""
        envelope = _ENVELOPE.decode(data)
        return envelope.v, bytes(envelope.d)


@dataclass(frozen=True, slots=True)
class MsgPack(Packed[T]):
    """One byte for the version, then the value as MessagePack."""

    name: ClassVar[str] = "msgpack"

    def pack(self, value: Any, /) -> bytes:
        """Return the value as MessagePack."""
        return _to_msgpack(value)

    def unpack(self, data: bytes, /) -> T:
        """Return the value that was packed as MessagePack."""
        value: T = _msgpack_decoder(self.type_).decode(data)
        return value

    def unpack_plain(self, data: bytes, /) -> Any:
        """Return the value as dicts and lists."""
        return msgspec.msgpack.decode(data)

    def containers(self, packed: bytes, /) -> int:
        """Return the number of bytes that can begin a list or a map, including those in texts."""
        return len(packed.translate(None, delete=_NO_CONTAINERS))

    def joined(self, packed: bytes, /) -> bytes:
        """Return one byte for the version, then the value."""
        return bytes((self.version,)) + packed

    def parted(self, data: bytes, /) -> tuple[int, bytes]:
        """Split stored bytes into the version and the packed value."""
        return data[0], data[1:]
