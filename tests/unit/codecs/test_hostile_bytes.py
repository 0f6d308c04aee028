"""What no program of good will stores: every codec answers it with a CodecError, and soon."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from typing import Any, Protocol, TypedDict

import pytest

from hbase_orm import Family, Key, Mapped, Model, codecs, column, connect, errors, key, select
from hbase_orm.codecs.nesting import MOST_LEVELS
from hbase_orm.errors import CodecError, CorruptRowError, SchemaError, ValidationError
from hbase_orm.ops import MutateRows, Put, RowMutation

LONG_BYTES = 1_000_000
RANDOM = random.Random(15)


class Colour(Enum):
    """An enum."""

    RED = "r"
    BLUE = "b"


PARAMETERS: tuple[dict[str, Any], ...] = (
    {},
    {"width_bytes": 8},
    {"type_": Any},
    {"type_": list[int]},
    {"type_": Decimal},
    {"type_": Colour},
    {"values": {1: b"a", 2: b"b"}},
)


def _every_codec() -> Iterator[codecs.Codec[Any]]:
    for name in codecs.names():
        for parameters in PARAMETERS:
            for desc in (False, True):
                try:
                    yield codecs.get(name, desc=desc, **parameters)
                except SchemaError:
                    continue


CODECS = [
    pytest.param(each, id=f"{number}-{each.name}") for number, each in enumerate(_every_codec())
]

HOSTILE = {
    "nothing": b"",
    "zeros": bytes(LONG_BYTES),
    "ones": b"\xff" * LONG_BYTES,
    "noise": RANDOM.randbytes(LONG_BYTES),
    "digits": b"9" * LONG_BYTES,
    "decimal": b"\x00\x00\x00\x05" + b"\x7f" * LONG_BYTES,
    "scale": b"\x80\x00\x00\x00\x01",
    "exponent": b"\x22" + b"\xff" * 8 + b"\x7f\x02",
    "small exponent": b"\x16" + b"\x00" * 8 + b"\x7f\x02",
    "negative exponent": b"\x08" + b"\x00" * 8 + b"\x7f\x03",
    "JSON number": b'{"v":1,"d":' + b"9" * LONG_BYTES + b"}",
    "JSON version": b'{"v":' + b"9" * LONG_BYTES + b',"d":1}',
    "JSON power": b'{"v":1,"d":1e' + b"9" * LONG_BYTES + b"}",
    "JSON decimal": b'{"v":1,"d":"1e' + b"9" * 1000 + b'"}',
    "JSON lists": b'{"v":1,"d":' + b"[" * LONG_BYTES + b"]" * LONG_BYTES + b"}",
    "JSON objects": b'{"v":1,"d":' + b'{"a":' * LONG_BYTES + b"1" + b"}" * LONG_BYTES + b"}",
    "MessagePack lists": b"\x01" + b"\x91" * LONG_BYTES + b"\x01",
    "MessagePack length": b"\x01\xdd\xff\xff\xff\xff",
}


@pytest.mark.parametrize("codec", CODECS)
def test_bytes_that_nobody_wrote_decode_or_are_refused(codec: codecs.Codec[Any]) -> None:
    for data in HOSTILE.values():
        for each in (data, codecs.base.invert(data)):
            try:
                codec.decode(each)
            except CodecError as error:
                assert len(str(error)) < 2000  # noqa: PT017 - most bytes decode to nothing


class Shy:
    """A value whose repr raises."""

    def __repr__(self) -> str:
        """Raise."""
        raise LookupError


def _nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


def _circle() -> list[Any]:
    circle: list[Any] = []
    circle.append(circle)
    return circle


VALUES: tuple[Any, ...] = (
    *(10**1_000_000, -(10**1_000_000), 2**70, True, 1.5, float("nan"), float("inf"), 1e308),
    *(Decimal("1e999999999"), Decimal("-1e-999999999"), Decimal("9" * 1_000_000), Decimal("sNaN")),
    *(Decimal("NaN"), Decimal("-Infinity"), "\ud800", "x" * LONG_BYTES, b"x" * LONG_BYTES, None),
    *(
        object(),
        Shy(),
        {object()},
        {1: {2: object()}},
        _nested(100_000),
        _circle(),
        [10**5000],
        int,
    ),
)


@pytest.mark.parametrize("codec", CODECS)
def test_values_that_nobody_stores_are_encoded_or_refused(codec: codecs.Codec[Any]) -> None:
    for value in VALUES:
        for way in (codec.encode, codec.normalize, codec.encode_prefix):
            try:
                way(value)
            except CodecError as error:
                assert len(str(error)) < 3000  # noqa: PT017 - some fit
        assert codec.compares(value) in {False, True}


def test_a_decimal_has_as_many_digits_as_are_read_again() -> None:
    codec = codecs.get("bytes.decimal")
    for sign in ("", "-"):
        most = Decimal(sign + "9" * 9863)
        assert codec.decode(codec.encode(most)) == most
        with pytest.raises(CodecError) as refused:
            codec.encode(Decimal(sign + "9" * 9864))
        assert refused.value.maximum == 9863
    with pytest.raises(CodecError):
        codec.decode(b"\x00\x00\x00\x00" + b"\x01" * 4097)


def test_digits_are_as_many_as_every_setting_of_python_allows() -> None:
    codec = codecs.digits(640)
    assert codec.decode(codec.encode(10**640 - 1)) == 10**640 - 1
    with pytest.raises(SchemaError):
        codecs.digits(641)


# --- nesting --------------------------------------------------------------------------------------


@dataclass
class Node:
    """A list that is linked."""

    next: Node | None = None


def _linked(levels: int) -> Node:
    node = Node()
    for _ in range(levels - 1):
        node = Node(node)
    return node


PACKED = [codecs.json, codecs.msgpack]


@pytest.mark.parametrize("packed", PACKED)
def test_what_is_nested_in_200_levels_is_written_and_what_is_deeper_is_refused(packed: Any) -> None:
    for codec, value, deeper in (
        (packed(list), _nested(MOST_LEVELS), _nested(MOST_LEVELS + 1)),
        (packed(Any), _nested(MOST_LEVELS), _nested(MOST_LEVELS + 1)),
        (packed(Node), _linked(MOST_LEVELS), _linked(MOST_LEVELS + 1)),
    ):
        assert codec.decode(codec.encode(value)) == value
        with pytest.raises(CodecError) as refused:
            codec.encode(deeper)
        assert refused.value.text == "the value is nested too deep"


@pytest.mark.parametrize("packed", PACKED)
def test_many_shallow_members_and_brackets_in_texts_are_no_nesting(packed: Any) -> None:
    codec = packed(list)
    value = [[], {}, "[{" * 1000, "\u0710" * 1000, -1, {"[": 0.1}] * 1000
    assert codec.decode(codec.encode(value)) == value


def _called_at(depth: int, function: Callable[[], Any]) -> Any:
    return function() if not depth else _called_at(depth - 1, function)


@pytest.mark.parametrize("packed", PACKED)
def test_what_is_written_is_read_deep_in_other_calls(packed: Any) -> None:
    codec = packed(list)
    value = _nested(MOST_LEVELS)
    data = codec.encode(value)
    assert _called_at(600, lambda: codec.decode(data)) == value


DEEP = {
    "json": b'{"v":1,"d":' + b"[" * 5000 + b"]" * 5000 + b"}",
    "msgpack": b"\x01" + b"\x91" * 5000 + b"\x01",
}


def _up(value: Any) -> Any:
    return value


@pytest.mark.parametrize("packed", PACKED)
def test_stored_values_that_are_nested_too_deep_are_refused(packed: Any) -> None:
    older = packed(list, version=2, upgrades={1: _up})
    for codec in (packed(list), packed(Any), older):
        with pytest.raises(CodecError) as refused:
            codec.decode(DEEP[codec.name])
        assert refused.value.text == "the value is nested too deep"


class Doc(Model, table="docs"):
    """Two packed columns."""

    d = Family()
    id: Key[str] = key()
    json: Mapped[Any] = column(codec=codecs.json(Any), default=1)
    list: Mapped[Any] = column(codec=codecs.msgpack(list), default_factory=list)


def _write(field: str, value: Any) -> None:
    with connect("memory://") as engine, engine.session() as session:
        engine.create_tables(Doc)
        session.add(Doc(**{"id": "a", field: value}))


def test_a_field_that_is_nested_too_deep_is_named() -> None:
    for field, value in (
        ("json", _nested(100_000)),
        ("json", object()),
        ("json", 2**70),
        ("list", _nested(100_000)),
        ("list", [object()]),
        ("list", [2**70]),
    ):
        with pytest.raises(ValidationError) as refused:
            _write(field, value)
        assert refused.value.field == field
        assert f"field='{field}'" in str(refused.value)


def test_a_row_that_is_nested_too_deep_is_corrupt() -> None:
    with connect("memory://") as engine, engine.session() as session:
        engine.create_tables(Doc)
        row = RowMutation(b"a", puts=(Put(b"d:json", DEEP["json"]),))
        engine._runtime.gateway.execute(MutateRows("docs", (row,)))
        with pytest.raises(CorruptRowError) as refused:
            session.get(Doc, id="a")
        assert refused.value.field == "json"
        assert "nested too deep" in str(refused.value.__cause__)


class Flags(TypedDict):
    """A dict with known keys."""

    on: bool


class Sized(Protocol):
    """No class of values."""

    size: int


@pytest.mark.parametrize("packed", PACKED)
def test_types_that_have_no_instances_are_packed(packed: Any) -> None:
    codec = packed(Flags)
    assert codec.python_type is dict
    assert codec.decode(codec.encode({"on": True})) == {"on": True}
    with pytest.raises(CodecError):
        codec.encode({"on": "no"})
    with pytest.raises(CodecError):
        packed(Sized).encode(object())

    class Switch(Model, table="switches"):
        d = Family()
        id: Key[str] = key()
        flags: Mapped[Flags] = column(codec=codec)

    with connect("memory://") as engine, engine.session() as session:
        engine.create_tables(Switch)
        session.add(Switch(id="a", flags={"on": True}))
        session.flush()
        assert session.all(select(Switch.flags).allow_full_scan()) == [{"on": True}]


# --- errors ---------------------------------------------------------------------------------------


def test_an_error_prints_whatever_its_details_are() -> None:
    for value in (*VALUES, [Shy()], {"a": 10**6000}, bytearray(LONG_BYTES)):
        error = errors.HBaseORMError("wrong", fix="do right", value=value)
        assert str(error).startswith("wrong [value=")
        assert str(error).endswith("]; do right")
        assert len(str(error)) < 700
        assert repr(error) == "HBaseORMError('wrong')"
        failed = errors.FlushError("wrong", not_written=[("t", b"x" * LONG_BYTES, error)])
        assert len(str(failed)) < 1500


def test_an_error_of_a_hook_that_cannot_be_shown_is_named() -> None:
    class WrongError(Exception):
        def __str__(self) -> str:
            raise LookupError

    failed = errors.FlushError("wrong", not_written=[("t", b"r", WrongError())])
    assert "t b'r': WrongError: cannot be shown: LookupError" in str(failed)


def test_an_object_prints_whatever_its_fields_hold() -> None:
    for value in (_nested(300), 2**63, [10**5000], _circle(), Shy()):
        doc = Doc(id="a")
        doc.__dict__["json"] = value
        assert repr(doc).startswith("Doc(id='a', json=")
