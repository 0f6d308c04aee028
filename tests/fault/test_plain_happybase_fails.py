"""What plain happybase does when things go wrong, and what we do in the same place."""

from __future__ import annotations

import threading
import time
from contextlib import closing, suppress

import happybase
import pytest
from thriftpy2.thrift import TException

from hbase_orm.errors import ConnectionLostError, GatewayError
from hbase_orm.gateway.thrift.gateway import ThriftGateway
from hbase_orm.ops import GetRows, Increment
from hbase_orm.server import EmbeddedServer
from tests.fault.conftest import ROWS, TABLE, Connect, key, paused
from tests.fault.doubles import LOOPBACK
from tests.integration.embedded import marks

pytestmark = [*marks(), pytest.mark.fault]

# Long enough for a gateway's first answers on a busy machine.
_PLAIN_TIMEOUT_MS = 3_000
_OUR_TIMEOUT_S = 0.5
_COUNTER = b"d:n"


def _own(gateway: ThriftGateway, number: int) -> bytes:
    row = gateway.execute(GetRows(TABLE, (key(number),), (b"d:own",)))[0]
    assert row is not None
    return row.cells[b"d:own"].value


def test_after_a_timeout_plain_happybase_hands_out_the_row_asked_for_before(
    server: EmbeddedServer,
) -> None:
    port = server.ports["thrift1"]
    with closing(happybase.Connection(LOOPBACK, port, timeout=_PLAIN_TIMEOUT_MS)) as connection:
        table = connection.table(TABLE)
        table.row(key(0))
        with paused(server, "thrift1"), pytest.raises(TimeoutError):
            table.row(key(1))

        row = table.row(key(2))

    assert row == {b"d:own": key(1)}


@pytest.mark.parametrize("kind", ["thrift1", "thrift2"])
def test_after_a_timeout_our_next_call_gets_its_own_row(
    server: EmbeddedServer, connect: Connect, kind: str
) -> None:
    gateway = connect(kind)
    _own(gateway, 0)
    with paused(server, kind):
        started = time.monotonic()
        with pytest.raises(ConnectionLostError, match="in time"):
            gateway.execute_within(GetRows(TABLE, (key(1),)), _OUR_TIMEOUT_S)
        elapsed_s = time.monotonic() - started

    answers = [_own(gateway, number) for number in range(2, 6)]

    assert answers == [key(number) for number in range(2, 6)]
    assert _OUR_TIMEOUT_S - 0.1 < elapsed_s < _OUR_TIMEOUT_S + 2


def test_reopened_plain_happybase_sends_what_had_failed(
    server: EmbeddedServer, connect: Connect
) -> None:
    row = b"plain-replay"
    with closing(happybase.Connection(LOOPBACK, server.ports["thrift1"])) as connection:
        table = connection.table(TABLE)
        table.row(key(0))
        server.kill_gateway("thrift1")
        with pytest.raises((TException, OSError)):
            table.row(key(0))
        with pytest.raises((TException, OSError)):
            table.counter_inc(row, _COUNTER)
        server.start_gateway("thrift1")
        connection.close()
        connection.open()
        with suppress(TException):  # "Missing result": it is the increment's answer
            table.row(key(0))

    counted = connect("thrift2").execute(GetRows(TABLE, (row,)))[0]

    assert counted is not None
    assert counted.cells[_COUNTER].value == (1).to_bytes(8, "big")


def test_what_failed_with_us_is_never_sent_later(server: EmbeddedServer, connect: Connect) -> None:
    row = b"our-replay"
    gateway = connect("thrift1")
    _own(gateway, 0)
    server.kill_gateway("thrift1")
    for _ in range(3):
        with pytest.raises(GatewayError):
            gateway.execute(Increment(TABLE, row, {_COUNTER: 1}))
    server.start_gateway("thrift1")

    answers = [_own(gateway, number) for number in range(4)]

    assert answers == [key(number) for number in range(4)]
    assert connect("thrift2").execute(GetRows(TABLE, (row,))) == [None]


@pytest.mark.parametrize("kind", ["thrift1", "thrift2"])
def test_threads_on_one_gateway_each_get_their_own_rows(connect: Connect, kind: str) -> None:
    gateway = connect(kind)
    wrong: list[tuple[int, bytes]] = []
    done: list[int] = []

    def read(first: int) -> None:
        for number in range(first, first + 2 * ROWS, 2):
            value = _own(gateway, number % ROWS)
            if value != key(number % ROWS):
                wrong.append((number, value))
            done.append(number)

    threads = [threading.Thread(target=read, args=(first,)) for first in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert wrong == []
    assert len(done) == 2 * ROWS
