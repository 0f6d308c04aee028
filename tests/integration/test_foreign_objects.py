"""What becomes of objects of other engines and sessions, on a real HBase."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import uuid4

import pytest

from hbase_orm import Engine, connect
from hbase_orm.testing import RealHBase

pytest.register_assert_rewrite("tests.foreign_cases")

from tests.foreign_cases import *  # noqa: E402, F403  # the cases are shared with the memory gateway
from tests.foreign_cases import create  # noqa: E402  # after the rewriting is registered

pytestmark = pytest.mark.hbase


@contextmanager
def made_engine(hbase: RealHBase) -> Iterator[Engine]:
    namespace = f"n{uuid4().hex[:12]}"
    with connect(hbase.url_in(namespace)) as engine:
        create(engine)
        yield engine
    hbase.drop_namespace(namespace)


@pytest.fixture(scope="module")
def store(hbase: RealHBase) -> Iterator[Engine]:
    with made_engine(hbase) as engine:
        yield engine


@pytest.fixture(scope="module")
def other(hbase: RealHBase) -> Iterator[Engine]:
    with made_engine(hbase) as engine:
        yield engine


@pytest.fixture(scope="module")
def again(hbase: RealHBase, store: Engine) -> Iterator[Engine]:
    with connect(hbase.url_in(store.options.namespace)) as engine:
        yield engine
