"""Gateways that are killed, restarted, paused, or hang up: never another call's answer."""

from __future__ import annotations

import os
import time
from typing import Any

import pytest

from hbase_orm.errors import ConnectionLostError, RetryableError, ScannerExpiredError
from hbase_orm.gateway.retry import RetryingGateway
from hbase_orm.gateway.thrift.gateway import ThriftGateway
from hbase_orm.ops import (
    CloseScanner,
    FetchRows,
    GetRows,
    KeyRange,
    OpenScanner,
    Ping,
    Scan,
    ScannerId,
)
from hbase_orm.server import EmbeddedServer
from tests.fault.conftest import READ_TIMEOUT_S, ROWS, TABLE, Connect, key, paused
from tests.integration.embedded import marks

pytestmark = [*marks(), pytest.mark.fault]

_both = pytest.mark.parametrize("kind", ["thrift1", "thrift2"])
_forks = pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")


def _restart(server: EmbeddedServer, kind: Any) -> None:
    server.kill_gateway(kind)
    server.start_gateway(kind)


def _own(gateway: ThriftGateway | RetryingGateway, number: int) -> bytes:
    row = gateway.execute(GetRows(TABLE, (key(number),), (b"d:own",)))[0]
    assert row is not None
    return row.cells[b"d:own"].value


def _open(gateway: ThriftGateway, start: bytes = b"", stop: bytes = key(ROWS)) -> ScannerId:
    return gateway.execute(OpenScanner(Scan(TABLE, KeyRange(start, stop), caching_rows=10)))


def _fetch(gateway: ThriftGateway, scanner: ScannerId, count: int = 10) -> list[bytes]:
    return [row.key for row in gateway.execute(FetchRows(scanner, count))]


@_both
def test_a_restart_between_calls_is_not_noticed_and_one_in_a_scan_ends_it(
    server: EmbeddedServer, connect: Connect, kind: str
) -> None:
    gateway, other = connect(kind), connect(kind)
    _own(gateway, 0)
    scanner = _open(gateway)
    _fetch(gateway, scanner)
    _restart(server, kind)
    # The new gateway counts scanners from 0 again: one of these has the old one's number.
    others = [_open(other, start=key(500)) for _ in range(scanner.number + 1)]

    with pytest.raises(ScannerExpiredError):
        _fetch(gateway, scanner)
    gateway.execute(CloseScanner(scanner))

    assert scanner.number in [each.number for each in others]
    assert _own(gateway, 7) == key(7)
    assert [_fetch(other, each, 2) for each in others] == [[key(500), key(501)]] * len(others)


def test_while_the_gateway_is_down_nothing_is_sent_and_a_retry_outlasts_it(
    server: EmbeddedServer, connect: Connect
) -> None:
    gateway = connect("thrift1")
    retrying = RetryingGateway(gateway, attempts=3, base_pause_s=0.05)
    _own(gateway, 0)

    server.kill_gateway("thrift1")
    with pytest.raises(RetryableError, match="no gateway accepts"):
        gateway.execute(Ping())
    with pytest.raises(RetryableError):
        retrying.execute(Ping())
    server.start_gateway("thrift1")

    assert _own(retrying, 3) == key(3)


@_both
def test_a_gateway_that_hung_up_on_an_idle_connection_is_not_noticed_but_scanners_end(
    connect: Connect, kind: str
) -> None:
    gateway = connect(kind)
    scanner = _open(gateway)
    _fetch(gateway, scanner)
    _own(gateway, 0)
    time.sleep(READ_TIMEOUT_S + 0.6)

    with pytest.raises(ScannerExpiredError):
        _fetch(gateway, scanner)

    assert _own(gateway, 1) == key(1)


def test_a_paused_gateway_in_a_scan_costs_the_scan_and_answers_nobody_else(
    server: EmbeddedServer, connect: Connect
) -> None:
    gateway = connect("thrift1")
    scanner = _open(gateway)
    _fetch(gateway, scanner)

    with paused(server, "thrift1"), pytest.raises(ConnectionLostError):
        gateway.execute_within(FetchRows(scanner, 10), 0.5)

    with pytest.raises(ScannerExpiredError):
        _fetch(gateway, scanner)
    assert [_own(gateway, number) for number in range(5)] == [key(number) for number in range(5)]


def test_two_scanners_read_in_turns_keep_their_places(connect: Connect) -> None:
    gateway = connect("thrift1")
    low, high = _open(gateway, stop=key(500)), _open(gateway, start=key(500))
    read: dict[ScannerId, list[bytes]] = {low: [], high: []}

    for _ in range(51):
        for scanner, keys in read.items():
            keys.extend(_fetch(gateway, scanner))
            _own(gateway, 3)
    for scanner in read:
        gateway.execute(CloseScanner(scanner))

    assert read[low] == [key(number) for number in range(500)]
    assert read[high] == [key(number) for number in range(500, ROWS)]


@_forks
def test_a_forked_child_reads_its_own_rows_beside_the_parent_and_its_open_scanner(
    connect: Connect,
) -> None:
    gateway = connect("thrift1")
    scanner = _open(gateway)
    first = _fetch(gateway, scanner)
    pid = os.fork()
    if pid == 0:
        # Nothing of pytest may run in the child, whatever happens.
        try:
            is_right = all(_own(gateway, number) == key(number) for number in range(300))
            gateway.close()
            os._exit(0 if is_right else 1)
        finally:
            os._exit(2)
    answers = [_own(gateway, number) for number in range(300)]
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    assert code == 0
    assert answers == [key(number) for number in range(300)]
    assert first + _fetch(gateway, scanner) == [key(number) for number in range(20)]


@_forks
def test_a_forked_child_cannot_read_the_parents_scanner(connect: Connect) -> None:
    gateway = connect("thrift1")
    scanner = _open(gateway)
    pid = os.fork()
    if pid == 0:
        # Nothing of pytest may run in the child, whatever happens.
        try:
            _fetch(gateway, scanner)
        except ScannerExpiredError:
            os._exit(0)
        finally:
            os._exit(2)

    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
