"""Types of packed values in the record: compared where both sides have them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from enum import Enum
from types import new_class
from typing import Annotated, Any, Literal, NamedTuple, NewType, Optional, TypedDict

import pytest

from hbase_orm import (
    Engine,
    Family,
    Index,
    Key,
    Mapped,
    Model,
    codecs,
    column,
    connect,
    key,
    select,
)
from hbase_orm.errors import CorruptRowError, SchemaDriftError
from hbase_orm.record.packed_types import packed_type_text
from hbase_orm.record.rebuilding.models import rebuilt_models
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
    return made({"name": Key[str], "city": Mapped[str], "value": Mapped[type_]}, body)


def made(hints: Mapping[str, Any], body: Mapping[str, Any]) -> Any:
    def fill(namespace: dict[str, Any]) -> None:
        namespace.update(body, __annotations__=dict(hints), __module__=__name__)

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


def value_of(engine: Engine, model: Any, name: str) -> Any:
    row = engine.session().get(model, name=name)
    assert row is not None
    return row.value


@pytest.mark.parametrize("codec", [codecs.json, codecs.msgpack])
@pytest.mark.parametrize(
    ("narrow", "wide", "value"),
    [
        (list[str], list[str | None], ["x", None]),
        (list[Line], list[Line | None], [Line("x"), None]),
        (dict[str, list[Decimal]], dict[str, list[Decimal] | None], {"x": None}),
        (tuple[int, datetime], tuple[int | None, datetime], (None, datetime(2024, 1, 1))),  # noqa: DTZ001
    ],
)
def test_a_type_that_allows_none_may_be_used_beside_one_that_does_not(
    codec: Any, narrow: Any, wide: Any, value: Any
) -> None:
    old, new = model(narrow, codec(narrow)), model(wide, codec(wide))
    plain: Any = (1, datetime(2024, 1, 1)) if isinstance(value, tuple) else type(value)()  # noqa: DTZ001
    with connect("memory://") as engine:
        engine.create_tables(old)
        with engine.session() as session:
            session.add(old(name="a", city="x", value=plain))
        program = beside(engine)

        assert value_of(program, new, "a") == plain
        program.create_tables(new)
        with program.session() as session:
            session.add(new(name="b", city="x", value=value))
        beside(engine).create_tables(old)

        assert value_of(beside(engine), new, "b") == value
        assert value_of(beside(engine), old, "a") == plain
        with pytest.raises(CorruptRowError):
            beside(engine).session().get(old, name="b")
        record = engine._runtime.run(read_record("people"))
        assert record is not None
        assert record.current.rows[0].columns[b"d:value"].codec == codec_spec(codec(wide))


def test_the_recorded_type_allows_none_wherever_a_program_does() -> None:
    types: list[Any] = [
        dict[str, list[str] | None],
        dict[str, list[str | None]] | None,
        dict[str, list[str | None] | None] | None,
    ]
    one, other, both = (codec_spec(codecs.json(each)) for each in types)

    assert same_codec(one, other)
    assert not equal_codec(one, other)
    assert joined_codec(one, other) == joined_codec(other, one) == both


def test_a_program_whose_type_has_no_none_keeps_entries_and_copies_of_values_that_have_it() -> None:
    def listed(type_: Any) -> Any:
        d = Family()
        city, value = column(d), column(d, codec=codecs.json(type_))
        by_city = Index(city, include=[value], covering=True, where=value.contains("v"))
        body = {"name": key(), "d": d, "city": city, "value": value, "by_city": by_city}
        return made({"name": Key[str], "city": Mapped[str], "value": Mapped[type_]}, body)

    old, new = listed(list[str]), listed(list[str | None])
    with connect("memory://") as engine:
        engine.create_tables(new)
        with engine.session() as session:
            session.add(new(name="a", city="x", value=["v", None]))
        program = beside(engine)

        with pytest.raises(CorruptRowError, match="does not decode"):
            program.session().delete_row(old, name="a")
        with pytest.raises(SchemaDriftError, match="must not repair"):
            program.repair_indexes(old, min_age_ms=0)

        values = select(new.value).where(new.city == "x", new.value.contains("v"))
        assert beside(engine).session().all(values) == [["v", None]]


def test_a_model_made_from_the_record_reads_what_other_models_of_the_table_pack() -> None:
    old, new = (model(each, codecs.json(each)) for each in (list[str], list[str | None]))
    with connect("memory://") as engine:
        engine.create_tables(new)
        beside(engine).create_tables(old)
        with engine.session() as session:
            session.add(new(name="a", city="x", value=["v", None]))
        record = engine._runtime.run(read_record("people"))
        assert record is not None

        rebuilt: Any = rebuilt_models(record.current, "people")["Person"]

        assert value_of(beside(engine), rebuilt, "a") == b'{"v":1,"d":["v",null]}'


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
