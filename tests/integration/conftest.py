"""What tests on a real HBase share."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import pytest

from hbase_orm.testing import RealHBase


@pytest.fixture(scope="module")
def url(hbase: RealHBase) -> Iterator[str]:
    """Return the URL of a namespace of the module's own, dropped at its end."""
    namespace = f"n{uuid4().hex[:12]}"
    yield hbase.url_in(namespace)
    hbase.drop_namespace(namespace)
