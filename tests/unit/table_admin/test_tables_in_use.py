"""Tables that another program uses exclusively are not dropped, emptied, altered or adopted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from hbase_orm import (
    Engine,
    Family,
    Index,
    Key,
    Mapped,
    Model,
    TablePerPeriod,
    column,
    connect,
    key,
)
from hbase_orm.errors import TableHeldError
from hbase_orm.record.store import delete_record
from tests.support.recording import gateway_of, through

FIRST = datetime(2026, 1, 1, tzinfo=UTC)
PERIODS = (FIRST, FIRST + timedelta(days=2))


class Note(Model, table="notes"):
    d = Family()
    name: Key[str] = key()
    text: Mapped[str] = column(d)


class LaterNote(Model, table="notes"):
    d = Family(versions=3)
    name: Key[str] = key()
    text: Mapped[str] = column(d)


class Letter(Model, table="letters"):
    d = Family()
    name: Key[str] = key()
    town: Mapped[str] = column(d)
    by_town = Index(town)


class Visit(Model, table=TablePerPeriod("visits_%Y%m%d", of="at", period="day")):
    d = Family()
    name: Key[str] = key()
    at: Key[datetime] = key()
    page: Mapped[str] = column(d)


@pytest.fixture
def engine() -> Iterator[Engine]:
    with connect("memory://") as engine:
        engine.create_tables(Note, Letter)
        engine.create_tables(Visit, periods=PERIODS)
        yield engine


def adopt(engine: Engine) -> Any:
    engine._runtime.run(delete_record("notes"))
    return engine.adopt_tables(Note)


@pytest.mark.parametrize(
    ("model", "change"),
    [
        (Note, lambda engine: engine.drop_tables(Note)),
        (Letter, lambda engine: engine.drop_tables(Letter)),
        (Visit, lambda engine: engine.drop_tables(Visit)),
        (Visit, lambda engine: engine.drop_tables(Visit, periods=PERIODS)),
        (Note, lambda engine: engine.drop_tables(Letter, Note)),
        (Note, lambda engine: engine.truncate_tables(Note)),
        (Letter, lambda engine: engine.truncate_tables(Letter)),
        (Note, lambda engine: engine.alter_tables(LaterNote)),
        (Note, adopt),
    ],
)
def test_a_table_of_another_program_is_not_changed(
    engine: Engine, model: type[Model], change: Callable[[Engine], Any]
) -> None:
    other = through(gateway_of(engine), engine)
    tables = [(each.name, each.descriptor) for each in engine.tables()]

    with engine.exclusive(model):
        with pytest.raises(TableHeldError, match="exclusively") as caught:
            change(other)
        left = [(each.name, each.descriptor) for each in engine.tables()]

    assert left == tables
    assert "process" in caught.value.holder
    assert "hbase-orm tables release" in (caught.value.fix or "")
    assert change(other)


def test_a_program_drops_and_alters_the_tables_that_it_uses_itself(engine: Engine) -> None:
    with engine.exclusive(Note):
        assert engine.alter_tables(LaterNote)
        assert engine.drop_tables(Note) == ["notes"]


def test_what_would_be_altered_is_shown_meanwhile(engine: Engine) -> None:
    other = through(gateway_of(engine), engine)

    with engine.exclusive(Note):
        assert other.table_changes(LaterNote)
        assert other.check_tables(LaterNote)[0].has_drift


class WiderNote(Model, table="notes"):
    d = Family()
    name: Key[str] = key()
    text: Mapped[str] = column(d)
    more: Mapped[str | None] = column(d, default=None)


class Report(Model, table="reports"):
    d = Family()
    name: Key[str] = key()
    text: Mapped[str] = column(d)


@pytest.mark.parametrize(
    ("held", "change"),
    [
        (Note, lambda other: other.create_tables(WiderNote)),
        (Letter, lambda other: other.add_guard_family(Letter)),
        (Report, lambda other: other.create_tables(Report)),
        (
            Visit,
            lambda other: other.create_tables(
                Visit, periods=(PERIODS[1], PERIODS[1] + timedelta(days=1))
            ),
        ),
    ],
)
def test_no_table_is_created_or_recorded_that_another_program_uses(
    engine: Engine, held: type[Model], change: Callable[[Engine], object]
) -> None:
    with engine.exclusive(held):
        with pytest.raises(TableHeldError):
            change(through(gateway_of(engine), engine))

        change(engine)


def test_programs_may_start_that_declare_what_is_there_already(engine: Engine) -> None:
    with engine.exclusive(Note), engine.exclusive(Letter), engine.exclusive(Visit):
        other = through(gateway_of(engine), engine)

        assert other.create_tables(Note, Letter) == []
        assert other.create_tables(Visit, periods=PERIODS) == []
