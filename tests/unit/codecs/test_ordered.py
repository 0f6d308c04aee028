"""HBase's `OrderedBytes`: literal bytes, and what is refused."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import pytest

from hbase_orm import codecs
from hbase_orm.codecs.ordered_numeric import take_varint, varint
from hbase_orm.errors import CodecError


@pytest.mark.parametrize(
    ("name", "value", "data"),
    [
        ("ordered.int8", -2, "297e"),
        ("ordered.int16", 1, "2a8001"),
        ("ordered.int32", -1, "2b7fffffff"),
        ("ordered.int64", 1_700_000_000_000, "2c8000018bcfe56800"),
        ("ordered.float32", 1.5, "30bfc00000"),
        ("ordered.float64", -1.5, "314007ffffffffffff"),
        ("ordered.float64", -0.0, "317fffffffffffffff"),
        ("ordered.float64", math.nan, "31fff8000000000000"),
        ("ordered.numeric", Decimal("-10.5"), "12ea9b"),
        ("ordered.numeric", Decimal("0.00"), "15"),
        ("ordered.numeric", Decimal("123.456"), "19032f5b78"),
        ("ordered.numeric", Decimal("1E+20"), "220b02"),
        ("ordered.numeric", Decimal("-1E+20"), "08f4fd"),
        ("ordered.numeric", Decimal("0.1"), "16ff14"),
        ("ordered.numeric", Decimal("-0.09"), "1400ed"),
        ("ordered.numeric", Decimal("Infinity"), "23"),
        ("ordered.numeric", Decimal("-Infinity"), "07"),
        ("ordered.numeric", Decimal("NaN"), "26"),
        ("ordered.utf8", "ab", "34616200"),
        ("ordered.blob", b"", "3700"),
        ("ordered.blob", b"\x01", "378040"),
        ("ordered.blobcopy", b"a\x00", "386100"),
        ("decimal", Decimal("123.456"), "19032f5b78"),
    ],
)
def test_ordered_bytes_writes_a_value_so(name: str, value: Any, data: str) -> None:
    codec = codecs.get(name)

    assert codec.encode(value).hex() == data
    assert str(codec.decode(bytes.fromhex(data))) == str(codec.normalize(value))


def test_a_descending_blobcopy_ends_with_an_inverted_zero() -> None:
    codec = codecs.get("ordered.blobcopy", desc=True)

    assert codec.encode(b"a").hex() == "c79eff"
    assert codec.decode(bytes.fromhex("c79eff")) == b"a"


def test_blobs_do_not_keep_order() -> None:
    codec = codecs.get("ordered.blob")

    assert not codec.ordered
    assert codec.encode(b"\xff") < codec.encode(b"\xfe\xff")


@pytest.mark.parametrize(
    ("value", "text"),
    [(Decimal(150), "150"), (Decimal("1E+5"), "100000"), (Decimal("1E+40"), "1E+40")],
)
def test_a_decimal_is_read_back_with_as_few_signs_as_it_needs(value: Decimal, text: str) -> None:
    assert str(codecs.decimal().normalize(value)) == text


@pytest.mark.parametrize("number", [0, 240, 241, 2287, 2288, 67_823, 67_824, 1 << 24, 1 << 40])
def test_a_varint_is_read_back_with_what_follows(number: int) -> None:
    assert take_varint(varint(number) + b"rest") == (number, b"rest")


@pytest.mark.parametrize(
    ("name", "desc", "value", "text"),
    [
        ("ordered.int8", False, 128, "the integer is out of range"),
        (
            "ordered.utf8",
            False,
            "a\x00",
            "the text holds NUL, which this codec uses as the end of the text",
        ),
        (
            "ordered.blobcopy",
            True,
            b"\x00",
            "the bytes hold 0x00, which this codec uses as their end when descending",
        ),
        ("ordered.numeric", False, Decimal("9" * 32), "the number has too many digits"),
        ("ordered.numeric", False, Decimal("1E+1000001"), "the exponent is out of range"),
        ("decimal", False, Decimal("NaN"), "the number is not finite"),
        ("decimal", False, Decimal("-Infinity"), "the number is not finite"),
    ],
)
def test_a_value_that_does_not_fit_is_refused(
    name: str, *, desc: bool, value: Any, text: str
) -> None:
    with pytest.raises(CodecError) as caught:
        codecs.get(name, desc=desc).encode(value)

    assert (caught.value.text, caught.value.codec) == (text, name)


def test_too_many_digits_are_counted() -> None:
    with pytest.raises(CodecError) as caught:
        codecs.decimal().encode(Decimal("1." + "3" * 40))

    assert (caught.value.digits, caught.value.maximum) == (41, 31)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("ordered.int8", "2a80"),
        ("ordered.int8", "298080"),
        ("ordered.float32", "3000"),
        ("ordered.utf8", "34"),
        ("ordered.utf8", "3461"),
        ("ordered.utf8", "34006100"),
        ("ordered.utf8", "34ff00"),
        ("ordered.blob", "37"),
        ("ordered.blob", "3781"),
        ("ordered.numeric", ""),
        ("ordered.numeric", "19"),
        ("ordered.numeric", "1903"),
        ("ordered.numeric", "05"),
        ("decimal", "23"),
    ],
)
def test_bytes_that_are_no_encoding_are_refused(name: str, data: str) -> None:
    with pytest.raises(CodecError) as caught:
        codecs.get(name).decode(bytes.fromhex(data))

    assert (caught.value.codec, caught.value.data) == (name, bytes.fromhex(data))


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("ordered.utf8", "cb"),
        ("ordered.utf8", "cb9e"),
        ("ordered.blobcopy", "c7"),
        ("ordered.blobcopy", "c79e"),
    ],
)
def test_descending_bytes_without_their_end_are_refused(name: str, data: str) -> None:
    with pytest.raises(CodecError):
        codecs.get(name, desc=True).decode(bytes.fromhex(data))


def test_nan_compares_with_no_number() -> None:
    assert not codecs.get("ordered.numeric").compares(Decimal("NaN"))
