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
    select,
)
from hbase_orm.errors import ConflictError, FlushError, RejectedError, TableHeldError
from hbase_orm.ops import CreateTable, DropTable, ListRegions, TruncateTable
from hbase_orm.record.store import delete_record
from tests.support.recording import FailsBeforeSending, LetsAnotherWork, gateway_of, through

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


# --- the tables that the program uses itself ------------------------------------------------------


def write(engine: Engine, model: Any, **values: Any) -> None:
    with engine.session() as session:
        session.add(model(name="a", **values))


def towns(engine: Engine) -> list[str]:
    return [each.name for each in engine.session().all(select(Letter).where(Letter.town == "x"))]


@pytest.mark.parametrize("options", [{}, {"exclusive": True}])
def test_a_program_empties_a_table_that_it_uses_itself(
    engine: Engine, options: dict[str, Any]
) -> None:
    write(engine, Note, text="x")
    write(engine, Letter, town="x")

    with engine.exclusive(Note), engine.exclusive(Letter):
        assert towns(engine) == ["a"]
        emptied = engine.truncate_tables(Note, Letter, **options)
        assert emptied == ["notes", "letters"]
        assert towns(engine) == []
        write(engine, Letter, town="x")
        other = through(gateway_of(engine), engine)
        with pytest.raises(FlushError, match="uses the table exclusively"):
            write(other, Letter, town="y")
        assert towns(engine) == towns(other) == ["a"]

    write(other, Letter, town="x")
    assert towns(other) == ["a"]
    assert engine.verify_index(Letter, Letter.by_town).is_sound


def test_a_program_empties_tables_of_periods_that_it_uses_itself(engine: Engine) -> None:
    write(engine, Visit, at=FIRST, page="x")

    with engine.exclusive(Visit):
        assert len(engine.truncate_tables(Visit)) == 2

    assert engine.session().get(Visit, name="a", at=FIRST) is None


def test_an_emptying_that_is_interrupted_in_a_block_is_finished_later(engine: Engine) -> None:
    write(engine, Letter, town="x")
    breaks = FailsBeforeSending(
        gateway_of(engine),
        lambda request: RejectedError("no") if isinstance(request, TruncateTable) else None,
    )
    broken = through(breaks, engine)

    with (
        pytest.raises(RejectedError),
        broken.exclusive(Letter),
    ):
        broken.truncate_tables(Letter)

    other = through(gateway_of(engine), engine)
    with pytest.raises(FlushError, match="run 'hbase-orm tables truncate'"):
        write(other, Letter, town="y")
    with pytest.raises(ConflictError, match="being truncated"), other.exclusive(Letter):
        pass
    assert other.truncate_tables(Letter) == ["letters"]
    write(other, Letter, town="x")
    assert towns(other) == ["a"]
    assert other.verify_index(Letter, Letter.by_town).is_sound


def test_a_program_writes_no_rows_into_a_table_that_it_empties(engine: Engine) -> None:
    breaks = FailsBeforeSending(
        gateway_of(engine),
        lambda request: RejectedError("no") if isinstance(request, TruncateTable) else None,
    )
    broken = through(breaks, engine)

    with broken.exclusive(Letter):
        with pytest.raises(RejectedError):
            broken.truncate_tables(Letter)
        with pytest.raises(FlushError, match="run 'hbase-orm tables truncate'"):
            write(broken, Letter, town="y")
        with pytest.raises(ConflictError, match="being truncated"):
            broken.build_index(Letter, Letter.by_town, exclusive=True)
        breaks.error_of = lambda _: None
        assert broken.truncate_tables(Letter) == ["letters"]
        write(broken, Letter, town="x")

    assert towns(through(gateway_of(engine), engine)) == ["a"]


def test_a_program_drops_a_table_with_indexes_that_it_uses_itself_and_makes_it_again(
    engine: Engine,
) -> None:
    write(engine, Letter, town="x")
    other = through(gateway_of(engine), engine)

    with engine.exclusive(Letter):
        assert "letters" in engine.drop_tables(Letter)
        with pytest.raises(TableHeldError):
            other.create_tables(Letter)
        assert "letters" in engine.create_tables(Letter)
        write(engine, Letter, town="x")

    assert towns(engine) == ["a"]
    write(other, Letter, town="x")


def test_a_program_adopts_a_table_that_it_uses_itself(engine: Engine) -> None:
    with engine.exclusive(Note):
        assert adopt(engine)[0].record is not None


# --- a use that begins after the check ------------------------------------------------------------


class Card(Model, table="cards"):
    d = Family()
    name: Key[str] = key()
    town: Mapped[str] = column(d)
    by_town = Index(town)


def test_the_catalog_is_not_changed_after_another_program_has_begun_to_use_the_table(
    engine: Engine,
) -> None:
    other = through(gateway_of(engine), engine)
    uses = other.exclusive(Card)
    late = LetsAnotherWork(
        gateway_of(engine), lambda request: isinstance(request, CreateTable), uses.__enter__
    )

    with pytest.raises(TableHeldError, match="exclusively"):
        through(late, engine).create_tables(Card)

    uses.__exit__(None, None, None)
    engine.create_tables(Card)
    write(engine, Card, town="x")


def test_an_emptying_does_not_begin_after_another_program_has_begun_to_use_the_table(
    engine: Engine,
) -> None:
    write(engine, Letter, town="x")
    other = through(gateway_of(engine), engine)
    uses = other.exclusive(Letter)
    late = LetsAnotherWork(
        gateway_of(engine), lambda request: isinstance(request, ListRegions), uses.__enter__
    )

    with pytest.raises(TableHeldError, match="exclusively"):
        through(late, engine).truncate_tables(Letter)

    uses.__exit__(None, None, None)
    assert towns(engine) == ["a"]


def test_a_use_that_begins_during_a_drop_goes_on(engine: Engine) -> None:
    other = through(gateway_of(engine), engine)
    uses = other.exclusive(Letter)
    late = LetsAnotherWork(
        gateway_of(engine), lambda request: isinstance(request, DropTable), uses.__enter__
    )

    through(late, engine).drop_tables(Letter)

    with pytest.raises(TableHeldError):
        engine.create_tables(Letter)
    uses.__exit__(None, None, None)
    engine.create_tables(Letter)
