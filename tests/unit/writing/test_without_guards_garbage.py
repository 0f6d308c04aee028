"""Without guards, too, garbage in an index table ends nothing, and a write that was made is made."""

from __future__ import annotations

from typing import Any

import pytest

from hbase_orm import Engine, func, select
from hbase_orm.errors import (
    ConfigurationError,
    ConnectionLostError,
    CorruptRowError,
    SchemaError,
    TableDisabledError,
)
from hbase_orm.index.entries.targets import ENTRY_COLUMN, GUARD_COLUMN
from hbase_orm.ops import MutateRows, Operation, Put, RowMutation
from tests.support.recording import gateway_of
from tests.support.thrift1_only import Account, DoesWhatThrift1Does, engine_without_thrift2

EMAILS = "account_ix_by_email"


def filled() -> Engine:
    engine, _ = engine_without_thrift2()
    engine.create_tables(Account)
    with engine.session() as session:
        session.add(Account(number="a", email="old@x", points=1))
        session.add(Account(number="b", email="old@x", points=1))
    return engine


def store(engine: Engine, table: str, row: bytes, where: bytes, value: bytes) -> None:
    put = Put(where, value)
    gateway_of(engine).execute(MutateRows(table, (RowMutation(row, puts=(put,)),)))


def with_email(engine: Engine, email: str) -> list[str]:
    with engine.session() as session:
        found = session.all(select(Account).where(func.lower(Account.email) == email))
    return sorted(account.number for account in found)


class FailsToCleanUp(DoesWhatThrift1Does):
    """Raises instead of deleting index entries."""

    error: Exception

    def execute(self, operation: Operation[Any], /) -> Any:
        mutations = operation.mutations if isinstance(operation, MutateRows) else ()
        if any(mutation.deletes for mutation in mutations):
            raise self.error
        return super().execute(operation)


@pytest.mark.parametrize(
    "error",
    [
        ConnectionLostError("no answer"),
        TableDisabledError("the table is disabled"),
        CorruptRowError("what is stored does not decode"),
        ConfigurationError("the gateway is closed"),
    ],
)
def test_a_write_whose_clean_up_fails_is_reported_as_made(error: Exception) -> None:
    engine = filled()
    gateway = FailsToCleanUp(gateway_of(engine))
    gateway.error = error
    with Engine(gateway, engine.options).session() as session:
        session.put_row(Account, Account.email.to("new@x"), number="a")

    assert (with_email(engine, "new@x"), with_email(engine, "old@x")) == (["a"], ["b"])
    engine.verify_index(Account, "by_email", repair=True, min_age_ms=0)
    assert engine.verify_index(Account, "by_email").stale == 0


@pytest.mark.parametrize("garbage", [b"o", b"old@x", b"\xff\x00\xfe", b"old@x\x00\x01"])
def test_rows_of_an_index_table_that_are_no_entries_end_nothing(garbage: bytes) -> None:
    engine = filled()
    store(engine, EMAILS, garbage, ENTRY_COLUMN, b"")

    assert with_email(engine, "old@x") == ["a", "b"]
    counts = engine.repair_indexes(Account, min_age_ms=0)["by_email"]

    assert (counts.valid, counts.repaired, counts.unrepaired) == (2, 1, {})
    found = engine.verify_index(Account, "by_email")
    assert (found.is_sound, found.stale, found.scanned) == (True, 0, 4)


def test_a_garbage_guard_is_refused_as_a_guard_is() -> None:
    engine = filled()
    store(engine, "account", b"a", GUARD_COLUMN, b"garbage")

    with pytest.raises(SchemaError) as caught, engine.session() as session:
        session.put_row(Account, Account.email.to("new@x"), number="a")

    assert (caught.value.table, caught.value.row) == ("account", b"a")
    assert with_email(engine, "old@x") == ["a", "b"]
    assert engine.verify_index(Account, "by_email", repair=True).is_sound
