"""What the catalog lets a program write: whoever would leave entries missing is refused.

Every write of a plain model, and whatever else goes past the guards, is checked where it is sent.
"""

from __future__ import annotations

from typing import Any

from hbase_orm.errors import ConnectionLostError, RetryableError, SchemaError
from hbase_orm.index.catalog import refuse_differences, refuse_other_protocol
from hbase_orm.index.catalog_entry import CatalogEntry, TableState
from hbase_orm.index.described import names_column
from hbase_orm.ops import Increment, Operation
from hbase_orm.session.binding import BoundModel
from hbase_orm.session.runtime import Runtime


def check_indexes(bound: BoundModel, entry: CatalogEntry) -> None:
    """Refuse a model that would not keep the indexes that writers keep: entries would be missing.

    Raises:
        SchemaError: The model and the catalog differ, or guards are written here and not there.
    """
    if entry.state is TableState.DROPPED:
        return
    table, model = bound.schema.table, bound.schema.model_name
    refuse_differences(table, entry, bound.indexes, model=model)
    if bound.guarded is not None:
        refuse_other_protocol(table, entry, is_lww=bound.guarded.is_lww, model=model)


def check_unguarded(
    bound: BoundModel, runtime: Runtime, operation: Operation[Any] | None = None
) -> None:
    """Refuse a write past the guards of a table that others keep indexes of; nothing was sent.

    The catalog is asked once a table and lease.

    Raises:
        SchemaError: The model's indexes are not those that writers keep, or it increments what one
            of them is made of.
        RetryableError: The catalog could not be read.
    """
    table, model = bound.schema.table, bound.schema.model_name
    try:
        entry = runtime.catalog_entry(table)
    except ConnectionLostError as error:
        raise RetryableError(
            "nothing was written: the catalog could not be read", table=table, fix="write again"
        ) from error
    if entry is None or entry.state is TableState.DROPPED:
        return
    refuse_differences(table, entry, bound.indexes, model=model)
    if isinstance(operation, Increment):
        _refuse_indexed(operation, entry, model)


def _refuse_indexed(operation: Increment, entry: CatalogEntry, model: str) -> None:
    """Refuse to increment a column that an index is made of, or repeats."""
    for name, index in entry.indexes.items():
        for column in operation.amounts if index.is_kept else ():
            if names_column(index.entries, column):
                raise SchemaError(
                    "the column is indexed: an increment would leave its entry missing",
                    model=model,
                    table=operation.table,
                    index=name,
                    column=column,
                    fix="count in a column that no index is over",
                )
