"""Drops tables with their index tables, and keeps what belongs to the next table of the name.

A program may be suspended between two requests, or a gateway may be slow. Meanwhile another program
may drop the table, create it again and write rows. So:

- Right before a table is dropped, it is compared with the table as it was when the drop began. Only
  the request itself is left: HBase cannot drop a table on a condition.
- Index tables are dropped after the catalog has their numbers, because no number is used again.
- A record is deleted only if it is that of the dropped table, or if the table does not exist.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.binding.table_creation.existing_tables import exists
from hbase_orm.binding.table_creation.model_tables import drop_table, index_tables
from hbase_orm.binding.table_identity import refuse_later_table, seen_table
from hbase_orm.errors import TableNotFoundError
from hbase_orm.index.catalog import catalog
from hbase_orm.index.catalog.entry import VERSION_COLUMN, CatalogEntry, IndexState
from hbase_orm.index.catalog.index_steps import incarnation_of, table_of
from hbase_orm.index.catalog.registration import unregister
from hbase_orm.ops import Protocol, RenewTimeLimit, ask
from hbase_orm.record.store import delete_record, restore_record

Existing = Callable[[], Protocol[Collection[str]]]
"""A protocol that returns the names of the existing tables that a record describes."""


def drop(bound: BoundModel) -> Protocol[list[str]]:
    """Drop a model's base table and index tables; return the names of the dropped tables.

    Raises:
        ConflictError: As for `drop_with_indexes`.
    """
    schema = bound.schema
    declared = {index.name for index in schema.indexes}
    has_entry = bound.guarded is not None or not schema.is_foreign
    return (yield from drop_with_indexes(schema.table, declared, has_entry=has_entry))


def drop_with_indexes(
    table: str, declared: Collection[str] = (), *, has_entry: bool = True
) -> Protocol[list[str]]:
    """Drop a base table and its index tables; return the names of the dropped tables.

    This includes index tables of earlier builds, and tables of indexes that only the catalog has:
    the model may be a view that declares none. Another program may create the table again as soon
    as it is dropped: what belongs to the new table is kept.

    Args:
        table: The base table.
        declared: The names of the indexes that the program declares.
        has_entry: Whether the catalog may have an entry of the table.

    Raises:
        ConflictError: Another program has created or truncated the table since this drop began;
            nothing was dropped.
    """
    seen = yield from seen_table(table)
    entry = (yield from catalog.read_entry(table)) if has_entry else None
    names = {*declared, *(entry.indexes if entry is not None else ())} - {VERSION_COLUMN}
    existing = yield from _existing_index_tables(table, names)
    yield from refuse_later_table(table, seen)
    dropped = yield from drop_table(table)
    now = yield from _unregister_dropped(table, entry, existing)
    for name, numbers in existing.items():
        for number in numbers:
            if _may_drop(table, name, number, now):
                yield from ask(RenewTimeLimit())
                dropped += yield from drop_table(table_of(_first_table(table, name), number))
    return dropped


def _first_table(table: str, name: str) -> str:
    return f"{table}_ix_{name}"


def _existing_index_tables(table: str, names: Collection[str]) -> Protocol[dict[str, list[int]]]:
    """Return the numbers of all existing tables of some indexes, by the name of the index."""
    if not names:
        return {}
    first = {name: _first_table(table, name) for name in sorted(names)}
    existing = yield from index_tables(first.values())
    numbers = {
        name: [incarnation_of(declared, each) for each in existing]
        for name, declared in first.items()
    }
    return {name: [n for n in some if n] for name, some in numbers.items() if any(some)}


def _unregister_dropped(
    table: str, seen: CatalogEntry | None, existing: dict[str, list[int]]
) -> Protocol[CatalogEntry | None]:
    """Mark a dropped table in the catalog, unless it was created again; return its entry.

    A table that was created again has a greater epoch. The epoch is also greater if an index was
    changed while the table was dropped.
    """
    newest = {name: max(numbers) for name, numbers in existing.items()}
    if seen is None and not newest:
        return None
    now = yield from catalog.read_entry(table)
    known_epoch = 0 if seen is None else seen.epoch
    if now is not None and now.epoch != known_epoch:
        if not now.is_unregistered and (yield from exists(table)):
            return now
        known_epoch = now.epoch
    try:
        return (yield from unregister(table, known_epoch, newest))
    except TableNotFoundError:  # there is no catalog, so no program uses the index tables
        return None


def _may_drop(table: str, name: str, number: int, entry: CatalogEntry | None) -> bool:
    """Return whether an index table belongs to no present or later table of the rows.

    Args:
        table: The base table, which was dropped.
        name: The name of the index.
        number: The number of the index table.
        entry: The catalog's entry after the drop: later index tables get greater numbers than it
            has. None if there is no catalog.
    """
    if entry is None:
        return True
    index = entry.indexes.get(name)
    if index is None or number > index.incarnation:
        return False
    first = _first_table(table, name)
    used = {index.retired}
    if index.state is not IndexState.ABSENT:
        used |= {index.table or first, table_of(first, index.incarnation)}
    if index.build:
        used.add(table_of(first, index.incarnation))
    return table_of(first, number) not in used


def delete_last_record(
    pattern: str, seen: bytes, existing: Existing, *, is_only: bool
) -> Protocol[None]:
    """Delete the record of dropped tables; while a table of another period exists, it is kept.

    A record that another program has written for a later table is kept as long as there is a table.

    Args:
        pattern: The declared name of the table, or the pattern of the names of the tables.
        seen: The bytes of the record before the tables were dropped; empty without one.
        existing: Returns the existing tables that the record describes.
        is_only: Whether the record describes only one table.
    """
    if not is_only and (yield from existing()):
        return
    deleted = yield from delete_record(pattern, seen, existing)
    # A write may have created the table of another period, with the id of this record.
    if deleted and not is_only and (yield from existing()):
        yield from restore_record(pattern, deleted)
        return
    entry = None if is_only else (yield from catalog.read_entry(pattern))
    if entry is not None and entry.move is not None:  # one entry for the tables of all periods
        yield from unregister(pattern, entry.epoch)
