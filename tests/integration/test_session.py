"""The session's promises on a real HBase, and what differs where there is only Thrift1."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from hbase_orm import Engine, connect, select
from hbase_orm.errors import ConfigurationError, FeatureMissingError
from hbase_orm.ops import Delete, MutateRows, Put, RowMutation

pytest.register_assert_rewrite("tests.session_cases")

from tests.recording import RecordsRequests, gateway_of, through  # noqa: E402  # as below
from tests.session_cases import *  # noqa: E402, F403  # the cases are shared with the memory gateway
from tests.session_cases import (  # noqa: E402  # after the rewriting is registered
    Indexed,
    Plain,
    Store,
    plain_key,
    put,
    stored,
)

pytestmark = pytest.mark.hbase


@pytest.fixture(scope="module")
def store(url: str) -> Iterator[Store]:
    with connect(url) as engine:
        yield Store.make(engine)


@pytest.fixture(scope="module")
def thrift1(store: Store) -> Iterator[Store]:
    """The same tables through Thrift1 alone."""
    options = replace(store.engine.options, thrift2=())
    (host, port), *_ = options.thrift1
    with connect(f"hbase://{host}:{port}/{options.namespace}") as engine:
        sent = RecordsRequests(gateway_of(engine))
        yield Store(through(sent, engine), sent)


def test_thrift1_alone_puts_first_and_clears_second(thrift1: Store, host: str) -> None:
    put(thrift1, Plain(host=host, n=0, value=0.5, note="x"))

    with thrift1.engine.session() as session:
        found = session.get(Plain, host=host, n=0)
        assert found is not None
        found.unit, found.note = "us", None

    table, row = thrift1.table(Plain), plain_key(host)
    assert thrift1.sent.writes == [
        MutateRows(table, (RowMutation(row, puts=(Put(b"d:u", b"us"),)),)),
        MutateRows(table, (RowMutation(row, deletes=(Delete(b"e:n"),)),)),
    ]
    assert stored(thrift1, Plain, host=host, n=0) == found


def test_thrift1_alone_refuses_models_with_indexes_and_says_how_to_get_them(
    thrift1: Store, host: str
) -> None:
    thrift1.forget()

    with thrift1.engine.session() as session, pytest.raises(ConfigurationError) as caught:
        session.get(Indexed, host=host, n=0)

    assert (caught.value.model, thrift1.sent.requests) == ("Indexed", [])
    assert "thrift2=" in caught.value.fix


def test_thrift1_alone_increments_one_counter_at_a_time(thrift1: Store, host: str) -> None:
    with thrift1.engine.session() as session:
        one = session.increment(Plain, Plain.hits.by(2), host=host, n=0)
        with pytest.raises(FeatureMissingError):
            session.increment(Plain, Plain.hits.by(2), Plain.likes.by(1), host=host, n=0)

    assert one == [2]


def test_the_connection_of_happybase_is_there_for_what_the_library_lacks(
    store: Store, host: str
) -> None:
    put(store, Plain(host=host, n=0, value=0.5))
    engine: Engine = store.engine

    with engine.raw() as connection:
        row = connection.table(store.table(Plain)).row(plain_key(host))

    assert list(row) == [b"d:v"]


def test_a_stream_left_early_holds_no_scanner_and_the_session_goes_on(
    store: Store, host: str
) -> None:
    put(store, *(Plain(host=host, n=n, value=n) for n in range(500)))

    with store.engine.session() as session:
        with session.stream(select(Plain).where(Plain.host == host).caching(10)) as found:
            first = next(found)
        count = session.count(select(Plain).where(Plain.host == host))

    opened = [type(r).__name__ for r in store.sent.requests].count("OpenScanner")
    closed = [type(r).__name__ for r in store.sent.requests].count("CloseScanner")
    assert (first.n, count, opened) == (0, 500, closed)
