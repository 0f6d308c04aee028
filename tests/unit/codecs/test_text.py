"""Text and bytes: literal bytes, separators, and codecs by name."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from decimal import Decimal
from ipaddress import IPv4Address, IPv6Address
from typing import Any
from uuid import UUID

import pytest

from hbase_orm import codecs
from hbase_orm.codecs import Codec
from hbase_orm.codecs.base import Codec as Base
from hbase_orm.errors import CodecError, SchemaError


@pytest.mark.parametrize(
    ("codec", "value", "data"),
    [
        (codecs.text(), "ab", "6162"),
        (codecs.text(), "", ""),
        (codecs.text(), "ä\U0001f600", "c3a4f09f9880"),
        (codecs.text(desc=True), "ab", "9e9d"),
        (codecs.raw(), b"\x00\xff", "00ff"),
        (codecs.get("raw", desc=True), b"\x00\xff", "ff00"),
    ],
)
def test_a_text_has_these_bytes(codec: Codec[Any], value: Any, data: str) -> None:
    assert codec.encode(value) == bytes.fromhex(data)
    assert codec.decode(bytes.fromhex(data)) == value


def test_inverted_text_does_not_sort_by_itself() -> None:
    assert [codecs.text(desc=desc).ordered for desc in (False, True)] == [True, False]
    assert [codecs.get("raw", desc=desc).ordered for desc in (False, True)] == [True, False]


@pytest.mark.parametrize(
    ("codec", "value", "text"),
    [
        (codecs.text(), 7, "the value is not a str"),
        (codecs.text(), b"ab", "the value is not a str"),
        (codecs.text(), "a\ud800", "the text has a lone surrogate"),
        (codecs.raw(), "ab", "the value is not bytes"),
        (codecs.raw(), bytearray(b"ab"), "the value is not bytes"),
    ],
)
def test_what_is_no_text_is_refused(codec: Codec[Any], value: Any, text: str) -> None:
    with pytest.raises(CodecError) as caught:
        codec.encode(value)

    assert (caught.value.text, caught.value.codec, caught.value.value) == (text, codec.name, value)


def test_nothing_sorts_before_the_empty_text() -> None:
    assert (codecs.text().minimum, codecs.raw().minimum) == ("", b"")


def test_a_lone_surrogate_is_pointed_at() -> None:
    with pytest.raises(CodecError) as caught:
        codecs.text().encode("ab\udc00")

    assert caught.value.position == 2


@pytest.mark.parametrize("value", ["a::b", "::", "a:"])
def test_a_text_whose_separator_would_be_found_too_early_is_refused(value: str) -> None:
    with pytest.raises(CodecError, match="separator") as caught:
        codecs.text(separator=b"::").encode(value)

    assert caught.value.separator == b"::"


def test_half_a_separator_inside_a_text_is_no_separator() -> None:
    assert codecs.text(separator=b"::").encode(":a:b") == b":a:b"


def test_an_empty_separator_is_refused() -> None:
    with pytest.raises(SchemaError):
        codecs.text(separator=b"")


def test_bytes_that_are_no_utf8_are_refused() -> None:
    with pytest.raises(CodecError) as caught:
        codecs.text().decode(b"\xff")

    assert (caught.value.codec, caught.value.data) == ("text", b"\xff")


def test_a_codec_is_found_by_its_name_and_parameters() -> None:
    assert codecs.get("text", separator=b"_", desc=True) == codecs.text(separator=b"_", desc=True)


def test_codecs_differ_by_their_direction() -> None:
    assert codecs.get("uint32") != codecs.uint32(desc=True)


def test_an_unknown_name_is_answered_with_the_known_ones() -> None:
    with pytest.raises(SchemaError) as caught:
        codecs.get("uint33")

    assert "uint32" in caught.value.known


def test_an_unknown_parameter_is_named() -> None:
    with pytest.raises(SchemaError) as caught:
        codecs.get("uint32", width_bytes=3)

    assert (caught.value.codec, caught.value.parameters) == ("uint32", ["width_bytes"])


def test_a_counter_has_no_descending_form() -> None:
    with pytest.raises(SchemaError, match="int64"):
        codecs.get("bytes.int64", desc=True)


def test_annotated_types_have_these_codecs() -> None:
    names = {kind: codec.name for kind, codec in codecs.default_codecs().items()}

    assert names == {
        str: "text",
        int: "int64",
        float: "float64",
        bool: "bool",
        bytes: "raw",
        datetime: "micros",
        date: "date",
        timedelta: "timedelta",
        Decimal: "decimal",
        UUID: "uuid",
        IPv4Address: "ipv4",
        IPv6Address: "ipv6",
    }


def test_a_bare_codec_promises_order_and_nothing_else() -> None:
    bare: Base[Any] = Base()

    assert (bare.ordered, bare.coarse, bare.width_bytes) == (True, False, None)
    assert (bare.minimum, bare.maximum, bare.comparable(7)) == (None, None, 7)
    with pytest.raises(NotImplementedError):
        bare.encode(7)
    with pytest.raises(NotImplementedError):
        bare.decode(b"")
