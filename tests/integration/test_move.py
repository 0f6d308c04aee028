"""Moves on a real HBase."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import pytest

from hbase_orm import connect
from hbase_orm.testing import RealHBase

pytest.register_assert_rewrite("tests.at_once_cases", "tests.move_cases")

from tests.at_once_cases import Store, host, model, tagged  # noqa: E402  # after the rewriting
from tests.move_cases import *  # noqa: E402, F403  # the cases are shared with the memory gateway

__all__ = ["host", "model", "tagged"]

pytestmark = pytest.mark.hbase


@pytest.fixture(scope="module")
def store(hbase: RealHBase) -> Iterator[Store]:
    namespace = f"n{uuid4().hex[:12]}"
    with connect(hbase.url_in(namespace)) as engine:
        yield Store.make(engine)
    hbase.drop_namespace(namespace)
