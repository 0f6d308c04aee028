"""The description of a move is made once for what a program has read of the catalog."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pytest

from hbase_orm import Engine, connect
from hbase_orm.migrate.errors import MigrationStoppedError
from hbase_orm.migrate.operations.copies import RekeyTable
from hbase_orm.moving.moved_requests import CurrentMove
from tests.support.migrated_tables import SHORT_LEASE_S, Revision, Saved, with_short_lease
from tests.support.moved_pages import filled, new_class, old_class, place

OLD, NEW = "pages", "pages_2"


def going_on(engine: Engine, old: Any, new: Any) -> Callable[[str], None]:
    """Return a function that moves the rows until before a phase."""
    made, saved = Revision(engine, (old,), (new,)), Saved()

    def go_on(stop_before: str) -> None:
        migration = made.migration(stop_before=stop_before, gateway_timeout_s=0.0)
        with pytest.raises(MigrationStoppedError):
            RekeyTable(OLD, new_table=NEW).run(migration, saved)

    return go_on


def test_requests_of_one_lease_share_the_description_of_a_move() -> None:
    engine = with_short_lease(connect("memory://"))
    old, new = old_class(OLD), new_class(NEW)
    filled(engine, old)
    go_on = going_on(engine, old, new)
    program = with_short_lease(engine)
    moves = program._runtime.writer.moves

    def current() -> CurrentMove:
        with program.session() as session:
            assert session.get(new, **place(2)) is not None
        known = program._runtime.run(moves.of(NEW))
        assert known is not None
        return known

    go_on("moving")
    first, second = current(), current()
    time.sleep(SHORT_LEASE_S)
    go_on("new")
    later = current()

    assert first.move is second.move
    assert later.move is not first.move
    assert later.phase > first.phase
    moves.forget(NEW)
    assert current().move is not later.move
