"""What deferred columns promise, on a real HBase."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import pytest

from hbase_orm import connect
from hbase_orm.testing import RealHBase

pytest.register_assert_rewrite("tests.deferred_cases", "tests.session_cases")

from tests.deferred_cases import *  # noqa: E402, F403  # the cases are shared with the memory gateway
from tests.deferred_cases import make_store  # noqa: E402  # after the rewriting is registered
from tests.session_cases import Store  # noqa: E402  # as above

pytestmark = pytest.mark.hbase


@pytest.fixture(scope="module")
def store(hbase: RealHBase) -> Iterator[Store]:
    namespace = f"n{uuid4().hex[:12]}"
    with connect(hbase.url_in(namespace)) as engine:
        yield make_store(engine)
    hbase.drop_namespace(namespace)
