"""Changes of the catalog whose answers are lost: the error says so, and blames no other program."""

from __future__ import annotations

from collections.abc import Callable
from itertools import cycle
from typing import Any

import pytest

from hbase_orm.errors import ConflictError, ConnectionLostError
from hbase_orm.gateway.base import Gateway
from hbase_orm.gateway.memory.gateway import MemoryGateway
from hbase_orm.index.catalog.catalog import catalog_descriptor, change_entry
from hbase_orm.index.catalog.entry import CatalogEntry, TableState
from hbase_orm.ops import CheckAndMutate, CreateTable, Operation, Protocol, Sleep, run_protocol
from hbase_orm.record.declaration import Declaration, TableRecord
from hbase_orm.record.store import change_record, delete_record
from tests.support.recording import FailsBeforeSending

RECORD = TableRecord("id", Declaration({}, ()))
CHANGES: dict[str, Callable[[], Protocol[Any]]] = {
    "entry": lambda: change_entry("t", lambda _: CatalogEntry(1, TableState.READABLE)),
    "record": lambda: change_record("t", lambda _: RECORD),
}


def is_change(request: Operation[Any]) -> bool:
    return isinstance(request, CheckAndMutate)


def lost(request: Operation[Any]) -> Exception | None:
    return ConnectionLostError("the gateway was killed") if is_change(request) else None


@pytest.fixture
def catalog() -> MemoryGateway:
    gateway = MemoryGateway()
    gateway.execute(CreateTable(catalog_descriptor()))
    return gateway


def run(gateway: Gateway, protocol: Protocol[Any]) -> None:
    def execute(request: Operation[Any]) -> Any:
        return None if isinstance(request, Sleep) else gateway.execute(request)

    run_protocol(protocol, execute)


@pytest.mark.parametrize("name", CHANGES)
def test_an_error_of_lost_answers_is_theirs(catalog: MemoryGateway, name: str) -> None:
    with pytest.raises(ConnectionLostError, match="killed"):
        run(FailsBeforeSending(catalog, lost), CHANGES[name]())


def test_a_record_whose_delete_gets_no_answer_is_not_called_changed_by_others(
    catalog: MemoryGateway,
) -> None:
    run(catalog, CHANGES["record"]())

    with pytest.raises(ConnectionLostError, match="killed"):
        run(FailsBeforeSending(catalog, lost), delete_record("t"))


def test_changes_by_others_at_every_attempt_are_told(catalog: MemoryGateway) -> None:
    states = cycle([TableState.READABLE, TableState.NEW])

    def before(request: Operation[Any]) -> None:
        """Let another program change the entry before each change."""
        if is_change(request):
            state = next(states)
            run(catalog, change_entry("t", lambda _: CatalogEntry(7, state)))

    with pytest.raises(ConflictError, match="other programs"):
        run(FailsBeforeSending(catalog, before), CHANGES["entry"]())
