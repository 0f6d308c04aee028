"""Phoenix's types: literal bytes, row keys as Phoenix makes them, and what is refused."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest

from hbase_orm import codecs
from hbase_orm.errors import CodecError, SchemaError
from hbase_orm.rowkey.parts import part_of

AT = datetime(2023, 11, 14, 22, 13, 20, 123_456, tzinfo=UTC)
CHAR = {"width_bytes": 4}


@pytest.mark.parametrize(
    ("name", "value", "data"),
    [
        ("phoenix.tinyint", -2, "7e"),
        ("phoenix.smallint", -2, "7ffe"),
        ("phoenix.integer", -1, "7fffffff"),
        ("phoenix.bigint", 1_700_000_000_000, "8000018bcfe56800"),
        ("phoenix.unsigned_int", 1, "00000001"),
        ("phoenix.unsigned_long", 1, "0000000000000001"),
        ("phoenix.double", -1.5, "4008000000000000"),
        ("phoenix.double", -0.0, "8000000000000000"),
        ("phoenix.double", 0.0, "8000000000000001"),
        ("phoenix.double", 1.5, "bff8000000000001"),
        ("phoenix.double", math.nan, "fff8000000000001"),
        ("phoenix.float", 1.5, "bfc00001"),
        ("phoenix.unsigned_double", 1.5, "3ff8000000000000"),
        ("phoenix.unsigned_double", -0.0, "8000000000000000"),
        ("phoenix.decimal", Decimal("-10.5"), "3e5b3366"),
        ("phoenix.decimal", Decimal(0), "80"),
        ("phoenix.decimal", Decimal("123.456"), "c202182e3d"),
        ("phoenix.decimal", Decimal("1E-126"), "8202"),
        ("phoenix.decimal", Decimal("9.9E+125"), "ff64"),
        (
            "phoenix.decimal",
            Decimal("-1234567890123456789012345678901234567.8"),
            "2c644e38220c644e38220c644e38220c644e382215",
        ),
        ("phoenix.varchar", "ab", "6162"),
        ("phoenix.varbinary", b"\x00", "00"),
        ("phoenix.boolean", True, "01"),
        ("phoenix.date", AT, "8000018bcfe5687b"),
        ("phoenix.timestamp", AT, "8000018bcfe5687b0006f540"),
        ("phoenix.unsigned_date", AT, "0000018bcfe5687b"),
    ],
)
def test_phoenix_writes_a_value_so(name: str, value: Any, data: str) -> None:
    assert codecs.get(name).encode(value).hex() == data


@pytest.mark.parametrize(
    ("name", "parameters", "value", "data"),
    [
        ("phoenix.boolean", {}, True, "00"),
        ("phoenix.double", {}, math.nan, "0007fffffffffffe"),
        ("phoenix.char", CHAR, "ab", "9e9ddfdf"),
        ("phoenix.binary", CHAR, b"\x01", "feffffff"),
        ("phoenix.varchar", {}, "ab", "9e9d"),
    ],
)
def test_phoenix_writes_a_descending_value_so(
    name: str, parameters: dict[str, Any], value: Any, data: str
) -> None:
    assert codecs.get(name, desc=True, **parameters).encode(value).hex() == data


def test_char_is_padded_with_blanks_and_read_without() -> None:
    codec = codecs.get("phoenix.char", width_bytes=4)

    assert codec.encode("a b") == b"a b "
    assert codec.decode(b"a b ") == "a b"
    assert codec.encode_prefix("a ") == b"a "


def test_binary_is_padded_with_zeros_and_read_with_them() -> None:
    codec = codecs.get("phoenix.binary", width_bytes=3)

    assert codec.normalize(b"a") == codec.decode(codec.encode(b"a")) == b"a\x00\x00"
    assert codec.encode_prefix(b"a") == b"a"


@pytest.mark.parametrize(
    ("name", "desc", "value", "data"),
    [
        ("phoenix.varchar", False, "ab", "616200"),
        ("phoenix.varchar", True, "ab", "9e9dff"),
        ("phoenix.decimal", False, Decimal(1), "c10200"),
        ("phoenix.decimal", True, Decimal(1), "3efdff"),
    ],
)
def test_a_varying_part_of_a_key_ends_as_phoenix_ends_it(
    name: str, *, desc: bool, value: Any, data: str
) -> None:
    part = part_of("x", codecs.get(name, desc=desc), is_last=False)

    assert part.encode(value).hex() == data
    assert part.take(bytes.fromhex(data) + b"more", 0) == (value, len(data) // 2)


def test_a_timestamp_has_nanoseconds_that_python_rounds_down() -> None:
    codec = codecs.get("phoenix.timestamp")

    found = codec.decode(bytes.fromhex("8000018bcfe5687b" + "000003e7"))

    assert found == datetime(2023, 11, 14, 22, 13, 20, 123_000, tzinfo=UTC)


def test_a_date_keeps_milliseconds_and_comes_back_in_utc() -> None:
    codec = codecs.get("phoenix.date")

    found = codec.normalize(AT.astimezone(timezone(timedelta(hours=5))))

    assert (found, found.tzinfo) == (AT.replace(microsecond=123_000), UTC)


@pytest.mark.parametrize(
    ("name", "parameters", "value", "text"),
    [
        ("phoenix.unsigned_tinyint", {}, 128, "the integer is out of range"),
        ("phoenix.unsigned_int", {}, -1, "the integer is out of range"),
        ("phoenix.unsigned_int", {}, "1", "the value is not an integer"),
        ("phoenix.unsigned_float", {}, -1.0, "the number is negative"),
        (
            "phoenix.varchar",
            {},
            "a\x00b",
            "the text holds NUL, which Phoenix uses as the end of a VARCHAR in row keys",
        ),
        (
            "phoenix.char",
            CHAR,
            "a ",
            "the text ends with a space, which Phoenix could not distinguish from padding",
        ),
        ("phoenix.char", CHAR, "ü", "CHAR stores only characters that take one byte"),
        ("phoenix.char", CHAR, "abcde", "the text is too long"),
        (
            "phoenix.char",
            CHAR,
            "a\x01",
            "the text holds a control character, which would sort wrongly in a CHAR",
        ),
        ("phoenix.binary", CHAR, b"abcde", "the value is too long"),
        ("phoenix.decimal", {}, Decimal("1E+126"), "the number is out of range"),
        ("phoenix.decimal", {}, Decimal("1E-127"), "the number is out of range"),
        ("phoenix.decimal", {}, Decimal("9" * 39), "the number has too many digits"),
        ("phoenix.decimal", {}, Decimal("-1E+125"), "the number's bytes hold the separator"),
        (
            "phoenix.unsigned_date",
            {},
            datetime(1969, 12, 31, tzinfo=UTC),
            "the time is before 1970",
        ),
    ],
)
def test_a_value_that_phoenix_cannot_hold_is_refused(
    name: str, parameters: dict[str, Any], value: Any, text: str
) -> None:
    with pytest.raises(CodecError) as caught:
        codecs.get(name, **parameters).encode(value)

    assert (caught.value.text, caught.value.codec, caught.value.value) == (text, name, value)


def test_a_decimal_without_separator_takes_all_numbers() -> None:
    codec = codecs.get("phoenix.decimal", separator=None)

    assert codec.encode(Decimal("-1E+125")).hex() == "005b66"


@pytest.mark.parametrize(
    ("name", "parameters", "data"),
    [
        ("phoenix.unsigned_tinyint", {}, "80"),
        ("phoenix.float", {}, "00000000"),
        ("phoenix.float", {}, "00"),
        ("phoenix.unsigned_float", {}, "bf800000"),
        ("phoenix.decimal", {}, ""),
        ("phoenix.decimal", {}, "c2"),
        ("phoenix.decimal", {}, "3e5b33"),
        ("phoenix.decimal", {}, "c20201"),
        ("phoenix.varchar", {}, "ff"),
        ("phoenix.char", CHAR, "6162"),
        ("phoenix.char", CHAR, "61620020"),
        ("phoenix.binary", CHAR, "00"),
        ("phoenix.date", {}, "00"),
        ("phoenix.date", {}, "ffffffffffffffff"),
        ("phoenix.timestamp", {}, "8000018bcfe5687b000f4240"),
        ("phoenix.timestamp", {}, "8000018bcfe5687b"),
    ],
)
def test_bytes_that_are_no_encoding_are_refused(
    name: str, parameters: dict[str, Any], data: str
) -> None:
    with pytest.raises(CodecError):
        codecs.get(name, **parameters).decode(bytes.fromhex(data))


@pytest.mark.parametrize("name", ["phoenix.char", "phoenix.binary"])
@pytest.mark.parametrize("parameters", [{}, {"width_bytes": 0}])
def test_a_padded_type_needs_a_width(name: str, parameters: dict[str, Any]) -> None:
    with pytest.raises(SchemaError):
        codecs.get(name, **parameters)


@pytest.mark.parametrize("name", ["phoenix.unsigned_float", "phoenix.unsigned_double"])
def test_unsigned_floats_do_not_sort_for_negative_zero(name: str) -> None:
    codec = codecs.get(name)

    assert codec.encode(-0.0) > codec.encode(math.inf)
    assert (codec.ordered, codec.minimum) == (False, 0.0)


def test_unsigned_times_begin_at_the_epoch() -> None:
    assert codecs.get("phoenix.unsigned_timestamp").minimum == datetime(1970, 1, 1, tzinfo=UTC)
    assert codecs.get("phoenix.timestamp").minimum is None
