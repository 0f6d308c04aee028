"""Checks of tables that exist already, before a model uses them."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Final

from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.errors import ConflictError, SchemaError, TableNotFoundError
from hbase_orm.index.catalog.catalog import read_entry
from hbase_orm.index.catalog.declaration_text import key_text
from hbase_orm.index.catalog.entry import CatalogEntry, CatalogIndex, IndexState, TableState
from hbase_orm.index.entries.targets import GUARD_FAMILY, IndexTarget
from hbase_orm.index.protocol.covering import covering_cells
from hbase_orm.numbering.create_tables import FORMAT_ATTRIBUTE
from hbase_orm.ops import DescribeTable, Protocol, Scan, TableDescriptor, ask, fetch_once
from hbase_orm.schema import TableSchema

logger = logging.getLogger("hbase_orm.session")

SAMPLED_ROWS: Final = 1000
"""How many rows or entries are read to detect that a table and the catalog do not match."""

_SHOWN_TABLES: Final = 3
"""How many further tables of periods a warning names at most."""

# The row key for which a table was created: a program that declares another key is warned.
KEY_ATTRIBUTE: Final = "hbase_orm.row_key"


def described(table: str) -> Protocol[TableDescriptor | None]:
    """Return a table's descriptor; None if the table does not exist."""
    try:
        return (yield from ask(DescribeTable(table)))
    except TableNotFoundError:
        return None


def has_cells(table: str) -> Protocol[bool]:
    """Return whether a table has any cell; the guard of a deleted row counts as a cell.

    Raises:
        TableNotFoundError: The table does not exist.
    """
    return bool((yield from fetch_once(Scan(table, caching_rows=1))))


def exists(table: str) -> Protocol[bool]:
    """Return whether a table exists."""
    return (yield from described(table)) is not None


def holds_rows(table: str) -> Protocol[bool]:
    """Return whether a table exists and has any cell."""
    return (yield from exists(table)) and (yield from has_cells(table))


def is_unknown(entry: CatalogEntry | None) -> bool:
    """Return whether the catalog has no entry for a table, or marks it as dropped."""
    return entry is None or entry.is_unregistered


def is_unwritten(entry: CatalogEntry | None) -> bool:
    """Return whether the catalog has no entry for a table, or marks it as new or as dropped."""
    return entry is None or entry.is_unregistered or entry.state is TableState.NEW


def refuse_numbers(schema: TableSchema, existing: TableDescriptor) -> None:
    """Raise an error if a table belongs to a dictionary or to sequences.

    Raises:
        SchemaError: The table belongs to a dictionary or to sequences.
    """
    own_format = existing.attributes.get(FORMAT_ATTRIBUTE)
    if own_format is not None:
        raise SchemaError(
            "the table belongs to a dictionary or to sequences, so it cannot hold a model's rows",
            model=schema.model_name,
            table=schema.table,
            found=own_format,
            fix="give the model another table",
        )


class TableWarnings:
    """Collects what is wrong with existing tables, and logs it once for the tables of a model."""

    def __init__(self) -> None:
        """Start without warnings."""
        self._tables: dict[str, list[str]] = {}

    def add(self, table: str, text: str) -> None:
        """Add a warning: `text` completes a sentence that begins with the name of the table."""
        self._tables.setdefault(text, []).append(table)

    def log(self) -> None:
        """Log each warning once, with the names of a few tables."""
        for text, (first, *others) in self._tables.items():
            shown = ", ".join(others[:_SHOWN_TABLES])
            same = f"; the same holds for {len(others)} more, such as {shown}" if others else ""
            logger.warning("table %s %s%s", first, text, same)
        self._tables.clear()


def warn_of_differences(
    schema: TableSchema, existing: TableDescriptor, warnings: TableWarnings
) -> None:
    """Collect differences between an existing table and the model that could lose data.

    These are families that the table lacks, and a row key other than the model's. Other differences
    (TTL, versions, splits) are not collected. Nothing is changed, and no error is raised.
    """
    known = {family.name for family in existing.families}
    missing = [name for name in schema.family_names if name not in known]
    if missing:
        text = f"lacks families of {schema.model_name}: {missing!r}; writes to them will fail"
        warnings.add(schema.table, text)
    key = existing.attributes.get(KEY_ATTRIBUTE, key_text(schema))
    if key != key_text(schema):
        text = (
            f"was made for another row key than {schema.model_name} declares: {key} instead of "
            f"{key_text(schema)}; rows written by one are not found by the other"
        )
        warnings.add(schema.table, text)


def check_index_tables(
    bound: BoundModel,
    existing: TableDescriptor,
    entry: CatalogEntry | None,
    *,
    has_rows: bool,
) -> Protocol[None]:
    """Raise an error if a table's guard family is missing or its index tables do not fit its rows.

    Args:
        bound: The bound model.
        existing: The descriptor of the table.
        entry: The catalog's entry of the table, or None.
        has_rows: Whether the table has any cell.

    Raises:
        SchemaError: The guard family is missing, or the table of an index is missing. Or the table
            is empty, but a covering index has entries.
        ConflictError: Another program has given the index another table since the entry was read.
    """
    schema = bound.schema
    if schema.is_guarded and GUARD_FAMILY not in {family.name for family in existing.families}:
        raise SchemaError(
            "the existing table has no family for the guards of rows",
            table=schema.table,
            fix="call engine.add_guard_family(model), or run 'hbase-orm tables alter'; both "
            "work online",
        )
    if entry is None or is_unwritten(entry) or bound.guarded is None:
        return
    if entry.state_without_hold is TableState.TRUNCATING:
        return  # nothing writes the table or reads its indexes before they are empty too
    for index in bound.guarded.indexes:
        known = entry.indexes.get(index.name)
        if known is None or known.state in {IndexState.ABSENT, IndexState.DROPPING}:
            continue
        table = known.table or index.table
        if (yield from described(table)) is None:
            yield from _refuse_other_table(schema.table, index.name, known)
            raise SchemaError(
                "the index's table was dropped: no row has an index entry any more, and no "
                "row can be written",
                table=schema.table,
                index=index.name,
                fix="build the index again: engine.build_index(model, name), or 'hbase-orm "
                "index build'",
            )
        if not has_rows and index.included and not bound.guarded.expires:
            target = replace(index, table=table)
            yield from _refuse_copies_without_rows(schema.table, target, known)


def _refuse_other_table(table: str, name: str, known: CatalogIndex) -> Protocol[None]:
    """Raise an error if the catalog has an index otherwise than when its table was looked for.

    Another program may have dropped the earlier index table since then.

    Raises:
        ConflictError: The index has another table or another state, or the table is truncated.
    """
    entry = yield from read_entry(table)
    is_usual = (
        entry is not None
        and not is_unwritten(entry)
        and entry.state_without_hold is not TableState.TRUNCATING
    )
    now = entry.indexes.get(name) if entry is not None and is_usual else None
    if now is None or (now.table, now.state) != (known.table, known.state):
        raise ConflictError(
            "another program has created or truncated the table, or built or dropped the index, at "
            "the same time",
            table=table,
            index=name,
            fix="call create_tables again",
        )


def _refuse_copies_without_rows(
    table: str, index: IndexTarget, known: CatalogIndex
) -> Protocol[None]:
    """Raise an error if an index would answer queries with rows that do not exist any more.

    The function is called for a table without any cell. A deleted row leaves its guard behind, so
    this table never had rows. Verified entries of its index then belong to an earlier table, unless
    rows were written a moment ago. So the table is read again before the error is raised.

    Raises:
        SchemaError: The base table was truncated, or was dropped and created by another program.
        ConflictError: Another program has given the index another table since the entry was read.
    """
    try:
        entries = yield from fetch_once(Scan(index.table, caching_rows=SAMPLED_ROWS))
    except TableNotFoundError:
        yield from _refuse_other_table(table, index.name, known)
        raise
    is_believed = any(covering_cells(index.included, entry.cells) is not None for entry in entries)
    if is_believed and not (yield from has_cells(table)):
        yield from _refuse_other_table(table, index.name, known)
        raise SchemaError(
            "the table has no rows, but its index still has entries, which queries would "
            "return as rows",
            table=table,
            index=index.name,
            fix="build the index again: engine.build_index(model, name, rebuild=True), or "
            "'hbase-orm index build --rebuild'",
        )
