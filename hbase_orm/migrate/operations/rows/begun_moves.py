"""Finds out which move or copy of a table's rows has begun and not ended."""

from __future__ import annotations

from hbase_orm.index.catalog.catalog import read_entry
from hbase_orm.index.catalog.move_phases import CatalogMove
from hbase_orm.migrate.operations.migrated_table import MigratedTable
from hbase_orm.record.closed_tables import being_moved_to, closed_why, filled_from


def is_unfinished(source: MigratedTable, target: MigratedTable) -> bool:
    """Return whether a copy or move to a table was begun and has not ended, or made no table."""
    record = target.recorded_or_none()
    if record is None:
        old = source.recorded_or_none()
        why = None if old is None else closed_why(old)
        return why == being_moved_to(target.name) or (why == "" and not target.is_there())
    if closed_why(record) == filled_from(source.name):
        return True
    entry = target.run(read_entry(target.name))
    move = None if entry is None else entry.move
    is_to_target = move is not None and not move.is_old and move.other_table == source.name
    return (is_to_target and move is not None and move.is_running) or (
        begun_move(source, target) is not None
    )


def begun_move(source: MigratedTable, target: MigratedTable) -> CatalogMove | None:
    """Return the move of the rows of one table to another, unless it is finished or not begun."""
    entry = source.run(read_entry(source.name))
    move = None if entry is None else entry.move
    if move is None or not move.is_old or move.other_table != target.name:
        return None
    return None if closed_why(source.recorded()) else move
