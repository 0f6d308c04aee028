"""Checks models of foreign tables, which other programs own."""

from __future__ import annotations

from collections.abc import Collection

from hbase_orm.errors import SchemaError
from hbase_orm.schema import Table


def checked_foreign(cls: type, table: Table, guarded: Collection[str]) -> bool:
    """Return whether a table is foreign.

    Args:
        cls: The model.
        table: The table of the model.
        guarded: The names of the model's indexes and of its version column.

    Raises:
        SchemaError: The table is foreign, and the model needs guards for its rows.
    """
    if table.foreign and guarded:
        raise SchemaError(
            "a model of a foreign table cannot have indexes or a version column",
            model=cls.__name__,
            table=table.name,
            fields=list(guarded),
            fix="leave them out: other programs write its rows without them; or leave foreign=True "
            "out, if only this library writes the table",
        )
    return table.foreign
