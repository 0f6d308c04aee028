"""What holds for every codec, ascending and descending, and for any value."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hbase_orm import codecs
from hbase_orm.codecs import Codec
from hbase_orm.errors import CodecError

ZONES = (
    UTC,
    timezone(timedelta(hours=14)),
    timezone(timedelta(hours=-12)),
    timezone(timedelta(microseconds=1)),
    ZoneInfo("America/New_York"),
    ZoneInfo("Australia/Lord_Howe"),
)
LAST = datetime.max.replace(tzinfo=UTC)
# New York's clocks show this hour twice; Python's arithmetic forgets which one is meant.
SHOWN_TWICE = datetime(2024, 11, 3, 1, 30, 0, 500, tzinfo=ZoneInfo("America/New_York"), fold=1)


def times(first: datetime) -> st.SearchStrategy[datetime]:
    return st.builds(
        lambda micros, zone: (first + timedelta(microseconds=micros)).astimezone(zone),
        st.integers(0, (LAST - timedelta(days=1) - first) // timedelta(microseconds=1)),
        st.sampled_from(ZONES),
    )


def _integers(codec: Codec[int]) -> st.SearchStrategy[int]:
    return st.integers(codec.minimum, codec.maximum)


text = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from("\x00\x01a\xff"))
raw = st.binary() | st.lists(st.sampled_from(b"\x00\x01\xff")).map(bytes)

VALUES: dict[str, Callable[[Codec[Any]], st.SearchStrategy[Any]]] = {
    **dict.fromkeys(("uint8", "uint16", "uint32", "uint64", "int64"), _integers),
    "float64": lambda _: st.floats(),
    "bool": lambda _: st.booleans(),
    "text": lambda _: text,
    "raw": lambda _: raw,
    "millis": lambda _: times(datetime(1970, 1, 2, tzinfo=UTC)),
    "micros": lambda _: times(datetime(1, 1, 2, tzinfo=UTC)),
}
CODECS = [
    *(codecs.get(name, desc=desc) for name in VALUES for desc in (False, True)),
    codecs.text(separator=b"\x00"),
    codecs.text(separator=b"\x00", desc=True),
    codecs.text(separator=b"::"),
]
SEPARATORS = "\x00:"

few = settings(max_examples=20)
each_codec = pytest.mark.parametrize("codec", CODECS, ids=repr)


def values_of(codec: Codec[Any]) -> st.SearchStrategy[Any]:
    found = VALUES[codec.name](codec)
    if getattr(codec, "separator", None) is None:
        return found
    return found.map(lambda value: value.translate(dict.fromkeys(map(ord, SEPARATORS))))


def same(one: Any, other: Any) -> bool:
    """Return whether two values are one: zeros differ by sign, NaN is NaN."""
    if isinstance(one, float):
        signs = math.copysign(1, one) == math.copysign(1, other)
        return (math.isnan(one) and math.isnan(other)) or (one == other and signs)
    return type(one) is type(other) and bool(one == other)


def place(value: Any) -> Any:
    """Return what values sort by: -0.0 before 0.0, NaN last."""
    if isinstance(value, float):
        return (1, 0.0, 0.0) if math.isnan(value) else (0, value, math.copysign(1, value))
    return value


@each_codec
@few
@given(data=st.data())
def test_what_is_encoded_decodes_to_the_normal_value(
    codec: Codec[Any], data: st.DataObject
) -> None:
    value = data.draw(values_of(codec))

    assert same(codec.decode(codec.encode(value)), codec.normalize(value))


@each_codec
@few
@given(data=st.data())
def test_a_normal_value_is_its_own_normal_value(codec: Codec[Any], data: st.DataObject) -> None:
    normal = codec.normalize(data.draw(values_of(codec)))

    assert same(codec.normalize(normal), normal)


@each_codec
@few
@given(data=st.data())
def test_a_normal_value_is_never_above_the_value(codec: Codec[Any], data: st.DataObject) -> None:
    value = data.draw(values_of(codec))

    assert place(codec.normalize(value)) <= place(codec.comparable(value))


@pytest.mark.parametrize(
    "codec", [c for c in CODECS if c.name not in {"millis", "micros"}], ids=repr
)
@few
@given(data=st.data())
def test_only_times_are_changed_by_storing(codec: Codec[Any], data: st.DataObject) -> None:
    value = data.draw(values_of(codec))

    assert same(codec.normalize(value), value)
    assert not codec.coarse


@pytest.mark.parametrize("codec", [c for c in CODECS if c.ordered], ids=repr)
@few
@given(data=st.data())
def test_bytes_sort_as_the_values_do(codec: Codec[Any], data: st.DataObject) -> None:
    low, high = (codec.normalize(data.draw(values_of(codec))) for _ in range(2))
    if place(low) > place(high):
        low, high = high, low

    first, second = codec.encode(low), codec.encode(high)

    assert (first >= second) if codec.desc else (first <= second)
    assert (first == second) is (place(low) == place(high))


@each_codec
@few
@given(data=st.data())
def test_every_encoding_has_the_declared_width(codec: Codec[Any], data: st.DataObject) -> None:
    encoded = codec.encode(data.draw(values_of(codec)))

    assert codec.width_bytes in {None, len(encoded)}


@pytest.mark.parametrize("codec", [c for c in CODECS if c.width_bytes], ids=repr)
@few
@given(data=st.data())
def test_bytes_of_another_width_are_refused(codec: Codec[Any], data: st.DataObject) -> None:
    encoded = codec.encode(data.draw(values_of(codec)))
    length = data.draw(st.integers(0, 12).filter(lambda n: n != codec.width_bytes))

    with pytest.raises(CodecError) as caught:
        codec.decode((encoded * 12)[:length])

    assert caught.value.codec == codec.name


@pytest.mark.parametrize(
    "codec", [c for c in CODECS if c.width_bytes and c.name != "float64"], ids=repr
)
@few
@given(data=st.data())
def test_bytes_decode_only_to_a_value_that_encodes_to_them(
    codec: Codec[Any], data: st.DataObject
) -> None:
    width = codec.width_bytes or 0
    anything = data.draw(st.binary(min_size=width, max_size=width))
    try:
        value = codec.decode(anything)
    except CodecError:
        return

    assert codec.encode(value) == anything


@pytest.mark.parametrize("codec", CODECS, ids=repr)
@few
@given(value=st.sampled_from([None, "text", b"bytes", 1.5, 7, object(), datetime(2024, 1, 1)]))  # noqa: DTZ001 - a naive one
def test_a_value_of_another_type_is_refused_by_name(codec: Codec[Any], value: Any) -> None:
    if codec.compares(value):
        return

    with pytest.raises(CodecError) as caught:
        codec.encode(value)

    assert (caught.value.codec, caught.value.value) == (codec.name, value)


@pytest.mark.parametrize(
    "codec", [c for c in CODECS if c.minimum is not None and c.maximum], ids=repr
)
@few
@given(beyond=st.integers(1, 1 << 70))
def test_an_integer_outside_the_range_is_refused(codec: Codec[int], beyond: int) -> None:
    low, high = codec.minimum or 0, codec.maximum or 0

    for value in (low - beyond, high + beyond):
        with pytest.raises(CodecError) as caught:
            codec.encode(value)
        assert (caught.value.codec, caught.value.value) == (codec.name, value)
        assert (caught.value.minimum, caught.value.maximum) == (low, high)


@pytest.mark.parametrize(
    "codec", [codecs.millis(), codecs.micros(), codecs.millis(desc=True)], ids=repr
)
@few
@given(at=times(datetime(1970, 1, 2, tzinfo=UTC)))
@example(at=SHOWN_TWICE)
def test_a_stored_time_is_the_same_instant(codec: Codec[datetime], at: datetime) -> None:
    stored = codec.decode(codec.encode(at))

    assert stored.utcoffset() == timedelta(0)
    assert timedelta(0) <= at - stored < timedelta(milliseconds=1)
    assert codec.normalize(at) == stored


@few
@given(value=st.text(st.sampled_from("ab:"), max_size=6))
@example(value="a:")
def test_a_separator_ends_a_text_where_the_text_ends_or_the_text_is_refused(value: str) -> None:
    separator = b"::"
    try:
        encoded = codecs.text(separator=separator).encode(value)
    except CodecError:
        assert ":" in value
        return

    assert (encoded + separator).partition(separator)[0] == encoded
