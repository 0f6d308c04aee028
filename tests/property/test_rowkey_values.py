"""What holds for every codec within a row key: its errors name the field; what values begin with."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hbase_orm import codecs
from hbase_orm.codecs import Codec
from hbase_orm.errors import CodecError, RowKeyError
from hbase_orm.rowkey import (
    Computed,
    Digest,
    HashPrefix,
    KeyFields,
    KeyLayout,
    KeySource,
    Salt,
    assemble,
    part_of,
)
from tests.property.test_codec_families import STRANGERS
from tests.property.test_rowkey_components import CASES

A, B = KeySource(), KeySource()
PLACES: dict[str, Callable[[], tuple[KeySource, ...]]] = {
    "last": lambda: (B, A),
    "salted": lambda: (Salt(4, of=A), B, A),
    "hashed": lambda: (HashPrefix(2, of=A), B, A),
    "digest": lambda: (Digest(of=A), B),
    "computed": lambda: (Computed(repr, of=A, codec=codecs.text()), B),
}
BAD_TEXTS = ("a\ud800", "long" * 100)

few = settings(max_examples=20)
in_each_place = pytest.mark.parametrize("place", PLACES)


def layout_of(codec: Codec[Any], place: str) -> KeyLayout:
    fields = {"a": A, "b": B}
    key = KeyFields(fields, {"a": codec, "b": codecs.uint8()}, stored=frozenset(fields))
    return assemble(PLACES[place](), key)


def misfits_of(codec: Codec[Any]) -> list[Any]:
    """Return values that the codec refuses."""
    ends = [end for end in (codec.minimum, codec.maximum) if isinstance(end, int)]
    beyond = [ends[0] - 1, ends[-1] + 1] if ends else []
    naive = [datetime(2024, 5, 6)]  # noqa: DTZ001 - that is the test
    return [value for value in (*STRANGERS, *beyond, *naive, *BAD_TEXTS) if _refuses(codec, value)]


def _refuses(codec: Codec[Any], value: Any) -> bool:
    try:
        codec.encode(value)
    except CodecError:
        return True
    return False


KEYS = [codec for codec, _ in CASES if codec.place.holds(is_last=True, desc=codec.desc)]


@in_each_place
@pytest.mark.parametrize("codec", KEYS, ids=repr)
def test_a_value_that_does_not_fit_names_field_codec_and_value(
    codec: Codec[Any], place: str
) -> None:
    layout = layout_of(codec, place)
    misfits = misfits_of(codec)

    assert misfits
    for value in misfits:
        with pytest.raises(RowKeyError) as caught:
            layout.encode({"a": value, "b": 1})
        assert (caught.value.field, caught.value.codec) == ("a", codec.name)
        assert caught.value.value is value
        assert caught.value.fix


@pytest.mark.parametrize(
    ("codec", "value", "limits"),
    [
        (codecs.uint8(), 256, {"minimum": 0, "maximum": 255}),
        (codecs.text(width_bytes=2), "abc", {"bytes": 3, "width_bytes": 2}),
        (codecs.text(width_bytes=2, pad=b"x"), "ax", {"pad": b"x", "side": "right"}),
        (codecs.text(separator=b"_"), "a_", {"separator": b"_"}),
        (codecs.digits(3), 1000, {"minimum": 0, "maximum": 999}),
        (codecs.get("phoenix.unsigned_int"), -1, {"minimum": 0, "maximum": 2**31 - 1}),
    ],
)
def test_a_limit_is_named(codec: Codec[Any], value: Any, limits: dict[str, Any]) -> None:
    with pytest.raises(RowKeyError) as caught:
        layout_of(codec, "salted").encode({"a": value, "b": 1})

    assert {name: caught.value.details[name] for name in limits} == limits


TEXTS = [(codec, values) for codec, values in CASES if codec.python_type in (str, bytes)]
FROM_THE_FRONT = ("text", "bytes.utf8", "raw", "phoenix.varchar", "phoenix.varbinary")


@pytest.mark.parametrize("is_last", [False, True])
@pytest.mark.parametrize(("codec", "values"), TEXTS, ids=[repr(codec) for codec, _ in TEXTS])
@few
@given(data=st.data())
def test_a_part_begins_as_its_value_does(
    *, codec: Codec[Any], values: st.SearchStrategy[Any], is_last: bool, data: st.DataObject
) -> None:
    part = part_of("a", codec, is_last=is_last)
    value, other = (codec.normalize(data.draw(values)) for _ in range(2))
    prefix = value[: data.draw(st.integers(0, len(value)))]

    beginning = part.leading(prefix)

    assert part.encode(value).startswith(beginning)
    if codec.name in FROM_THE_FRONT and codec.width_bytes is None and beginning:
        assert part.encode(other).startswith(beginning) is other.startswith(prefix)
