"""Text, bytes and digits of one width, and codes: literal bytes, and what would be ambiguous."""

from __future__ import annotations

from enum import Enum, IntEnum
from typing import Any

import pytest

from hbase_orm import Family, Key, Mapped, Model, Table, codecs, column, key
from hbase_orm.codecs import Codec
from hbase_orm.errors import CodecError, SchemaError


class Status(Enum):
    NEW = "n"
    PAID = "p"


class Level(IntEnum):
    LOW = 1
    HIGH = 2


class Mixed(Enum):
    ONE = 1
    TWO = "2"


class Wide(Enum):
    HUGE = 1 << 70


CODES = {Status.NEW: b"N", Status.PAID: b"P"}


@pytest.mark.parametrize(
    ("codec", "value", "data"),
    [
        (codecs.text(width_bytes=4), "ab", b"ab\x00\x00"),
        (codecs.text(width_bytes=4), "", b"\x00\x00\x00\x00"),
        (codecs.text(width_bytes=4, desc=True), "ab", b"\x9e\x9d\xff\xff"),
        (codecs.text(width_bytes=4, pad=b"x", side="left"), "ab", b"xxab"),
        (codecs.text(width_bytes=5, digit_reversed=True), "138", b"831\x00\x00"),
        (codecs.text(digit_reversed=True), "138", b"831"),
        (codecs.raw(width_bytes=2), b"\x00\x01", b"\x00\x01"),
        (codecs.raw(width_bytes=2, desc=True), b"\x00\x01", b"\xff\xfe"),
        (codecs.digits(4), 42, b"0042"),
        (codecs.digits(4, digit_reversed=True), 42, b"2400"),
        (codecs.digits(4, desc=True), 42, bytes(255 - byte for byte in b"0042")),
        (codecs.code(CODES), Status.PAID, b"P"),
        (codecs.code({1: b"a", 2: b"bb"}, desc=True), 2, b"\x9d\x9d"),
        (codecs.enum(Status), Status.PAID, b"p"),
        (codecs.enum(Level), Level.HIGH, b"\x80" + b"\x00" * 6 + b"\x02"),
        (codecs.enum(Level, desc=True), Level.HIGH, b"\x7f" + b"\xff" * 6 + b"\xfd"),
    ],
)
def test_a_value_has_these_bytes(codec: Codec[Any], value: Any, data: bytes) -> None:
    assert codec.encode(value) == data
    assert codec.decode(data) == value


@pytest.mark.parametrize(
    ("codec", "value", "text"),
    [
        (codecs.text(width_bytes=4), "abcde", "the text is too long"),
        (codecs.text(width_bytes=4), "üüü", "the text is too long"),
        (
            codecs.text(width_bytes=4),
            "a\x00",
            "the text begins or ends with the padding character, which would be lost",
        ),
        (
            codecs.text(width_bytes=4, pad=b"x"),
            "axxx",
            "the text begins or ends with the padding character, which would be lost",
        ),
        (
            codecs.text(width_bytes=4, pad=b"x", side="left"),
            "xa",
            "the text begins or ends with the padding character, which would be lost",
        ),
        (
            codecs.text(width_bytes=4, pad=b"x", digit_reversed=True),
            "xa",
            "the text begins or ends with the padding character, which would be lost",
        ),
        (
            codecs.text(separator=b"_", digit_reversed=True),
            "a_",
            "the text contains the separator, or ends with the beginning of the separator",
        ),
        (codecs.raw(width_bytes=2), b"a", "the value has another width"),
        (codecs.raw(width_bytes=2), b"abc", "the value has another width"),
        (codecs.digits(4), 10_000, "the integer is out of range"),
        (codecs.digits(4), -1, "the integer is out of range"),
        (codecs.digits(4), "1", "the value is not an integer"),
        (codecs.code({1: b"a"}), 2, "the value has no code"),
        (codecs.code({1: b"a"}), True, "the value has no code"),
        (codecs.enum(Status), "n", "the value is not a member of the enum"),
    ],
)
def test_a_value_that_would_be_ambiguous_is_refused(
    codec: Codec[Any], value: Any, text: str
) -> None:
    with pytest.raises(CodecError) as caught:
        codec.encode(value)

    assert (caught.value.text, caught.value.codec, caught.value.value) == (text, codec.name, value)


@pytest.mark.parametrize(
    ("codec", "data"),
    [
        (codecs.text(width_bytes=2), b"abc"),
        (codecs.text(width_bytes=2), b"\xff\xff"),
        (codecs.raw(width_bytes=2), b"a"),
        (codecs.digits(2), b"1a"),
        (codecs.digits(2), b"123"),
        (codecs.code({1: b"a"}), b"b"),
        (codecs.enum(Status), b"x"),
        (codecs.enum(Level), b"\x80"),
    ],
)
def test_bytes_that_are_no_encoding_are_refused(codec: Codec[Any], data: bytes) -> None:
    with pytest.raises(CodecError):
        codec.decode(data)


def test_padding_that_is_the_values_other_end_is_no_matter() -> None:
    codec = codecs.text(width_bytes=4, pad=b"x")

    assert codec.decode(codec.encode("xa")) == "xa"


@pytest.mark.parametrize(
    ("codec", "ordered"),
    [
        (codecs.text(width_bytes=4), True),
        (codecs.text(width_bytes=4, desc=True), True),
        (codecs.text(width_bytes=4, pad=b"x"), False),
        (codecs.text(width_bytes=4, side="left"), False),
        (codecs.text(width_bytes=4, digit_reversed=True), False),
        (codecs.text(digit_reversed=True), False),
        (codecs.raw(width_bytes=4, desc=True), True),
        (codecs.digits(4), True),
        (codecs.digits(4, digit_reversed=True), False),
        (codecs.code({1: b"a", 2: b"b"}), True),
        (codecs.code({1: b"b", 2: b"a"}), False),
        (codecs.code({1: b"a", 2: b"bb"}, desc=True), False),
        (codecs.code(CODES), True),
        (codecs.enum(Level), True),
        (codecs.enum(Status, desc=True), False),
    ],
)
def test_a_codec_says_whether_it_sorts(codec: Codec[Any], ordered: bool) -> None:  # noqa: FBT001 - a column of the table
    assert codec.ordered is ordered


@pytest.mark.parametrize(
    ("codec", "prefix", "data"),
    [
        (codecs.text(width_bytes=4), "a", b"a"),
        (codecs.text(width_bytes=4, desc=True), "a", b"\x9e"),
        (codecs.text(width_bytes=4, side="left"), "a", b""),
        (codecs.text(width_bytes=4, digit_reversed=True), "a", b""),
        (codecs.text(digit_reversed=True), "a", b""),
        (codecs.raw(width_bytes=4), b"a", b"a"),
        (codecs.uint8(), 1, b""),
    ],
)
def test_a_beginning_has_these_bytes(codec: Codec[Any], prefix: Any, data: bytes) -> None:
    assert codec.encode_prefix(prefix) == data


def test_a_beginning_longer_than_the_width_is_refused() -> None:
    with pytest.raises(CodecError, match="too long"):
        codecs.text(width_bytes=1).encode_prefix("ab")
    with pytest.raises(CodecError, match="too long"):
        codecs.raw(width_bytes=1).encode_prefix(b"ab")


@pytest.mark.parametrize(
    "parameters",
    [
        {"name": "text", "width_bytes": 0},
        {"name": "text", "width_bytes": 4, "pad": b"ab"},
        {"name": "text", "width_bytes": 4, "pad": b"\xff"},
        {"name": "text", "width_bytes": 4, "side": "top"},
        {"name": "text", "width_bytes": 4, "separator": b"_"},
        {"name": "text", "pad": b"x"},
        {"name": "text", "side": "left"},
        {"name": "raw", "width_bytes": 0},
        {"name": "digits", "width_bytes": -1},
        {"name": "digits"},
        {"name": "code", "values": {}},
        {"name": "code", "values": {1: b""}},
        {"name": "code", "values": {1: b"a", 2: b"ab"}},
        {"name": "code", "values": {1: b"a", 2: b"a"}},
        {"name": "code", "values": {1: "a"}},
        {"name": "enum", "type_": Mixed},
        {"name": "enum", "type_": Wide},
        {"name": "seconds", "width_bytes": 5},
    ],
)
def test_parameters_that_make_no_sense_are_refused(parameters: dict[str, Any]) -> None:
    with pytest.raises(SchemaError):
        codecs.get(**parameters)


def test_bytes_of_one_width_begin_at_zeros_and_digits_at_zero() -> None:
    assert codecs.raw(width_bytes=2).minimum == b"\x00\x00"
    assert (codecs.digits(2).minimum, codecs.digits(2).maximum) == (0, 99)


def test_codes_of_two_widths_have_none() -> None:
    assert codecs.code({1: b"a", 2: b"bb"}).width_bytes is None
    assert codecs.code(CODES).width_bytes == 1


def test_codes_of_values_of_two_types_take_any_type() -> None:
    assert codecs.code({1: b"a", "x": b"b"}).python_type is object
    assert codecs.code(CODES).python_type is Status


def test_an_enum_field_needs_no_codec() -> None:
    class Order(Model, table=Table("orders")):
        d = Family("d")

        number: Key[int] = key()
        status: Mapped[Status] = column(d, "s")

    codec = Order.__schema__.column_by_name["status"].codec

    assert (codec.name, codec.python_type, codec.width_bytes) == ("enum", Status, None)
