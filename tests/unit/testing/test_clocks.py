from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from hbase_orm.errors import ConfigurationError, ValidationError
from hbase_orm.testing import SettableClock, memory_engine
from tests.unit.testing.tested_models import Order, Parcel

NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)


def test_a_lifetime_passes_without_sleeping() -> None:
    clock = SettableClock(NEW_YEAR)
    with memory_engine(clock=clock) as engine:
        engine.create_tables(Order)
        with engine.session() as session:
            session.add(Order(number=1, city="Oslo"))

        clock.advance(timedelta(hours=23))
        assert engine.session().get(Order, number=1) is not None
        clock.set(NEW_YEAR + timedelta(hours=25))
        assert engine.session().get(Order, number=1) is None


def test_rows_with_guards_have_the_times_of_the_clock() -> None:
    clock = SettableClock(NEW_YEAR)
    with memory_engine(clock=clock) as engine:
        engine.create_tables(Parcel)
        with engine.session() as session:
            session.add(Parcel(number=1, city="Oslo"))
        clock.advance(timedelta(days=365))
        with engine.session() as session:
            session.add(Parcel(number=2, city="Rome"))

        session = engine.session()
        parcel = session.get(Parcel, number=2)
        assert parcel is not None
        stored = session.history(parcel, Parcel.city, limit=3)

    years = {datetime.fromtimestamp(each.timestamp_ms / 1000, UTC).year for each in stored}
    assert years == {2027}


def test_the_clock_goes_on_and_never_back() -> None:
    clock = SettableClock(NEW_YEAR)

    assert clock.now() < clock.now()
    with pytest.raises(ValidationError, match="cannot go back"):
        clock.set(NEW_YEAR)
    with pytest.raises(ValidationError, match="no time zone"):
        clock.set(datetime(2030, 1, 1))  # noqa: DTZ001  # what is refused
    assert repr(clock).startswith("SettableClock(2026-01-01T00:00:0")


@pytest.mark.parametrize("url", ["hbase://127.0.0.1", "memory://shared"])
def test_only_tables_of_its_own_go_by_a_clock(url: str) -> None:
    with pytest.raises(ConfigurationError, match="tables in memory that no other engine uses"):
        memory_engine(url, clock=SettableClock())
