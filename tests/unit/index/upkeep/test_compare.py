"""What is found wrong with the index of rows that expire."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest

from hbase_orm import Engine, Family, Finding, Index, Key, Mapped, Model, codecs, column, key
from hbase_orm.binding.url import parse_url
from hbase_orm.binding.write_clock import wall_clock_ms
from hbase_orm.gateway.memory.gateway import MemoryGateway

TTL_MS = 60_000


class Token(Model, table="tokens"):
    d = Family(ttl=timedelta(milliseconds=TTL_MS))
    number: Key[int] = key(codecs.uint16())
    city: Mapped[str] = column(d)
    by_city = Index(city)


class Server:
    """A gateway whose clock may be set ahead."""

    def __init__(self) -> None:
        self.ahead_ms = 0
        self.gateway = MemoryGateway(lambda: wall_clock_ms() + self.ahead_ms)


@pytest.fixture
def server() -> Server:
    return Server()


@pytest.fixture
def engine(server: Server) -> Iterator[Engine]:
    with Engine(server.gateway, parse_url("memory://")) as engine:
        engine.create_tables(Token)
        with engine.session() as session:
            session.add(Token(number=1, city="Oslo"))
        yield engine


def findings(engine: Engine) -> dict[Finding, int]:
    found = engine.verify_index(Token, "by_city").entries
    return {finding: count for finding, count in found.items() if count}


def test_the_entry_of_an_expired_row_is_expired(server: Server, engine: Engine) -> None:
    assert findings(engine) == {Finding.VALID: 1}

    server.ahead_ms = 2 * TTL_MS

    assert findings(engine) == {Finding.EXPIRED: 1}
