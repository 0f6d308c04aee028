"""Read-modify-write of one guarded row."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.binding.table_writer import TableWriter
from hbase_orm.errors import QueryError
from hbase_orm.index.entries.targets import RowBefore, RowChange
from hbase_orm.ops import Protocol, Row
from hbase_orm.reading.by_key import key_to_change
from hbase_orm.schema import deferred_names
from hbase_orm.writing.by_key import absent_row_error
from hbase_orm.writing.hook_calls import call_after_load_hook, prepare
from hbase_orm.writing.row_write import RowWrite, acknowledged, keep_row, write_with_key


class _UnchangedError(Exception):
    """The object was not changed; this error is caught inside this module."""


def key_to_update(bound: BoundModel, key: Mapping[str, Any]) -> Protocol[bytes]:
    """Return the row key of the row to update, from its key fields.

    Raises:
        QueryError: The model is plain.
        RowNotFoundError: A name in the key has no number in its dictionary, so no row can have it.
    """
    if bound.guarded is None:
        raise QueryError(
            "update cannot read and change a row of this model safely, because HBase checks "
            "only one column in a write",
            model=bound.schema.model_name,
            fix="declare a version column, revision: Version = version(), or use put_if with a "
            "condition on one column",
        )
    yield from bound.keys.look_up_names([key])
    if not bound.keys.possible(key):
        raise absent_row_error(bound, b"")
    return (yield from key_to_change(bound, key))


def update_row(
    bound: BoundModel, row: bytes, change: Callable[[Any], object], writer: TableWriter
) -> Protocol[RowWrite]:
    """Read a row, call `change` with its object and write the changes; return the write.

    Args:
        bound: The bound model.
        row: The row key.
        change: A function that changes an object; after a conflict it is called again with a new
            object.
        writer: The object that reads and writes the table.

    Raises:
        RowNotFoundError: The row does not exist.
        ConflictError: Other writers changed the row at every attempt.
        ConnectionLostError: The outcome is unknown.
    """
    made: list[RowWrite] = []

    def decide(before: RowBefore) -> RowChange:
        stored = Row(row, dict(before.cells))
        if not bound.exists(stored):
            raise absent_row_error(bound, row)
        obj = call_after_load_hook(bound.hydrate(stored, deferred_names(bound.schema)))
        change(obj)
        prepare(bound, obj, "put")
        made[:] = [write_with_key(bound, obj, "put", bound.keys.known_of(obj) or row)]
        if made[0].is_idle:
            raise _UnchangedError
        return RowChange(row, made[0].puts, made[0].clears, "update")

    families = frozenset(bound.schema.family_names)
    decided = RowChange(row, kind="update", reads=families, decide=decide)
    names = yield from bound.load_names([Row(row, {})])
    try:
        outcome = yield from writer.change(bound, decided)
    except _UnchangedError:
        return made[0]
    finally:
        del names  # held until here, for the objects that were made
    write = acknowledged(made[0], outcome)
    keep_row(write)
    return write
