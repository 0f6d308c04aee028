"""What generated source does with a value is what the codec does with it, errors included."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, tzinfo
from enum import Enum, IntEnum
from typing import Any, ClassVar
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hbase_orm import codecs
from hbase_orm.codecs import Codec
from hbase_orm.codecs.fixed import FixedRaw, FixedText, ReversedText
from hbase_orm.codecs.inline import decode_source, encode_source, settled_source
from hbase_orm.codecs.numbers import UInt32
from hbase_orm.codecs.source import MISFITS, Scope
from hbase_orm.codecs.text import Text
from tests.property.test_codecs_properties import ZONES, same


class Level(IntEnum):
    LOW = 1
    HIGH = 20


class Colour(Enum):
    RED = "r"


class Name(str):
    __slots__ = ()


class Data(bytes):
    pass


class Number(float):
    pass


class Moment(datetime):
    pass


class Afternoon(UUID):
    pass


PARAMETERS: dict[str, list[dict[str, Any]]] = {
    "text": [
        {},
        {"separator": b"\x00"},
        {"separator": b"::"},
        {"width_bytes": 4},
        {"width_bytes": 4, "pad": b"x", "side": "left"},
        {"width_bytes": 4, "digit_reversed": True},
        {"digit_reversed": True},
    ],
    "raw": [{}, {"width_bytes": 3}],
    "digits": [{"width_bytes": 4}, {"width_bytes": 4, "digit_reversed": True}],
    "seconds": [{}, {"width_bytes": 4}],
    "strftime": [{"format": "%Y%m%d"}],
    "enum": [{"type_": Colour}, {"type_": Level}],
    "code": [{"values": {1: b"A", 2: b"B"}}],
    "json": [{"type_": list[int]}],
    "msgpack": [{"type_": list[int]}],
    "phoenix.char": [{"width_bytes": 4}],
    "phoenix.binary": [{"width_bytes": 4}],
}
DIRECTIONS: dict[str, tuple[bool, ...]] = dict.fromkeys(
    ("bytes.int64", "json", "msgpack"), (False,)
)
CODECS = [
    codecs.get(name, desc=desc, **parameters)
    for name in codecs.names()
    for desc in DIRECTIONS.get(name, (False, True))
    for parameters in PARAMETERS.get(name, [{}])
]

POWERS = tuple(sign * (1 << bits) for bits in (7, 8, 15, 16, 31, 32, 63, 64) for sign in (1, -1))
whole = st.integers() | st.sampled_from(POWERS).flatmap(lambda n: st.integers(n - 2, n + 2))
chars = st.characters() | st.sampled_from("\x00\x01a:x \ud800")
text = st.text(chars, max_size=6)
blobs = st.binary(max_size=6) | st.lists(st.sampled_from(b"\x00\x01\xff")).map(bytes)
zones: st.SearchStrategy[tzinfo | None] = st.sampled_from((*ZONES, None))
times = (
    st.datetimes(timezones=zones)
    | st.datetimes(timezones=st.just(UTC))
    | st.builds(
        lambda ms: datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=ms),
        st.integers(-2, 1 << 41),
    )
)
moments = times.map(lambda at: Moment.combine(at.date(), at.timetz()))
anything = st.one_of(
    whole,
    whole.filter(lambda n: abs(n) < 1 << 63).map(float),
    st.integers(-20, 300),
    st.sampled_from((False, True, *Level, *Colour, None, b"", "", object, 1 + 1j)),
    st.floats(),
    st.floats(width=32),
    st.floats().map(Number),
    st.sampled_from((0.0, -0.0, 1e39, 5e-324, -5e-324, 1e-46)),
    text,
    text.map(Name),
    blobs,
    blobs.map(Data),
    blobs.map(bytearray),
    times,
    moments,
    st.dates(),
    st.times(),
    st.times(timezones=st.sampled_from(ZONES)),
    st.timedeltas(),
    st.sampled_from([timedelta(microseconds=n + k) for n in POWERS for k in (-1, 0, 1)]),
    st.decimals(),
    st.uuids(),
    st.uuids().map(lambda found: Afternoon(int=found.int)),
    st.ip_addresses(),
    st.lists(st.integers(0, 9)),
)
LAST = datetime.max.replace(tzinfo=UTC)
FIRST = datetime.min.replace(tzinfo=UTC)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
TINY = (timedelta(microseconds=1), timedelta(milliseconds=1), timedelta(seconds=1))
HARD: tuple[Any, ...] = (
    *(n + k for n in POWERS for k in (-1, 0, 1)),
    *(float(n) for n in (0, 1, -1, 1 << 53, 1 << 63, -(1 << 63))),
    *(-0.0, math.inf, -math.inf, math.nan, -math.nan, 5e-324, -5e-324, 1e-46, -1e-46, 1e39, -1e39),
    *(EPOCH + sign * tiny for tiny in TINY for sign in (-1, 0, 1)),
    *(EPOCH + timedelta(seconds=(1 << bits) + k) for bits in (31, 32) for k in (-1, 0, 1)),
    *(FIRST, FIRST + TINY[0], LAST, LAST - TINY[1]),
    *(at.replace(tzinfo=zone) for at in (FIRST, EPOCH, LAST) for zone in (*ZONES, None)),
    *(timedelta(microseconds=n + k) for n in POWERS for k in (-1, 0, 1)),
    *(date.min, date(1970, 1, 1), date.max),
    *(
        "",
        "\x00",
        "a:",
        "a::b",
        ":",
        "abcd",
        "abcde",
        "xa",
        "ax",
        "ax\x00",
        "\ud800",
        "\U0001f600é",
    ),
    *(b"", b"\x00", b"abc", b"abcd", b"abcde", bytearray(b"abc")),
    *(0, 9999, 10_000, False, True, None, Level.LOW, Colour.RED, Name("ab"), Number(1.5)),
    *(Data(b"abc"), Moment(2024, 1, 1, tzinfo=UTC), Afternoon(int=3), UUID(int=(1 << 128) - 1)),
)


def hard_bytes(codec: Codec[Any]) -> set[bytes]:
    """Return the ends and the middle of what a codec of fixed width could read, and neighbours."""
    found = {b"", b"\x00", b"\x01", b"\xff", b"\x80", b"\xc3", bytes(12), b"\xff" * 12}
    for width in {codec.width_bytes or 8, 1, 2, 4, 8}:
        end = 1 << 8 * width
        for place in (0, end >> 1, end - 1):
            found |= {
                (place + offset).to_bytes(width, "big")
                for offset in (-1000, -2, -1, 0, 1, 2, 1000)
                if 0 <= place + offset < end
            }
    return found


USUAL: dict[type, tuple[Any, ...]] = {
    int: (0, 1, 100),
    float: (1.5, -1.5, 0.0),
    bool: (False, True),
    str: ("", "abc"),
    bytes: (b"abc",),
    datetime: (datetime(2024, 5, 6, 7, 8, 9, 123_000, tzinfo=UTC),),
    date: (date(2024, 5, 6),),
    timedelta: (timedelta(days=-1, microseconds=5),),
    UUID: (UUID(int=5),),
}
PLAIN_ENCODE = {
    *("bytes.decimal", "decimal", "ordered.numeric", "phoenix.decimal", "enum", "code"),
    *("json", "msgpack", "strftime", "ipv4", "ipv6", "millis_of_day", "minute_of_day"),
    *("ordered.blob", "ordered.blobcopy", "phoenix.char", "phoenix.binary"),
    *("phoenix.unsigned_float", "phoenix.unsigned_double", "phoenix.timestamp"),
    *("phoenix.unsigned_date", "phoenix.unsigned_time", "phoenix.unsigned_timestamp"),
}

INLINE_DECODE = {
    *("uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64", "bytes.int64"),
    *("float64", "bool", "raw", "millis", "micros", "seconds", "date", "timedelta"),
    *("bytes.int16", "bytes.int32", "bytes.float32", "bytes.float64", "bytes.bool", "bytes.utf8"),
    *("ordered.int8", "ordered.int16", "ordered.int32", "ordered.int64"),
    *("phoenix.tinyint", "phoenix.smallint", "phoenix.integer", "phoenix.bigint"),
    *("phoenix.unsigned_tinyint", "phoenix.unsigned_smallint", "phoenix.unsigned_int"),
    *("phoenix.unsigned_long", "phoenix.boolean", "phoenix.varchar"),
    *("phoenix.date", "phoenix.time"),
}

few = settings(max_examples=40)
each = pytest.mark.parametrize("codec", CODECS, ids=repr)


def made(
    codec: Codec[Any], source: Callable[..., str], plainly: Callable[[Any], Any] | None
) -> tuple[Callable[[Any], Any], Scope]:
    """Return the function of one value that the source is, and its scope."""
    scope = Scope(MISFITS=MISFITS, plainly=plainly)
    lines = ["def found(value):", "    try:", f"        return {source(codec, 'value', scope)}"]
    lines += ["    except MISFITS:", "        return plainly(value)"]
    return scope.compiled(lines, "found"), scope


def outcome(function: Callable[[Any], Any], value: Any) -> tuple[Any, ...]:
    try:
        found = function(value)
    except Exception as error:  # noqa: BLE001 - whatever the codec raises, the source must raise
        return type(error), str(error)
    return "found", found


def alike(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    return one[0] == other[0] and (same(one[1], other[1]) or repr(one) == repr(other))


def test_every_codec_is_a_subject() -> None:
    assert {codec.name for codec in CODECS} == set(codecs.names())


@each
def test_source_does_with_hard_values_what_the_codec_does(codec: Codec[Any]) -> None:
    encode, _ = made(codec, encode_source, codec.encode)
    decode, _ = made(codec, decode_source, codec.decode)
    stored = {data for _, data in (outcome(codec.encode, value) for value in HARD)}

    for value in HARD:
        found, expected = outcome(encode, value), outcome(codec.encode, value)
        assert alike(found, expected), (value, found, expected)
    for data in hard_bytes(codec) | {found for found in stored if isinstance(found, bytes)}:
        found, expected = outcome(decode, data), outcome(codec.decode, data)
        assert alike(found, expected), (data, found, expected)


@each
@few
@given(value=anything)
def test_source_encodes_as_the_codec_does(codec: Codec[Any], value: Any) -> None:
    encode, _ = made(codec, encode_source, codec.encode)

    found, expected = outcome(encode, value), outcome(codec.encode, value)

    assert alike(found, expected), (found, expected)


@each
@few
@given(noise=st.binary(max_size=20), value=anything)
def test_source_decodes_as_the_codec_does(codec: Codec[Any], noise: bytes, value: Any) -> None:
    decode, _ = made(codec, decode_source, codec.decode)
    width = codec.width_bytes or 8
    encoded = outcome(codec.encode, value)

    for data in (noise, noise[:width].ljust(width, b"\x01"), encoded[1]):
        if isinstance(data, bytes):
            found, expected = outcome(decode, data), outcome(codec.decode, data)
            assert alike(found, expected), (data, found, expected)


@each
@few
@given(value=anything)
def test_what_is_settled_is_stored_as_it_is(codec: Codec[Any], value: Any) -> None:
    is_settled, _ = made(codec, settled_source, None)
    if not is_settled(value):
        return

    assert codec.accepts_type(value)
    assert not codec.coarse or same(codec.normalize(value), value)


def refuse_call(value: Any) -> Any:
    raise AssertionError(value)


def without_calls(
    codec: Codec[Any], source: Callable[..., str], method: str
) -> Callable[[Any], Any]:
    """Return the function that the source is, in which a call of the codec fails."""
    function, scope = made(codec, source, refuse_call)
    for name in scope.values:
        if name.startswith(f"_{method}"):
            scope.values[name] = refuse_call
    return function


def usual_values(codec: Codec[Any]) -> list[Any]:
    return [
        value
        for value in USUAL.get(codec.python_type, ())
        if "width_bytes=3" not in repr(codec) or len(value) == 3
    ]


def is_stored_backwards(codec: Codec[Any]) -> bool:
    is_reversed = isinstance(codec, FixedText) and codec.digit_reversed
    return is_reversed or isinstance(codec, ReversedText)


@pytest.mark.parametrize(
    "codec",
    [c for c in CODECS if c.name not in PLAIN_ENCODE and not is_stored_backwards(c)],
    ids=repr,
)
def test_a_usual_value_is_encoded_without_a_call(codec: Codec[Any]) -> None:
    encode = without_calls(codec, encode_source, "encode")
    values = usual_values(codec)

    assert values
    for value in values:
        assert encode(value) == codec.encode(value)


@pytest.mark.parametrize("codec", [c for c in CODECS if c.name in INLINE_DECODE], ids=repr)
def test_usual_bytes_are_decoded_without_a_call(codec: Codec[Any]) -> None:
    decode = without_calls(codec, decode_source, "decode")
    values = usual_values(codec)

    assert values
    for value in values:
        assert same(decode(codec.encode(value)), codec.normalize(value))


@dataclass(frozen=True, slots=True)
class Shouted(Text):
    """A user's codec: derived from one that states source."""

    name: ClassVar[str] = "shouted"

    def stored(self, value: str, /) -> bytes:
        return Text.stored(self, value.upper())


@dataclass(frozen=True, slots=True)
class Renamed(UInt32):
    """A user's codec that does nothing of its own."""

    name: ClassVar[str] = "renamed"


def test_a_codec_that_overrides_a_method_is_called() -> None:
    encode, _ = made(Shouted(), encode_source, None)

    assert encode("abc") == b"ABC"
    assert "encode" in encode_source(FixedRaw(width_bytes=3), "value", Scope())


def test_a_codec_of_another_name_is_not() -> None:
    assert without_calls(Renamed(), encode_source, "encode")(7) == b"\x00\x00\x00\x07"


def test_names_in_a_scope_are_never_given_twice() -> None:
    scope = Scope(encode=len)

    names = [scope.bind(1, "encode"), scope.bind(2, "encode"), scope.local("encode")]

    assert len({*names, "encode"}) == 4
    assert [scope.values[name] for name in names[:2]] == [1, 2]
