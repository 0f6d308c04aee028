"""Statements that read too much, given to the function or seen by an engine."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from hbase_orm import (
    Engine,
    Family,
    Key,
    Mapped,
    Model,
    Salt,
    Select,
    Substitute,
    codecs,
    column,
    connect,
    key,
    rowkey,
    select,
)
from hbase_orm.advise import lint, watching
from hbase_orm.errors import UnboundedScanError

T0 = datetime(2026, 1, 1, tzinfo=UTC)


class Reading(Model, table="lint_readings"):
    d = Family()
    host: Key[str] = key()
    at: Key[datetime] = key(codecs.millis())
    unit: Mapped[str] = column(d, "u")
    value: Mapped[float] = column(d, "v")
    __rowkey__ = rowkey(Salt(8), host, at)


class ByHost(Model, table="lint_by_host"):
    d = Family()
    host: Key[str] = key()
    at: Key[datetime] = key(codecs.millis())
    unit: Mapped[str] = column(d, "u")
    __rowkey__ = rowkey(Salt(8, of=host), host, at)


class ByTime(Model, table="lint_by_time"):
    d = Family()
    at: Key[datetime] = key(codecs.millis())
    host: Key[str] = key()
    unit: Mapped[str] = column(d, "u")
    __rowkey__ = rowkey(Salt(8), at, host)


WRONG: dict[str, tuple[str, Select[Any], str]] = {
    "a full scan": (
        "statement-full-scan",
        select(Reading).where(Reading.unit == "ms").allow_full_scan(),
        "declare Index(unit)",
    ),
    "a refused one": (
        "statement-full-scan",
        select(Reading).where(Reading.unit == "ms"),
        "declare Index(unit)",
    ),
    "everything": (
        "statement-full-scan",
        select(Reading).allow_full_scan(),
        "compare the beginning of the row key: host",
    ),
    "a filtered range": (
        "statement-filters",
        select(ByTime).where(ByTime.at >= T0, ByTime.unit == "ms"),
        "declare Index(unit, at)",
    ),
    "a fan-out": (
        "statement-fan-out",
        select(Reading).where(Reading.host == "a", Reading.at >= T0).limit(10),
        "__rowkey__ = rowkey(Salt(8, of=host), host, at)",
    ),
}
RIGHT: dict[str, Select[Any]] = {
    "a get": select(Reading).where(Reading.host == "a", Reading.at == T0),
    "one bucket": select(ByHost).where(ByHost.host == "a").limit(10),
    "a filter within one host": select(ByHost).where(ByHost.host == "a", ByHost.unit == "ms"),
    "a range": select(ByTime).where(ByTime.at >= T0).limit(10),
    "every row of one host": select(Reading).where(Reading.host == "a"),
    "a permission that is not needed": select(ByHost).where(ByHost.host == "a").allow_full_scan(),
    "the first rows": select(Reading).limit(10).allow_full_scan(),
    "nothing": select(Reading).where(Reading.host == "a", Reading.host == "b"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_statement_that_reads_too_much_is_remarked(case: str) -> None:
    rule, statement, fix = WRONG[case]

    (advice,) = lint(statements=[statement])

    assert (advice.rule, advice.is_alarm) == (rule, True)
    assert fix in advice.fix
    assert any(character.isdigit() for character in advice.why)


@pytest.mark.parametrize("case", RIGHT)
def test_a_statement_that_reads_what_it_needs_is_not(case: str) -> None:
    assert lint(statements=[RIGHT[case]]) == ()


def test_a_reason_of_the_model_silences_rules_about_statements() -> None:
    class Small(ByHost, table="lint_small"):
        __lint__ = {"statement-full-scan": "a hundred rows"}  # noqa: RUF012 - as users write it

    (advice,) = lint(Small, statements=[select(Small).allow_full_scan()])

    assert advice.silenced == "a hundred rows"


def test_statements_that_need_numbers_of_names_are_left_to_sessions() -> None:
    class Named(Model, table="lint_named"):
        d = Family()
        name: Key[str] = key()
        value: Mapped[int] = column(d, "v")
        __rowkey__ = rowkey(Substitute(of=name, dictionary="lint_names"))

    assert lint(statements=[select(Named).where(Named.name == "a")]) == ()


# --- an engine that is watched --------------------------------------------------------------------


@pytest.fixture
def engine() -> Any:
    with connect("memory://") as engine:
        engine.create_tables(Reading, ByTime)
        yield engine


def newest(engine: Engine, host: str) -> list[Reading]:
    with engine.session() as session:
        return session.all(select(Reading).where(Reading.host == host).limit(5))


def test_a_watched_engine_shows_the_line_that_runs_a_statement(engine: Engine) -> None:
    with watching(engine) as seen:
        newest(engine, "a")
        newest(engine, "b")

    (advice,) = seen.advice()
    assert len(seen) == 1
    assert advice.rule == "statement-fan-out"
    assert advice.file == __file__
    with open(__file__, encoding="utf-8") as source:  # noqa: PTH123 - a name as advice has it
        assert "session.all" in source.read().splitlines()[advice.line - 1]


def test_all_verbs_that_read_by_statements_are_watched(engine: Engine) -> None:
    every = select(Reading).allow_full_scan()
    with watching(engine) as seen, engine.session() as session:
        session.first(every)
        session.count(every)
        list(session.stream(every))
        session.page(every, size=10)
        session.delete_where(every)

    assert len(seen) == 5
    # `first` reads a limited range, which is no full scan.
    assert [each.rule for each in seen.advice(rows=7)] == ["statement-full-scan"] * 4
    assert "7 rows" in seen.advice(rows=7)[0].why


def test_refused_statements_and_other_times_are_not_noted(engine: Engine) -> None:
    newest(engine, "a")
    with watching(engine) as seen, engine.session() as session:
        session.get(Reading, host="a", at=T0 + timedelta(seconds=1))
        with pytest.raises(UnboundedScanError):
            session.all(select(ByTime).where(ByTime.unit == "ms"))
    newest(engine, "a")

    assert len(seen) == 0
    assert seen.advice() == ()
