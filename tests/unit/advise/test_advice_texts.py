"""What advice says is true of the model, and what it proposes to write is accepted."""

from __future__ import annotations

from datetime import datetime
from enum import Enum

import pytest

from hbase_orm import (
    Bucket,
    Family,
    Key,
    Mapped,
    Model,
    Offset,
    Period,
    Salt,
    codecs,
    column,
    key,
    rowkey,
    select,
)
from hbase_orm.advise import Advice, lint


class State(Enum):
    NEW = "n"
    PAID = "p"
    SENT = "s"


def advice_of(rule: str, model: type[Model]) -> Advice:
    (advice,) = [each for each in lint(model) if each.rule == rule]
    return advice


@pytest.mark.parametrize(
    ("unit", "every", "text"),
    [
        ("minute", 5, "5 minutes"),
        ("hour", 1, "1 hour"),
        ("hour", 6, "6 hours"),
        ("day", 1, "1 day"),
        ("month", 1, "28 days"),
        ("year", 1, "365 days"),
    ],
)
def test_a_salt_of_a_period_is_the_same_for_this_period(unit: str, every: int, text: str) -> None:
    class OfPeriod(Model, table="of_period"):
        d = Family()
        host: Key[str] = key()
        at: Key[datetime] = key(codecs.seconds())
        part = Period(unit, every=every, of=at)
        rest = Offset(unit, every=every, of=at, resolution="seconds")
        __rowkey__ = rowkey(Salt(8, of=part), part, host, rest)

    advice = advice_of("salt-of-period", OfPeriod)

    assert advice.seen.endswith(f"which is the same for {text}")
    assert f"all writes of {text} go to one bucket" in advice.why
    assert advice.fix.endswith("__rowkey__ = rowkey(Salt(16), ...)")


def test_a_range_behind_listed_values_takes_a_scan_for_each_of_them() -> None:
    class Change(Model, table="changes"):
        d = Family()
        state: Key[State] = key()
        at: Key[datetime] = key(codecs.millis())
        number: Key[int] = key()

    advice = advice_of("key-monotone", Change)

    assert "in at most 3 places" in advice.why
    assert "which reads a range of at in 48 scans; " in advice.fix


def test_the_salt_of_cells_of_a_period_is_computed_of_another_field() -> None:
    class Tick(Model, table="ticks_of_hours"):
        d = Family()
        metric: Key[int] = key(codecs.uint16())
        at: Key[datetime] = key(codecs.millis())
        hour = Period("hour", of=at, codec=codecs.seconds(width_bytes=4))
        value: Mapped[float] = column(d, Offset("hour", of=at))
        __rowkey__ = rowkey(hour, metric)

    class Salted(Model, table="salted_ticks_of_hours"):
        d = Family()
        metric: Key[int] = key(codecs.uint16())
        at: Key[datetime] = key(codecs.millis())
        hour = Period("hour", of=at, codec=codecs.seconds(width_bytes=4))
        value: Mapped[float] = column(d, Offset("hour", of=at))
        __rowkey__ = rowkey(Salt(16, of=metric), hour, metric)

    advice = advice_of("key-monotone", Tick)

    assert advice.fix.endswith("__rowkey__ = rowkey(Salt(16, of=metric), ...)")
    assert lint(Salted) == ()


def test_the_bucket_of_a_period_of_cells_is_replaced_by_a_salt_of_another_field() -> None:
    class Tick(Model, table="ticks_of_days"):
        d = Family()
        metric: Key[int] = key(codecs.uint16())
        at: Key[datetime] = key(codecs.millis())
        day = Period("day", of=at, codec=codecs.seconds(width_bytes=4))
        value: Mapped[float] = column(d, Offset("day", of=at))
        __rowkey__ = rowkey(Bucket(8, of=day), day, metric)

    advice = advice_of("salt-of-period", Tick)

    assert advice.fix.endswith("__rowkey__ = rowkey(Salt(16, of=metric), ...)")


def test_one_region_is_not_called_regions() -> None:
    class Note(Model, table="notes"):
        d = Family()
        number: Key[int] = key()
        text: Mapped[str] = column(d)

    statement = select(Note).where(Note.text == "x").allow_full_scan()
    (advice,) = [each for each in lint(statements=[statement]) if each.rule.endswith("full-scan")]

    assert "rows are read in 1 region, for each answer" in advice.why
