"""Programs with the old declaration of a table, and programs with the new one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hbase_orm import Engine
from hbase_orm.numbering.create_tables import ensure_namespace
from tests.support.backends import Backend
from tests.support.changed_models import FIRST, KINDS, Programs


@pytest.fixture(scope="module")
def tables(backend: Backend) -> Iterator[Engine]:
    """Return an engine with every gateway, and without tables."""
    engine = backend.engine()
    if engine.options.namespace:  # Thrift1 alone creates no namespace
        engine._runtime.run(ensure_namespace(f"{engine.options.namespace}:x"))
    return engine


@pytest.fixture(scope="module", params=KINDS)
def programs(request: pytest.FixtureRequest, backend: Backend, tables: Engine) -> Programs:
    """Return the programs of one kind of rows, whose table the old one has created."""
    made = Programs.on(backend, tables, request.param)
    made.old.create_tables(FIRST.model(made.kind))
    return made
