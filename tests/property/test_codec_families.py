"""What holds for the codecs of the Java families and the library's own, either way round."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum, IntEnum
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hbase_orm import codecs
from hbase_orm.codecs import Codec
from hbase_orm.errors import CodecError
from tests.property.test_codecs_properties import place, raw, same, text, times

Values = st.SearchStrategy[Any]


class Level(IntEnum):
    LOW = 1
    HIGH = 20


class Colour(Enum):
    RED = "r"
    BLUE = "blue"


@dataclass
class Line:
    sku: str
    count: int = 1
    tags: frozenset[str] = frozenset()
    price: float | None = None
    parts: dict[str, Line] = field(default_factory=dict)


PAST = datetime(1, 1, 2, tzinfo=UTC)
PRESENT = datetime(1970, 1, 2, tzinfo=UTC)
NAMES = text.filter(lambda value: "\x00" not in value)
FILLED = text.map(lambda value: value.encode()[:8].decode(errors="ignore"))
CHARS = st.text(st.characters(min_codepoint=32, max_codepoint=127), max_size=10)
LINES = st.builds(
    Line,
    NAMES,
    st.integers(-(2**60), 2**60),
    st.frozensets(NAMES),
    st.none() | st.floats(allow_nan=False, allow_infinity=False),
)


def whole(codec: Codec[Any]) -> Values:
    return st.integers(codec.minimum, codec.maximum)


def decimals(digits: int, exponents: int) -> Values:
    return st.builds(
        lambda sign, number, exponent: Decimal((sign, tuple(map(int, str(number))), exponent)),
        st.integers(0, 1),
        st.integers(0, 10**digits - 1),
        st.integers(-exponents, exponents),
    )


def small(width: int) -> Values:
    return st.floats(width=32) if width == 32 else st.floats()


def always(values: Values) -> Callable[[Codec[Any]], Values]:
    return lambda _: values


WHOLE = [
    *("int8", "int16", "int32", "bytes.int16", "bytes.int32"),
    *("ordered.int8", "ordered.int16", "ordered.int32", "ordered.int64"),
    *("phoenix.tinyint", "phoenix.smallint", "phoenix.integer", "phoenix.bigint"),
    *("phoenix.unsigned_tinyint", "phoenix.unsigned_smallint"),
    *("phoenix.unsigned_int", "phoenix.unsigned_long"),
]
REAL = ("bytes.float64", "ordered.float64", "phoenix.double")
REAL32 = ("bytes.float32", "ordered.float32", "phoenix.float")
VALUES: dict[str, Callable[[Codec[Any]], Values]] = {
    **dict.fromkeys(WHOLE, whole),
    **dict.fromkeys(REAL, always(small(64))),
    **dict.fromkeys(REAL32, always(small(32))),
    "phoenix.unsigned_float": always(st.floats(min_value=0.0, width=32)),
    "phoenix.unsigned_double": always(st.floats(min_value=0.0)),
    "bytes.bool": always(st.booleans()),
    "phoenix.boolean": always(st.booleans()),
    "bytes.decimal": always(decimals(60, 10_000)),
    "decimal": always(decimals(31, 10_000)),
    "ordered.numeric": always(decimals(31, 400)),
    "phoenix.decimal": always(decimals(38, 80)),
    "bytes.utf8": always(text),
    "ordered.utf8": always(NAMES),
    "phoenix.varchar": always(NAMES),
    "ordered.blob": always(raw),
    "phoenix.varbinary": always(raw),
    "ordered.blobcopy": always(raw.map(lambda data: data.replace(b"\x00", b"\x01"))),
    **dict.fromkeys(("phoenix.date", "phoenix.time", "phoenix.timestamp"), always(times(PAST))),
    **dict.fromkeys(
        ("phoenix.unsigned_date", "phoenix.unsigned_time", "phoenix.unsigned_timestamp"),
        always(times(PRESENT)),
    ),
    "seconds": always(times(PRESENT)),
    "date": always(st.dates()),
    "millis_of_day": always(st.times()),
    "minute_of_day": always(st.times()),
    "timedelta": always(
        st.integers(-(2**63), 2**63 - 1).map(lambda micros: timedelta(microseconds=micros))
    ),
    "uuid": always(st.uuids()),
    "ipv4": always(st.ip_addresses(v=4)),
    "ipv6": always(st.ip_addresses(v=6)),
}
MADE: list[tuple[Callable[..., Codec[Any]], dict[str, Any], Values]] = [
    (codecs.get, {"name": "phoenix.char", "width_bytes": 10}, CHARS.map(lambda c: c.rstrip(" "))),
    (codecs.get, {"name": "phoenix.binary", "width_bytes": 8}, st.binary(max_size=8)),
    (codecs.text, {"width_bytes": 8}, FILLED.map(lambda value: value.rstrip("\x00"))),
    (
        codecs.text,
        {"width_bytes": 8, "pad": b"x", "side": "left", "digit_reversed": True},
        FILLED.map(lambda value: value.rstrip("x")),
    ),
    (codecs.text, {"digit_reversed": True}, text),
    (codecs.raw, {"width_bytes": 3}, st.binary(min_size=3, max_size=3)),
    (codecs.digits, {"width_bytes": 6}, st.integers(0, 999_999)),
    (codecs.digits, {"width_bytes": 6, "digit_reversed": True}, st.integers(0, 999_999)),
    (codecs.seconds, {"width_bytes": 4}, times(PRESENT).filter(lambda at: at.year < 2106)),
    (codecs.get, {"name": "strftime", "format": "%Y%m%d"}, times(PAST)),
    (codecs.get, {"name": "strftime", "format": "%Y-%j %%%H:%M"}, times(PAST)),
    (codecs.get, {"name": "strftime", "format": "%d.%m.%Y"}, times(PAST)),
    (codecs.get, {"name": "strftime"}, times(PAST)),
    (codecs.get, {"name": "enum", "type_": Level}, st.sampled_from(Level)),
    (codecs.get, {"name": "enum", "type_": Colour}, st.sampled_from(Colour)),
    (
        codecs.get,
        {"name": "code", "values": {1: b"A", 2: b"Bx", 3: b"By"}},
        st.integers(1, 3),
    ),
]
SUBJECTS: list[tuple[Codec[Any], Values]] = [
    *(
        (codec, values(codec))
        for name, values in VALUES.items()
        for codec in (codecs.get(name), codecs.get(name, desc=True))
    ),
    *(
        (maker(**parameters, desc=desc), values)
        for maker, parameters, values in MADE
        for desc in (False, True)
    ),
    (codecs.json(Line), LINES),
    (codecs.msgpack(Line), LINES),
    (codecs.json(list[Line]), st.lists(LINES, max_size=3)),
    (codecs.msgpack(dict[int, bytes]), st.dictionaries(st.integers(0, 99), raw, max_size=3)),
]
STRANGERS: tuple[Any, ...] = (
    None,
    b"a",
    "a",
    1,
    1.5,
    Decimal(1),
    object(),
    PAST,
    date(2024, 1, 1),
    time(1),
    [],
)

few = settings(max_examples=15)
each = pytest.mark.parametrize(("codec", "values"), SUBJECTS, ids=[repr(c) for c, _ in SUBJECTS])
each_ordered = pytest.mark.parametrize(
    ("codec", "values"),
    [(c, v) for c, v in SUBJECTS if c.ordered],
    ids=[repr(c) for c, _ in SUBJECTS if c.ordered],
)


def test_every_codec_has_a_subject() -> None:
    plain = {"uint8", "uint16", "uint32", "uint64", "int64", "float64", "bool", "millis", "micros"}
    counter = {"bytes.int64"}

    assert {codec.name for codec, _ in SUBJECTS} | plain | counter == set(codecs.names())


@each
@few
@given(data=st.data())
def test_what_is_encoded_decodes_to_the_normal_value(
    codec: Codec[Any], values: Values, data: st.DataObject
) -> None:
    value = data.draw(values)

    found = codec.decode(codec.encode(value))

    assert same(found, codec.normalize(value))
    assert codec.coarse or same(found, value)


@each
@few
@given(data=st.data())
def test_a_normal_value_has_the_bytes_of_the_value(
    codec: Codec[Any], values: Values, data: st.DataObject
) -> None:
    value = data.draw(values)

    assert codec.encode(codec.normalize(value)) == codec.encode(value)


@each
@few
@given(data=st.data())
def test_every_encoding_has_the_declared_width(
    codec: Codec[Any], values: Values, data: st.DataObject
) -> None:
    width = len(codec.encode(data.draw(values)))

    assert codec.width_bytes in {None, width}


@each_ordered
@few
@given(data=st.data())
def test_bytes_sort_as_values_do(codec: Codec[Any], values: Values, data: st.DataObject) -> None:
    if codec.python_type is Colour:
        return  # its members do not compare
    one, other = (codec.normalize(data.draw(values)) for _ in range(2))
    low, high = sorted((one, other), key=place)

    first, second = codec.encode(low), codec.encode(high)

    assert same(low, high) or ((first > second) if codec.desc else (first < second))


@each
@few
@given(data=st.data())
def test_a_value_starts_with_the_bytes_of_its_beginning(
    codec: Codec[Any], values: Values, data: st.DataObject
) -> None:
    value = codec.normalize(data.draw(values))
    if not isinstance(value, (str, bytes)):
        return
    prefix = value[: data.draw(st.integers(0, len(value)))]

    assert codec.encode(value).startswith(codec.encode_prefix(prefix))


@each
@few
@given(data=st.binary(max_size=24))
def test_any_bytes_decode_or_are_refused(codec: Codec[Any], values: Values, data: bytes) -> None:
    del values
    padded = data[: codec.width_bytes].ljust(codec.width_bytes or 0, b"1")
    for noise in (data, padded):
        found = decoded_or_refused(codec, noise)
        if found is not None:
            with suppress(CodecError):  # some read what others wrote and they would not
                codec.encode(found)


def decoded_or_refused(codec: Codec[Any], data: bytes) -> Any:
    try:
        return codec.decode(data)
    except CodecError:
        return None  # any other error is a failure


@each
def test_values_of_another_type_are_refused(codec: Codec[Any], values: Values) -> None:
    del values
    for stranger in STRANGERS:
        if codec.accepts_type(stranger):
            continue
        with pytest.raises(CodecError) as caught:
            codec.encode(stranger)
        assert (caught.value.codec, caught.value.value) == (codec.name, stranger)


@pytest.mark.parametrize(
    "codec",
    [c for c, _ in SUBJECTS if c.python_type is str],
    ids=repr,
)
def test_lone_surrogates_are_refused(codec: Codec[str]) -> None:
    with pytest.raises(CodecError, match="surrogate"):
        codec.encode("a\ud800")


@pytest.mark.parametrize("codec", [c for c, _ in SUBJECTS if c.python_type is datetime], ids=repr)
def test_naive_datetimes_are_refused(codec: Codec[datetime]) -> None:
    with pytest.raises(CodecError, match="has no time zone"):
        codec.encode(datetime(2024, 5, 6))  # noqa: DTZ001 - that is the test


@pytest.mark.parametrize("codec", [c for c, _ in SUBJECTS if c.name in WHOLE], ids=repr)
def test_integers_out_of_range_are_refused_with_the_range(codec: Codec[int]) -> None:
    assert codec.minimum is not None
    assert codec.maximum is not None
    for value in (codec.minimum - 1, codec.maximum + 1):
        with pytest.raises(CodecError) as caught:
            codec.encode(value)
        assert caught.value.value == value
        assert (caught.value.minimum, caught.value.maximum) == (codec.minimum, codec.maximum)


@pytest.mark.parametrize(
    "name", ["ordered.int32", "phoenix.double", "ordered.numeric", "uuid", "date"]
)
def test_descending_bytes_are_the_ascending_ones_inverted(name: str) -> None:
    value = {
        "ordered.int32": 7,
        "phoenix.double": -2.5,
        "ordered.numeric": Decimal("-12.75"),
        "uuid": UUID(int=77),
        "date": date(2024, 2, 29),
    }[name]

    inverted = bytes(255 - byte for byte in codecs.get(name).encode(value))

    assert codecs.get(name, desc=True).encode(value) == inverted
