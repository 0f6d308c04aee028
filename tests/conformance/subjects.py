"""The gateways under test, by name, and how each is opened."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from hbase_orm.gateway.memory import MemoryGateway
from tests.conformance.bench import Subject

SUBJECTS = ("memory",)

# Both the test servers' scanner lease and the memory gateway's.
LEASE_S = 6


@contextmanager
def open_subject(name: str, request: pytest.FixtureRequest) -> Iterator[Subject]:
    """Open a gateway by name; the HBase of the run is started only for those that need it."""
    del request
    yield from _memory(name)


def _memory(name: str) -> Iterator[Subject]:
    clock = _Clock()
    gateway = MemoryGateway(clock, scanner_lease_ms=LEASE_S * 1000)
    yield Subject(
        name=name,
        gateway=gateway,
        admin=gateway,
        compact=gateway.major_compact,
        flush=gateway.flush,
        now_ms=clock,
        sleep=clock.sleep,
    )
    gateway.close()


class _Clock:
    """The machine's clock, which tests move ahead instead of waiting."""

    def __init__(self) -> None:
        self._ahead_ms = 0

    def __call__(self) -> int:
        return time.time_ns() // 1_000_000 + self._ahead_ms

    def sleep(self, seconds: float) -> None:
        self._ahead_ms += int(seconds * 1000)
