"""What the record says about rows as cells: which rows exist, and where a mark may be put."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from hbase_orm.index.catalog.declaration_text import names_column
from hbase_orm.migrate.operations.record_edits import column_of
from hbase_orm.migrate.operations.refusals import mismatch, unsupported
from hbase_orm.record.declaration import Declaration, RecordedColumn

_NAMES_COLUMNS = "name a column as 'family:qualifier', such as 'd:unit'"


def column_name(column: str) -> bytes:
    """Return the bytes of a column that a revision names as `family:qualifier`."""
    return column.encode()


def recorded_column(table: str, declaration: Declaration, column: str) -> RecordedColumn:
    """Return a column of the record.

    Raises:
        RecordMismatchError: The record has no such column.
    """
    known = column_of(declaration, column_name(column))
    if known is None:
        raise mismatch(table, f"column {column}", "nothing", "a column")
    return known


def refuse_special(table: str, declaration: Declaration, column: str, operation: str) -> None:
    """Raise an error for a column whose cells an operation cannot change.

    Raises:
        UnsupportedOperationError: The table's objects are cells, or the column is a counter, a
            version column, a range of dynamic columns, or not named as a column.
    """
    details = {"table": table, "column": column, "operation": operation}
    if ":" not in column:
        raise unsupported("the column has no family", _NAMES_COLUMNS, **details)
    if any(rows.packed_bytes for rows in declaration.rows):
        raise unsupported(
            "each object is one cell, so there are no columns",
            "move the rows to another table with RekeyTable",
            **details,
        )
    known = column_of(declaration, column_name(column))
    if known is not None and known.role != "column":
        raise unsupported(
            f"the column is a {known.role} column",
            "only plain columns are changed in place; move the rows to another table with "
            "RekeyTable",
            **details,
        )


def is_in_index(declaration: Declaration, column: str) -> str | None:
    """Return the name of an index that uses or copies a column, or None."""
    return next(
        (
            name
            for name, index in declaration.indexes.items()
            if names_column(index.entries, column_name(column))
        ),
        None,
    )


def refuse_indexed(table: str, declaration: Declaration, column: str, operation: str) -> None:
    """Raise an error for a column that an index uses or copies.

    Raises:
        UnsupportedOperationError: The index would have to be built again.
    """
    index = is_in_index(declaration, column)
    if index is not None:
        raise unsupported(
            "an index uses the column, and its entries would not follow",
            f"drop the index before, with DropIndex, and add it after, with AddIndex: {index}",
            table=table,
            column=column,
            index=index,
            operation=operation,
        )


def existence_columns(declaration: Declaration) -> tuple[bytes, ...]:
    """Return the columns, or families, that show which rows exist."""
    anchors = [rows.anchor for rows in declaration.rows]
    if None in anchors:
        return tuple(declaration.families)
    return tuple(dict.fromkeys(filter(None, anchors)))


def existence(declaration: Declaration) -> Callable[[Mapping[bytes, object]], bool]:
    """Return a function from the cells of a row to whether the row exists."""
    anchors = {rows.anchor for rows in declaration.rows}
    counters = {
        column
        for rows in declaration.rows
        for column, each in rows.columns.items()
        if each.role == "counter"
    }
    if None not in anchors:
        return lambda cells: any(anchor in cells for anchor in anchors)
    return lambda cells: any(column not in counters for column in cells)


def mark_column(table: str, declaration: Declaration, nonce: str, near: bytes) -> bytes:
    """Return the column for the marks of one run, in the family of `near` if possible.

    Raises:
        UnsupportedOperationError: In every family the mark would be an entry of dynamic columns.
    """
    prefixes = [
        column
        for rows in declaration.rows
        for column, each in rows.columns.items()
        if each.role == "dynamic"
    ]
    own = near.partition(b":")[0]
    for family in (own, *declaration.families):
        mark = family + b":_m" + nonce.encode()
        if not any(mark.startswith(prefix) for prefix in prefixes):
            return mark
    raise unsupported(
        "every family has dynamic columns without a prefix, so rows cannot be marked as changed",
        "add a family, or move the rows to another table with RekeyTable",
        table=table,
    )
