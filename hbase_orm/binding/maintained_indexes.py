"""Decides by the catalog which indexes the writes of a model maintain.

A write that would leave index entries missing is refused.
"""

from __future__ import annotations

from dataclasses import replace

from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.errors import SchemaError
from hbase_orm.index.catalog.catalog import refuse_differences, refuse_other_protocol
from hbase_orm.index.catalog.declaration_text import names_column
from hbase_orm.index.catalog.entry import CatalogEntry, TableState
from hbase_orm.index.catalog.refused_writes import refuse_moving
from hbase_orm.index.entries.targets import GuardedTable
from hbase_orm.ops import Increment


def maintained_table(bound: BoundModel, entry: CatalogEntry) -> GuardedTable:
    """Return the model's guarded table with only the indexes that writes must maintain.

    The catalog decides which indexes these are, and which table each of them has now.

    Raises:
        SchemaError: As for `check_indexes`.
        ConflictError: The rows of the table are being moved, which needs other writes.
    """
    if entry.move is not None:
        refuse_moving(bound.schema.table, entry)
    return kept_indexes(bound, entry)


def kept_indexes(bound: BoundModel, entry: CatalogEntry) -> GuardedTable:
    """Return the guarded table as `maintained_table` does, also while its rows are moved.

    Raises:
        SchemaError: As for `check_indexes`.
    """
    guarded = bound.guarded
    if guarded is None:
        raise AssertionError(bound)
    cached = bound.as_catalogued.get("maintained")
    if cached is not None and cached[0] is entry:
        table: GuardedTable = cached[1]
        return table
    check_indexes(bound, entry)
    indexes = tuple(
        replace(index, table=entry.indexes[index.name].table or index.table)
        for index in guarded.indexes
        if index.name in entry.indexes and entry.indexes[index.name].is_kept
    )
    floor_ms = 0 if entry.move is None else entry.move.floor_ms
    table = guarded
    if indexes != guarded.indexes or floor_ms:
        table = replace(guarded, indexes=indexes, floor_ms=floor_ms)
    bound.as_catalogued["maintained"] = (entry, table)
    return table


def check_indexes(bound: BoundModel, entry: CatalogEntry | None) -> None:
    """Raise an error if a model's indexes differ from the indexes in the catalog.

    Nothing is checked if the catalog has no entry for the table.

    Raises:
        SchemaError: The indexes differ. Or this program and the table differ in whether rows have
            guards.
    """
    if entry is None or entry.state is TableState.DROPPED:
        return
    table, model = bound.schema.table, bound.schema.model_name
    refuse_differences(table, entry, bound.indexes, model=model)
    if bound.guarded is not None:
        refuse_other_protocol(table, entry, is_lww=bound.guarded.is_lww, model=model)


def refuse_indexed(operation: Increment, entry: CatalogEntry, model: str) -> None:
    """Raise an error for an increment of a column that is indexed or included in an index.

    Raises:
        SchemaError: The column is in an index; nothing was sent.
    """
    for name, index in entry.indexes.items():
        for column in operation.amounts if index.is_kept else ():
            if names_column(index.entries, column):
                raise SchemaError(
                    "the column is indexed, and an increment would not write its new index entry",
                    model=model,
                    table=operation.table,
                    index=name,
                    column=column,
                    fix="count in a column that no index uses",
                )
