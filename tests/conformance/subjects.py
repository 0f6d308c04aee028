"""The gateways under test, by name, and how each is opened."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from urllib.parse import parse_qs, urlsplit

import pytest

from hbase_orm.gateway.base import Gateway
from hbase_orm.gateway.memory.gateway import MemoryGateway
from hbase_orm.gateway.routed import RoutedGateway
from hbase_orm.gateway.thrift.pool import Address
from hbase_orm.gateway.thrift.thrift1 import Thrift1Gateway
from hbase_orm.gateway.thrift.thrift2 import Thrift2Gateway
from hbase_orm.testing import RealHBase
from tests.conformance.bench import Subject

# The scanner lease of the servers that tests start, and so of the memory gateway under test.
LEASE_S = 6


@contextmanager
def open_subject(name: str, request: pytest.FixtureRequest) -> Iterator[Subject]:
    """Open a gateway by name; the HBase of the run is started only for those that need it."""
    if name == "memory":
        yield from open_memory()
    else:
        yield from _real(name, request.getfixturevalue("hbase"))


def open_memory() -> Iterator[Subject]:
    clock = _Clock()
    gateway = MemoryGateway(clock, scanner_lease_ms=LEASE_S * 1000)
    yield Subject(
        name="memory",
        gateway=gateway,
        admin=gateway,
        compact=gateway.major_compact,
        flush=gateway.flush,
        now_ms=clock,
        sleep=clock.sleep,
        lease_s=LEASE_S,
    )
    gateway.close()


class _Clock:
    """The machine's clock, which tests move ahead instead of waiting."""

    def __init__(self) -> None:
        self._ahead_ms = 0

    def __call__(self) -> int:
        return _machine_ms() + self._ahead_ms

    def sleep(self, seconds: float) -> None:
        self._ahead_ms += int(seconds * 1000)


def _machine_ms() -> int:
    return time.time_ns() // 1_000_000


def _thrift1(url: str) -> Gateway:
    return Thrift1Gateway.connect([Address("127.0.0.1", urlsplit(url).port or 0)])


def _thrift2(url: str) -> Gateway:
    host, _, port = parse_qs(urlsplit(url).query)["thrift2"][0].rpartition(":")
    return Thrift2Gateway.connect([Address(host, int(port))])


def open_routed(url: str) -> Gateway:
    return RoutedGateway(_thrift1(url), _thrift2(url))


_OPENERS: Mapping[str, Callable[[str], Gateway]] = {
    "thrift1": _thrift1,
    "thrift2": _thrift2,
    "routed": open_routed,
}

SUBJECTS = ("memory", *_OPENERS)


def _real(name: str, hbase: RealHBase) -> Iterator[Subject]:
    def flush(table: str) -> None:
        if hbase.source == "url":
            pytest.skip("an HBase given by URL is not flushed or compacted by tests")
        hbase.admin.flush(table)

    def compact(table: str) -> None:
        flush(table)
        hbase.admin.major_compact(table)

    gateway, admin = _OPENERS[name](hbase.url), _thrift2(hbase.url)
    yield Subject(
        name=name,
        gateway=gateway,
        admin=admin,
        compact=compact,
        flush=flush,
        now_ms=_machine_ms,
        sleep=time.sleep,
        # Thrift1 keeps a scanner for twice the period.
        lease_s=LEASE_S if name == "thrift2" else 2 * LEASE_S,
    )
    gateway.close()
    admin.close()
