"""Two rows that want one unique value, request by request, on a real HBase."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from urllib.parse import parse_qs, urlsplit

import pytest

from hbase_orm.errors import UniqueViolationError
from hbase_orm.gateway.thrift.pool import Address
from hbase_orm.gateway.thrift.thrift2 import Thrift2Gateway
from hbase_orm.index.protocol import claims
from hbase_orm.testing import RealHBase
from tests.support import broken_rules as broken
from tests.support.replays import V1, Bench
from tests.support.stepping import StepController, drive

pytestmark = pytest.mark.hbase

TAKEN_IN_TURN = "W1 W1 W1 W2 W2 W2 W1"
"""W1 has claimed the value, W2 has seen that its row does not show it, W1 changes its row."""


@pytest.fixture
def first(hbase: RealHBase) -> Iterator[Bench]:
    prefix, now_ms = f"claim_{uuid.uuid4().hex[:8]}_", time.time_ns() // 1_000_000
    host, _, port = parse_qs(urlsplit(hbase.url).query)["thrift2"][0].rpartition(":")
    gateway = Thrift2Gateway.connect([Address(host, int(port))])
    bench = Bench(gateway, prefix, now_ms - 10_000, b"first", is_unique=True)
    bench.create_tables()
    yield bench
    hbase.drop_tables(prefix)
    gateway.close()


def race(first: Bench) -> dict[bytes, bytes]:
    """Let two rows take one value in turn; return what they show, by their keys."""
    second = replace(first, row=b"second")
    drive(first.write({V1: b"A"}, clock_ms=0), first.gateway)
    drive(second.write({V1: b"B"}, clock_ms=0), first.gateway)
    steps = StepController(first.gateway)
    steps.start("W1", lambda gateway: drive(first.write({V1: b"X"}), gateway))
    steps.start("W2", lambda gateway: drive(second.write({V1: b"X"}), gateway))
    for name in TAKEN_IN_TURN.split():
        steps.step(name)
    with suppress(UniqueViolationError):
        steps.finish("W2")
    steps.finish("W1")
    steps.close()
    return {bench.row: bench.values()[V1] for bench in (first, second)}


def test_a_value_has_one_owner_though_its_claim_is_about_to_be_taken_over(
    first: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claims, "POLITE_ROUNDS", 0)

    assert race(first) == {b"first": b"X", b"second": b"B"}
    assert first.compare().missing == ()


def test_without_the_owner_s_fence_both_rows_show_the_value(
    first: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claims, "POLITE_ROUNDS", 0)
    monkeypatch.setattr(claims, "fence_owner", broken.no_owner_fence)

    assert race(first) == {b"first": b"X", b"second": b"X"}
