"""An adoption that is paused at any request, while another program writes the table's record."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from hbase_orm import Engine, Family, Key, Mapped, Model, codecs, column, key
from hbase_orm.errors import ConflictError, SchemaDriftError
from hbase_orm.gateway.memory.gateway import MemoryGateway
from hbase_orm.ops import (
    CheckAndMutate,
    CreateTable,
    DescribeTable,
    FamilyDescriptor,
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

MOST_REQUESTS = 24


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
        assert "changed the table's record" in str(error)  # noqa: PT017  # one of two outcomes

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
