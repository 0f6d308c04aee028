"""Sessions at random in memory: each row is what a plain dict of versions holds."""

from __future__ import annotations

import pytest

from hbase_orm import connect

pytest.register_assert_rewrite("tests.session_machine")

from tests.session_machine import KINDS, run  # noqa: E402  # after the rewriting is registered
from tests.session_reference import Kind  # noqa: E402  # as above

SEQUENCES = 100


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.model.__name__)
def test_sessions_leave_what_a_dict_of_versions_holds(kind: Kind) -> None:
    with connect("memory://") as engine:
        engine.create_tables(kind.model)
        run(engine, kind, SEQUENCES)
