"""Tables that are altered or dropped with a model that does not declare their indexes."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from hbase_orm import (
    Engine,
    Family,
    Index,
    Key,
    Mapped,
    Model,
    Version,
    column,
    connect,
    key,
    select,
    version,
)
from hbase_orm.errors import SchemaDriftError, UnboundedScanError
from hbase_orm.index.catalog.catalog import read_entry
from hbase_orm.index.catalog.entry import TableState
from hbase_orm.ops import DescribeTable, ListTables, ask
from tests.support.recording import gateway_of, through
from tests.support.thrift1_only import DoesWhatThrift1Does

DAY_S = 86_400
GUARDS_S = 7 * DAY_S
"""Guards and entries live this much longer than the data."""


class View(Model, table="people"):
    d = Family()
    name: Key[str] = key()
    city: Mapped[str] = column(d)
    note: Mapped[str | None] = column(d, default=None)


class ExpiringView(Model, table="people"):
    d = Family(ttl=timedelta(days=1))
    name: Key[str] = key()
    city: Mapped[str] = column(d)


def indexed(ttl: timedelta | None = None, **options: Any) -> Any:
    class Person(Model, table="people"):
        d = Family(ttl=ttl)
        name: Key[str] = key()
        city: Mapped[str] = column(d)
        note: Mapped[str | None] = column(d, default=None)
        by_city = Index(city, include=[note] if options else [], **options)

    return Person


def versioned(ttl: timedelta) -> Any:
    class Person(Model, table="people"):
        d = Family(ttl=ttl)
        name: Key[str] = key()
        city: Mapped[str] = column(d)
        edition: Version = version(d)

    return Person


def beside(engine: Engine) -> Engine:
    return through(gateway_of(engine), engine)


def ttls(engine: Engine, table: str) -> dict[bytes, int | None]:
    existing = engine._runtime.run(ask(DescribeTable(table)))
    return {family.name: family.ttl_s for family in existing.families}


def test_a_longer_ttl_reaches_the_guards_and_entries_of_an_index_that_the_model_lacks() -> None:
    engine = connect("memory://")
    engine.create_tables(indexed(timedelta(days=1)))

    beside(engine).alter_tables(View)

    assert ttls(engine, "people") == {b"d": None, b"_": None}
    assert ttls(engine, "people_ix_by_city") == {b"d": None}


def test_a_longer_ttl_reaches_the_guards_of_versions_that_the_model_lacks() -> None:
    engine = connect("memory://")
    engine.create_tables(versioned(timedelta(days=1)))

    beside(engine).alter_tables(View)

    assert ttls(engine, "people") == {b"d": None, b"_": None}


def test_a_shorter_ttl_reaches_the_guards_and_entries_after_the_data() -> None:
    engine = connect("memory://")
    engine.create_tables(indexed(timedelta(days=2)))

    changes = beside(engine).alter_tables(ExpiringView, allow_data_loss=True)

    assert ttls(engine, "people") == {b"d": DAY_S, b"_": DAY_S + GUARDS_S}
    assert ttls(engine, "people_ix_by_city") == {b"d": DAY_S + GUARDS_S}
    assert [change.is_own for change in changes] == [False, True, True, False]


def test_a_table_that_agrees_with_a_model_without_its_indexes_has_no_drift() -> None:
    engine = connect("memory://")
    engine.create_tables(indexed())

    assert [check.has_drift for check in beside(engine).check_tables(View)] == [False]


def test_a_ttl_under_a_covering_index_that_the_model_lacks_is_refused() -> None:
    engine = connect("memory://")
    engine.create_tables(indexed(covering=True))

    with pytest.raises(SchemaDriftError, match="contradict what the table holds"):
        beside(engine).alter_tables(ExpiringView, allow_data_loss=True)

    assert ttls(engine, "people")[b"d"] is None


def test_a_ttl_under_an_index_of_rows_without_guards_is_refused() -> None:
    engine = connect("memory://")
    through(DoesWhatThrift1Does(gateway_of(engine)), engine).create_tables(indexed())

    with pytest.raises(SchemaDriftError, match="contradict what the table holds"):
        beside(engine).alter_tables(ExpiringView, allow_data_loss=True)

    assert ttls(engine, "people")[b"d"] is None


def test_a_drop_by_a_model_without_the_indexes_drops_their_tables_and_catalog_entry() -> None:
    engine = connect("memory://")
    engine.create_tables(indexed(covering=True))

    dropped = beside(engine).drop_tables(View)

    entry = engine._runtime.run(read_entry("people"))
    assert dropped == ["people", "people_ix_by_city"]
    assert engine._runtime.run(ask(ListTables())) == ["hbase_orm_catalog"]
    assert entry is not None
    assert entry.state is TableState.DROPPED


def test_entries_of_a_dropped_table_do_not_answer_for_the_next_one() -> None:
    engine, person = connect("memory://"), indexed(covering=True)
    engine.create_tables(person)
    with engine.session() as session:
        session.add(person(name="ann", city="Oslo", note="old"))

    beside(engine).drop_tables(View)
    beside(engine).create_tables(View)

    with pytest.raises(UnboundedScanError):
        beside(engine).session().all(select(person.name, person.note).where(person.city == "Oslo"))
