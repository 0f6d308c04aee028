"""The table of a period to which rows move is made once, with guards and the record's id."""

from __future__ import annotations

from typing import Any

import pytest

from hbase_orm import Engine, connect
from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.binding.table_creation.period_tables import make_period_of_move
from hbase_orm.binding.table_creation.table_records import new_table_id
from hbase_orm.errors import ConflictError, FeatureMissingError
from hbase_orm.gateway.base import Feature
from hbase_orm.index.catalog.catalog import catalog_descriptor
from hbase_orm.index.entries.targets import GUARD_FAMILY
from hbase_orm.numbering.create_tables import create_if_missing
from hbase_orm.ops import (
    CreateTable,
    DescribeTable,
    FamilyDescriptor,
    ListTables,
    TableDescriptor,
    ask,
)
from hbase_orm.record.declaration import TableRecord
from hbase_orm.record.snapshots import declaration_of
from hbase_orm.record.store import ID_ATTRIBUTE, change_record
from tests.support.recording import RecordsRequests, gateway_of, through
from tests.support.split_trips import START, monthly_class

NEW = monthly_class("trips_%Y%m")
TABLE, TABLE_ID = "trips_202401", new_table_id()


@pytest.fixture
def engine() -> Engine:
    """Return an engine with the record of the tables of periods, of which none exists."""
    connected = connect("memory://")
    run = connected._runtime.run_as_is
    run(create_if_missing(CreateTable(catalog_descriptor())))
    record = TableRecord(TABLE_ID, declaration_of([NEW.__schema__]))
    run(change_record("trips_%Y%m", lambda _: record))
    return connected


def january(engine: Engine) -> BoundModel:
    return engine._bound_of(NEW).with_table_at(START.replace(day=1, hour=0))


def make(engine: Engine, known: set[str] | None = None, *lacking: Feature) -> None:
    features = engine._runtime.features - set(lacking)
    steps = make_period_of_move(january(engine), features, set() if known is None else known)
    engine._runtime.run_as_is(steps)


def existing(engine: Engine, **attributes: Any) -> None:
    descriptor = TableDescriptor(TABLE, (FamilyDescriptor(b"d"),), attributes)
    engine._runtime.run_as_is(ask(CreateTable(descriptor)))


def described(engine: Engine) -> TableDescriptor:
    there: TableDescriptor = engine._runtime.run_as_is(ask(DescribeTable(TABLE)))
    return there


def test_a_missing_table_gets_guards_and_the_id_of_the_record(engine: Engine) -> None:
    make(engine)

    there = described(engine)
    assert {family.name for family in there.families} == {b"d", GUARD_FAMILY}
    assert there.attributes[ID_ATTRIBUTE] == TABLE_ID


def test_a_table_that_is_known_to_be_open_costs_no_request(engine: Engine) -> None:
    known: set[str] = set()
    make(engine, known)
    recording = RecordsRequests(gateway_of(engine))

    make(through(recording, engine), known)

    assert recording.requests == []


def test_a_table_of_the_record_without_guards_gets_them(engine: Engine) -> None:
    existing(engine, **{ID_ATTRIBUTE: TABLE_ID})

    make(engine)

    assert GUARD_FAMILY in {family.name for family in described(engine).families}


def test_a_table_of_another_record_is_refused(engine: Engine) -> None:
    existing(engine, **{ID_ATTRIBUTE: "other"})

    with pytest.raises(ConflictError, match="not made by the move"):
        make(engine)

    assert GUARD_FAMILY not in {family.name for family in described(engine).families}


def test_without_thrift2_no_table_is_made(engine: Engine) -> None:
    with pytest.raises(FeatureMissingError, match="Thrift2"):
        make(engine, None, Feature.SCHEMA)

    assert TABLE not in engine._runtime.run_as_is(ask(ListTables()))
