"""A covering index and requests that land long after everybody stopped waiting for them."""

from __future__ import annotations

from typing import cast

from hbase_orm import connect
from hbase_orm.gateway.memory.gateway import MemoryGateway
from tests.support.late_verification import INDEX_TABLE, Repeated, answers_after_a_late_verification
from tests.support.recording import gateway_of
from tests.support.shop_processes import Clock, engine_on


def test_a_verification_that_lands_after_a_compaction_is_not_believed() -> None:
    with connect("memory://") as engine:
        engine.create_tables(Repeated)
        gateway = cast("MemoryGateway", gateway_of(engine))

        old, new = answers_after_a_late_verification(engine, gateway.major_compact)

    assert (old, new) == ([], [("a", 2)])


def test_the_table_of_a_built_covering_index_keeps_tombstones_too() -> None:
    gateway, clock = MemoryGateway(), Clock()
    engine = engine_on(gateway, clock)
    engine.create_tables(Repeated)
    with engine.session() as session:
        session.insert(Repeated(name="z", owner="other"))
    engine.build_index(Repeated, "by_owner", rebuild=True, gateway_timeout_s=0)

    old, new = answers_after_a_late_verification(
        engine, lambda _: gateway.major_compact(f"{INDEX_TABLE}.2")
    )

    assert (old, new) == ([], [("a", 2)])
