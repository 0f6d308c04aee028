"""Read-modify-write of one guarded row."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hbase_orm.errors import QueryError
from hbase_orm.index.targets import RowBefore, RowChange
from hbase_orm.ops import Row
from hbase_orm.schema import deferred_names
from hbase_orm.session.binding import BoundModel
from hbase_orm.session.by_key import absent
from hbase_orm.session.flush import guarded_change
from hbase_orm.session.gets import key_to_change
from hbase_orm.session.hooks import prepare, tell_loaded
from hbase_orm.session.runtime import Runtime
from hbase_orm.session.unit_of_work import RowWrite, acknowledged, keep_row, write_of


class _UnchangedError(Exception):
    """There is nothing to write; never leaves this module."""


def update_row(
    bound: BoundModel,
    change: Callable[[Any], object],
    key: Mapping[str, Any],
    runtime: Runtime,
) -> RowWrite:
    """Change the object of a row and write it; return its write, the object as new from a read.

    Raises:
        QueryError: The model is plain.
        RowNotFoundError: There is no such row.
        ConflictError: Others won every round.
        ConnectionLostError: The outcome is unknown.
    """
    if bound.guarded is None:
        raise QueryError(
            "a plain row cannot be read and changed safely: HBase checks one column a write",
            model=bound.schema.model_name,
            fix="declare a version column, revision: Version = version(), or use put_if on the one "
            "column that decides",
        )
    bound.look_up_names([key])
    if not bound.keys(key):
        raise absent(bound, b"")  # a name in its key has no number
    row = key_to_change(bound, key, runtime)
    made: list[RowWrite] = []

    def decide(before: RowBefore) -> RowChange:
        found = Row(row, dict(before.cells))
        if not bound.exists(found):
            raise absent(bound, row)
        obj = tell_loaded(bound.hydrate(found, deferred_names(bound.schema)))
        change(obj)
        prepare(bound, obj, "put")
        made[:] = [write_of(bound, obj, "put")]
        if made[0].is_idle:
            raise _UnchangedError
        return RowChange(row, made[0].puts, made[0].clears, "update")

    asked = RowChange(row, kind="update", reads=frozenset(bound.schema.family_names), decide=decide)
    try:
        where, written = (bound.schema.table, row), guarded_change(bound, asked, runtime)
        outcome = runtime.alone(where, lambda: runtime.run(written))
    except _UnchangedError:
        return made[0]
    write = acknowledged(made[0], outcome)
    keep_row(write)
    return write
