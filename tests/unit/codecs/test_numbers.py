"""Numbers to bytes: literal bytes, what is refused, and what is said about it."""

from __future__ import annotations

import math
import struct
from decimal import Decimal
from typing import Any

import pytest

from hbase_orm import codecs
from hbase_orm.codecs import Codec
from hbase_orm.errors import CodecError


@pytest.mark.parametrize(
    ("codec", "value", "data"),
    [
        (codecs.uint8(), 0, "00"),
        (codecs.uint8(), 255, "ff"),
        (codecs.uint8(desc=True), 0, "ff"),
        (codecs.uint16(), 258, "0102"),
        (codecs.uint32(), 7, "00000007"),
        (codecs.uint32(desc=True), 7, "fffffff8"),
        (codecs.uint64(), 1, "0000000000000001"),
        (codecs.uint64(), (1 << 64) - 1, "ffffffffffffffff"),
        (codecs.int8(), -128, "00"),
        (codecs.int16(), -1, "7fff"),
        (codecs.int32(), 1, "80000001"),
        (codecs.int32(desc=True), 1, "7ffffffe"),
        (codecs.int64(), -1, "7fffffffffffffff"),
        (codecs.int64(), 0, "8000000000000000"),
        (codecs.int64(), 1, "8000000000000001"),
        (codecs.int64(), 1_700_000_000_000, "8000018bcfe56800"),
        (codecs.int64(), -(1 << 63), "0000000000000000"),
        (codecs.int64(desc=True), -1, "8000000000000000"),
        (codecs.float64(), -1.5, "4007ffffffffffff"),
        (codecs.float64(), -0.0, "7fffffffffffffff"),
        (codecs.float64(), 0.0, "8000000000000000"),
        (codecs.float64(), 1.5, "bff8000000000000"),
        (codecs.float64(), math.nan, "fff8000000000000"),
        (codecs.float64(desc=True), 1.5, "4007ffffffffffff"),
        (codecs.boolean(), False, "00"),
        (codecs.boolean(), True, "01"),
        (codecs.boolean(desc=True), True, "00"),
        (codecs.get("bytes.int64"), -1, "ffffffffffffffff"),
        (codecs.get("bytes.int64"), 1_700_000_000_000, "0000018bcfe56800"),
    ],
)
def test_a_number_has_these_bytes(codec: Codec[Any], value: Any, data: str) -> None:
    assert codec.encode(value) == bytes.fromhex(data)


def test_negative_zero_sorts_below_zero() -> None:
    assert codecs.float64().encode(-0.0) < codecs.float64().encode(0.0)


def test_every_nan_has_the_same_bytes_and_sorts_last() -> None:
    codec = codecs.float64()
    (negative,) = struct.unpack(">d", bytes.fromhex("fff8000000000001"))

    assert codec.encode(negative) == codec.encode(math.nan) > codec.encode(math.inf)


def test_a_float_field_takes_an_integer_and_gives_a_float() -> None:
    codec = codecs.float64()

    assert codec.encode(2) == codec.encode(2.0)
    assert isinstance(codec.normalize(2), float)
    assert codec.accepts_type(2)


@pytest.mark.parametrize(
    ("codec", "value", "text"),
    [
        (codecs.uint8(), 256, "the integer is out of range"),
        (codecs.uint8(), -1, "the integer is out of range"),
        (codecs.int64(), 1 << 63, "the integer is out of range"),
        (codecs.uint32(), 1.0, "the value is not an integer"),
        (codecs.uint32(), "1", "the value is not an integer"),
        (codecs.uint32(), None, "the value is not an integer"),
        (codecs.float64(), "1.0", "the value is not a float"),
        (codecs.float64(), Decimal(1), "the value is not a float"),
        (codecs.float64(), 10**400, "the integer is too large for a double"),
        (codecs.float64(), 2**53 + 1, "the integer cannot be stored exactly as a double"),
        (codecs.boolean(), 1, "the value is not a bool"),
        (codecs.get("bytes.int64"), "1", "the value is not an integer"),
        (codecs.get("bytes.int64"), 1 << 63, "the integer is out of range"),
    ],
)
def test_a_number_that_does_not_fit_is_refused(codec: Codec[Any], value: Any, text: str) -> None:
    with pytest.raises(CodecError) as caught:
        codec.encode(value)

    assert (caught.value.text, caught.value.codec, caught.value.value) == (text, codec.name, value)


def test_an_integer_out_of_range_is_told_the_range() -> None:
    with pytest.raises(CodecError) as caught:
        codecs.uint16().encode(70_000)

    assert (caught.value.minimum, caught.value.maximum) == (0, 65_535)


@pytest.mark.parametrize("data", [b"", b"\x02", b"\x00\x00"])
def test_bytes_that_are_no_bool_are_refused(data: bytes) -> None:
    with pytest.raises(CodecError) as caught:
        codecs.boolean().decode(data)

    assert (caught.value.codec, caught.value.data) == ("bool", data)


def test_counters_do_not_sort_and_read_back() -> None:
    codec = codecs.get("bytes.int64")

    assert (codec.ordered, codec.width_bytes) == (False, 8)
    assert codec.decode(codec.encode(-5)) == -5


def test_a_counter_of_another_width_is_refused() -> None:
    with pytest.raises(CodecError):
        codecs.get("bytes.int64").decode(b"\x00" * 7)
