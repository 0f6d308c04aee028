"""A model with a table for each period is warned once in an engine, not once for each table."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from hbase_orm import (
    Engine,
    Family,
    Key,
    Mapped,
    Model,
    TablePerPeriod,
    codecs,
    column,
    connect,
    key,
    select,
)
from hbase_orm.binding.url import parse_url
from hbase_orm.ops import CreateTable, DropTable, FamilyDescriptor, TableDescriptor
from tests.support.recording import gateway_of, through

FIRST, DAYS = datetime(2026, 1, 1, tzinfo=UTC), 6
PERIODS = (FIRST, FIRST + timedelta(days=DAYS))
VISITS = TablePerPeriod("visits_%Y%m%d", of="at", period="day")


class Visit(Model, table=VISITS):
    d = Family()
    number: Key[int] = key(codecs.uint32())
    at: Key[datetime] = key()
    page: Mapped[str] = column(d)


class KeptVisit(Model, table=VISITS):
    d = Family(versions=3)
    number: Key[int] = key(codecs.uint32())
    at: Key[datetime] = key()
    page: Mapped[str] = column(d)


class SignedVisit(Model, table=VISITS):
    d = Family()
    number: Key[int] = key(codecs.int32())
    at: Key[datetime] = key()
    page: Mapped[str] = column(d)


class WiderVisit(Model, table=VISITS):
    d = Family()
    e = Family()
    number: Key[int] = key(codecs.uint32())
    at: Key[datetime] = key()
    page: Mapped[str] = column(d)
    note: Mapped[str | None] = column(e, default=None)


def use(engine: Engine, model: type[Model]) -> None:
    """Write and read a row of each period."""
    with engine.session() as session:
        for day in range(DAYS):
            session.add(model(number=1, at=FIRST + timedelta(days=day), page="/"))
    with engine.session() as session:
        assert len(session.all(select(model).allow_full_scan())) == DAYS
    with engine.session() as session:
        for day in range(DAYS):
            assert session.get(model, number=1, at=FIRST + timedelta(days=day))


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records]


def replace_tables(engine: Engine) -> None:
    """Drop the tables and create them again by other means."""
    gateway = gateway_of(engine)
    for day in range(1, DAYS + 1):
        table = f"visits_2026010{day}"
        gateway.execute(DropTable(table))
        gateway.execute(CreateTable(TableDescriptor(table, (FamilyDescriptor(b"d"),))))


def test_other_options_are_one_warning_in_each_engine(caplog: pytest.LogCaptureFixture) -> None:
    with connect("memory://") as engine:
        engine.create_tables(Visit, periods=PERIODS)
        for _ in range(2):
            use(through(gateway_of(engine), engine), KeptVisit)

    (first, second) = warnings(caplog)
    assert first == second
    assert first.startswith("table visits_%Y%m%d has other options than model KeptVisit declares")


def test_an_allowed_contradiction_is_one_warning(caplog: pytest.LogCaptureFixture) -> None:
    with connect("memory://") as engine:
        engine.create_tables(Visit, periods=PERIODS)
        warned = Engine(gateway_of(engine), parse_url("memory://?on_drift=warn"))
        use(warned, SignedVisit)

    (only,) = warnings(caplog)
    assert "table='visits_%Y%m%d'" in only


def test_tables_that_were_made_by_other_means_are_one_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with connect("memory://") as engine:
        engine.create_tables(Visit, periods=PERIODS)
        replace_tables(engine)
        use(through(gateway_of(engine), engine), SignedVisit)

    (only,) = warnings(caplog)
    assert only.startswith("table visits_%Y%m%d was made or truncated by other means")


def test_existing_tables_without_a_family_are_one_warning_that_names_some(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with connect("memory://") as engine:
        engine.create_tables(Visit, periods=PERIODS)
        replace_tables(engine)
        engine.create_tables(WiderVisit, periods=PERIODS)

    (only,) = warnings(caplog)
    assert only == (
        "table visits_20260101 lacks families of WiderVisit: [b'e']; writes to them will fail; the "
        "same holds for 5 more, such as visits_20260102, visits_20260103, visits_20260104"
    )
