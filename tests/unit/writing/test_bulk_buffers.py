"""A bulk into many tables: memory is bounded, and what was not sent is told."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from hbase_orm import (
    Engine,
    Family,
    Key,
    Mapped,
    Model,
    TablePerPeriod,
    codecs,
    column,
    key,
    select,
)
from hbase_orm.binding.url import EngineOptions
from hbase_orm.errors import FlushError, RegionUnavailableError
from hbase_orm.gateway.memory.gateway import MemoryGateway
from hbase_orm.writing.bulk_buffers import WAITING_BATCHES
from tests.support.recording import BATCHES, FailsBeforeSending, RecordsRequests, batches_of

DAY = timedelta(days=1)
FIRST = datetime(2001, 1, 1, tzinfo=UTC)
MEMORY = EngineOptions(scheme="memory")


class Seen(Model, table=TablePerPeriod("seen_%Y%m%d", of="at", period="day", create=True)):
    d = Family()
    at: Key[datetime] = key(codecs.millis())
    note: Mapped[str] = column(d, default="")


class Plain(Model, table="plain"):
    d = Family()
    n: Key[int] = key(codecs.uint32())
    note: Mapped[str] = column(d, default="")


def batches(gateway: RecordsRequests) -> list[int]:
    return [len(r.mutations) for r in batches_of(gateway.requests)]


def test_rows_for_many_tables_do_not_all_wait() -> None:
    gateway = RecordsRequests(MemoryGateway())
    session = Engine(gateway, MEMORY).session()
    largest = 0

    with session.bulk(batch_rows=10) as bulk:
        for n in range(600):
            bulk.add(Seen(at=FIRST + n % 100 * DAY + timedelta(seconds=n)))
            largest = max(largest, len(bulk._buffers.waiting()))
    counted = session.count(select(Seen).where(Seen.at >= FIRST, Seen.at < FIRST + 100 * DAY))

    assert largest == WAITING_BATCHES * 10
    assert (bulk.report.written, counted) == (600, 600)
    assert list(bulk._buffers) == []


def test_large_rows_for_many_tables_do_not_all_wait() -> None:
    gateway = RecordsRequests(MemoryGateway())
    session = Engine(gateway, MEMORY).session()

    with session.bulk() as bulk:
        bulk.add_all(Seen(at=FIRST + n * DAY, note="x" * 1_000_000) for n in range(30))
        sent_before_the_end = len(batches(gateway))

    assert sent_before_the_end >= 30 - 17 - 3  # 17 fit into what may wait; 3 are under way
    assert bulk.report.written == 30


def test_rows_in_turn_for_some_tables_still_travel_many_at_a_time() -> None:
    gateway = RecordsRequests(MemoryGateway())

    with Engine(gateway, MEMORY).session().bulk(batch_rows=100) as bulk:
        bulk.add_all(
            Seen(at=FIRST + n % 20 * DAY + timedelta(seconds=n), note="n") for n in range(4000)
        )

    sent = [rows for rows in batches(gateway) if rows]
    assert sum(sent) >= 4000
    assert len(sent) <= 4000 / 40 + 20  # and each table's first request is sent twice


def test_rows_that_wait_when_a_batch_fails_are_not_written() -> None:
    moving = RegionUnavailableError("the region moves")
    gateway = FailsBeforeSending(
        MemoryGateway(),
        lambda op: moving if isinstance(op, BATCHES) and op.table == "plain" else None,
    )
    engine = Engine(gateway, MEMORY)
    engine.create_tables(Plain)
    taken: list[tuple[str, bytes]] = []

    def rows() -> Any:
        for n in range(1000):
            yield Seen(at=FIRST + n * DAY)
            taken.append(((FIRST + n * DAY).strftime("seen_%Y%m%d"), b""))
            yield Plain(n=n)
            taken.append(("plain", b""))

    with pytest.raises(FlushError) as caught, engine.session().bulk(batch_rows=3) as bulk:
        bulk.add_all(rows())

    told = [*caught.value.not_written, *caught.value.unknown]
    assert len(told) + bulk.report.written == len(taken) + 1  # and the one that was at hand
    assert len({(table, row) for table, row, _ in told}) == len(told)
    assert {table for table, _, _ in told} > {"plain"}
    assert all(error is moving for _, _, error in told)


def test_rows_that_wait_at_the_end_are_told_as_well() -> None:
    moving = RegionUnavailableError("the region moves")
    gateway = FailsBeforeSending(
        MemoryGateway(),
        lambda op: moving if isinstance(op, BATCHES) else None,
    )
    engine = Engine(gateway, MEMORY)

    with pytest.raises(FlushError) as caught, engine.session().bulk() as bulk:
        bulk.add_all(Seen(at=FIRST + n * DAY) for n in range(20))

    assert len(caught.value.not_written) == 20
    assert len({table for table, _, _ in caught.value.not_written}) == 20
