"""What a row that is read again does to unflushed changes, on a real HBase."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import pytest

from hbase_orm import connect
from hbase_orm.testing import RealHBase

pytest.register_assert_rewrite("tests.rereading_cases", "tests.session_cases")

from tests.rereading_cases import *  # noqa: E402, F403  # the cases are shared with the memory gateway
from tests.rereading_cases import MODELS  # noqa: E402  # after the rewriting is registered
from tests.session_cases import Store  # noqa: E402  # as above

pytestmark = pytest.mark.hbase


@pytest.fixture(scope="module")
def store(hbase: RealHBase) -> Iterator[Store]:
    namespace = f"n{uuid4().hex[:12]}"
    with connect(hbase.url_in(namespace)) as engine:
        yield Store.make(engine, MODELS)
    hbase.drop_namespace(namespace)
