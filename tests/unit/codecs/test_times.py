"""Datetimes to bytes: literal bytes, rounding, zones, and what no clock can mean."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from hbase_orm import codecs
from hbase_orm.codecs import Codec
from hbase_orm.errors import CodecError

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
IN_2014 = EPOCH + timedelta(milliseconds=1_400_000_000_000)
NEW_YORK = ZoneInfo("America/New_York")


class Nowhere(tzinfo):
    """A zone that knows no offset: its datetimes are naive."""

    def utcoffset(self, _: datetime | None, /) -> None:
        return None

    def dst(self, _: datetime | None, /) -> None:
        return None

    def tzname(self, _: datetime | None, /) -> str:
        return "nowhere"


@pytest.mark.parametrize(
    ("codec", "at", "data"),
    [
        (codecs.millis(), IN_2014, "00000145f680b000"),
        (codecs.millis(desc=True), IN_2014, "7ffffeba097f4fff"),
        (codecs.millis(), EPOCH, "0000000000000000"),
        (codecs.millis(desc=True), EPOCH, "7fffffffffffffff"),
        (codecs.micros(), EPOCH, "8000000000000000"),
        (codecs.micros(), EPOCH - timedelta(microseconds=1), "7fffffffffffffff"),
        (codecs.micros(desc=True), EPOCH, "7fffffffffffffff"),
    ],
)
def test_a_time_has_these_bytes(codec: Codec[datetime], at: datetime, data: str) -> None:
    assert codec.encode(at) == bytes.fromhex(data)


def test_millis_round_down() -> None:
    at = EPOCH + timedelta(microseconds=5_999)

    assert codecs.millis().normalize(at) == EPOCH + timedelta(milliseconds=5)


def test_the_second_of_two_equal_hours_is_kept() -> None:
    second = datetime(2024, 11, 3, 1, 30, 0, 1_500, tzinfo=NEW_YORK, fold=1)

    assert codecs.millis().normalize(second) == datetime(2024, 11, 3, 6, 30, 0, 1_000, tzinfo=UTC)


def test_rounding_is_that_of_utc_where_a_zone_is_off_by_microseconds() -> None:
    zone = timezone(timedelta(microseconds=600))
    at = datetime(2024, 1, 1, 0, 0, 0, 1_500, tzinfo=zone)

    normal = codecs.millis().normalize(at)

    assert normal == codecs.millis().decode(codecs.millis().encode(at))


def test_a_time_compares_in_utc() -> None:
    at = datetime(2024, 7, 1, 12, tzinfo=NEW_YORK)

    assert codecs.micros().comparable(at).isoformat() == "2024-07-01T16:00:00+00:00"


def test_a_time_that_utc_cannot_say_compares_as_it_is() -> None:
    at = datetime.max.replace(tzinfo=timezone(timedelta(hours=-5)))

    assert codecs.micros().comparable(at) is at


@pytest.mark.parametrize("codec", [codecs.millis(), codecs.micros()])
@pytest.mark.parametrize(
    ("at", "text"),
    [
        (datetime(2024, 1, 1), "the datetime has no time zone"),  # noqa: DTZ001 - a naive one is meant
        (datetime(2024, 1, 1, tzinfo=Nowhere()), "the datetime has no time zone"),
        (date(2024, 1, 1), "the value is not a datetime"),
        (1_400_000_000_000, "the value is not a datetime"),
        (datetime.max.replace(tzinfo=timezone(timedelta(hours=-5))), "the time is out of range"),
        (datetime.min.replace(tzinfo=timezone(timedelta(hours=5))), "the time is out of range"),
    ],
)
@pytest.mark.parametrize("method", ["encode", "normalize"])
def test_what_is_no_instant_is_refused(codec: Codec[Any], at: Any, text: str, method: str) -> None:
    with pytest.raises(CodecError) as caught:
        getattr(codec, method)(at)

    assert (caught.value.text, caught.value.codec) == (text, codec.name)


def test_millis_before_1970_are_refused_and_micros_named() -> None:
    with pytest.raises(CodecError, match=r"before 1970.*codecs\.micros") as caught:
        codecs.millis().encode(EPOCH - timedelta(microseconds=1))

    assert caught.value.codec == "millis"


@pytest.mark.parametrize("at", [datetime(2024, 1, 1), datetime(2024, 1, 1, tzinfo=Nowhere()), 7])  # noqa: DTZ001 - naive
def test_only_aware_datetimes_compare(at: Any) -> None:
    assert not codecs.millis().compares(at)


@pytest.mark.parametrize(
    ("codec", "data"),
    [
        (codecs.millis(), "7fffffffffffffff"),
        (codecs.millis(), "8000000000000000"),
        (codecs.millis(desc=True), "8000000000000000"),
        (codecs.millis(desc=True), "0000000000000000"),
        (codecs.micros(), "ffffffffffffffff"),
        (codecs.micros(), "0000000000000000"),
    ],
)
def test_bytes_of_no_datetime_are_refused(codec: Codec[datetime], data: str) -> None:
    with pytest.raises(CodecError) as caught:
        codec.decode(bytes.fromhex(data))

    assert caught.value.data == bytes.fromhex(data)
