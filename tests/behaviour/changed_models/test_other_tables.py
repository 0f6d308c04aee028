"""Changed declarations of record types, of tables for each period, and of objects that are cells."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest

from hbase_orm import (
    Engine,
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
    key,
    rowkey,
    select,
)
from hbase_orm.errors import MissingCellError, SchemaDriftError
from hbase_orm.ops import ListTables
from tests.support.backends import Backend
from tests.support.changed_models import raw_cells
from tests.support.recording import gateway_of

NOON = datetime(2024, 2, 3, 12, tzinfo=UTC)
DAY = timedelta(days=1)


@pytest.fixture
def name() -> str:
    """Return the name of a table that no other test has."""
    return f"t{uuid4().hex[:8]}"


# --- record types ---------------------------------------------------------------------------------


def parties(table: str, *, qualifier: str = "t", has_vat: bool = False) -> tuple[Any, Any, Any]:
    """Return a base and its record types, persons and firms; firms may have another column."""

    class Party(Model, table=table):
        d = Family()
        number: Key[int] = key(codecs.uint16())
        __rowkey__ = rowkey(RecordType(), number)

    class Person(Party, record_type="P"):
        name: Mapped[str] = column(Party.d, "n")

    if has_vat:

        class FirmWithNumber(Party, record_type="F"):
            vat: Mapped[str] = column(Party.d, "v")
            title: Mapped[str] = column(Party.d, qualifier)

        return Party, Person, FirmWithNumber

    class Firm(Party, record_type="F"):
        title: Mapped[str] = column(Party.d, qualifier)

    return Party, Person, Firm


def write_parties(engine: Engine, models: tuple[Any, Any, Any]) -> None:
    base, person, firm = models
    engine.create_tables(base)
    with engine.session() as session:
        session.add_all(person(number=n, name=f"n{n}") for n in range(3))
        session.add_all(firm(number=n, title=f"t{n}") for n in range(2))


def of_all(engine: Engine, base: Any) -> list[tuple[str, int]]:
    found = engine.session().all(select(base).allow_full_scan())
    return [(type(each).__name__[:4], each.number) for each in found]


def test_a_required_column_above_those_of_one_record_type_hides_no_row(
    backend: Backend, tables: Engine, name: str
) -> None:
    old, new = parties(name), parties(name, has_vat=True)
    write_parties(tables, old)
    program = backend.another(tables)
    base, person, firm = new

    assert of_all(program, base) == of_all(tables, old[0])
    program.create_tables(base)
    session = program.session()
    assert len(session.all(select(person).allow_full_scan())) == 3
    loaded: Any = session.get(firm, number=1)
    with pytest.raises(MissingCellError):
        _ = loaded.vat
    session.add(firm(number=7, vat="x", title="new"))
    session.flush()

    assert of_all(backend.another(tables), old[0]) == of_all(program, base)
    assert len(of_all(program, base)) == 6


def test_another_qualifier_of_one_record_type_refuses_it_and_its_base_alone(
    backend: Backend, tables: Engine, name: str
) -> None:
    old, (base, person, firm) = parties(name), parties(name, qualifier="x")
    write_parties(tables, old)
    session, before = backend.another(tables).session(), raw_cells(tables, name)

    for refused in (base, firm):
        with pytest.raises(SchemaDriftError):
            session.all(select(refused).allow_full_scan())
    with pytest.raises(SchemaDriftError):
        session.insert(firm(number=9, title="t"))

    assert len(session.all(select(person).allow_full_scan())) == 3
    assert raw_cells(tables, name) == before


# --- tables for each period -----------------------------------------------------------------------


def payments(table: str, amount: Any, *, has_code: bool = False) -> Any:
    """Return a model with a table for each day, which writes create."""
    per_day = TablePerPeriod(f"{table}_%Y%m%d", of="at", period="day", create=True)

    if has_code:

        class CodedPayment(Model, table=per_day):
            d = Family()
            account: Key[int] = key(codecs.uint32())
            at: Key[datetime] = key(codecs.millis())
            code: Mapped[str] = column(d, "k")
            amount_: Mapped[int] = column(d, "a", codec=amount)
            __rowkey__ = rowkey(account, Offset("day", of=at))

        return CodedPayment

    class Payment(Model, table=per_day):
        d = Family()
        account: Key[int] = key(codecs.uint32())
        at: Key[datetime] = key(codecs.millis())
        amount_: Mapped[int] = column(d, "a", codec=amount)
        __rowkey__ = rowkey(account, Offset("day", of=at))

    return Payment


def on_both_days(model: Any) -> Any:
    return select(model).where(model.account == 1, model.at >= NOON, model.at < NOON + 2 * DAY)


def test_a_table_of_a_new_period_is_made_under_the_record_of_its_pattern(
    backend: Backend, tables: Engine, name: str
) -> None:
    old = payments(name, codecs.uint32())
    new = payments(name, codecs.uint32(), has_code=True)
    with tables.session() as session:
        session.add(old(account=1, at=NOON, amount_=5))
    program = backend.another(tables)
    with program.session() as session:
        session.add(new(account=1, at=NOON + DAY, code="c", amount_=6))

    amounts = [
        [row.amount_ for row in engine.session().all(on_both_days(model))]
        for engine, model in ((program, new), (backend.another(tables), old))
    ]

    assert amounts == [[5, 6], [5, 6]]


def tables_of(engine: Engine, name: str) -> list[str]:
    """Return the tables of all periods."""
    return [table for table in gateway_of(engine).execute(ListTables()) if name in table]


def test_another_codec_is_refused_in_every_period_and_makes_no_table(
    backend: Backend, tables: Engine, name: str
) -> None:
    old, new = payments(name, codecs.uint32()), payments(name, codecs.int32())
    with tables.session() as session:
        session.add(old(account=1, at=NOON, amount_=5))
    there = tables_of(tables, name)
    session = backend.another(tables).session()

    with pytest.raises(SchemaDriftError):
        session.all(on_both_days(new))
    with pytest.raises(SchemaDriftError):
        session.put_row(new, new.amount_.to(6), account=1, at=NOON)
    session.add(new(account=1, at=NOON + DAY, amount_=6))
    with pytest.raises(SchemaDriftError):
        session.flush()

    assert tables_of(tables, name) == there
    assert len(there) == 1
    assert [row.amount_ for row in tables.session().all(on_both_days(old))] == [5]


# --- objects that are cells -----------------------------------------------------------------------


def points(table: str, value: Any, resolution: Any) -> Any:
    """Return a model whose rows hold the cells of an hour."""

    class Point(Model, table=table):
        d = Family()
        host: Key[str] = key()
        at: Key[datetime] = key(codecs.seconds())
        hour = Period("hour", of=at)
        value_: Mapped[int] = column(d, Offset("hour", of=at, resolution=resolution), codec=value)
        __rowkey__ = rowkey(host, hour)

    return Point


@pytest.mark.parametrize(
    ("value", "resolution"),
    [(codecs.int32(), "millis"), (codecs.uint32(), "seconds")],
    ids=["another codec", "another qualifier"],
)
def test_cells_of_another_form_are_refused_and_none_is_written(
    backend: Backend, tables: Engine, name: str, value: Any, resolution: str
) -> None:
    old, new = points(name, codecs.uint32(), "millis"), points(name, value, resolution)
    tables.create_tables(old)
    with tables.session() as session:
        session.add_all(old(host="a", at=NOON + n * timedelta(seconds=1), value_=n) for n in (0, 1))
    before, session = raw_cells(tables, name), backend.another(tables).session()

    with pytest.raises(SchemaDriftError):
        session.all(select(new).where(new.host == "a"))
    with pytest.raises(SchemaDriftError):
        session.get(new, host="a", at=NOON)
    session.add(new(host="a", at=NOON, value_=9))
    with pytest.raises(SchemaDriftError):
        session.flush()

    assert raw_cells(tables, name) == before
