"""Models of one engine: what is worked out once and not for each object."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hbase_orm import Family, Key, Mapped, Model, Salt, TablePerPeriod, codecs, column, connect, key
from hbase_orm import rowkey as key_of
from hbase_orm.binding.bound_model import PERIODS_KEPT
from hbase_orm.ops import Cell, Row
from hbase_orm.schema import NO_FIELDS
from tests.support.listed_rows import listed

FIRST = datetime(2001, 1, 1, tzinfo=UTC)


class Seen(Model, table=TablePerPeriod("seen_%Y%m%d", of="at", period="day")):
    d = Family()
    host: Key[str] = key()
    at: Key[datetime] = key(codecs.millis())
    note: Mapped[str] = column(d, default="")
    __rowkey__ = key_of(Salt(4), host, at)


class Plain(Model, table="plain"):
    d = Family()
    name: Key[str] = key()
    note: Mapped[str] = column(d, default="")


def test_the_model_of_a_period_is_made_once() -> None:
    bound = connect("memory://")._bound_of(Seen)

    morning = bound.with_table_of({"at": FIRST + timedelta(hours=1)})
    evening = bound.with_table_of({"at": FIRST + timedelta(hours=23)})
    next_day = bound.with_table_of({"at": FIRST + timedelta(days=1)})

    assert morning is evening
    assert [each.schema.table for each in (morning, next_day)] == ["seen_20010101", "seen_20010102"]
    assert morning.with_table_of({"at": FIRST + timedelta(days=1)}) is morning


def test_listed_and_plain_rows_become_objects_of_one_table() -> None:
    bound = connect("memory://")._bound_of(Plain)
    read = Row(b"a", {b"d:note": Cell(b"n", 1)})
    hydrate = bound.hydrator(NO_FIELDS)

    made = [hydrate(each) for each in (read, listed(read), listed(read, (b"d:note", b"d:x")), read)]
    made.append(bound.hydrate(listed(read)))

    assert [(each.name, each.note) for each in made] == [("a", "n")] * 5
    assert {each.__state__.origin for each in made} == {bound.origin}


def test_few_models_of_periods_are_kept() -> None:
    bound = connect("memory://")._bound_of(Seen)

    tables = [
        bound.with_table_of({"at": FIRST + n * timedelta(days=1)}).schema.table
        for n in range(3 * PERIODS_KEPT)
    ]

    assert len(set(tables)) == len(tables)
    assert 0 < len(bound._in_periods) <= PERIODS_KEPT


def test_what_a_layout_is_made_of_is_worked_out_once() -> None:
    layout = Seen.__schema__.layout

    assert layout.codecs is layout.codecs
    assert list(layout.codecs) == ["host", "at"]
    assert layout.spread is layout.parts[0]
    assert not layout.is_random
