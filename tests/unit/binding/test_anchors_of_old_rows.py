"""The anchor of guarded rows that are older than their record: none of them is hidden."""

from __future__ import annotations

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
    codecs,
    column,
    connect,
    key,
)
from hbase_orm.binding.table_creation import existing_anchors
from hbase_orm.errors import DuplicateRowError, SchemaDriftError
from hbase_orm.record.store import delete_record, read_record
from tests.support.recording import gateway_of, through

ROWS = 9


@pytest.fixture(autouse=True)
def small_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(existing_anchors, "SAMPLED_ROWS", 2)
    monkeypatch.setattr(existing_anchors, "MOST_ROWS_READ", 4)


class First(Model, table="people"):
    d = Family()
    number: Key[int] = key(codecs.uint32())
    city: Mapped[str] = column(d)
    mail: Mapped[str | None] = column(d, default=None)
    by_city = Index(city)


class Later(Model, table="people"):
    d = Family()
    number: Key[int] = key(codecs.uint32())
    mail: Mapped[str] = column(d)
    city: Mapped[str] = column(d)
    by_city = Index(city)


class MailOnly(Model, table="people"):
    d = Family()
    number: Key[int] = key(codecs.uint32())
    mail: Mapped[str] = column(d)


def beside(engine: Engine) -> Engine:
    return through(gateway_of(engine), engine)


def write_rows_without_record(engine: Engine) -> None:
    """Write rows of which only the last one lacks a mail, as a release without records did."""
    engine.create_tables(First)
    engine._runtime.run(delete_record("people"))
    with engine.session() as session:
        for number in range(ROWS):
            session.add(First(number=number, city="Oslo", mail="m" if number < ROWS - 1 else None))


def test_all_guarded_rows_decide_about_the_anchor_of_their_first_record() -> None:
    with connect("memory://") as engine:
        write_rows_without_record(engine)

        program = beside(engine)
        program.create_tables(Later)

        assert program.session().get(Later, number=ROWS - 1) is not None
        with pytest.raises(DuplicateRowError):
            program.session().insert(Later(number=ROWS - 1, city="Rome", mail="x"))
        report = program.verify_index(Later, "by_city")
        assert (report.missing, report.invalid, report.stale) == (0, 0, 0)


def test_a_plain_model_of_a_guarded_table_hides_no_rows_either() -> None:
    with connect("memory://") as engine:
        write_rows_without_record(engine)

        with pytest.raises(SchemaDriftError, match="hide rows"):
            beside(engine).create_tables(MailOnly)

        assert engine._runtime.run(read_record("people")) is None


def visit(*names: str) -> Any:
    """Return a model of visits whose required columns are in this order."""
    d = Family()
    at = key()
    fields: dict[str, Any] = {"d": d, "at": at, **{name: column(d) for name in names}}
    hints = {"at": Key[datetime], **dict.fromkeys(names, Mapped[str])}
    body = {"__annotations__": hints, "__module__": __name__, **fields}
    declared: Any = type(Model)
    pattern = TablePerPeriod("visits_%Y%m%d", of="at", period="day")
    return declared("Visit", (Model,), body, table=pattern)


def test_rows_of_earlier_periods_decide_about_the_anchor_of_a_later_periods_table() -> None:
    first, later, day = visit("page"), visit("host", "page"), timedelta(days=1)
    start = datetime(2024, 1, 1, tzinfo=UTC)
    with connect("memory://") as engine:
        engine.create_tables(first, periods=(start, start + day))
        with engine.session() as session:
            session.add(first(at=start, page="/"))
        engine._runtime.run(delete_record("visits_%Y%m%d"))

        program = beside(engine)
        program.create_tables(later, periods=(start + day, start + 2 * day))

        record = program._runtime.run(read_record("visits_%Y%m%d"))
        assert record is not None
        assert record.current.rows[0].anchor == b"d:page"


def test_all_guarded_rows_decide_about_the_anchor_of_an_adopted_table() -> None:
    with connect("memory://") as engine:
        write_rows_without_record(engine)

        program = beside(engine)
        program.adopt_tables(Later, rows=1)

        assert program.session().get(Later, number=ROWS - 1) is not None
