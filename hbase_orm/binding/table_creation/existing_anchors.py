"""Chooses the anchor of a table whose rows are older than its record."""

from __future__ import annotations

from dataclasses import replace

from hbase_orm.binding.table_creation.existing_tables import SAMPLED_ROWS
from hbase_orm.errors import SchemaDriftError
from hbase_orm.ops import Protocol, Scan, fetch_once
from hbase_orm.record.declaration import Declaration


def with_existing_anchor(table: str, declared: Declaration) -> Protocol[Declaration]:
    """Return a declaration whose anchor is a required column that the first rows of a table have.

    A column that rows lack is not recorded as required. Only the columns of the first
    `SAMPLED_ROWS` rows are read, without values. A table of several kinds of rows is not sampled.

    Args:
        table: The name of the table.
        declared: The declaration of the table.

    Raises:
        SchemaDriftError: No required column is in all of these rows, and the table has guards.
    """
    if len(declared.rows) != 1 or declared.rows[0].anchor is None:
        return declared
    (kind,) = declared.rows
    families = tuple(declared.families)
    scan = Scan(table, columns=families, filter=b"KeyOnlyFilter()", caching_rows=SAMPLED_ROWS)
    rows = yield from fetch_once(scan)
    required = [name for name, column in kind.columns.items() if column.is_required]
    kept = [name for name in required if all(name in row.cells for row in rows)]
    if kept == required:
        return declared
    if not kept and declared.is_guarded:
        raise SchemaDriftError(
            "the table's rows lack the columns that the model requires, so it would hide them",
            table=table,
            model=next(iter(kind.models)),
            differences=[f"column {name.decode('utf-8', 'replace')}" for name in required],
            fix="declare one of the columns that all rows have as required",
        )
    anchor = kind.anchor if kind.anchor in kept or not kept else kept[0]
    columns = {
        name: replace(column, is_required=column.is_required and (name in kept or not kept))
        for name, column in kind.columns.items()
    }
    return replace(declared, rows=(replace(kind, anchor=anchor, columns=columns),))
