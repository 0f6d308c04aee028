"""Seconds, dates, times of day, spans, formats, identifiers: literal bytes, and what is refused."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta, timezone
from ipaddress import IPv4Address, IPv6Address
from typing import Any
from uuid import UUID

import pytest

from hbase_orm import codecs
from hbase_orm.codecs import Codec
from hbase_orm.errors import CodecError, SchemaError

AT = datetime(2024, 2, 29, 23, 59, 58, 999_999, tzinfo=UTC)
SHORT = codecs.seconds(width_bytes=4)


@pytest.mark.parametrize(
    ("codec", "value", "data"),
    [
        (codecs.seconds(), AT, "0000000065e11a7e"),
        (codecs.seconds(desc=True), AT, "7fffffff9a1ee581"),
        (SHORT, AT, "65e11a7e"),
        (codecs.seconds(width_bytes=4, desc=True), AT, "9a1ee581"),
        (codecs.date_(), date(1970, 1, 1), "80000000"),
        (codecs.date_(), date(1969, 12, 31), "7fffffff"),
        (codecs.date_(desc=True), date(1970, 1, 2), "7ffffffe"),
        (codecs.millis_of_day(), time(0, 0, 1, 999), "000003e8"),
        (codecs.minute_of_day(), time(23, 59, 59), "059f"),
        (codecs.minute_of_day(desc=True), time(23, 59, 59), "fa60"),
        (codecs.timedelta_(), timedelta(microseconds=-1), "7fffffffffffffff"),
        (codecs.timedelta_(), timedelta(seconds=1), "80000000000f4240"),
        (codecs.uuid(), UUID(int=1), "00" * 15 + "01"),
        (codecs.ipv4(), IPv4Address("10.0.0.1"), "0a000001"),
        (codecs.ipv6(), IPv6Address("::1"), "00" * 15 + "01"),
        (codecs.strftime("%Y%m%d"), AT, b"20240229".hex()),
        (codecs.strftime("%Y-%j"), AT, b"2024-060".hex()),
        (codecs.strftime("%Y%m%d%H%M%S%f"), AT, b"20240229235958999999".hex()),
        (codecs.strftime("100%% %Y"), AT, b"100% 2024".hex()),
        (codecs.strftime("-%d %H:%M:%S"), AT, b"-29 23:59:58".hex()),
    ],
)
def test_a_value_has_these_bytes(codec: Codec[Any], value: Any, data: str) -> None:
    assert codec.encode(value).hex() == data


@pytest.mark.parametrize(
    ("codec", "value", "normal"),
    [
        (SHORT, AT, AT.replace(microsecond=0)),
        (codecs.millis_of_day(), time(1, 2, 3, 4567), time(1, 2, 3, 4000)),
        (codecs.minute_of_day(), time(1, 2, 3), time(1, 2)),
        (codecs.strftime("%Y%m"), AT, datetime(2024, 2, 1, tzinfo=UTC)),
        (codecs.strftime("%Y-%j %H"), AT, datetime(2024, 2, 29, 23, tzinfo=UTC)),
    ],
)
def test_finer_times_are_rounded_down(codec: Codec[Any], value: Any, normal: Any) -> None:
    assert codec.normalize(value) == codec.decode(codec.encode(value)) == normal
    assert codec.coarse


def test_times_are_formatted_in_utc() -> None:
    early = datetime(2024, 1, 1, 1, tzinfo=timezone(timedelta(hours=5)))

    assert codecs.strftime("%Y%m%d").encode(early) == b"20231231"


def test_a_part_of_a_time_is_read_in_the_first_month() -> None:
    codec = codecs.strftime("-%d %H")

    assert codec.decode(b"-29 23") == datetime(1970, 1, 29, 23, tzinfo=UTC)
    assert not codec.ordered


@pytest.mark.parametrize(
    ("codec", "value", "text"),
    [
        (SHORT, datetime(2106, 2, 8, tzinfo=UTC), "the time is out of range"),
        (codecs.seconds(), datetime(1969, 1, 1, tzinfo=UTC), "the time is out of range"),
        (codecs.date_(), AT, "the value is not a date"),
        (codecs.date_(), "2024-01-01", "the value is not a date"),
        (codecs.minute_of_day(), time(1, tzinfo=UTC), "the time of day has a time zone"),
        (codecs.timedelta_(), timedelta.max, "the timedelta is out of range"),
        (
            codecs.ipv6(),
            IPv6Address("fe80::1%eth0"),
            "the address has a scope, which 16 bytes cannot hold",
        ),
        (codecs.ipv4(), IPv6Address("::1"), "the value is not an IPv4 address"),
        (
            codecs.strftime("%m%d"),
            AT,
            "without the year, the format cannot hold this day",
        ),
    ],
)
def test_a_value_that_does_not_fit_is_refused(codec: Codec[Any], value: Any, text: str) -> None:
    with pytest.raises(CodecError) as caught:
        codec.encode(value)

    assert (caught.value.text, caught.value.codec, caught.value.value) == (text, codec.name, value)


def test_a_format_without_the_year_is_no_field_of_its_own() -> None:
    with pytest.raises(CodecError, match="no year"):
        codecs.strftime("-%d %H").normalize(AT)


@pytest.mark.parametrize(
    ("codec", "data"),
    [
        (codecs.seconds(), b"\xff" * 8),
        (codecs.seconds(), b"\x7f" + b"\xff" * 7),
        (SHORT, b"\x00"),
        (codecs.date_(), b"\xff" * 4),
        (codecs.date_(), b"\x80\x00\x00"),
        (codecs.date_(), b"\x00\x80\x00\x00\x00"),
        (codecs.millis_of_day(), b"\xff" * 4),
        (codecs.minute_of_day(), b"\x00"),
        (codecs.timedelta_(), b"\x00"),
        (codecs.uuid(), b"\x00"),
        (codecs.ipv4(), b"\x00"),
        (codecs.ipv6(), b"\x00"),
        (codecs.strftime("%Y%m%d"), b"20230229"),
        (codecs.strftime("%Y%m%d"), b"2023022"),
        (codecs.strftime("%Y%m%d"), b"202302011"),
        (codecs.strftime("%Y-%m"), b"2023/02"),
        (codecs.strftime("%Y-%m"), b"2023-%m"),
        (codecs.strftime("%Y%j"), b"2023366"),
        (codecs.strftime("%Y%j"), b"2023000"),
    ],
)
def test_bytes_that_are_no_encoding_are_refused(codec: Codec[Any], data: bytes) -> None:
    with pytest.raises(CodecError):
        codec.decode(data)


@pytest.mark.parametrize(
    "form", ["", "x", "%y%m", "%Y%d", "%Y%Y", "%B", "%Y%", "%j%m", "%Y%m%j", "%Yü", "%d%Y"]
)
def test_a_format_that_could_not_be_read_back_is_refused(form: str) -> None:
    with pytest.raises(SchemaError):
        codecs.strftime(form)


@pytest.mark.parametrize(
    ("form", "ordered"),
    [("%Y%m%d", True), ("%Y%j", True), ("%d.%m.%Y", False), ("%H%M", False), ("%Y", True)],
)
def test_a_format_sorts_if_it_goes_from_the_year_down(form: str, ordered: bool) -> None:  # noqa: FBT001 - a column of the table
    assert codecs.strftime(form).ordered is ordered


def test_bounds_are_those_of_the_bytes() -> None:
    assert SHORT.maximum == datetime(2106, 2, 7, 6, 28, 15, tzinfo=UTC)
    assert codecs.seconds().maximum is None
    assert SHORT.minimum == datetime(1970, 1, 1, tzinfo=UTC)
    assert codecs.timedelta_().minimum == timedelta(microseconds=-(2**63))
    assert codecs.timedelta_().maximum == timedelta(microseconds=2**63 - 1)


def test_only_dates_are_of_the_type_date() -> None:
    assert codecs.date_().accepts_type(date(2024, 1, 1))
    assert not codecs.date_().accepts_type(AT)


def test_only_naive_times_of_day_compare() -> None:
    assert codecs.minute_of_day().compares(time(1))
    assert not codecs.minute_of_day().compares(time(1, tzinfo=UTC))


@pytest.mark.parametrize(
    ("wrong", "text", "details"),
    [
        ("%Y%q", "the format has directives that this codec does not support", ["%q"]),
        ("%y%m", "the format has directives that this codec does not support", ["%y"]),
        ("%Y\u00e4", "the format has text that is not ASCII", None),
    ],
)
def test_the_cause_of_a_refused_format_is_named(
    wrong: str, text: str, details: list[str] | None
) -> None:
    with pytest.raises(SchemaError, match=text) as caught:
        codecs.strftime(wrong)

    assert caught.value.details.get("directives") == details
    assert caught.value.fix
