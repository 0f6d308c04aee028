"""Plans that were run and measured, on a real HBase."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import pytest

from hbase_orm import Engine, connect
from hbase_orm.testing import RealHBase
from tests.page_cases import load

pytest.register_assert_rewrite("tests.analyze_cases")

from tests.analyze_cases import *  # noqa: E402, F403  # the cases are shared with the memory gateway
from tests.analyze_cases import load_leaves  # noqa: E402  # as above

pytestmark = pytest.mark.hbase


@pytest.fixture(scope="module")
def engine(hbase: RealHBase) -> Iterator[Engine]:
    namespace = f"n{uuid4().hex[:12]}"
    with connect(hbase.url_in(namespace)) as engine:
        load(engine)
        load_leaves(engine)
        yield engine
    hbase.drop_namespace(namespace)
