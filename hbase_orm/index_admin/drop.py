"""Drops an index: stops its use by queries, then by writers, and then drops its tables."""

from __future__ import annotations

from collections.abc import Callable

from hbase_orm.binding.table_creation import model_tables as tables
from hbase_orm.index.catalog import index_steps as steps
from hbase_orm.index.catalog.catalog import read_entry
from hbase_orm.index.catalog.entry import CatalogIndex, IndexState
from hbase_orm.ops import Protocol
from hbase_orm.ops.waits import OnWait, wait


def stop_using(
    table: str,
    name: str,
    known: CatalogIndex,
    *,
    is_lww: bool | None,
    wait_s: float,
    on_change: Callable[[str], None],
    on_wait: OnWait,
) -> Protocol[None]:
    """Stop queries from using an index, then writers from maintaining it.

    Args:
        table: The table of the rows.
        name: The name of the index.
        known: The index's state in the catalog.
        is_lww: Whether this program writes rows without guards; None if its model has no index.
        wait_s: How long, in seconds, another process may use an old catalog entry.
        on_change: A function that is called with the table's name after each change of the catalog.
        on_wait: A function that is called with the seconds that are left of both waits.

    Raises:
        ConflictError: Another program builds the index at the same time.
        SchemaError: Rows have guards and this program does not write guards, or the reverse.
    """
    yield from steps.stop_reading(table, name, is_lww=is_lww)
    on_change(table)
    writers_s = 0.0 if known.state is IndexState.ABSENT else wait_s
    if known.state is IndexState.READABLE:
        yield from wait(wait_s, on_wait, later_s=writers_s)
    yield from steps.stop_writing(table, name)
    on_change(table)
    yield from wait(writers_s, on_wait)


def drop_tables(table: str, name: str) -> Protocol[list[str]]:
    """Drop the tables of an unused index, and set its state to ABSENT; return the tables' names.

    Nothing is dropped if the index is used again: the table was dropped meanwhile, and created
    again with the index.
    """
    dropped: list[str] = []
    for each in (yield from tables.index_tables([f"{table}_ix_{name}"])):
        entry = yield from read_entry(table)
        index = None if entry is None else entry.indexes.get(name)
        if index is not None and index.state is not IndexState.DROPPING:
            return dropped
        dropped += yield from tables.drop_table(each)
    yield from steps.finish_drop(table, name)
    return dropped
