"""Several models write one table: each row as its own model has it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from hbase_orm import (
    Family,
    Key,
    Mapped,
    Model,
    Offset,
    Period,
    RecordType,
    TablePerPeriod,
    codecs,
    column,
    connect,
    key,
    rowkey,
    select,
)
from hbase_orm.errors import SchemaError
from hbase_orm.ops import DescribeTable, TableDescriptor
from hbase_orm.record.store import ID_ATTRIBUTE
from tests.support.recording import gateway_of

NOON = datetime(2024, 2, 29, 12, tzinfo=UTC)


class Plain(Model, table="shared"):
    d = Family()
    name: Key[str] = key()
    value: Mapped[int] = column(d, "v", codec=codecs.uint8())


class Packed(Model, table="shared"):
    d = Family()
    host: Key[str] = key()
    at: Key[datetime] = key(codecs.millis())
    value: Mapped[int] = column(d, Offset("hour", of=at))
    __rowkey__ = rowkey(host, Period("hour", of=at))


class Coarse(Model, table="shared"):
    """The rows of `Packed` with other qualifiers."""

    d = Family()
    host: Key[str] = key()
    at: Key[datetime] = key(codecs.seconds())
    value: Mapped[int] = column(
        d, Offset("hour", of=at, resolution="seconds", codec=codecs.uint16())
    )
    __rowkey__ = rowkey(host, Period("hour", of=at))


@pytest.mark.parametrize("packed", [Packed, Coarse])
@pytest.mark.parametrize("is_plain_first", [True, False])
def test_plain_rows_and_packed_cells_go_into_one_table(
    packed: Any, *, is_plain_first: bool
) -> None:
    engine = connect("memory://")
    engine.create_tables(Plain, packed)
    at = NOON + timedelta(minutes=5)
    rows = [Plain(name="plain-name", value=1), packed(host="web", at=at, value=2)]

    with engine.session() as session:
        session.add_all(rows if is_plain_first else reversed(rows))
        session.flush()
    with engine.session() as session:
        found = session.get(Plain, name="plain-name"), session.get(packed, host="web", at=at)
    with engine.session() as session:
        for row in rows:
            session.delete(row)
        session.flush()
        left = session.get(Plain, name="plain-name"), session.get(packed, host="web", at=at)

    assert found == tuple(rows)
    assert left == (None, None)


def test_cells_of_different_widths_go_into_one_table() -> None:
    engine = connect("memory://")
    engine.create_tables(Packed, Coarse)
    rows: list[Packed | Coarse] = [
        Packed(host="a", at=NOON, value=1),
        Coarse(host="b", at=NOON, value=2),
    ]

    with engine.session() as session:
        session.add_all(rows)
        session.flush()
        found = [session.get(type(row), host=row.host, at=NOON) for row in rows]

    assert found == rows


def _without_id(table: TableDescriptor) -> TableDescriptor:
    return replace(table, attributes={**table.attributes, ID_ATTRIBUTE: ""})


def base_with_an_offset() -> None:
    class Base(Model, table="bad"):
        d = Family()
        host: Key[str] = key()
        at: Key[datetime] = key(codecs.millis())
        value: Mapped[int] = column(d, Offset("hour", of=at))
        __rowkey__ = rowkey(host, RecordType(), Period("hour", of=at))


def kind_with_an_offset() -> None:
    class Base(Model, table="bad"):
        d = Family()
        host: Key[str] = key()
        at: Key[datetime] = key(codecs.millis())
        __rowkey__ = rowkey(host, RecordType(), at)

    class Sub(Base, record_type="s"):
        value: Mapped[int] = column(Base.d, Offset("hour", of=Base.at))
        __rowkey__ = rowkey(Base.host, RecordType(), Period("hour", of=Base.at))


@pytest.mark.parametrize("declare", [base_with_an_offset, kind_with_an_offset])
def test_record_types_are_not_packed(declare: Any) -> None:
    with pytest.raises(SchemaError, match="record type") as caught:
        declare()

    assert caught.value.model in {"Base", "Sub"}
    assert "its own table" in caught.value.fix


# --- tables that writing makes ----------------------------------------------------------------------


class Event(Model, table=TablePerPeriod("events_%Y%m%d", of="at", period="day", create=True)):
    d = Family()
    at: Key[datetime] = key(codecs.millis())
    __rowkey__ = rowkey(Offset("day", of=at), RecordType())


class Login(Event, record_type="l"):
    user: Mapped[str] = column(Event.d, "u")


class Sale(Event, record_type="s"):
    e = Family()
    amount: Mapped[int] = column(e, "a")


@pytest.mark.parametrize("is_login_first", [True, False])
def test_the_table_of_a_period_is_made_for_all_record_types(*, is_login_first: bool) -> None:
    engine = connect("memory://")
    rows = [Login(at=NOON, user="ann"), Sale(at=NOON, amount=5)]

    with engine.session() as session:
        for row in rows if is_login_first else reversed(rows):
            session.add(row)
            session.flush()
        day = select(Event).where(Event.at >= NOON, Event.at < NOON + timedelta(days=1))
        found = session.all(day)

    made = gateway_of(engine).execute(DescribeTable("events_20240229"))
    other = connect("memory://")
    other.create_tables(Event, periods=(NOON, NOON + timedelta(hours=1)))
    assert found == rows
    assert _without_id(made) == _without_id(
        gateway_of(other).execute(DescribeTable("events_20240229"))
    )


class Careful(Model, table=TablePerPeriod("mixed_%Y%m%d", of="at", period="day")):
    d = Family()
    at: Key[datetime] = key(codecs.millis())
    value: Mapped[int] = column(d, "v")


class Making(Model, table=TablePerPeriod("mixed_%Y%m%d", of="at", period="day", create=True)):
    d = Family()
    at: Key[datetime] = key(codecs.millis())
    value: Mapped[int] = column(d, "v")


@pytest.mark.parametrize("is_careful_first", [True, False])
def test_a_table_is_made_if_one_write_of_the_batch_may_make_it(*, is_careful_first: bool) -> None:
    engine = connect("memory://")
    rows = [Careful(at=NOON, value=1), Making(at=NOON + timedelta(hours=1), value=2)]

    with engine.session() as session:
        session.add_all(rows if is_careful_first else reversed(rows))
        assert session.flush().written == 2
