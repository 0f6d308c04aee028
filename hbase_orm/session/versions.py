"""Optimistic locking: a guarded write that is made only while the row has the version loaded."""

from __future__ import annotations

from dataclasses import replace

from hbase_orm.codecs.counters import Long
from hbase_orm.errors import CodecError, VersionConflictError
from hbase_orm.index.targets import RowBefore, RowChange
from hbase_orm.ops import Cell
from hbase_orm.session.unit_of_work import RowWrite


def change_of(write: RowWrite) -> RowChange:
    """Return the change that a guarded write makes, bound to the version that was loaded."""
    change = RowChange(write.key, write.puts, write.clears, write.kind)
    version = write.bound.schema.version
    if version is None or write.version is None:
        return change

    def decide(before: RowBefore) -> RowChange:
        check_version(write, version.column, before)
        return change

    return replace(change, reads=frozenset((version.column,)), decide=decide)


def check_version(write: RowWrite, column: bytes, before: RowBefore) -> None:
    """Refuse a row that another write has changed since it was loaded.

    A version counts from 1 again after a delete, so that its cell's timestamp is compared as well:
    no two writes of a row have the same.

    Raises:
        VersionConflictError: Its version cell is another one.
    """
    loaded, stored = write.version, before.cells.get(column, Cell(b"", 0))
    if stored == loaded or any(before.nonce in each.sent for each in write.tries):
        return
    raise VersionConflictError(
        "the row was written since the object was loaded",
        model=write.bound.schema.model_name,
        table=write.bound.schema.table,
        row=write.key,
        loaded_version=_number(loaded),
        stored_version=_number(stored),
        fix="session.refresh(obj), or get the row again, and decide",
    )


def _number(cell: Cell | None) -> int:
    try:
        return Long().decode(cell.value) if cell is not None and cell.value else 0
    except CodecError:
        return 0  # what another program wrote counts as no version
