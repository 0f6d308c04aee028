"""Sessions at random on a real HBase: each row is what a plain dict of versions holds."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import pytest

from hbase_orm import Engine, connect
from hbase_orm.testing import RealHBase

pytest.register_assert_rewrite("tests.session_machine")

from tests.session_machine import KINDS, run  # noqa: E402  # after the rewriting is registered
from tests.session_reference import Kind  # noqa: E402  # as above

pytestmark = pytest.mark.hbase

SEQUENCES = 20
SOAK_SEQUENCES = 100

kinds = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.model.__name__)


@pytest.fixture(scope="module")
def engine(hbase: RealHBase) -> Iterator[Engine]:
    """Return an engine with all tables; each sequence has a group of rows of its own."""
    namespace = f"n{uuid4().hex[:12]}"
    with connect(hbase.url_in(namespace)) as connected:
        connected.create_tables(*(kind.model for kind in KINDS))
        yield connected
    hbase.drop_namespace(namespace)


@kinds
def test_sessions_leave_what_a_dict_of_versions_holds(engine: Engine, kind: Kind) -> None:
    run(engine, kind, SEQUENCES)


@pytest.mark.soak
@pytest.mark.timeout(1800)
@kinds
def test_sessions_leave_what_a_dict_of_versions_holds_for_long(engine: Engine, kind: Kind) -> None:
    run(engine, kind, SOAK_SEQUENCES)
