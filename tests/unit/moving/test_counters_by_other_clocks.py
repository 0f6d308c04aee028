"""Counters that were incremented by a server whose clock is later than the new table's server's.

An increment has the timestamp of its server, and a delete of a counter, too. As long as the row is
on one server, the delete is later. A move brings the row to another server.
"""

from __future__ import annotations

from typing import Literal

import pytest

from hbase_orm.index.catalog.move_phases import Phase
from hbase_orm.index.entries.targets import RowChange
from hbase_orm.index.protocol.guarded_write import guarded_write
from hbase_orm.moving.moved_increment import moved_increment
from hbase_orm.moving.moved_write import moved_write
from hbase_orm.moving.mover import move_page
from hbase_orm.ops import Increment, KeyRange
from tests.support.counted_readings import COUNTING, NORTH, add, cell, number
from tests.support.moved_readings import (
    FAILS,
    HITS,
    REGION,
    VISITS,
    Tables,
    readings_in_memory,
)

EARLY_MS, LATE_MS = 1_000, 31_000


class Servers:
    """The clock of the server that has the next request."""

    now_ms = EARLY_MS


@pytest.fixture
def servers() -> Servers:
    return Servers()


@pytest.fixture
def tables(servers: Servers) -> Tables:
    """Return tables with a row whose counter was incremented by the late server."""
    tables = readings_in_memory(lambda: servers.now_ms)
    tables.write_old(b"d1", region=b"north")
    servers.now_ms = LATE_MS
    add(tables, HITS, 7)
    return tables


def write(tables: Tables, kind: Literal["delete", "replace", "insert"]) -> None:
    puts = {} if kind == "delete" else {REGION: b"north"}
    change = RowChange(NORTH, puts, kind=kind)
    tables.run(moved_write(COUNTING, Phase.MOVING, change, tables.context))


@pytest.mark.parametrize("is_moved", [False, True], ids=["by the delete", "before"])
def test_a_delete_in_moving_deletes_a_counter_of_a_later_clock(
    tables: Tables, servers: Servers, *, is_moved: bool
) -> None:
    if is_moved:
        tables.run(move_page(COUNTING, KeyRange(), tables.context))
    servers.now_ms = EARLY_MS

    write(tables, "delete")

    assert cell(tables, "new", NORTH, VISITS) is None
    write(tables, "insert")
    assert cell(tables, "new", NORTH, VISITS) is None


def test_a_replace_in_moving_does_so_too(tables: Tables, servers: Servers) -> None:
    servers.now_ms = EARLY_MS

    write(tables, "replace")

    assert cell(tables, "new", NORTH, VISITS) is None


def test_so_does_a_delete_after_an_increment_by_the_early_server(
    tables: Tables, servers: Servers
) -> None:
    servers.now_ms = EARLY_MS
    request = Increment("new", NORTH, {VISITS: 1})
    tables.run(moved_increment(COUNTING, Phase.MOVING, request, tables.context))

    write(tables, "delete")

    assert cell(tables, "new", NORTH, VISITS) is None


def test_counters_that_were_not_there_count_at_once_after_the_delete(
    tables: Tables, servers: Servers
) -> None:
    servers.now_ms = EARLY_MS
    write(tables, "delete")
    servers.now_ms += 1

    for n in (1, 2):
        request = Increment("new", NORTH, {FAILS: 1})
        answer = tables.run(moved_increment(COUNTING, Phase.MOVING, request, tables.context))
        assert answer == {FAILS: n}

    servers.now_ms = LATE_MS + 1
    request = Increment("new", NORTH, {VISITS: 5})
    tables.run(moved_increment(COUNTING, Phase.MOVING, request, tables.context))
    assert number(cell(tables, "new", NORTH, VISITS)) == 5


def test_a_table_that_never_moved_deletes_counters_of_its_server_s_clock(
    tables: Tables, servers: Servers
) -> None:
    """The server is the same, so its clock is not earlier than the increments'."""
    servers.now_ms = LATE_MS + 1

    change = RowChange(b"d1", kind="delete")
    tables.run(guarded_write(COUNTING.old, change, tables.context))

    assert cell(tables, "old", b"d1", HITS) is None
