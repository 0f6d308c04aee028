"""Programs with the old declaration of a table, and programs with the new one."""

from __future__ import annotations

from uuid import uuid4

import pytest

from hbase_orm import Engine
from hbase_orm.numbering.create_tables import ensure_namespace
from tests.support.backends import Backend
from tests.support.changed_models import KINDS, Programs


@pytest.fixture(scope="module")
def tables(backend: Backend) -> Engine:
    """Return an engine with every gateway, and without tables."""
    engine = backend.engine()
    if engine.options.namespace:  # Thrift1 alone creates no namespace
        engine._runtime.run(ensure_namespace(f"{engine.options.namespace}:x"))
    return engine


@pytest.fixture(scope="module", params=KINDS)
def programs(request: pytest.FixtureRequest, backend: Backend, tables: Engine) -> Programs:
    """Return the programs of one kind of rows, whose table the old one has created."""
    return Programs.on(backend, tables, request.param, f"orders_{request.param}")


@pytest.fixture
def own(request: pytest.FixtureRequest, backend: Backend, tables: Engine) -> Programs:
    """Return the programs of a table of the test's own; the parameter is the kind of its rows."""
    return Programs.on(backend, tables, request.param, f"own_{uuid4().hex[:8]}")


@pytest.fixture
def shop() -> str:
    """Return a shop that no other test has."""
    return uuid4().hex[:8]
