"""What a meter counts of requests."""

from __future__ import annotations

import pytest

from hbase_orm.errors import TableNotFoundError
from hbase_orm.execute import Meter
from hbase_orm.gateway.memory.gateway import MemoryGateway
from hbase_orm.ops import FetchRows, GetRows, ScannerId, Sleep


def test_a_request_that_fails_is_counted_with_its_time() -> None:
    clock = iter([1.0, 1.5])
    meter = Meter(lambda: next(clock))

    with pytest.raises(TableNotFoundError):
        meter.gateway(MemoryGateway(), "read").execute(GetRows("none", (b"a", b"b")))

    (found,) = meter.requests()
    assert (found.step, found.kind, found.table) == ("read", "multi-get", "none")
    assert (found.count, found.rows, found.time_ms) == (1, 0, 500.0)
    assert meter.waiting_ms == 500.0


def test_requests_side_by_side_are_waited_for_once() -> None:
    clock = iter([0.0, 1.0, 3.0, 4.0])
    meter = Meter(lambda: next(clock))
    first, second = FetchRows(ScannerId(1, None), 1), FetchRows(ScannerId(2, None), 1)

    begun = meter.begin(first, "read"), meter.begin(second, "read")
    meter.end(begun[0], first, [])
    meter.end(begun[1], second, [])

    (found,) = meter.requests()
    assert (found.count, found.time_ms, meter.waiting_ms) == (2, 6000.0, 4000.0)


def test_a_request_without_a_table_is_counted_too() -> None:
    meter = Meter()
    gateway = meter.gateway(MemoryGateway(), "plan")

    begun = meter.begin(Sleep(1), "plan")
    meter.end(begun, Sleep(1), None)

    (found,) = meter.requests()
    assert str(found).startswith("Sleep: 1 request, ")
    assert gateway.features == MemoryGateway().features
