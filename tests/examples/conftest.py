"""The stage of each test module: what its programs and tests share."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import pytest

from hbase_orm import connect
from hbase_orm.testing import RealHBase
from tests.support.example_stages import Stage
from tests.support.recording import RecordsRequests, gateway_of, through


@pytest.fixture(scope="module")
def stage(hbase: RealHBase) -> Iterator[Stage]:
    namespace = f"n{uuid4().hex[:12]}"
    url = hbase.url_in(namespace)
    with connect(url) as plain:
        gateway = RecordsRequests(gateway_of(plain))
        yield Stage(url, through(gateway, plain), gateway)
    hbase.drop_namespace(namespace)
