"""A record describes one table, not a later table of the same name; with Thrift1 alone too."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from hbase_orm import Engine, Family, Index, Key, Mapped, Model, Salt, column, connect, key, rowkey
from hbase_orm.errors import SchemaDriftError
from hbase_orm.index.catalog.catalog import CATALOG_TABLE, RECORD_COLUMN
from hbase_orm.ops import CreateTable, DropTable, FamilyDescriptor, GetRows, TableDescriptor
from tests.support.backends import thrift1_url
from tests.support.recording import gateway_of
from tests.support.store import Store, WithoutThrift2, load


class Written(Model, table="incarnations"):
    d = Family()
    host: Key[str] = key()
    note: Mapped[str] = column(d)
    __rowkey__ = rowkey(Salt(4), host)


class Contradicting(Model, table="incarnations"):
    d = Family()
    host: Key[str] = key()
    note: Mapped[str] = column(d)


class Wider(Model, table="incarnations"):
    d = Family()
    host: Key[str] = key()
    note: Mapped[str] = column(d)
    more: Mapped[str | None] = column(d, default=None)
    __rowkey__ = rowkey(Salt(4), host)


class ContradictingGuarded(Model, table="incarnations"):
    d = Family()
    host: Key[str] = key()
    note: Mapped[str] = column(d)
    by_note = Index(note)


def prepare(engine: Engine) -> None:
    """Each test makes the table itself, because it may drop it."""


@pytest.fixture(autouse=True)
def table(store: Store) -> Iterator[str]:
    store.engine.create_tables(Written)
    store.put(Written(host="a", note="written"))
    yield store.table(Written)
    store.engine.drop_tables(Written)


@contextmanager
def only_thrift1(store: Store, on_drift: str = "refuse") -> Iterator[Engine]:
    """Provide another program that has no Thrift2 gateway."""
    if store.engine.options.scheme == "memory":
        options = replace(store.engine.options, on_drift=on_drift)
        yield Engine(WithoutThrift2(store.sent.inner), options)
        return
    with connect(f"{thrift1_url(store.engine)}?on_drift={on_drift}") as engine:
        yield engine


def record_of(store: Store, table: str) -> bytes:
    (row,) = store.run(GetRows(CATALOG_TABLE, (table.encode(),), (RECORD_COLUMN,)))
    assert row is not None
    value: bytes = row.cells[RECORD_COLUMN].value
    return value


def make_by_other_means(store: Store, table: str) -> None:
    """Drop the table, and make one of the same name as the hbase shell would."""
    store.run(DropTable(table))
    store.run(CreateTable(TableDescriptor(table, (FamilyDescriptor(b"d"),))))


def uses(engine: Engine, model: Any) -> None:
    with engine.session() as session:
        session.add(model(host="b", note="used"))
        session.flush()
        assert load(session, model, host="b").note == "used"


def test_without_thrift2_a_contradicting_model_is_refused_too(store: Store, table: str) -> None:
    with only_thrift1(store) as engine, engine.session() as session:
        with pytest.raises(SchemaDriftError) as caught:
            session.get(Contradicting, host="a")

        assert caught.value.table == table
        assert "Salt(4)" in caught.value.differences[0]


def test_a_table_made_by_other_means_is_used_although_a_record_contradicts_the_model(
    store: Store, table: str, caplog: pytest.LogCaptureFixture
) -> None:
    make_by_other_means(store, table)

    with caplog.at_level(logging.WARNING):
        uses(store.another().engine, Contradicting)

    (warning,) = [each for each in caplog.messages if table in each]
    assert "by other means" in warning
    assert "Contradicting" in warning


def test_without_thrift2_the_regions_show_that_a_table_was_made_by_other_means(
    store: Store, table: str, caplog: pytest.LogCaptureFixture
) -> None:
    make_by_other_means(store, table)

    with caplog.at_level(logging.WARNING), only_thrift1(store) as engine:
        uses(engine, Contradicting)

    (warning,) = [each for each in caplog.messages if table in each]
    assert "by other means" in warning


@pytest.mark.parametrize("has_thrift2", [True, False])
def test_create_tables_refuses_a_contradicting_model_and_keeps_the_record(
    store: Store, table: str, *, has_thrift2: bool
) -> None:
    before = record_of(store, table)

    with only_thrift1(store) as without:
        engine = store.another().engine if has_thrift2 else without
        with pytest.raises(SchemaDriftError):
            engine.create_tables(Contradicting)

    assert record_of(store, table) == before


def test_create_tables_without_thrift2_adds_to_the_record_and_keeps_its_table(
    store: Store, table: str
) -> None:
    before = record_of(store, table)

    with only_thrift1(store) as engine:
        engine.create_tables(Wider)
    added = record_of(store, table)
    store.another().engine.create_tables(Written)

    assert record_of(store, table) == added
    assert b'"Wider"' in added
    assert b'"Written"' in added
    assert added.split(b'"regions"')[0] == before.split(b'"regions"')[0]  # version and id
    with pytest.raises(SchemaDriftError):
        uses(store.another().engine, Contradicting)


def test_create_tables_records_no_table_that_others_made(store: Store, table: str) -> None:
    before = record_of(store, table)
    make_by_other_means(store, table)

    store.another().engine.create_tables(Contradicting)

    assert record_of(store, table) == before
    uses(store.another().engine, Contradicting)


@pytest.mark.parametrize("has_thrift2", [True, False])
def test_with_on_drift_warn_a_plain_model_is_used_as_it_is_declared_after_one_warning(
    store: Store, table: str, caplog: pytest.LogCaptureFixture, *, has_thrift2: bool
) -> None:
    with caplog.at_level(logging.WARNING), only_thrift1(store, "warn") as without:
        engine = warning_engine(store) if has_thrift2 else without
        uses(engine, Contradicting)
        uses(engine, Contradicting)

    (warning,) = [each for each in caplog.messages if table in each]
    assert "on_drift=warn" in warning
    assert "Salt(4)" in warning


def warning_engine(store: Store) -> Engine:
    """Return another program whose URL has `on_drift=warn`."""
    return Engine(gateway_of(store.engine), replace(store.engine.options, on_drift="warn"))


def test_with_on_drift_warn_a_model_with_an_index_is_refused(store: Store) -> None:
    with warning_engine(store).session() as session, pytest.raises(SchemaDriftError):
        session.get(ContradictingGuarded, host="a")
