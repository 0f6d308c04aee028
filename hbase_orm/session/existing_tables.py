"""What is looked at in tables that are there already, before a model uses them."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Final

from hbase_orm.errors import SchemaError, TableNotFoundError
from hbase_orm.index.catalog_entry import CatalogEntry, IndexState, TableState
from hbase_orm.index.copies import copied_cells
from hbase_orm.index.described import described_key
from hbase_orm.index.pages import fetch_once
from hbase_orm.index.targets import GUARD_FAMILY, IndexTarget
from hbase_orm.numbering.tables import FORMAT_ATTRIBUTE
from hbase_orm.ops import DescribeTable, Protocol, Scan, TableDescriptor, ask
from hbase_orm.schema import TableSchema
from hbase_orm.session.binding import BoundModel

logger = logging.getLogger("hbase_orm.session")

LOOKED_AT_ROWS: Final = 1000
"""Rows, or entries, that show whether a table and the catalog belong together."""

# What a table was made for: a program that declares another key is warned.
KEY_ATTRIBUTE: Final = "hbase_orm.row_key"


def described(table: str) -> Protocol[TableDescriptor | None]:
    """Return what a table is made of; None if there is none."""
    try:
        return (yield from ask(DescribeTable(table)))
    except TableNotFoundError:
        return None


def has_cells(table: str) -> Protocol[bool]:
    """Say whether a table has any row, be it the guard of one that is deleted.

    Raises:
        TableNotFoundError: There is no such table.
    """
    return bool((yield from fetch_once(Scan(table, caching_rows=1))))


def is_unknown(entry: CatalogEntry | None) -> bool:
    """Say whether the catalog knows nothing of a table, or that it was dropped."""
    return entry is None or entry.state is TableState.DROPPED


def is_unwritten(entry: CatalogEntry | None) -> bool:
    """Say whether the catalog knows of no writer of a table."""
    return entry is None or entry.state in {TableState.NEW, TableState.DROPPED}


def refuse_numbers(schema: TableSchema, existing: TableDescriptor) -> None:
    """Refuse a table of this library's own: a model's rows would mix with names and counters.

    Raises:
        SchemaError: It is a dictionary, or holds sequences.
    """
    own_format = existing.attributes.get(FORMAT_ATTRIBUTE)
    if own_format is not None:
        raise SchemaError(
            "the table holds the numbers of a dictionary or of sequences, and no model's rows",
            model=schema.model_name,
            table=schema.table,
            found=own_format,
            fix="give the model another table",
        )


def warn_of_differences(schema: TableSchema, existing: TableDescriptor) -> None:
    """Log what makes an existing table unfit for the model; it is no error and nothing is altered.

    Other differences (TTL, versions, splits) lose nothing.
    """
    known = {family.name for family in existing.families}
    missing = [name for name in schema.family_names if name not in known]
    if missing:
        logger.warning(
            "table %s lacks families of %s: %r; writes to them will fail",
            schema.table,
            schema.model_name,
            missing,
        )
    key = existing.attributes.get(KEY_ATTRIBUTE, described_key(schema))
    if key != described_key(schema):
        logger.warning(
            "table %s was made for another row key than %s declares: %s instead of %s; "
            "rows written by one are not found by the other",
            schema.table,
            schema.model_name,
            key,
            described_key(schema),
        )


def check_index_tables(
    bound: BoundModel,
    existing: TableDescriptor,
    entry: CatalogEntry | None,
    *,
    has_rows: bool,
) -> Protocol[None]:
    """Refuse a table without the guards' family, or one whose kept indexes are not its own."""
    schema = bound.schema
    if schema.is_guarded and GUARD_FAMILY not in {family.name for family in existing.families}:
        raise SchemaError(
            "the existing table has no family for the guards of rows",
            table=schema.table,
            fix="call engine.add_guard_family(model); it works online",
        )
    if entry is None or is_unwritten(entry) or bound.guarded is None:
        return
    for index in bound.guarded.indexes:
        known = entry.indexes.get(index.name)
        if known is None or known.state in {IndexState.ABSENT, IndexState.DROPPING}:
            continue
        table = known.table or index.table
        if (yield from described(table)) is None:
            raise SchemaError(
                "the index's table was dropped: rows have no entries, and no row can be written",
                table=schema.table,
                index=index.name,
                fix="build it again: engine.build_index(model, name), 'hbase-orm index build'",
            )
        if not has_rows and index.included and not bound.guarded.expires:
            yield from _refuse_copies_without_rows(schema.table, replace(index, table=table))


def _refuse_copies_without_rows(table: str, index: IndexTarget) -> Protocol[None]:
    """Refuse an index that answers queries with rows that are gone.

    A deleted row leaves its guard behind, and no entry that is believed. So none has been written
    into an empty table, unless that was done since: then its rows are there by now.

    Raises:
        SchemaError: The base table was truncated, or dropped and made by other means.
    """
    entries = yield from fetch_once(Scan(index.table, caching_rows=LOOKED_AT_ROWS))
    is_believed = any(copied_cells(index.included, entry.cells) is not None for entry in entries)
    if is_believed and not (yield from has_cells(table)):
        raise SchemaError(
            "the table is empty, and its index has entries that queries answer from",
            table=table,
            index=index.name,
            fix="build it again: engine.build_index(model, name, rebuild=True), "
            "'hbase-orm index build --rebuild'",
        )
