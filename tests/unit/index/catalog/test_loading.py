"""Several programs load one table: who opens it, and what becomes of those that were killed."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from hbase_orm.errors import SchemaError
from hbase_orm.gateway.base import Gateway
from hbase_orm.gateway.memory.gateway import MemoryGateway
from hbase_orm.index.catalog.catalog import catalog_descriptor, read_entry
from hbase_orm.index.catalog.entry import CatalogEntry, TableState
from hbase_orm.index.catalog.loaders import TableLoader
from hbase_orm.index.catalog.loading import (
    LoaderWatch,
    begin_loading,
    finish_loading,
    leave_load,
    renew_loader,
)
from hbase_orm.index.catalog.registration import register
from hbase_orm.ops import CreateTable
from tests.support.stepping import drive

LEASE_S = 30.0
HELD_S = 1200.0


class Clock:
    """A clock that goes on in the pauses of a protocol."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def gateway() -> MemoryGateway:
    gateway = MemoryGateway()
    gateway.execute(CreateTable(catalog_descriptor()))
    drive(register("t", {"by_v": "v"}, is_new=True), gateway)
    return gateway


class Loader:
    """One program that loads the table."""

    def __init__(self, gateway: Gateway, name: str, clock: Clock) -> None:
        self.gateway = gateway
        self.name = name
        self.clock = clock
        self.watch = LoaderWatch(name, clock, LEASE_S, HELD_S)
        begin = begin_loading("t", TableLoader(name, name), now_ms=100, nonce=b"n" * 8)
        self.entry = drive(begin, gateway)
        self.watch.note(self.entry)

    def renew(self) -> CatalogEntry | None:
        entry = drive(renew_loader("t", self.name), self.gateway)
        self.watch.note(entry)
        return entry

    def finish(self, in_each_pause: Callable[[], object] = lambda: None) -> CatalogEntry:
        """End the load; in each pause the clock goes on by a second."""

        def pause(_: float) -> None:
            self.clock.now_s += 1.0
            in_each_pause()

        assert self.entry.load is not None
        return drive(finish_loading("t", self.entry.load, self.watch), self.gateway, pause)


def names(entry: CatalogEntry | None) -> list[str]:
    assert entry is not None
    return [each.id for each in entry.loaders]


def test_a_second_loader_gets_the_ticket_of_the_first(gateway: MemoryGateway) -> None:
    one, two = (Loader(gateway, name, Clock()) for name in ("one", "two"))

    assert two.entry.load == one.entry.load
    assert names(two.entry) == ["one", "two"]
    assert CatalogEntry.decode(two.entry.encode()) == two.entry


@pytest.mark.parametrize("first", [0, 1])
def test_the_last_loader_that_ends_opens_the_table(gateway: MemoryGateway, first: int) -> None:
    loaders = [Loader(gateway, name, Clock()) for name in ("one", "two")]
    early, late = loaders[first], loaders[1 - first]

    between = early.finish(late.renew)
    after = late.finish()

    assert (between.state, names(between)) == (TableState.LOADING, [late.name])
    assert (after.state, names(after)) == (TableState.READABLE, [])
    assert early.clock.now_s <= 1.0


def test_a_loader_that_joined_since_the_last_look_is_seen_to_run(gateway: MemoryGateway) -> None:
    one = Loader(gateway, "one", Clock())
    Loader(gateway, "two", Clock())

    assert (one.finish().state, one.clock.now_s) == (TableState.LOADING, 0.0)


def test_a_loader_that_was_seen_to_run_long_ago_is_waited_for(gateway: MemoryGateway) -> None:
    one, two = (Loader(gateway, name, Clock()) for name in ("one", "two"))
    two.renew()
    one.renew()

    one.clock.now_s += LEASE_S
    ended = one.finish(two.renew)

    assert (ended.state, one.clock.now_s) == (TableState.LOADING, LEASE_S + 1.0)


def test_a_killed_loader_is_waited_for_until_no_gateway_can_have_its_requests(
    gateway: MemoryGateway, caplog: pytest.LogCaptureFixture
) -> None:
    Loader(gateway, "killed", Clock())
    one = Loader(gateway, "one", Clock())

    ended = one.finish()

    assert (ended.state, names(ended)) == (TableState.READABLE, [])
    assert one.clock.now_s == LEASE_S + HELD_S
    (warning,) = caplog.messages
    assert "killed" in warning


def test_what_was_watched_during_the_load_is_not_waited_for_again(gateway: MemoryGateway) -> None:
    Loader(gateway, "killed", Clock())
    one = Loader(gateway, "one", Clock())

    one.clock.now_s += LEASE_S + HELD_S
    one.renew()

    assert one.finish().state is TableState.READABLE
    assert one.clock.now_s == LEASE_S + HELD_S


def test_a_loader_that_was_taken_for_dead_is_not_renewed(gateway: MemoryGateway) -> None:
    suspended = Loader(gateway, "suspended", Clock())
    Loader(gateway, "one", Clock()).finish()

    entry = suspended.renew()

    assert (names(entry), entry) == ([], drive(read_entry("t"), gateway))


@pytest.mark.parametrize("is_settled", [True, False])
def test_a_loader_that_failed_leaves_the_table_closed(
    gateway: MemoryGateway, *, is_settled: bool
) -> None:
    Loader(gateway, "one", Clock())

    drive(leave_load("t", "one", is_settled=is_settled), gateway)
    left = drive(read_entry("t"), gateway)
    again = Loader(gateway, "again", Clock())

    assert left is not None
    assert (left.state, left.loaders) == (TableState.LOADING, ())
    assert (again.finish().state, again.clock.now_s) == (TableState.READABLE, 0.0)


@pytest.mark.parametrize(("is_settled", "left"), [(True, ["two"]), (False, ["one", "two"])])
def test_a_loader_with_lost_requests_is_waited_for_as_if_it_was_killed(
    gateway: MemoryGateway, left: list[str], *, is_settled: bool
) -> None:
    for name in ("one", "two"):
        Loader(gateway, name, Clock())

    drive(leave_load("t", "one", is_settled=is_settled), gateway)

    assert names(drive(read_entry("t"), gateway)) == left


def test_a_loader_that_must_not_write_the_indexes_does_not_join(gateway: MemoryGateway) -> None:
    def refuse(entry: CatalogEntry) -> None:
        raise SchemaError("other indexes", indexes=[*entry.indexes])

    begin = begin_loading("t", TableLoader("one"), now_ms=1, nonce=b"n" * 8, check=refuse)
    with pytest.raises(SchemaError):
        drive(begin, gateway)

    entry = drive(read_entry("t"), gateway)
    assert entry is not None
    assert entry.state is TableState.NEW
