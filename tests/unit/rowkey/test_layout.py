"""Row keys in bytes: literal keys, limits, and keys that no layout made."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from hbase_orm import codecs
from hbase_orm.codecs import Codec
from hbase_orm.errors import CorruptRowError, RowKeyError
from hbase_orm.rowkey import Framing, KeyLayout, part_of, split_keys
from tests.support.layouts import Salted, layout

SALTED = Salted(4)
TEXT_AND_NUMBER = layout(codecs.text(), codecs.uint32())


@pytest.mark.parametrize(
    ("made", "values", "key"),
    [
        (layout(codecs.uint32()), (7,), "00000007"),
        (layout(codecs.text()), ("ab",), "6162"),
        (layout(codecs.text(desc=True)), ("ab",), "9e9dfffe"),
        (TEXT_AND_NUMBER, ("ab", 7), "6162000100000007"),
        (TEXT_AND_NUMBER, ("a\x00b", 7), "6100ff62000100000007"),
        (layout(codecs.text(desc=True), codecs.uint8()), ("a\x00", 7), "9eff00fffe07"),
        (layout(codecs.text(separator=b"_"), codecs.uint8()), ("ab", 7), "61625f07"),
        (layout(codecs.text(separator=b"_"), codecs.text(separator=b"_")), ("a", "b"), "615f62"),
        (layout(codecs.text(separator=b"_", desc=True)), ("a",), "9ea0"),
        (layout(codecs.raw(), codecs.raw()), (b"\x00\xff", b"\x00"), "00ffff000100"),
        (
            layout(codecs.text(separator=b"\x00"), codecs.uint32(), codecs.millis(desc=True)),
            ("web-1", 7, datetime(2014, 5, 13, 16, 53, 20, tzinfo=UTC)),
            "7765622d3100000000077ffffeba097f4fff",
        ),
        (layout(codecs.text(), salt=SALTED), ("foo0001",), "02666f6f30303031"),
        (
            layout(codecs.text(), codecs.text(), salt=Salted(4, of=("f0",))),
            ("foo0001", "x"),
            "02666f6f30303031000178",
        ),
        (
            layout(codecs.uint8(), codecs.uint8(), salt=Salted(256, of=("f1", "f0"))),
            (1, 2),
            f"{(31 * (31 + 2) + 1) % 256:02x}0102",
        ),
    ],
)
def test_values_make_this_key_and_it_gives_them_back(
    made: KeyLayout, values: tuple[Any, ...], key: str
) -> None:
    data = bytes.fromhex(key)

    assert made.encode(dict(zip(made.names, values, strict=True))) == data
    assert made.decode(data) == dict(zip(made.names, values, strict=True))


def test_values_that_are_no_part_of_the_key_are_ignored() -> None:
    assert layout(codecs.uint8()).encode({"f0": 1, "other": 2}) == b"\x01"


def test_a_missing_value_is_named() -> None:
    with pytest.raises(RowKeyError) as caught:
        TEXT_AND_NUMBER.encode({"f0": "a"})

    assert caught.value.field == "f1"


@pytest.mark.parametrize(
    ("values", "field", "codec"),
    [((7, 7), "f0", "text"), (("a", -1), "f1", "uint32"), (("\ud800", 1), "f0", "text")],
)
def test_a_value_that_does_not_fit_is_named(
    values: tuple[Any, ...], field: str, codec: str
) -> None:
    with pytest.raises(RowKeyError) as caught:
        TEXT_AND_NUMBER.encode_parts(*values)

    assert (caught.value.field, caught.value.codec) == (field, codec)


def test_a_value_with_its_separator_is_refused_with_the_way_out() -> None:
    with pytest.raises(RowKeyError, match="escaped") as caught:
        layout(codecs.text(separator=b"_"), codecs.uint8()).encode_parts("a_b", 1)

    assert (caught.value.field, caught.value.separator) == ("f0", b"_")


def test_an_empty_key_is_refused() -> None:
    with pytest.raises(RowKeyError, match="empty"):
        layout(codecs.text()).encode_parts("")


def test_a_salt_makes_a_key_of_an_empty_text() -> None:
    salted = layout(codecs.text(), salt=SALTED)

    assert salted.encode_parts("") == b"\x01"
    assert salted.decode_parts(b"\x01") == ("",)


def test_the_longest_key_is_taken_and_a_longer_one_refused() -> None:
    made = layout(codecs.text())

    assert len(made.encode_parts("x" * 32_767)) == 32_767
    with pytest.raises(RowKeyError) as caught:
        made.encode_parts("x" * 32_768)
    assert (caught.value.length_bytes, caught.value.limit_bytes) == (32_768, 32_767)


def test_a_key_that_is_too_long_names_its_fields_and_the_longest() -> None:
    made = layout(codecs.text(), codecs.text(), codecs.uint32(), salt=SALTED)

    with pytest.raises(RowKeyError) as caught:
        made.encode_parts("x", "y" * 32_767, 7)

    assert caught.value.fields == ("f0", "f1", "f2")
    assert (caught.value.longest, caught.value.longest_bytes) == ("f1", 32_767)
    assert caught.value.length_bytes > caught.value.limit_bytes
    assert "f1" in caught.value.fix


@pytest.mark.parametrize(
    ("made", "key"),
    [
        (layout(codecs.uint32()), b""),
        (layout(codecs.uint32()), b"\x00\x00\x00"),
        (layout(codecs.uint32()), b"\x00\x00\x00\x00\x00"),
        (TEXT_AND_NUMBER, b"ab"),
        (TEXT_AND_NUMBER, b"ab\x00\x01"),
        (TEXT_AND_NUMBER, b"ab\x00\x01\x00\x00\x00\x07\x00"),
        (TEXT_AND_NUMBER, b"a\x00b\x00\x01\x00\x00\x00\x07"),
        (TEXT_AND_NUMBER, b"\xff\x00\x01\x00\x00\x00\x07"),
        (layout(codecs.text(desc=True)), b"\x9e"),
        (layout(codecs.text(separator=b"_"), codecs.uint8()), b"a\x01"),
        (layout(codecs.text()), b"\xff"),
    ],
)
def test_a_key_that_the_layout_did_not_make_is_corrupt(made: KeyLayout, key: bytes) -> None:
    with pytest.raises(CorruptRowError) as caught:
        made.decode(key)

    assert caught.value.row == key


@pytest.mark.parametrize(
    ("codec", "is_last", "framing"),
    [
        (codecs.uint32(), False, Framing.FIXED),
        (codecs.text(), True, Framing.REST),
        (codecs.text(separator=b"_"), True, Framing.REST),
        (codecs.text(), False, Framing.ESCAPED),
        (codecs.text(desc=True), True, Framing.ESCAPED),
        (codecs.text(separator=b"_"), False, Framing.SEPARATED),
        (codecs.text(separator=b"_", desc=True), True, Framing.SEPARATED),
    ],
)
def test_a_part_ends_as_its_place_and_codec_demand(
    codec: Codec[Any],
    is_last: bool,  # noqa: FBT001 - a parameter of the table
    framing: Framing,
) -> None:
    assert part_of("f", codec, is_last=is_last).framing is framing


@pytest.mark.parametrize(
    ("codec", "is_ordered"),
    [
        (codecs.uint32(), True),
        (codecs.text(), True),
        (codecs.text(desc=True), True),
        (codecs.text(separator=b"\x00"), True),
        (codecs.text(separator=b"_"), False),
        (codecs.text(separator=b"\x00\x00"), False),
        (codecs.get("bytes.int64"), False),
    ],
)
def test_only_the_least_separator_keeps_texts_in_order(
    codec: Codec[Any],
    is_ordered: bool,  # noqa: FBT001 - a parameter of the table
) -> None:
    assert part_of("f", codec, is_last=False).is_ordered is is_ordered


def test_a_separator_in_the_last_place_ends_nothing_and_disorders_nothing() -> None:
    part = part_of("f", codecs.text(separator=b"_"), is_last=True)

    assert (part.encode("a"), part.is_ordered, part.is_delimited) == (b"a", True, False)


def test_a_prefix_may_end_with_half_a_separator() -> None:
    part = part_of("f", codecs.text(separator=b"::"), is_last=False)

    assert part.leading("a:") == b"a:"


def test_what_texts_start_with_is_escaped_and_inverted_as_they_are() -> None:
    part = part_of("f", codecs.text(desc=True), is_last=False)

    assert part.encode("a\x00b").startswith(part.leading("a\x00"))
    assert part.leading("a\x00") == b"\x9e\xff\x00"


def test_a_salted_key_suggests_one_region_a_bucket() -> None:
    assert split_keys(layout(codecs.text(), salt=SALTED)) == (b"\x01", b"\x02", b"\x03")
    assert split_keys(layout(codecs.text())) == ()


def test_layouts_are_equal_by_their_parts() -> None:
    assert layout(codecs.uint8()) == layout(codecs.uint8())
    assert layout(codecs.uint8()) != layout(codecs.uint8(desc=True))
