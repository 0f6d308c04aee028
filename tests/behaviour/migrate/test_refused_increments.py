"""Increments of moving tables that are refused, or that nothing was sent for."""

from __future__ import annotations

import time
from uuid import uuid4

import pytest

from hbase_orm import Engine
from hbase_orm.errors import SchemaDriftError
from hbase_orm.migrate.errors import MigrationStoppedError
from hbase_orm.migrate.operations.copies import RekeyTable
from tests.behaviour.migrate.test_moved_counters import (
    StandsStill,
    filled,
    new_class,
    old_class,
    place,
    prepare,
)
from tests.support.migrated_tables import (
    SHORT_LEASE_S,
    Revision,
    Saved,
    with_short_lease,
    with_short_waits,
)
from tests.support.recording import gateway_of, through

__all__ = ["prepare"]


@pytest.fixture
def tables(engine: Engine) -> Engine:
    return with_short_waits(engine)


@pytest.fixture
def name() -> str:
    return f"pages_{uuid4().hex[:8]}"


@pytest.mark.only_on("memory")
@pytest.mark.parametrize("is_old", [False, True], ids=["new class", "old class"])
def test_an_increment_that_stood_still_goes_on_although_another_thread_renewed_the_lease(
    tables: Engine, name: str, *, is_old: bool
) -> None:
    old, new = old_class(name), new_class(f"{name}_2")
    ledger = filled(tables, old)
    made, operation = Revision(tables, (old,), (new,)), RekeyTable(name, new_table=f"{name}_2")
    saved = Saved()
    with pytest.raises(MigrationStoppedError):
        operation.run(made.migration(stop_before="prepared", gateway_timeout_s=0.0), saved)

    def meanwhile() -> None:
        time.sleep(SHORT_LEASE_S)
        operation.run(made.migration(gateway_timeout_s=0.0), saved)
        with program.session() as session:
            if is_old:
                with pytest.raises(SchemaDriftError):
                    session.get(old, **place(2))
            else:
                session.get(new, **place(2))

    program = with_short_lease(through(StandsStill(gateway_of(tables), meanwhile), tables))
    with program.session() as session:
        if is_old:
            with pytest.raises(SchemaDriftError):
                session.increment(old, old.hits.by(5), **place(2))
        else:
            assert list(session.increment(new, new.hits.by(5), **place(2))) == [ledger[2][0] + 5]
