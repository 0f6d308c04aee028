"""An adoption that is paused at any request, while another program writes the table's record."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime

import pytest

from hbase_orm import Engine, Family, Key, Mapped, Model, TablePerPeriod, codecs, column, key
from hbase_orm.errors import ConflictError, SchemaDriftError
from hbase_orm.gateway.memory.gateway import MemoryGateway
from hbase_orm.index.catalog.catalog import (
    CATALOG_TABLE,
    RECORD_COLUMN,
    catalog_descriptor,
    read_cells,
)
from hbase_orm.ops import (
    CheckAndMutate,
    CreateTable,
    DescribeTable,
    DropTable,
    FamilyDescriptor,
    ModifyTable,
    MutateRows,
    Operation,
    Put,
    RowMutation,
    TableDescriptor,
    run_protocol,
)
from hbase_orm.record.store import ID_ATTRIBUTE, read_record
from tests.support.recording import LetsAnotherWork
from tests.support.shop_processes import Clock, engine_on
from tests.support.store import WithoutThrift2

MOST_REQUESTS = 30


class Person(Model, table="people"):
    d = Family()
    number: Key[int] = key(codecs.uint32())
    name: Mapped[str] = column(d)


class Member(Model, table="people"):
    d = Family()
    number: Key[int] = key(codecs.uint32())
    name: Mapped[str] = column(d)
    since: Mapped[int | None] = column(d, codec=codecs.uint32(), default=None)


class SignedMember(Model, table="people"):
    d = Family()
    number: Key[int] = key(codecs.uint32())
    name: Mapped[str] = column(d)
    since: Mapped[int | None] = column(d, codec=codecs.int32(), default=None)


class Visit(Model, table=TablePerPeriod("visits_%Y%m%d", of="at", period="day")):
    d = Family()
    name: Key[str] = key()
    at: Key[datetime] = key()
    page: Mapped[str] = column(d)


def adopts(program: Engine) -> None:
    program.adopt_tables(Member)


def makes_anew(program: Engine) -> None:
    program.drop_tables(Member)
    program.create_tables(Member)


@pytest.mark.parametrize("number", range(MOST_REQUESTS))
@pytest.mark.parametrize("work", [adopts, makes_anew])
def test_a_paused_adoption_keeps_the_record_of_another_program(
    work: Callable[[Engine], None], number: int
) -> None:
    gateway = MemoryGateway()
    gateway.execute(CreateTable(TableDescriptor("people", (FamilyDescriptor(b"d"),))))
    row = RowMutation(b"\0\0\0\1", puts=(Put(b"d:name", b"ann"),))
    gateway.execute(MutateRows("people", (row,)))
    requests: list[Operation[object]] = []

    def meets(operation: Operation[object]) -> bool:
        requests.append(operation)
        return len(requests) == number + 1

    def write() -> None:
        program = engine_on(gateway, Clock())
        work(program)
        with program.session() as session:
            session.add(Member(number=2, name="bob", since=2**31))

    paused = LetsAnotherWork(gateway, meets, write)
    try:
        engine_on(paused, Clock()).adopt_tables(Person)
    except ConflictError as error:
        texts = ("changed the table's record", "made it again, while it was adopted")
        assert any(text in str(error) for text in texts)  # noqa: PT017  # one of two outcomes

    if not paused.has_worked:
        assert len(requests) <= number
        return
    record = run_protocol(read_record("people"), gateway.execute)
    assert record is not None
    if work is adopts and any(isinstance(each, CheckAndMutate) for each in requests[:number]):
        assert list(record.current.rows[0].models) == ["Person"]  # the other program keeps it
        return
    assert list(record.current.rows[0].models) == ["Member"]
    described = gateway.execute(DescribeTable("people"))
    assert described.attributes[ID_ATTRIBUTE] == record.table_id
    with pytest.raises(SchemaDriftError, match="d:since"):
        engine_on(gateway, Clock()).session().get(SignedMember, number=2)
    bob = engine_on(gateway, Clock()).session().get(Member, number=2)
    assert bob is not None
    assert bob.since == 2**31


def others_make(gateway: MemoryGateway, name: bytes = b"ann") -> None:
    gateway.execute(CreateTable(TableDescriptor("people", (FamilyDescriptor(b"d"),))))
    row = RowMutation(b"\0\0\0\1", puts=(Put(b"d:name", name),))
    gateway.execute(MutateRows("people", (row,)))


def is_record_write(operation: Operation[object]) -> bool:
    return isinstance(operation, CheckAndMutate) and operation.table == CATALOG_TABLE


@pytest.mark.parametrize("is_made_again", [False, True])
@pytest.mark.parametrize("is_alone", [False, True])
@pytest.mark.parametrize("stored", [b"", b"{"])
def test_an_adoption_of_a_table_that_is_dropped_meanwhile_fails_without_a_record(
    stored: bytes, *, is_alone: bool, is_made_again: bool
) -> None:
    gateway = MemoryGateway()
    others_make(gateway)
    gateway.execute(CreateTable(catalog_descriptor()))
    cell = RowMutation(b"people", puts=(Put(RECORD_COLUMN, stored),))
    gateway.execute(MutateRows(CATALOG_TABLE, (cell,)))

    def drop() -> None:
        gateway.execute(DropTable("people"))
        if is_made_again:
            time.sleep(0.002)  # a region of the same millisecond is no later one
            others_make(gateway, b"\xff\xfe")

    paused = LetsAnotherWork(gateway, is_record_write, drop)
    own = engine_on(WithoutThrift2(paused) if is_alone else paused, Clock())
    with pytest.raises(ConflictError, match="dropped the table, or made it again"):
        own.adopt_tables(Person)

    _, left = run_protocol(read_cells("people"), gateway.execute)
    assert left == stored


def test_a_table_that_is_made_again_before_it_gets_the_id_is_not_adopted() -> None:
    gateway = MemoryGateway()
    others_make(gateway)

    def make_again() -> None:
        gateway.execute(DropTable("people"))
        time.sleep(0.002)  # a region of the same millisecond is no later one
        others_make(gateway, b"\xff\xfe")

    paused = LetsAnotherWork(gateway, lambda op: isinstance(op, ModifyTable), make_again)
    with pytest.raises(ConflictError, match="dropped the table, or made it again"):
        engine_on(paused, Clock()).adopt_tables(Person)

    assert run_protocol(read_record("people"), gateway.execute) is None


def test_tables_of_periods_are_adopted_although_one_of_them_is_dropped() -> None:
    gateway = MemoryGateway()
    for day in ("20260101", "20260102"):
        gateway.execute(CreateTable(TableDescriptor(f"visits_{day}", (FamilyDescriptor(b"d"),))))
    first = DropTable("visits_20260101")
    paused = LetsAnotherWork(gateway, is_record_write, lambda: gateway.execute(first))

    (adoption,) = engine_on(paused, Clock()).adopt_tables(Visit)

    assert adoption.reason == "no record"
    assert run_protocol(read_record("visits_%Y%m%d"), gateway.execute) == adoption.record
