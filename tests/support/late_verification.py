"""What a covering index promises of a verification that comes late, on any HBase."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hbase_orm import Engine, Family, Index, Key, Mapped, Model, column, key, select
from hbase_orm.index.entries.targets import ENTRY_COLUMN
from hbase_orm.index.protocol.covering import VERIFIED
from hbase_orm.ops import MutateRows, Operation
from tests.support.recording import HoldsBack, gateway_of, through


class Repeated(Model, table="repeated"):
    d = Family()
    name: Key[str] = key()
    owner: Mapped[str] = column(d)
    size: Mapped[int] = column(d, default=0)
    by_owner = Index(owner, include=[size], covering=True)


INDEX_TABLE = "repeated_ix_by_owner"


def verifies(operation: Operation[Any]) -> bool:
    return isinstance(operation, MutateRows) and any(
        put.column == ENTRY_COLUMN and put.value.startswith(VERIFIED)
        for mutation in operation.mutations
        for put in mutation.puts
    )


def answers_after_a_late_verification(
    engine: Engine, compact: Callable[[str], object]
) -> tuple[list[Any], list[Any]]:
    """Let a verification land after its row moved on and the index was compacted.

    Returns:
        What the index says of the value that the row had, and of the one that it has.
    """
    gateway = HoldsBack(gateway_of(engine), verifies)
    with through(gateway, engine).session() as session:
        session.insert(Repeated(name="a", owner="old", size=1))
        session.put_row(Repeated, Repeated.owner.to("new"), Repeated.size.to(2), name="a")
        compact(INDEX_TABLE)
        gateway.send_held()
        copied = select(Repeated.name, Repeated.size)
        return (
            session.all(copied.where(Repeated.owner == "old")),
            session.all(copied.where(Repeated.owner == "new")),
        )
