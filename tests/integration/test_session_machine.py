"""Sessions at random on a real HBase: each row is what a plain dict of versions holds."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import pytest

from hbase_orm import Engine, connect
from hbase_orm.testing import RealHBase
from tests.support.session_machine import run
from tests.support.session_models import KINDS, Audit, HookedIndexed, Plain, Unique
from tests.support.session_reference import Kind

pytestmark = pytest.mark.hbase

SEQUENCES = 1
SOAK_SEQUENCES = 50

# Thrift1 alone makes no family that keeps what is deleted: that model is driven in memory.
DRIVEN = [kind for kind in KINDS if kind.has_thrift2]
FEW = [kind for kind in DRIVEN if kind.model in {Plain, Unique, HookedIndexed}]


@pytest.fixture(scope="module")
def engines(hbase: RealHBase) -> Iterator[tuple[Engine, Engine]]:
    """Return two engines on all tables; each sequence has rows of its own."""
    namespace = f"n{uuid4().hex[:12]}"
    url = hbase.url_in(namespace)
    tables = [k.model for k in DRIVEN if k.model.__schema__.layout.table_period is None]
    with connect(url) as engine, connect(url) as other:
        engine.create_tables(Audit, *tables)
        yield engine, other
    hbase.drop_namespace(namespace)


@pytest.mark.parametrize("kind", FEW, ids=lambda kind: kind.model.__name__)
def test_sessions_leave_what_a_dict_of_versions_holds(
    engines: tuple[Engine, Engine], kind: Kind
) -> None:
    run(*engines, kind, SEQUENCES)


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("kind", DRIVEN, ids=lambda kind: kind.model.__name__)
def test_sessions_leave_what_a_dict_of_versions_holds_for_long(
    engines: tuple[Engine, Engine], kind: Kind
) -> None:
    run(*engines, kind, SOAK_SEQUENCES)
