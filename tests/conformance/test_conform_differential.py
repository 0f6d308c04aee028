"""Random request lists have the same answers and errors in memory and on a real HBase."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from hypothesis import Phase, given, settings

from hbase_orm.gateway.base import Gateway
from hbase_orm.gateway.memory.gateway import MemoryGateway
from hbase_orm.ops import CreateTable, DropTable, Operation, TableDescriptor
from hbase_orm.testing import RealHBase
from tests.conformance.random_requests import (
    FAMILIES,
    final_reads,
    outcome,
    placed,
    request_lists,
)
from tests.conformance.subjects import open_routed

# `make soak` loads a profile with more.
LISTS = max(300, settings.default.max_examples if settings.default else 0)


class Pair(NamedTuple):
    memory: Gateway
    real: Gateway
    table: str


@pytest.fixture(scope="module")
def pair(hbase: RealHBase) -> Iterator[Pair]:
    """Return both gateways with equal tables of two regions."""
    table = f"differential_{uuid.uuid4().hex[:12]}"
    made = CreateTable(TableDescriptor(table, FAMILIES), (b"8",))
    pair = Pair(MemoryGateway(), open_routed(hbase.url), table)
    pair.memory.execute(made)
    pair.real.execute(made)
    yield pair
    pair.real.execute(DropTable(table))
    pair.real.close()


# Explaining a failure traces every line, which takes minutes here.
@settings(max_examples=LISTS, phases=set(Phase) - {Phase.explain})
@pytest.mark.timeout(600)
@given(requests=request_lists)
def test_memory_and_hbase_give_the_same_answers_and_errors(
    pair: Pair, requests: list[Operation[Any]]
) -> None:
    prefix = uuid.uuid4().hex[:12].encode() + b"/"

    for request in (*requests, *final_reads()):
        sent = placed(request, pair.table, prefix)
        in_memory = outcome(pair.memory, sent)
        on_hbase = outcome(pair.real, sent)
        assert in_memory == on_hbase, request
