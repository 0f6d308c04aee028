"""What reading ranges of wide rows promises, on a real HBase."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import pytest

from hbase_orm import connect
from hbase_orm.testing import RealHBase

pytest.register_assert_rewrite("tests.wide_cases", "tests.session_cases")

from tests.session_cases import Store  # noqa: E402  # as above
from tests.wide_cases import *  # noqa: E402, F403  # the cases are shared with the memory gateway
from tests.wide_cases import MODELS  # noqa: E402  # after the rewriting is registered

pytestmark = pytest.mark.hbase


@pytest.fixture(scope="module")
def store(hbase: RealHBase) -> Iterator[Store]:
    namespace = f"n{uuid4().hex[:12]}"
    with connect(hbase.url_in(namespace)) as engine:
        yield Store.make(engine, MODELS)
    hbase.drop_namespace(namespace)
