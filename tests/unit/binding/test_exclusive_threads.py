"""Threads of one engine that use several tables exclusively do not wait for each other."""

from __future__ import annotations

import threading

from hbase_orm import Engine, connect
from hbase_orm.binding.table_holds.exclusive_tables import ExclusiveTables

ENOUGH_S = 2.0
SHORT_LEASE_S = 0.01


def tables_of(engine: Engine) -> ExclusiveTables:
    return ExclusiveTables(engine._runtime, lambda: 0)


def test_a_thread_that_waits_for_the_lease_of_one_table_holds_up_no_other_table() -> None:
    with connect("memory://") as engine:
        tables = tables_of(engine)
        is_used = threading.Event()

        def use_another() -> None:
            with tables.use("other", "another purpose", wait_s=0.0):
                is_used.set()

        other = threading.Thread(target=use_another)

        def begin_another(_: float) -> None:
            if not other.ident:
                other.start()
                is_used.wait(ENOUGH_S)

        with tables.use("one", "one purpose", wait_s=SHORT_LEASE_S, on_wait=begin_another):
            was_used = is_used.is_set()
            other.join()

        # Under a lock for all tables, the thread would have waited until the lease was over.
        assert was_used
