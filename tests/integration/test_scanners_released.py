"""Scanners that are left early end on the server: one close for each id, and the id is dead."""

from __future__ import annotations

import gc
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import uuid4

import pytest

from hbase_orm import (
    Engine,
    Index,
    Salt,
    connect,
    rowkey,
    select,
)
from hbase_orm.errors import ValidationError
from hbase_orm.ops import CloseScanner, OpenScanner, Scan
from hbase_orm.query import Select
from hbase_orm.session.session import Session
from hbase_orm.testing import RealHBase
from tests.support.numbered_rows import Numbered
from tests.support.recording import RecordsRequests, gateway_of, through

pytestmark = pytest.mark.hbase

ROWS = 200
BUCKETS = 4


class Plain(Numbered, table="left_plain"):
    by_v = Index(Numbered.v)


class Salted(Numbered, table="left_salted"):
    __rowkey__ = rowkey(Salt(BUCKETS), Numbered.group, Numbered.n)


STATEMENTS: dict[str, tuple[Select[Any], int]] = {
    "scan": (select(Plain).where(Plain.group == "a"), 1),
    "reverse scan": (select(Plain).where(Plain.group == "a").order_by(Plain.n.desc()), 1),
    "merge": (select(Salted).where(Salted.group == "a"), BUCKETS),
    "index": (select(Plain).where(Plain.v == 1), 1),
}


@pytest.fixture(scope="module")
def engine(hbase: RealHBase) -> Iterator[Engine]:
    namespace = f"n{uuid4().hex[:12]}"
    with connect(hbase.url_in(namespace)) as connected:
        connected.create_tables(Plain, Salted)
        for model in (Plain, Salted):
            with connected.session() as session, session.bulk() as bulk:
                bulk.add_all(model(group="a", n=n, v=1) for n in range(ROWS))
        yield connected
    hbase.drop_namespace(namespace)


def closed(session: Session, stmt: Select[Any]) -> None:
    stream = session.stream(stmt)
    next(stream)
    stream.close()
    stream.close()


def left_by_an_error(session: Session, stmt: Select[Any]) -> None:
    def read_and_fail() -> None:
        with session.stream(stmt) as stream:
            next(stream)
            raise ValidationError("the reader's own")

    with pytest.raises(ValidationError):
        read_and_fail()


def dropped(session: Session, stmt: Select[Any]) -> None:
    stream = session.stream(stmt)
    next(stream)
    del stream
    gc.collect()
    assert session.get(stmt.model, group="none", n=1) is None  # a read closes what was dropped


def closed_with_columns(session: Session, stmt: Select[Any]) -> None:
    with session.arrow(stmt, batch_rows=1) as reader:
        assert reader.read_next_batch().num_rows == 1


def dropped_with_columns(session: Session, stmt: Select[Any]) -> None:
    reader = session.arrow(stmt, batch_rows=1)
    reader.read_next_batch()
    del reader
    gc.collect()
    assert session.get(stmt.model, group="none", n=1) is None


def limited(session: Session, stmt: Select[Any]) -> None:
    assert len(session.all(stmt.limit(3))) == 3


def paged(session: Session, stmt: Select[Any]) -> None:
    assert len(session.page(stmt, size=3).items) == 3


@pytest.mark.parametrize(
    "leave",
    [
        *(closed, left_by_an_error, dropped, limited, paged),
        *(closed_with_columns, dropped_with_columns),
    ],
)
@pytest.mark.parametrize("kind", STATEMENTS)
def test_every_scanner_that_was_opened_is_closed_once_and_dead(
    engine: Engine, kind: str, leave: Callable[[Session, Select[Any]], None]
) -> None:
    sent = RecordsRequests(gateway_of(engine))
    stmt, scanners = STATEMENTS[kind]

    with through(sent, engine).session() as session:
        leave(session, stmt.caching(5))

    opened = [request for request in sent.requests if isinstance(request, OpenScanner)]
    ids = [r.scanner.number for r in sent.requests if isinstance(r, CloseScanner)]
    assert len(opened) == len(set(ids)) == len(ids) == scanners
    with engine.raw() as connection:
        for number in ids:
            with pytest.raises(Exception, match="scanner ID is invalid"):
                connection.client.scannerGetList(number, 1)


def test_another_connection_can_read_a_scanner_that_is_not_closed(engine: Engine) -> None:
    gateway = gateway_of(engine)
    table = f"{engine.options.namespace}:{Plain.__schema__.table}"
    # With a filter a scan opens a scanner at once.
    scan = Scan(table, caching_rows=5, filter=b"KeyOnlyFilter()")
    scanner = gateway.execute(OpenScanner(scan))

    with engine.raw() as connection:
        found = connection.client.scannerGetList(scanner.number, 1)
    gateway.execute(CloseScanner(scanner))

    assert len(found) == 1


@pytest.mark.parametrize("pool", [1, 2, 8])
def test_merges_in_many_threads_share_a_few_connections(
    hbase: RealHBase, engine: Engine, pool: int
) -> None:
    stmt = select(Salted).where(Salted.group == "a")

    def read(_: int) -> list[int]:
        with shared.session() as session:
            return [obj.n for obj in session.all(stmt.caching(20))]

    url = f"{hbase.url_in(engine.options.namespace)}&pool={pool}"
    with connect(url) as shared, ThreadPoolExecutor(6) as threads:
        found = list(threads.map(read, range(12)))
        busy = repr(shared)

    assert found == [list(range(ROWS))] * 12
    limit = f"[1-{pool}] open, 0 busy, at most {pool}"
    assert re.search(f"thrift1: {limit}; thrift2: {limit}", busy), busy
