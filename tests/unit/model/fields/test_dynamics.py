"""Dynamic columns: declared, held by objects, turned into cells and back, named in conditions."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, ClassVar

import pytest

from hbase_orm import (
    Codec,
    Counter,
    Dynamic,
    Family,
    Key,
    Mapped,
    Model,
    Offset,
    Period,
    RecordType,
    codecs,
    column,
    counter,
    dynamic,
    key,
    rowkey,
    select,
)
from hbase_orm.errors import (
    CorruptRowError,
    NotLoadedError,
    QueryError,
    SchemaError,
    ValidationError,
)
from hbase_orm.ops import Cell, Row
from hbase_orm.query import compile_match, plan

ONE = b'{"v":1,"d":[1]}'
NONE = b'{"v":1,"d":[]}'
NOON = datetime(2024, 5, 6, 12, tzinfo=UTC)


class Labelled(Model, abstract=True):
    d = Family()
    host: Key[str] = key()
    tags: Dynamic[str, str] = dynamic(d, prefix="t:")


class Reading(Labelled, table="readings"):
    value: Mapped[float | None] = column(Labelled.d, "v", default=None)
    hits: Counter = counter(Labelled.d, "h")
    levels: Dynamic[int, float] = dynamic(Labelled.d, prefix="l:", name=codecs.uint16())
    seen: Dynamic[datetime, datetime] = dynamic(
        Labelled.d, prefix="s:", name=codecs.millis(), codec=codecs.millis()
    )


class Wide(Model, table="wide"):
    d = Family()
    user: Key[str] = key()
    city: Mapped[str | None] = column(d, "c", default=None)
    hits: Counter = counter(d, "h")
    items: Dynamic[str, list[int]] = dynamic(d, codec=codecs.json(list[int]))


def reading(cells: Mapping[bytes, bytes]) -> Reading:
    found: Reading = Reading.__mapping__.hydrate(
        Row(b"a", {column: Cell(value, 7) for column, value in cells.items()})
    )
    return found


def wide(cells: Mapping[bytes, bytes]) -> Wide:
    found: Wide = Wide.__mapping__.hydrate(
        Row(b"u", {column: Cell(value, 7) for column, value in cells.items()})
    )
    return found


def cells_of(obj: Model) -> dict[bytes, bytes]:
    return obj.__mapping__.dehydrate(obj.__dict__)


# --- declaring ------------------------------------------------------------------------------------


def test_maps_are_described_in_order_inherited_ones_first() -> None:
    described = [(each.name, each.prefix) for each in Reading.__schema__.dynamics]

    assert described == [("tags", b"d:t:"), ("levels", b"d:l:"), ("seen", b"d:s:")]
    assert list(Reading.__schema__.fields) == ["host", "tags", "value", "hits", "levels", "seen"]


def test_codecs_follow_the_annotation_and_the_models_own_defaults() -> None:
    class Own(Model, table="own"):
        __codecs__: ClassVar[Mapping[type, Codec[Any]]] = {int: codecs.uint32()}
        d = Family()
        k: Key[str] = key()
        m: Dynamic[int, Decimal | None] = dynamic()

    (described,) = Own.__schema__.dynamics

    assert (described.name_codec, described.codec.python_type) == (codecs.uint32(), Decimal)


def test_a_map_over_a_whole_family_leaves_out_its_columns_and_the_marker() -> None:
    (described,) = Wide.__schema__.dynamics

    assert described.taken == {b"d:c", b"d:h", b"d:_0"}


def whole_beside_prefix() -> None:
    class Wrong(Model, table="x"):
        d = Family()
        k: Key[str] = key()
        one: Dynamic[str, str] = dynamic(d)
        two: Dynamic[str, str] = dynamic(d, prefix="t:")


def longer_prefix() -> None:
    class Wrong(Model, table="x"):
        d = Family()
        k: Key[str] = key()
        one: Dynamic[str, str] = dynamic(d, prefix="t")
        two: Dynamic[str, str] = dynamic(d, prefix="t:")


def column_in_prefix() -> None:
    class Wrong(Model, table="x"):
        d = Family()
        k: Key[str] = key()
        total: Mapped[int] = column(d, "t:total")
        one: Dynamic[str, str] = dynamic(d, prefix="t:")


def packed() -> None:
    class Wrong(Model, table="x"):
        d = Family()
        k: Key[str] = key()
        at: Key[datetime] = key(codecs.seconds(width_bytes=4))
        v: Mapped[float] = column(
            d, Offset("hour", of=at, resolution="seconds", codec=codecs.uint16())
        )
        one: Dynamic[str, str] = dynamic(d)
        __rowkey__ = rowkey(k, Period("hour", of=at, codec=codecs.seconds(width_bytes=4)))


def ambiguous_names() -> None:
    class Wrong(Model, table="x"):
        d = Family()
        k: Key[str] = key()
        one: Dynamic[float, str] = dynamic(d)


def packed_names() -> None:
    class Wrong(Model, table="x"):
        d = Family()
        k: Key[str] = key()
        one: Dynamic[tuple[int, ...], str] = dynamic(d, name=codecs.json(tuple[int, ...]))


def guard_family() -> None:
    class Wrong(Model, table="x"):
        d = Family("_")
        k: Key[str] = key()
        one: Dynamic[str, str] = dynamic(d)


def foreign_family() -> None:
    class Wrong(Model, table="x"):
        d = Family()
        k: Key[str] = key()
        one: Dynamic[str, str] = dynamic(Family("other"))


def two_families() -> None:
    class Wrong(Model, table="x"):
        d = Family()
        e = Family()
        k: Key[str] = key()
        one: Dynamic[str, str] = dynamic()


def no_codec() -> None:
    class Wrong(Model, table="x"):
        d = Family()
        k: Key[str] = key()
        one: Dynamic[str, dict[str, int]] = dynamic(d)


def other_type() -> None:
    class Wrong(Model, table="x"):
        d = Family()
        k: Key[str] = key()
        one: Dynamic[str, int] = dynamic(d, codec=codecs.text())


def reserved() -> None:
    class Wrong(Model, table="x"):
        d = Family()
        k: Key[str] = key()
        to_dict: Dynamic[str, str] = dynamic(d)  # type: ignore[assignment]  # what is refused


def unannotated() -> None:
    class Wrong(Model, table="x"):
        d = Family()
        k: Key[str] = key()
        one = dynamic(d)


def half_annotated() -> None:
    class Wrong(Model, table="x"):
        d = Family()
        k: Key[str] = key()
        one: Dynamic = dynamic(d)  # type: ignore[type-arg]  # what is refused


def undeclared() -> None:
    class Wrong(Model, table="x"):
        d = Family()
        k: Key[str] = key()
        one: Dynamic[str, str]


MISTAKES: dict[Callable[[], None], str] = {
    whole_beside_prefix: "the prefix of these dynamic columns starts with the prefix of others",
    longer_prefix: "the prefix of these dynamic columns starts with the prefix of others",
    column_in_prefix: "a declared column starts with the prefix",
    packed: "a model with an Offset as a qualifier cannot have dynamic columns",
    ambiguous_names: "the codec of the names may encode equal names differently, so one name could have two qualifiers",
    packed_names: "the codec of the names may encode equal names differently, so one name could have two qualifiers",
    guard_family: "reserved for the guards",
    foreign_family: "not one of the model's",
    two_families: "names no family",
    no_codec: "no codec is known",
    other_type: "another type than the annotation",
    reserved: "name is reserved",
    unannotated: "the annotation of dynamic columns must name two types: that of the names and that of the values",
    half_annotated: "the annotation of dynamic columns must name two types: that of the names and that of the values",
    undeclared: "annotated but not declared",
}


@pytest.mark.parametrize("declare", MISTAKES)
def test_a_mistake_is_refused_when_the_class_is_made(declare: Callable[[], None]) -> None:
    with pytest.raises(SchemaError, match=MISTAKES[declare]) as caught:
        declare()

    assert caught.value.fix


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: dynamic("d"),  # type: ignore[arg-type]  # what is refused
        lambda: dynamic(codec=str),  # type: ignore[arg-type]  # what is refused
        lambda: dynamic(prefix=b"t"),  # type: ignore[arg-type]  # what is refused
        lambda: dynamic(init=True),  # type: ignore[arg-type]  # what is refused
    ],
)
def test_a_wrong_argument_is_refused_on_its_line(wrong: Callable[[], Any]) -> None:
    with pytest.raises(SchemaError) as caught:
        wrong()

    assert caught.value.fix


def test_a_record_type_may_have_maps_of_its_own() -> None:
    class Base(Model, table="records"):
        d = Family()
        k: Key[str] = key()
        tags: Dynamic[str, str] = dynamic(d, prefix="t:")
        __rowkey__ = rowkey(k, RecordType())

    class Sub(Base, record_type="S"):
        lines: Dynamic[int, str] = dynamic(Base.d, prefix="l:")

    assert [each.name for each in Sub.__schema__.dynamics] == ["tags", "lines"]


# --- objects --------------------------------------------------------------------------------------


def test_a_new_object_has_empty_maps_of_its_own() -> None:
    one, other = Reading(host="a"), Reading(host="a")

    one.tags["rack"] = "r7"

    assert (one.tags, other.tags, one.levels) == ({"rack": "r7"}, {}, {})
    assert cells_of(one) == {b"d:t:rack": b"r7"}


def test_a_map_is_no_constructor_argument() -> None:
    with pytest.raises(ValidationError, match="cannot be constructor arguments") as caught:
        Reading(host="a", tags={})  # type: ignore[call-arg]  # what is refused

    assert caught.value.field == "tags"


def test_a_map_that_is_set_is_copied_rounded_and_without_none() -> None:
    given: dict[Any, Any] = {NOON + timedelta(microseconds=5): NOON, NOON + timedelta(1): None}
    obj = Reading(host="a")

    obj.seen = given

    assert obj.seen == {NOON: NOON}
    assert len(given) == 2


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("tags", {1: "x"}, "name has the wrong type"),
        ("tags", {"x": 1}, "value has the wrong type"),
        ("levels", {70_000: 0.5}, "range"),
        ("levels", {1: "x"}, "value has the wrong type"),
        ("seen", {NOON: NOON.replace(tzinfo=None)}, "has no time zone"),
        (
            "seen",
            {NOON: NOON, NOON + timedelta(microseconds=1): NOON},
            "two names of the mapping have the same qualifier",
        ),
    ],
)
def test_what_does_not_fit_is_refused_when_set_and_when_written(
    name: str, value: Any, text: str
) -> None:
    obj = Reading(host="a")

    with pytest.raises(ValidationError, match=text) as on_setting:
        setattr(obj, name, value)
    obj.__dict__[name] = value
    with pytest.raises(ValidationError, match=text) as on_writing:
        cells_of(obj)

    for caught in (on_setting, on_writing):
        assert (caught.value.model, caught.value.field) == ("Reading", name)
        assert caught.value.fix


def test_a_map_is_set_to_a_mapping() -> None:
    wrong: Any = [("x", "y")]

    with pytest.raises(ValidationError, match="set to a mapping"):
        Reading(host="a").tags = wrong


@pytest.mark.parametrize("name", ["c", "h", "_0"])
def test_an_entry_may_not_take_a_declared_column_or_the_marker(name: str) -> None:
    obj = Wide(user="u")
    obj.items[name] = [1]

    with pytest.raises(ValidationError, match="a declared column") as caught:
        cells_of(obj)

    assert (caught.value.field, caught.value.details["name"]) == ("items", name)


def test_rows_read_give_maps_and_columns_apart() -> None:
    found = wide({b"d:c": b"Rome", b"d:_0": b"x", b"d:a": ONE, b"d:": NONE, b"e:a": b"?"})

    assert (found.city, found.items) == ("Rome", {"a": [1], "": []})


def test_entries_come_in_the_order_in_which_they_are_stored() -> None:
    made = reading({b"d:t:b": b"2", b"d:t:a": b"1", b"d:t:c": b"3"})

    assert list(made.tags) == ["a", "b", "c"]


def test_rows_without_entries_give_empty_maps() -> None:
    assert reading({b"d:v": b"\xbf\xf0\0\0\0\0\0\0"}).tags == {}


def test_maps_survive_printing_comparing_and_dicts() -> None:
    made = reading({b"d:t:a": b"1", b"d:l:\x00\x05": b"\xbf\xf0\0\0\0\0\0\0"})

    again = Reading.from_dict(made.to_dict())

    assert again == made
    assert again.tags is not made.tags
    assert repr(made).endswith("tags={'a': '1'}, value=None, hits=0, levels={5: 1.0}, seen={})")


def test_an_entry_of_none_is_an_absent_one() -> None:
    made = reading({b"d:t:a": b"1"})

    made.tags["b"] = None  # type: ignore[assignment]  # deletes the cell

    assert made == reading({b"d:t:a": b"1"})
    assert cells_of(made) == {b"d:t:a": b"1"}


def test_what_to_dict_returns_is_a_copy() -> None:
    made = reading({b"d:t:a": b"1"})

    made.to_dict()["tags"]["b"] = "2"

    assert made.tags == {"a": "1"}


def test_copies_and_pickles_keep_the_maps() -> None:
    made = reading({b"d:t:a": b"1"})

    assert copy.deepcopy(made) == made == pickle.loads(pickle.dumps(made))


def test_a_map_that_was_not_read_says_so() -> None:
    made = reading({})
    del made.__dict__["tags"]

    with pytest.raises(NotLoadedError) as caught:
        _ = made.tags

    assert (caught.value.field, caught.value.row) == ("tags", b"a")
    assert "tags" not in made.to_dict()


@pytest.mark.parametrize(
    ("cells", "data"),
    [
        ({b"d:t:\xff": b"x"}, b"\xff"),
        ({b"d:t:a": b"\xff"}, b"\xff"),
        ({b"d:l:\x01": b"\xbf\xf0\0\0\0\0\0\0"}, b"\x01"),
        ({b"d:l:\x01\x01": b"short"}, b"short"),
    ],
)
def test_bytes_that_do_not_decode_are_named(cells: dict[bytes, bytes], data: bytes) -> None:
    with pytest.raises(CorruptRowError, match="dynamic columns") as caught:
        reading(cells)

    assert (caught.value.model, caught.value.row) == ("Reading", b"a")
    assert (caught.value.column, caught.value.value) == (next(iter(cells)), data)


# --- conditions -----------------------------------------------------------------------------------


def test_an_entry_prints_as_it_is_written() -> None:
    assert repr(Reading.levels[5] == 0.5) == "Reading.levels[5] == 0.5"


@pytest.mark.parametrize(
    ("name", "text"),
    [(1, "wrong type"), ("\ud800", "lone surrogate"), (None, "wrong type")],
)
def test_a_name_that_no_entry_can_have_is_refused_at_once(name: Any, text: str) -> None:
    with pytest.raises(QueryError, match=text) as caught:
        _ = Reading.tags[name]

    assert caught.value.fix


def test_a_name_that_would_be_rounded_is_refused() -> None:
    with pytest.raises(QueryError, match="rounded"):
        _ = Reading.seen[NOON + timedelta(microseconds=1)]


def test_a_field_of_dynamic_columns_is_no_sequence() -> None:
    with pytest.raises(TypeError):
        iter(Reading.levels)


@pytest.mark.parametrize(
    "condition",
    [
        lambda: Reading.tags["a"] == 5,
        lambda: Reading.levels[1] < "x",  # type: ignore[operator]  # what is refused
        lambda: Wide.items["a"] == [1],
        lambda: Reading.levels[1].startswith("x"),  # type: ignore[misc]  # what is refused
    ],
)
def test_a_condition_of_a_wrong_type_or_model_is_refused(condition: Callable[[], Any]) -> None:
    with pytest.raises(QueryError):
        plan(select(Reading).where(Reading.host >= "a", condition()), Reading.__schema__)


def test_the_name_of_a_declared_column_is_no_entry() -> None:
    with pytest.raises(QueryError, match="a declared column"):
        plan(select(Wide).where(Wide.user >= "a", Wide.items["c"] == [1]), Wide.__schema__)


def test_a_name_that_the_abstract_base_did_not_check_is_checked_by_the_plan() -> None:
    class Mixin(Model, abstract=True):
        d = Family()
        tags: Dynamic[str, str] = dynamic(d, prefix="t:")

    wrong: Any = 1
    entry = Mixin.tags[wrong]

    class Own(Mixin, table="own"):
        host: Key[str] = key()

    with pytest.raises(QueryError, match="wrong type"):
        plan(select(Own).where(Own.host >= "a", entry == "x"), Own.__schema__)


@pytest.mark.parametrize(
    ("condition", "cells", "holds"),
    [
        (lambda: Reading.tags["a"] == "x", {b"d:t:a": b"x"}, True),
        (lambda: Reading.tags["a"] == "x", {b"d:t:b": b"x"}, False),
        (lambda: Reading.tags["a"] != "x", {}, True),
        (Reading.tags["a"].is_null, {b"d:t:ab": b"x"}, True),
        (lambda: Reading.tags["a"].in_(["x", None]), {}, True),
        (lambda: Reading.tags["a"].startswith("x"), {b"d:t:a": b"xy"}, True),
        (lambda: Reading.tags["a"] < "x", {}, False),
        (lambda: ~(Reading.tags["a"] < "x"), {}, True),
        (lambda: Reading.levels[5].between(0.5, 1.5), {b"d:l:\0\5": b"\xbf\xf0\0\0\0\0\0\0"}, True),
    ],
)
def test_the_client_checks_an_entry_like_a_nullable_column(
    condition: Callable[[], Any],
    cells: dict[bytes, bytes],
    holds: bool,  # noqa: FBT001 - one of the cases
) -> None:
    check = compile_match(Reading.__schema__, [condition()])

    assert check is not None
    assert check(reading(cells).__dict__) is holds


def filter_of(*conditions: Any) -> bytes | None:
    chosen: Any = plan(select(Reading).where(Reading.host >= "a", *conditions), Reading.__schema__)
    found: bytes | None = chosen.filter
    return found


def test_equal_and_ordered_comparisons_are_sent() -> None:
    assert filter_of(Reading.tags["it's"] == "x") == (
        b"SingleColumnValueFilter('d', 't:it''s', =, 'binary:x', true, true)"
    )
    assert filter_of(Reading.tags["a"] >= "x") == (
        b"SingleColumnValueFilter('d', 't:a', >=, 'binary:x', true, true)"
    )
    assert filter_of(Reading.tags["a"].is_null()) == (
        b"SingleColumnValueFilter('d', 't:a', <, 'binary:', false, true)"
    )


def test_what_bytes_do_not_decide_is_left_to_the_client() -> None:
    chosen: Any = plan(
        select(Wide).where(Wide.user >= "a", Wide.items["a"] == [1]), Wide.__schema__
    )

    assert chosen.filter == b"SingleColumnValueFilter('d', 'a', >=, 'binary:', true, true)"
