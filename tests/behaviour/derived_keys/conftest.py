"""Programs whose names are not known yet, each on the tables of its module."""

from __future__ import annotations

import pytest

from hbase_orm import Engine
from tests.support.store import Store


@pytest.fixture
def store(engine: Engine) -> Store:
    """Return a new program, and the requests it sends."""
    return Store.on(engine)
