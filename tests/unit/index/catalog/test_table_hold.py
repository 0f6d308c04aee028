"""The exclusive use of a table in the catalog: taken, renewed, taken over and released."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from hbase_orm.errors import (
    CatalogLeaseError,
    ConflictError,
    ConnectionLostError,
    CorruptRowError,
    TableHeldError,
)
from hbase_orm.gateway.base import Gateway
from hbase_orm.gateway.memory.gateway import MemoryGateway
from hbase_orm.index.catalog.catalog import (
    CATALOG_COLUMN,
    CATALOG_TABLE,
    CatalogView,
    catalog_descriptor,
    open_for_writes,
    read_entry,
)
from hbase_orm.index.catalog.entry import (
    CatalogEntry,
    CatalogIndex,
    IndexState,
    TableHold,
    TableState,
)
from hbase_orm.index.catalog.index_steps import stop_reading
from hbase_orm.index.catalog.loaders import TableLoader
from hbase_orm.index.catalog.loading import begin_loading, renew_loader
from hbase_orm.index.catalog.registration import overtake, register, unregister
from hbase_orm.index.catalog.table_hold import release_hold, renew_hold, take_hold
from hbase_orm.ops import CheckAndMutate, CreateTable, GetRows, Operation
from tests.support.recording import RecordsRequests
from tests.support.stepping import drive

LEASE_S = 30.0
ONE = TableHold("one", "the first builder", 1_700_000_000_000)
TWO = TableHold("two", "the second builder", 1_700_000_100_000)


@pytest.fixture
def gateway() -> MemoryGateway:
    gateway = MemoryGateway()
    gateway.execute(CreateTable(catalog_descriptor()))
    return gateway


@pytest.fixture
def written(gateway: MemoryGateway) -> MemoryGateway:
    """Return a gateway whose catalog knows a table that programs write."""
    drive(register("t", {"by_v": "v"}, is_new=True), gateway)
    drive(open_for_writes("t"), gateway)
    return gateway


def take(
    gateway: Gateway, hold: TableHold = ONE, while_waiting: Callable[[], object] = lambda: None
) -> CatalogEntry:
    return drive(take_hold("t", hold, LEASE_S), gateway, lambda _: while_waiting())


def entry_of(gateway: Gateway) -> CatalogEntry | None:
    return drive(read_entry("t"), gateway)


# --- taking and releasing -------------------------------------------------------------------------


def test_a_taken_table_keeps_its_indexes_and_its_epoch(written: MemoryGateway) -> None:
    before = entry_of(written)

    entry = take(written)

    assert before is not None
    assert (entry.state, entry.epoch, entry.indexes) == (
        TableState.EXCLUSIVE,
        before.epoch,
        before.indexes,
    )
    assert entry_of(written) == entry


def test_a_released_table_is_as_before(written: MemoryGateway) -> None:
    before = entry_of(written)
    take(written)

    assert drive(release_hold("t", "one"), written) is True
    assert entry_of(written) == before


def test_a_table_without_an_entry_has_none_afterwards(gateway: MemoryGateway) -> None:
    """The cell is empty, and is not deleted: a tombstone could hide the next entry."""
    take(gateway)
    drive(release_hold("t", "one"), gateway)

    (row,) = gateway.execute(GetRows(CATALOG_TABLE, (b"t",)))
    assert row is not None
    assert row.cells[CATALOG_COLUMN].value == b""
    assert entry_of(gateway) is None
    assert take(gateway, TWO).state is TableState.EXCLUSIVE


def test_a_dropped_table_is_still_dropped_afterwards(written: MemoryGateway) -> None:
    drive(unregister("t"), written)
    before = entry_of(written)

    take(written)
    drive(release_hold("t", "one"), written)

    assert entry_of(written) == before


def test_a_new_table_is_not_new_afterwards(gateway: MemoryGateway) -> None:
    drive(register("t", {}, is_new=True), gateway)

    take(gateway)
    drive(release_hold("t", "one"), gateway)

    assert entry_of(gateway) == CatalogEntry(1, TableState.READABLE)


def test_a_table_that_is_being_loaded_is_not_taken(gateway: MemoryGateway) -> None:
    drive(register("t", {}, is_new=True), gateway)
    drive(begin_loading("t", TableLoader("one"), now_ms=1, nonce=b"n" * 8), gateway)

    def renew() -> None:
        drive(renew_loader("t", "one"), gateway)

    with pytest.raises(ConflictError, match="being loaded"):
        take(gateway, while_waiting=renew)


def test_the_table_of_loaders_that_were_killed_is_taken_and_open_afterwards(
    gateway: MemoryGateway,
) -> None:
    drive(register("t", {}, is_new=True), gateway)
    drive(begin_loading("t", TableLoader("one"), now_ms=1, nonce=b"n" * 8), gateway)

    taken = take(gateway)
    drive(release_hold("t", ONE.id), gateway)

    assert (taken.state, taken.loaders) == (TableState.EXCLUSIVE, ())
    opened = entry_of(gateway)
    assert opened is not None
    assert (opened.state, opened.epoch) == (TableState.READABLE, 2)


def test_a_taken_table_is_not_loaded(gateway: MemoryGateway) -> None:
    drive(register("t", {}, is_new=True), gateway)
    take(gateway)

    with pytest.raises(ConflictError, match="without any earlier writes"):
        drive(begin_loading("t", TableLoader("one"), now_ms=1, nonce=b"n" * 8), gateway)


class LosesAnswers(RecordsRequests):
    """Loses the answer to each change of the catalog; the change is applied."""

    def execute(self, operation: Operation[Any], /) -> Any:
        answer = super().execute(operation)
        if isinstance(operation, CheckAndMutate):
            raise ConnectionLostError("lost")
        return answer


def test_lost_answers_do_no_harm(written: MemoryGateway) -> None:
    before = entry_of(written)
    losing = LosesAnswers(written)

    take(losing)
    is_held = drive(renew_hold("t", "one"), written)
    was_held = drive(release_hold("t", "one"), losing)

    assert (is_held, was_held) == (True, True)
    assert entry_of(written) == before


# --- other programs -------------------------------------------------------------------------------


def test_only_the_holder_is_permitted_to_write(written: MemoryGateway) -> None:
    take(written)
    views = [CatalogView(lambda: 0.0, LEASE_S, own) for own in ({"one"}, {"two"}, set[str]())]
    for view in views:
        drive(view.refresh("t"), written)

    assert views[0].permit("t") == 1
    for view in views[1:]:
        with pytest.raises(TableHeldError) as caught:
            view.permit("t")
        assert (caught.value.table, caught.value.holder, caught.value.since) == (
            "t",
            "the first builder",
            "2023-11-14T22:13:20+00:00",
        )
        assert "hbase-orm tables release" in caught.value.fix


def test_a_writer_that_read_the_entry_before_is_permitted_for_a_lease(
    written: MemoryGateway,
) -> None:
    now_s = 0.0
    view = CatalogView(lambda: now_s, LEASE_S)
    drive(view.refresh("t"), written)
    take(written)

    now_s = LEASE_S - 0.1
    assert view.permit("t") == 1
    now_s = LEASE_S
    with pytest.raises(CatalogLeaseError):
        view.permit("t")
    drive(view.refresh("t"), written)
    with pytest.raises(TableHeldError):
        view.permit("t")


def test_an_older_release_does_not_decode_the_entry(written: MemoryGateway) -> None:
    """Such a release knows these states only, and refuses to write what it cannot decode."""
    content = json.loads(take(written).encode())

    assert content["state"] not in {"NEW", "LOADING", "READABLE", "DROPPED"}


def test_an_exclusive_entry_without_its_holder_is_corrupt(written: MemoryGateway) -> None:
    content = json.loads(take(written).encode())
    del content["hold"]

    with pytest.raises(CorruptRowError):
        CatalogEntry.decode(json.dumps(content).encode())


def test_the_steps_of_indexes_keep_the_hold(written: MemoryGateway) -> None:
    taken = take(written)

    drive(stop_reading("t", "by_v", is_lww=False), written)
    entry = drive(overtake("t", 3), written)

    assert (entry.state, entry.hold) == (taken.state, taken.hold)
    assert (entry.epoch, entry.indexes["by_v"].state) == (4, IndexState.WRITE_ONLY)


def test_a_table_that_gets_its_first_index_keeps_the_hold(gateway: MemoryGateway) -> None:
    take(gateway)

    for _ in range(2):
        drive(register("t", {"by_v": "v"}, is_new=False, has_rows=True), gateway)

    absent = {"by_v": CatalogIndex("v", IndexState.ABSENT, incarnation=0)}
    assert drive(release_hold("t", "one"), gateway) is True
    assert entry_of(gateway) == CatalogEntry(2, TableState.READABLE, None, absent)


# --- a holder that was killed ---------------------------------------------------------------------


def test_a_second_taker_is_refused_while_the_first_renews_its_hold(
    written: MemoryGateway,
) -> None:
    take(written)

    with pytest.raises(TableHeldError, match="the first builder"):
        take(written, TWO, lambda: drive(renew_hold("t", "one"), written))

    assert drive(release_hold("t", "one"), written) is True


def test_a_hold_that_nobody_renews_for_a_lease_is_taken_over_under_a_new_epoch(
    written: MemoryGateway,
) -> None:
    waits: list[float] = []
    take(written)

    entry = drive(take_hold("t", TWO, LEASE_S), written, waits.append)

    assert waits == [LEASE_S]
    assert entry.hold is not None
    assert (entry.epoch, entry.hold.id, entry.hold.before) == (2, "two", TableState.READABLE)
    drive(release_hold("t", "two"), written)
    assert entry_of(written) == CatalogEntry(2, TableState.READABLE, None, entry.indexes)


def test_of_two_takers_of_an_abandoned_table_one_gets_it(written: MemoryGateway) -> None:
    take(written)

    with pytest.raises(TableHeldError, match="the third builder"):
        take(written, TWO, lambda: take(written, TableHold("three", "the third builder", 0)))


def test_a_taker_gets_a_table_that_is_released_while_it_watches(written: MemoryGateway) -> None:
    take(written)

    entry = take(written, TWO, lambda: drive(release_hold("t", "one"), written))

    assert entry.hold is not None
    assert (entry.hold.id, entry.epoch) == ("two", 1)


def test_a_suspended_holder_is_refused_after_the_takeover(written: MemoryGateway) -> None:
    take(written)
    now_s = 0.0
    view = CatalogView(lambda: now_s, LEASE_S, {"one"})
    drive(view.refresh("t"), written)
    permit = view.permit_under(1)
    take(written, TWO)

    now_s = LEASE_S
    with pytest.raises(CatalogLeaseError):
        permit("t")
    drive(view.refresh("t"), written)
    with pytest.raises(TableHeldError):
        permit("t")
    assert drive(renew_hold("t", "one"), written) is False
    assert drive(release_hold("t", "one"), written) is False
    entry = entry_of(written)
    assert entry is not None
    assert entry.hold is not None
    assert entry.hold.id == "two"
