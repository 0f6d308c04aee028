"""Periods of several minutes or hours: their starts, their offsets, and lengths that are refused."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

import pytest

from hbase_orm import Family, Key, Mapped, Model, codecs, column, key, rowkey
from hbase_orm.errors import CorruptRowError, SchemaError
from hbase_orm.rowkey import Bucket, KeyFields, KeyLayout, KeySource, Offset, Period, assemble
from hbase_orm.rowkey.periods import UNITS, unit_of

AT = KeySource()
NOON = datetime(2024, 2, 29, 12, tzinfo=UTC)
FIVE = timedelta(minutes=5)


def timed(*components: KeySource, desc: bool = False, stored: bool = False) -> KeyLayout:
    """Return the layout of a key of one time."""
    fields = KeyFields({"at": AT}, {"at": codecs.millis(desc=desc)}, ("at",) if stored else ())
    return assemble(components, fields)


@pytest.mark.parametrize(
    ("unit", "every", "at", "start"),
    [
        ("minute", 5, (12, 4, 59, 999_999), (12, 0)),
        ("minute", 5, (12, 5), (12, 5)),
        ("minute", 30, (0, 31), (0, 30)),
        ("minute", 1, (12, 4, 59), (12, 4)),
        ("hour", 6, (5, 59, 59), (0, 0)),
        ("hour", 6, (23, 0), (18, 0)),
    ],
)
def test_a_period_starts_at_a_multiple_of_its_length(
    unit: str, every: int, at: tuple[int, ...], start: tuple[int, ...]
) -> None:
    time, expected = (datetime(2024, 2, 29, *of, tzinfo=UTC) for of in (at, start))  # type: ignore[misc,arg-type]  # hour, minute, ...

    assert unit_of(unit, every).start(time) == expected


def test_periods_follow_each_other_without_a_gap() -> None:
    for name, every in (("minute", 20), ("hour", 8)):
        unit = unit_of(name, every)
        starts = list(unit.starts(NOON, NOON + timedelta(days=1)))

        assert starts[0] <= NOON < starts[1]
        assert all(unit.start(start) == start for start in starts)
        assert {b - a for a, b in pairwise(starts)} == {unit.step}


@pytest.mark.parametrize("desc", [False, True])
@pytest.mark.parametrize(("unit", "every"), [("minute", 5), ("minute", 30), ("hour", 12)])
def test_a_period_and_its_offset_give_the_time_back_and_sort(
    unit: str, every: int, *, desc: bool
) -> None:
    built = timed(Period(unit, of=AT, every=every), Offset(unit, of=AT, every=every), desc=desc)
    moments = [NOON + timedelta(minutes=minute, milliseconds=1) for minute in range(0, 1441, 7)]
    keys = [built.encode({"at": at}) for at in moments]

    assert [built.decode(key) for key in keys] == [{"at": at} for at in moments]
    assert keys == sorted(keys, reverse=desc)


def test_an_offset_may_be_text_that_repeats_the_minute() -> None:
    built = timed(
        Period("minute", of=AT, every=5, codec=codecs.strftime("%Y%m%d%H%M")),
        Offset("minute", of=AT, every=5, codec=codecs.strftime(" %M:%S.%f")),
    )
    at = NOON + timedelta(minutes=7, seconds=3)

    assert built.encode({"at": at}) == b"202402291205 07:03.000000"
    assert built.decode(b"202402291205 07:03.000000") == {"at": at}
    with pytest.raises(CorruptRowError):
        built.decode(b"202402291205 10:03.000000")
    with pytest.raises(CorruptRowError):
        built.decode(b"202402291204 04:03.000000")


def test_a_bucket_of_a_period_of_minutes_counts_the_periods() -> None:
    built = timed(Bucket(5, of=Period("minute", of=AT, every=5)), AT)
    buckets = [built.encode({"at": NOON + FIVE * number})[0] for number in range(12)]

    assert buckets == [(buckets[0] + number) % 5 for number in range(12)]


def test_an_offset_of_another_length_does_not_give_the_time_back() -> None:
    for period, offset in ((5, 10), (10, 5), (1, 5)):
        with pytest.raises(SchemaError, match="must hold every key field exactly once") as caught:
            timed(Period("minute", of=AT, every=period), Offset("minute", of=AT, every=offset))

        assert "the Offset in the same period" in caught.value.fix


@pytest.mark.parametrize(
    ("unit", "every", "fix"),
    [
        ("minute", 7, "use one of the allowed numbers"),
        ("minute", 0, "use one of the allowed numbers"),
        ("minute", -5, "use one of the allowed numbers"),
        ("minute", 90, "use one of the allowed numbers"),
        ("minute", True, "use one of the allowed numbers"),
        ("minute", 5.0, "use one of the allowed numbers"),
        ("minute", "5", "use one of the allowed numbers"),
        ("minute", 60, 'write "hour"'),
        ("hour", 5, "use one of the allowed numbers"),
        ("hour", 24, 'write "day"'),
        ("day", 7, "leave every= out"),
        ("year", 2, "leave every= out"),
    ],
)
@pytest.mark.parametrize("component", [Period, Offset])
def test_lengths_that_divide_no_hour_and_no_day_are_refused(
    component: Any, unit: str, every: Any, fix: str
) -> None:
    with pytest.raises(SchemaError, match="periods of this length do not divide") as caught:
        component(unit, of=AT, every=every)

    assert fix in caught.value.fix
    assert caught.value.unit == unit
    assert caught.value.every is every


def test_the_allowed_lengths_are_the_divisors() -> None:
    with pytest.raises(SchemaError) as minutes:
        Period("minute", of=AT, every=7)
    with pytest.raises(SchemaError) as hours:
        Period("hour", of=AT, every=7)

    assert minutes.value.allowed == (1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30)
    assert hours.value.allowed == (1, 2, 3, 4, 6, 8, 12)


def test_a_codec_that_does_not_write_the_minute_is_too_coarse() -> None:
    with pytest.raises(SchemaError, match="too coarse for the period") as caught:
        timed(
            Period("minute", of=AT, every=30, codec=codecs.strftime("%Y%m%d%H")),
            Offset("minute", of=AT, every=30),
        )

    assert caught.value.unit == "30 minutes"


class Points(Model, abstract=True):
    d = Family()
    metric: Key[str] = key()
    at: Key[datetime] = key(codecs.millis())
    value: Mapped[float] = column(d, Offset("minute", of=at, every=20))
    period = Period("minute", of=at, every=20)
    hour = Period("hour", of=at)
    finer = Period("minute", of=at, every=10)
    across = Period("minute", of=at, every=30)


def test_a_row_may_hold_the_cells_of_several_minutes() -> None:
    class Packed(Points, table="points"):
        __rowkey__ = rowkey(Bucket(4, of=Points.hour), Points.metric, Points.period)

    keys = [Packed.encode_key(metric="a", at=NOON + timedelta(minutes=m)) for m in (0, 19, 20)]
    assert keys[0] == keys[1] != keys[2]


@pytest.mark.parametrize("across", [Points.finer, Points.across], ids=["finer", "across"])
def test_a_period_that_does_not_contain_whole_rows_of_cells_is_refused(across: KeySource) -> None:
    with pytest.raises(SchemaError, match="into different rows") as caught:

        class Scattered(Points, table="points"):
            __rowkey__ = rowkey(Bucket(4, of=across), Points.metric, Points.period)

    assert caught.value.offset == "20 minutes"
    assert "Period('minute', every=20)" in caught.value.fix


def test_units_contain_each_other_as_the_calendar_does() -> None:
    order = ["minute", "hour", "day", "month", "year"]
    for number, name in enumerate(order):
        assert [UNITS[name].contains(UNITS[other]) for other in order] == [
            place <= number for place in range(len(order))
        ]
    assert unit_of("hour", 6).contains(unit_of("hour", 2))
    assert not unit_of("hour", 6).contains(unit_of("hour", 4))
    assert not unit_of("minute", 30).contains(unit_of("hour"))
    assert UNITS["month"].contains(unit_of("hour", 8))
    assert not unit_of("hour", 8).contains(UNITS["month"])
