"""Where HBase stores an object: its table, its row, and the columns of its cells."""

from __future__ import annotations

from hbase_orm.model import Model


def stored_table(obj: Model) -> str:
    """Return the name of the table that holds the row of an object, such as that of its period."""
    schema = type(obj).__schema__
    period = schema.layout.table_period
    return schema.table if period is None else period.table_of(getattr(obj, period.field))


def stored_row(obj: Model) -> bytes:
    """Return the key of the row that holds an object, which may be one cell of the row.

    The key is empty if the object is not stored.
    """
    row = obj.__state__.row
    return b"" if row is None else type(obj).__schema__.storage.row_of(row.key)


def stored_column(obj: Model, column: bytes) -> bytes:
    """Return the column in which HBase stores a cell of an object, whose model names `column`."""
    row = obj.__state__.row
    return column if row is None else type(obj).__schema__.storage.column_of(row.key, column)
