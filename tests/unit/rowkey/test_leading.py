from __future__ import annotations

from datetime import UTC, datetime
from enum import Enum
from typing import Any

import pytest

from hbase_orm import codecs
from hbase_orm.codecs import Codec
from hbase_orm.codecs.times import Millis
from hbase_orm.rowkey.leading import leading_bytes
from hbase_orm.rowkey.reach import LeadingBytes, unreachable_regions
from tests.support.layouts import Salted, layout


class Kind(Enum):
    CAR = "car"
    CART = "cart"


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        ([codecs.text()], "anything"),
        ([codecs.text(width_bytes=3)], "anything"),
        ([codecs.digits(6), codecs.text()], "6 bytes of 10 symbols, then anything"),
        ([codecs.uint32(), codecs.get("raw")], "4 bytes, then anything"),
        ([codecs.uuid(), codecs.int64(desc=True)], "16 bytes, then 8 bytes, then nothing"),
        ([codecs.get("bytes.int32")], "4 bytes, then nothing"),
        ([codecs.get("raw", width_bytes=5)], "5 bytes, then nothing"),
        ([codecs.boolean(), codecs.text()], "one of 2 words, then anything"),
        (
            [codecs.strftime("%Y-")],
            "4 bytes of 10 symbols within bounds, then '-', then nothing",
        ),
        (
            [codecs.enum(Kind), codecs.boolean()],
            "one of 2 words, then one of 2 words, then nothing",
        ),
        ([codecs.enum(Kind)], "anything"),
        ([codecs.micros()], "8 bytes within bounds, then nothing"),
    ],
)
def test_what_keys_begin_with_is_known_as_far_as_their_parts_are(
    parts: list[Codec[Any]], text: str
) -> None:
    assert str(leading_bytes(layout(*parts))) == text


class Recent(Millis):
    """Refuses most times, and does not say so."""

    def encode(self, value: datetime, /) -> bytes:
        raise self.refuse(value, "the time is too long ago")


def test_of_a_codec_that_refuses_its_own_ends_nothing_is_known() -> None:
    assert leading_bytes(layout(Recent())) == LeadingBytes()


def test_a_salt_stands_in_front() -> None:
    salted = leading_bytes(layout(codecs.text(), salt=Salted(4)))

    assert salted == LeadingBytes.words([b"\x00", b"\x01", b"\x02", b"\x03"])


@pytest.mark.parametrize("desc", [False, True])
def test_there_are_twelve_months(*, desc: bool) -> None:
    codec = codecs.strftime("-%m", desc=desc)
    keys = [codec.encode(datetime(2026, month, 1, tzinfo=UTC)) for month in range(1, 13)]
    ends = [key + b"\x00" for key in keys]

    idle = unreachable_regions([*keys, *ends], leading_bytes(layout(codec)))

    assert leading_bytes(layout(codec)).count == len(keys)
    assert [region.start for region in idle] == [b"", *sorted(ends)]


@pytest.mark.parametrize("desc", [False, True])
def test_descending_digits_are_inverted(*, desc: bool) -> None:
    codec = codecs.digits(2, desc=desc)

    idle = unreachable_regions([b"\x80"], leading_bytes(layout(codec)))

    assert [region.start for region in idle] == [b"" if desc else b"\x80"]


def test_a_number_with_bounds_begins_with_no_other_bytes() -> None:
    natural = leading_bytes(layout(codecs.get("phoenix.unsigned_int")))

    assert [region.start for region in unreachable_regions([b"\x7f", b"\x80"], natural)] == [
        b"\x80"
    ]


def test_doubles_begin_with_what_lies_between_minus_infinity_and_nan() -> None:
    double = leading_bytes(layout(codecs.get("ordered.float64")))

    assert [region.start for region in unreachable_regions([b"1", b"2"], double)] == [b"", b"2"]


def test_the_codes_of_a_code_are_all_there_is() -> None:
    codec = codecs.code({"mobile": b"M", "landline": b"L"})

    regions = unreachable_regions([b"L", b"M", b"N"], leading_bytes(layout(codec, codecs.text())))

    assert [region.start for region in regions] == [b"", b"N"]
