"""Writes at once on a real HBase, and what is refused where there is only Thrift1."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from hbase_orm import connect
from hbase_orm.errors import ConfigurationError, FeatureMissingError

pytest.register_assert_rewrite("tests.at_once_cases")

from tests.at_once_cases import *  # noqa: E402, F403  # the cases are shared with the memory gateway
from tests.at_once_cases import (  # noqa: E402  # after the rewriting is registered
    Loose,
    Plain,
    Store,
    Versioned,
    put,
    stored,
)

pytestmark = pytest.mark.hbase


@pytest.fixture(scope="module")
def store(url: str) -> Iterator[Store]:
    with connect(url) as engine:
        yield Store.make(engine)


def test_thrift1_alone_says_what_is_missing(store: Store, host: str) -> None:
    options = replace(store.engine.options, thrift2=())
    (server, port), *_ = options.thrift1
    obj = Plain(host=host, n=1, name="a", size=1)
    with (
        connect(f"hbase://{server}:{port}/{options.namespace}") as engine,
        engine.session() as session,
    ):
        for write in (
            lambda: session.insert(obj),
            lambda: session.replace(obj),
            lambda: session.put_if(obj, Plain.size == 1),
            lambda: session.delete_if(obj, Plain.size == 1),
        ):
            with pytest.raises(FeatureMissingError, match="thrift2=host:9091"):
                write()
        with pytest.raises(ConfigurationError, match="thrift2=host:9091"):
            session.put_row(Versioned, Versioned.size.to(1), host=host, n=1)


def test_thrift1_alone_writes_by_key(store: Store, host: str) -> None:
    put(store, Plain(host=host, n=1, name="a", size=1, unit="s"), Loose(host=host, a="x"))
    options = replace(store.engine.options, thrift2=())
    (server, port), *_ = options.thrift1
    with (
        connect(f"hbase://{server}:{port}/{options.namespace}") as engine,
        engine.session() as session,
    ):
        session.put_row(Plain, Plain.size.to(2), Plain.unit.to(None), host=host, n=1)
        assert session.append(Plain, Plain.name, "b", host=host, n=1) == "ab"
        session.delete_row(Loose, host=host)

    assert stored(store, Plain, host=host, n=1) == Plain(host=host, n=1, name="ab", size=2)
    assert stored(store, Loose, host=host) is None
