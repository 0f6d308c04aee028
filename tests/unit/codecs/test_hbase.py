"""HBase's `Bytes`: literal bytes, and what is refused."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import pytest

from hbase_orm import codecs
from hbase_orm.errors import CodecError


@pytest.mark.parametrize(
    ("name", "value", "data"),
    [
        ("bytes.int16", -2, "fffe"),
        ("bytes.int32", -1, "ffffffff"),
        ("bytes.int32", 1, "00000001"),
        ("bytes.float32", 1.5, "3fc00000"),
        ("bytes.float64", -0.0, "8000000000000000"),
        ("bytes.float64", math.nan, "7ff8000000000000"),
        ("bytes.bool", True, "ff"),
        ("bytes.bool", False, "00"),
        ("bytes.decimal", Decimal("1.50"), "000000020096"),
        ("bytes.decimal", Decimal(-1), "00000000ff"),
        ("bytes.utf8", "ü", "c3bc"),
    ],
)
def test_bytes_writes_a_value_so(name: str, value: Any, data: str) -> None:
    assert codecs.get(name).encode(value).hex() == data


def test_the_scale_of_a_decimal_is_kept() -> None:
    codec = codecs.get("bytes.decimal")

    assert str(codec.decode(codec.encode(Decimal("1.50")))) == "1.50"


def test_only_text_and_booleans_of_bytes_sort() -> None:
    ordered = {
        name for name in codecs.names() if name.startswith("bytes.") and codecs.get(name).ordered
    }

    assert ordered == {"bytes.utf8", "bytes.bool"}


def test_a_32_bit_float_is_the_nearest_as_in_java() -> None:
    codec = codecs.get("bytes.float32")

    assert codec.encode(0.1).hex() == "3dcccccd"
    assert codec.normalize(0.1) == codec.decode(codec.encode(0.1)) != 0.1


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("bytes.int16", 32_768, "the integer is out of range"),
        ("bytes.float32", 1e39, "the number is too large"),
        ("bytes.float64", 10**400, "the number is too large"),
        ("bytes.float64", 2**53 + 1, "the integer cannot be stored exactly as a double"),
        ("bytes.decimal", Decimal("NaN"), "the number is not finite"),
        ("bytes.decimal", Decimal((0, (1,), (1 << 31) + 1)), "the scale is out of range"),
    ],
)
def test_a_value_that_bytes_cannot_hold_is_refused(name: str, value: Any, text: str) -> None:
    with pytest.raises(CodecError) as caught:
        codecs.get(name).encode(value)

    assert (caught.value.text, caught.value.codec) == (text, name)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("bytes.int16", b"\x00"),
        ("bytes.bool", b"\x01"),
        ("bytes.float32", b"\x00" * 8),
        ("bytes.decimal", b"\x00" * 4),
    ],
)
def test_bytes_of_another_shape_are_refused(name: str, data: bytes) -> None:
    with pytest.raises(CodecError):
        codecs.get(name).decode(data)


def test_nan_compares_with_no_decimal() -> None:
    codec = codecs.get("bytes.decimal")

    assert codec.compares(Decimal(1))
    assert not codec.compares(Decimal("NaN"))
