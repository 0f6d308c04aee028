"""Types of packed values in the record: compared where both sides have them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from types import new_class
from typing import Annotated, Any, Literal, NamedTuple, NewType, Optional, TypedDict

import pytest

from hbase_orm import Engine, Family, Key, Mapped, Model, codecs, column, connect, key
from hbase_orm.errors import SchemaDriftError
from hbase_orm.record.packed_types import packed_type_text
from hbase_orm.record.spec_notation import codec_text
from hbase_orm.record.specifications import codec_spec, equal_codec, joined_codec, same_codec
from hbase_orm.record.store import read_record
from tests.support.recording import gateway_of, through


@dataclass
class Line:
    a: str


class Lined(TypedDict):
    a: str


class Point(NamedTuple):
    x: int


class Shade(Enum):
    RED = "r"


Name = NewType("Name", str)


@pytest.mark.parametrize(
    ("type_", "text"),
    [
        (list[str], "list[str]"),
        (Sequence[int], "list[int]"),
        (tuple[int, ...], "list[int]"),
        (tuple[int, str], "tuple[int, str]"),
        (frozenset[bytes], "set[bytes]"),
        (Mapping[str, list[float]], "dict[str, list[float]]"),
        (Optional[int], "None | int"),  # noqa: UP045  # the old spelling is the same type
        (int | None, "None | int"),
        (Literal["a", "b"], "str"),
        (Annotated[list[Name], "names"], "list[str]"),
        (dict[str, datetime], "dict[str, datetime]"),
        (list[Line], "list[object]"),
        (Lined, "object"),
        (Point, "tuple of fields"),
        (Shade, "enum"),
        (list[Any], None),
        (list, None),
        (object, None),
    ],
)
def test_the_text_of_a_type(type_: Any, text: str | None) -> None:
    assert packed_type_text(type_) == text


def model(type_: Any, codec: Any) -> Any:
    d = Family()
    body = {"name": key(), "d": d, "city": column(d), "value": column(d, codec=codec)}
    hints = {"name": Key[str], "city": Mapped[str], "value": Mapped[type_]}

    def fill(namespace: dict[str, Any]) -> None:
        namespace.update(body, __annotations__=hints, __module__=__name__)

    return new_class("Person", (Model,), {"table": "people"}, fill)


def beside(engine: Engine) -> Engine:
    return through(gateway_of(engine), engine)


@pytest.mark.parametrize("codec", [codecs.json, codecs.msgpack])
@pytest.mark.parametrize(
    ("before", "after"),
    [
        (list[str], list[bytes]),
        (list[int], list[float]),
        (list[float], list[int]),
        (list[str], set[str]),
        (dict[str, str], Line),
    ],
)
def test_another_type_is_refused_before_it_is_read(codec: Any, before: Any, after: Any) -> None:
    with connect("memory://") as engine:
        engine.create_tables(model(before, codec(before)))

        with pytest.raises(SchemaDriftError, match="contradicts the record"):
            beside(engine).session().get(model(after, codec(after)), name="a")


def test_another_type_under_another_version_is_used() -> None:
    first = model(list[int], codecs.json(list[int]))
    upgraded = codecs.json(list[float], version=2, upgrades={1: dict})
    second = model(list[float], upgraded)
    with connect("memory://") as engine:
        engine.create_tables(first)
        with engine.session() as session:
            session.add(first(name="a", city="x", value=[1]))

        beside(engine).create_tables(second)

        row = beside(engine).session().get(second, name="a")
        assert row is not None
        assert row.value == [1.0]


def test_a_type_is_compared_only_where_both_sides_have_it() -> None:
    typed, untyped = codec_spec(codecs.json(list[int])), codec_spec(codecs.json(list[Any]))

    for one, other in [(typed, untyped), (untyped, typed)]:
        assert same_codec(one, other)
        assert equal_codec(one, other)
        assert joined_codec(one, other) == typed
    assert untyped == {"codec": "json", "packed": None, "desc": False}


def test_the_newest_version_is_recorded() -> None:
    old = codec_spec(codecs.json(list[int]))
    new = codec_spec(codecs.json(list[float], version=2, upgrades={1: dict}))

    assert same_codec(old, new)
    assert not equal_codec(old, new)
    assert joined_codec(old, new) == joined_codec(new, old) == new


def test_a_record_without_types_makes_no_difference() -> None:
    untyped, typed = (
        model(list[int], codecs.json(list[Any])),
        model(list[int], codecs.json(list[int])),
    )
    with connect("memory://") as engine:
        engine.create_tables(untyped)

        (check,) = beside(engine).check_tables(typed)
        assert check.differences == ()
        beside(engine).create_tables(typed)

        record = engine._runtime.run(read_record("people"))
        assert record is not None
        assert record.current.rows[0].columns[b"d:value"].codec == codec_spec(
            codecs.json(list[int])
        )


def test_a_packed_codec_is_shown_as_it_is_declared() -> None:
    assert codec_text(codec_spec(codecs.json(list[int]))) == "codecs.json(list[int])"
    newer = codecs.msgpack(list[int], version=2, upgrades={1: dict})
    assert codec_text(codec_spec(newer)) == "codecs.msgpack(list[int], version=2)"
