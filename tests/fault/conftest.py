"""One embedded HBase with gateways in JVMs of their own, which these tests kill and pause."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest

from hbase_orm.gateway.thrift.gateway import ThriftGateway
from hbase_orm.gateway.thrift.pool import Address
from hbase_orm.gateway.thrift.thrift1 import Thrift1Gateway
from hbase_orm.gateway.thrift.thrift2 import Thrift2Gateway
from hbase_orm.ops import (
    CreateTable,
    FamilyDescriptor,
    MutateRows,
    Put,
    RowMutation,
    TableDescriptor,
)
from hbase_orm.server import EmbeddedServer, ServerOptions
from hbase_orm.testing.settings import TEST_SETTINGS
from tests.fault.doubles import LOOPBACK

TABLE = "faults"
ROWS = 1_000

# The gateways hang up on connections that idle for this long; 60 s by default.
READ_TIMEOUT_S = 4.0

KINDS: Mapping[str, type[Thrift1Gateway | Thrift2Gateway]] = {
    "thrift1": Thrift1Gateway,
    "thrift2": Thrift2Gateway,
}

Connect = Callable[..., ThriftGateway]


def key(number: int) -> bytes:
    return b"%05d" % number


def new_row() -> bytes:
    """Return a row key that no test has used, after all those that scans read."""
    return b"new-" + uuid.uuid4().bytes


@contextmanager
def paused(server: EmbeddedServer, kind: Any) -> Iterator[None]:
    """Pause a gateway for the block, whatever happens in it, and let it answer what piled up."""
    server.pause_gateway(kind)
    try:
        yield
    finally:
        server.resume_gateway(kind)
        time.sleep(0.2)


@pytest.fixture(scope="session")
def server() -> Iterator[EmbeddedServer]:
    """Return a server whose table `faults` has in each row its own key."""
    settings = {
        **TEST_SETTINGS,
        "hbase.thrift.server.socket.read.timeout": str(int(READ_TIMEOUT_S * 1000)),
    }
    options = ServerOptions(
        ephemeral=True, thrift="separate", settings=settings, region_servers=2, heap="640m"
    )
    with EmbeddedServer(options) as started:
        gateway = Thrift2Gateway.connect([Address(LOOPBACK, started.ports["thrift2"])])
        gateway.execute(CreateTable(TableDescriptor(TABLE, (FamilyDescriptor(b"d"),))))
        rows = (RowMutation(key(number), (Put(b"d:own", key(number)),)) for number in range(ROWS))
        gateway.execute(MutateRows(TABLE, tuple(rows)))
        gateway.close()
        yield started


@pytest.fixture
def connect(server: EmbeddedServer) -> Iterator[Connect]:
    """Return a function that connects a gateway of a kind, closed after the test."""
    with ExitStack() as opened:

        def open_gateway(kind: str, address: Address | None = None) -> ThriftGateway:
            where = address or Address(LOOPBACK, server.ports[kind])  # type: ignore[index] # a name
            gateway = KINDS[kind].connect([where])
            opened.callback(gateway.close)
            return gateway

        yield open_gateway
