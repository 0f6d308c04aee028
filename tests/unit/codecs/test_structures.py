"""Packed values: what they look like, how they change over versions, and what is refused."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum
from typing import Any

import attrs
import msgspec
import pydantic
import pytest

from hbase_orm import Family, Key, Mapped, Model, Table, codecs, column, key
from hbase_orm.codecs import Codec
from hbase_orm.codecs.structures import Packed
from hbase_orm.errors import CodecError, SchemaError


class Colour(Enum):
    RED = "r"


@dataclass
class Line:
    sku: str
    count: int = 1
    tags: frozenset[str] = field(default_factory=frozenset)


@dataclass
class Named:
    first: str
    last: str = "?"


@attrs.define
class Point:
    x: int
    labels: dict[int, str] = attrs.field(factory=dict)


class Struct(msgspec.Struct):
    at: datetime
    price: Decimal


class Person(pydantic.BaseModel):
    name: str
    born: int = 1970


class Stranger:
    pass


def split_name(fields: dict[str, Any]) -> dict[str, Any]:
    first, last = fields["name"].split()
    return {"first": first, "last": last}


def upper_first(fields: dict[str, Any]) -> dict[str, Any]:
    return {**fields, "first": fields["first"].upper()}


STRUCT = Struct(datetime(2024, 5, 6, tzinfo=UTC), Decimal("1.50"))
UPGRADES: Mapping[int, Any] = {1: split_name, 2: upper_first}


@pytest.mark.parametrize("maker", [codecs.json, codecs.msgpack])
@pytest.mark.parametrize(
    ("type_", "value"),
    [
        (Line, Line("a", 2, frozenset({"x", "y"}))),
        (list[Line], [Line("a"), Line("b")]),
        (frozenset[str], frozenset({"b", "a"})),
        (dict[str, list[int]], {"a": [1], "b": []}),
        (Point, Point(1, {2: "b"})),
        (Struct, STRUCT),
        (Person, Person(name="Ada")),
        (list[Person], [Person(name="Ada", born=1815)]),
        (Colour, Colour.RED),
        (dict[str, bytes], {"a": b"\xff"}),
        (str, "ü"),
        (int | None, None),
    ],
)
def test_a_packed_value_is_read_back(maker: Any, type_: Any, value: Any) -> None:
    codec = maker(type_)

    assert codec.decode(codec.encode(value)) == value
    assert not codec.ordered


@pytest.mark.parametrize(
    ("codec", "value", "data"),
    [
        (codecs.json(Line), Line("a"), b'{"v":1,"d":{"sku":"a","count":1,"tags":[]}}'),
        (codecs.json(list[int]), [1, 2], b'{"v":1,"d":[1,2]}'),
        (codecs.msgpack(list[int]), [1, 2], b"\x01\x92\x01\x02"),
        (codecs.msgpack(int, version=2, upgrades={1: dict}), 5, b"\x02\x05"),
    ],
)
def test_the_version_stands_beside_the_value(codec: Codec[Any], value: Any, data: bytes) -> None:
    assert codec.encode(value) == data


def test_equal_sets_have_equal_bytes() -> None:
    codec = codecs.json(frozenset[str])

    assert codec.encode(frozenset("zyxabc")) == b'{"v":1,"d":["a","b","c","x","y","z"]}'


@pytest.mark.parametrize("maker", [codecs.json, codecs.msgpack])
def test_an_older_value_is_led_through_every_upgrade(maker: Any) -> None:
    old = maker(dict[str, str]).encode({"name": "ada lovelace"})

    found = maker(Named, version=3, upgrades=UPGRADES).decode(old)

    assert found == Named("ADA", "lovelace")


def test_each_value_of_a_list_is_upgraded() -> None:
    old = codecs.json(list[dict[str, str]]).encode([{"name": "a b"}, {"name": "c d"}])

    found = codecs.json(list[Named], version=2, upgrades={1: split_name}).decode(old)

    assert found == [Named("a", "b"), Named("c", "d")]


def test_absent_fields_take_their_defaults_and_unknown_ones_are_passed_over() -> None:
    codec = codecs.json(Named)

    assert codec.decode(b'{"v":1,"d":{"first":"a","age":7}}') == Named("a", "?")


@pytest.mark.parametrize(
    ("codec", "data"),
    [
        (codecs.json(Named), b""),
        (codecs.json(Named), b"[]"),
        (codecs.json(Named), b'{"first":"a"}'),
        (codecs.json(Named), b'{"v":2,"d":{"first":"a"}}'),
        (codecs.json(Named), b'{"v":0,"d":{"first":"a"}}'),
        (codecs.json(Named), b'{"v":1,"d":{"first":1}}'),
        (codecs.json(Named, version=2, upgrades={1: dict}), b'{"v":1,"d":{"last":"a"}}'),
        (codecs.msgpack(int), b""),
        (codecs.msgpack(int), b"\x01"),
        (codecs.msgpack(int), b"\x02\x05"),
        (codecs.msgpack(int), b"\x01\x05\x05"),
    ],
)
def test_bytes_that_are_no_such_value_are_refused(codec: Codec[Any], data: bytes) -> None:
    with pytest.raises(CodecError) as caught:
        codec.decode(data)

    assert (caught.value.codec, caught.value.data) == (codec.name, data)


@pytest.mark.parametrize(
    ("codec", "value", "text"),
    [
        (codecs.json(Line), Named("a"), "the value has another type"),
        (codecs.json(Line), Line(1), "the value does not fit its type"),  # type: ignore[arg-type]  # that is the test
        (codecs.json(list[float]), [math.nan], "the value does not fit its type"),
        (
            codecs.json(list[float | None]),
            [math.nan],
            "the value would be read back as a different value",
        ),
        (codecs.json(dict), {1: 2}, "the value would be read back as a different value"),
        (codecs.json(Stranger), Stranger(), "the value does not fit its type"),
        (codecs.json(str), "\ud800", "the value does not fit its type"),
        (codecs.msgpack(list[int]), ["a"], "the value does not fit its type"),
    ],
)
def test_a_value_that_would_be_read_back_otherwise_is_refused(
    codec: Codec[Any], value: Any, text: str
) -> None:
    with pytest.raises(CodecError) as caught:
        codec.encode(value)

    assert (caught.value.text, caught.value.codec) == (text, codec.name)


def test_messagepack_keeps_nan() -> None:
    codec = codecs.msgpack(list[float])

    assert math.isnan(codec.decode(codec.encode([math.nan]))[0])


@pytest.mark.parametrize(
    "parameters",
    [
        {"version": 2},
        {"version": 2, "upgrades": {2: dict}},
        {"version": 1, "upgrades": {1: dict}},
        {"version": 0},
        {"version": 128},
        {"desc": True},
    ],
)
def test_a_version_without_a_way_up_is_refused(parameters: dict[str, Any]) -> None:
    with pytest.raises(SchemaError):
        codecs.get("json", type_=Named, **parameters)


def test_a_type_that_cannot_be_told_apart_is_refused() -> None:
    with pytest.raises(SchemaError, match="array-like"):
        codecs.get("json", type_=list[int] | list[str])


def test_packed_codecs_are_values() -> None:
    assert codecs.json(Line) == codecs.json(Line)
    assert len({codecs.json(Line), codecs.json(Line), codecs.msgpack(Line)}) == 2
    assert len({codecs.json(Line), codecs.json(Named)}) == 2
    assert codecs.json(list[Line]).python_type is list


def test_a_value_inside_that_has_no_packed_form_is_refused() -> None:
    codec = codecs.json(list[Stranger])

    with pytest.raises(CodecError):
        codec.decode(b'{"v":1,"d":[{}]}')


def test_a_format_of_packed_values_must_be_named() -> None:
    bare: Packed[int] = Packed(type_=int)

    for call in (bare.pack, bare.unpack, bare.unpack_plain, bare.joined, bare.parted):
        with pytest.raises(NotImplementedError):
            call(b"")


def test_a_model_holds_packed_values() -> None:
    class Order(Model, table=Table("orders")):
        d = Family("d")

        number: Key[int] = key()
        lines: Mapped[list[Line]] = column(
            d, "l", codec=codecs.json(list[Line]), default_factory=list
        )

    order = Order(number=1, lines=[Line("a")])

    assert order.lines == [Line("a")]
