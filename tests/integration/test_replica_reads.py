"""Timeline reads of a table with replicas on a real server, whose regions answer late.

The replicas of a server read the store files that were there when they were opened. So after a
flush and after the table was disabled and enabled, they have the rows up to then, and no later ones.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hbase_orm import (
    Engine,
    Family,
    Key,
    Mapped,
    Model,
    Table,
    codecs,
    column,
    connect,
    is_stale,
    key,
    select,
)
from hbase_orm.ops import DisableTable, EnableTable
from hbase_orm.server import EmbeddedServer, ServerOptions
from hbase_orm.testing.settings import TEST_SETTINGS
from tests.integration.embedded import marks
from tests.support.recording import gateway_of
from tests.support.store import load

pytestmark = marks()

ANSWERED_AFTER_MS = 4_000


class Reading(Model, table=Table("readings", region_replication=2)):
    d = Family()
    host: Key[str] = key()
    n: Key[int] = key(codecs.uint8())
    value: Mapped[int] = column(d, codec=codecs.int64())


@pytest.fixture(scope="module")
def server() -> Iterator[EmbeddedServer]:
    # A replica is asked after 10 ms by gets, and after a second by scans: here after 0.2 s.
    settings = {**TEST_SETTINGS, "hbase.client.replicaCallTimeout.scan": "200000"}
    with EmbeddedServer(ServerOptions(ephemeral=True, settings=settings)) as started:
        yield started


@pytest.fixture(scope="module")
def engine(server: EmbeddedServer) -> Iterator[Engine]:
    """Return an engine with three rows whose values are 1 in the replica, and one only in regions."""
    with connect(server.url) as engine:
        engine.create_tables(Reading)
        with engine.session() as session:
            session.add_all(Reading(host="a", n=n, value=1) for n in range(3))
        server.admin.flush("readings")
        gateway_of(engine).execute(DisableTable("readings"))
        gateway_of(engine).execute(EnableTable("readings"))
        with engine.session() as session:
            session.add_all(Reading(host="a", n=n, value=2) for n in range(4))
        yield engine


@pytest.fixture(autouse=True)
def no_delays(server: EmbeddedServer) -> Iterator[None]:
    yield
    server.admin.clear_delays()


MINE = select(Reading).where(Reading.host == "a").consistency("timeline")


def test_regions_that_answer_are_read_strongly(engine: Engine) -> None:
    with engine.session() as session:
        page = session.page(MINE, size=9)
        one = session.one(MINE.where(Reading.n == 1))

    assert [obj.value for obj in page.items] == [2] * 4
    assert (page.stale, one.value, is_stale(one)) == (False, 2, False)


def test_a_get_of_a_region_that_is_late_is_answered_by_its_replica(
    server: EmbeddedServer, engine: Engine
) -> None:
    server.admin.delay("readings", "get", ANSWERED_AFTER_MS)

    with engine.session() as session:
        page = session.page(MINE.where(Reading.n == 1), size=2)
        now = load(session, Reading, host="a", n=1)

    assert [(obj.value, is_stale(obj)) for obj in page.items] == [(1, True)]
    assert (page.stale, now.value, is_stale(now)) == (True, 2, False)


def test_a_row_that_the_replica_lacks_is_missing_and_the_page_says_why(
    server: EmbeddedServer, engine: Engine
) -> None:
    server.admin.delay("readings", "get", ANSWERED_AFTER_MS)

    with engine.session() as session:
        page = session.page(MINE.where(Reading.n == 3), size=2)

    assert (page.items, page.stale) == ([], True)


def test_a_multi_get_of_a_region_that_is_late_is_answered_by_its_replica(
    server: EmbeddedServer, engine: Engine
) -> None:
    server.admin.delay("readings", "get", ANSWERED_AFTER_MS)

    with engine.session() as session:
        page = session.page(MINE.where(Reading.n.in_(range(4))), size=9)

    assert [(obj.value, is_stale(obj)) for obj in page.items] == [(1, True)] * 3
    assert page.stale


def test_a_scan_of_a_region_that_is_late_is_answered_by_its_replica(
    server: EmbeddedServer, engine: Engine
) -> None:
    server.admin.delay("readings", "scan", ANSWERED_AFTER_MS)

    with engine.session() as session:
        with session.stream(MINE) as stream:
            objects = list(stream)
        now = session.all(MINE.consistency("strong"))

    assert [(obj.value, is_stale(obj)) for obj in objects] == [(1, True)] * 3
    assert stream.stale
    assert [obj.value for obj in now] == [2] * 4
