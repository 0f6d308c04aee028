"""Reads, writes and deletes records: one cell for each table in the catalog."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from hbase_orm.errors import ConflictError, ConnectionLostError, RetryableError, TableNotFoundError
from hbase_orm.index.catalog.catalog import CATALOG_TABLE, CHANGES, RECORD_COLUMN, read_cells
from hbase_orm.ops import CheckAndMutate, MutateRows, Protocol, Put, RowMutation, ask
from hbase_orm.record.declaration import TableRecord

ID_ATTRIBUTE: Final = "hbase_orm.id"
"""The attribute of a table that has the id of its record."""

ID_BYTES: Final = 8


def read_record(table: str) -> Protocol[TableRecord | None]:
    """Return the record of a table, or None.

    Raises:
        RecordError: The record is damaged, or a newer version of the library wrote it.
    """
    _, stored = yield from read_cells(table)
    return TableRecord.decode(stored, table) if stored else None


def change_record(
    table: str, edit: Callable[[TableRecord | None], TableRecord]
) -> Protocol[TableRecord]:
    """Replace a record by the result of `edit`, which must be idempotent; return the new record.

    Raises:
        ConflictError: Other programs changed the record at every attempt.
        RecordError: The record is damaged, or a newer version of the library wrote it.
    """
    for tries in range(1, CHANGES.attempts + 1):
        _, stored = yield from read_cells(table)
        wanted = edit(TableRecord.decode(stored, table) if stored else None)
        if wanted.encode() == stored:
            return wanted
        if (yield from _swap(table, stored, wanted.encode())):
            return wanted
        yield from CHANGES.pause(tries)
    raise ConflictError(
        "other programs changed the table's record at every attempt",
        table=table,
        tries=CHANGES.attempts,
        fix="call create_tables again",
    )


def replace_record(table: str, seen: bytes, record: TableRecord) -> Protocol[None]:
    """Replace the record of a table, even a damaged one.

    Args:
        table: The table.
        seen: The bytes of the present record as the caller read it; empty if there is none.
        record: The new record.

    Raises:
        ConflictError: Another program has changed the record since it was read.
    """
    for tries in range(1, CHANGES.attempts + 1):
        _, stored = yield from read_cells(table)
        if stored == record.encode():
            return
        if stored != seen:
            break
        if (yield from _swap(table, seen, record.encode())):
            return
        yield from CHANGES.pause(tries)
    raise ConflictError(
        "another program has changed the table's record",
        table=table,
        fix="look at the record, and adopt the table again if it is still needed",
    )


def _swap(table: str, stored: bytes, wanted: bytes) -> Protocol[bool]:
    mutation = RowMutation(table.encode(), puts=(Put(RECORD_COLUMN, wanted),))
    try:
        return (yield from ask(CheckAndMutate(CATALOG_TABLE, RECORD_COLUMN, stored, mutation)))
    except (RetryableError, ConnectionLostError):
        return False


def delete_record(table: str) -> Protocol[None]:
    """Replace the record of a dropped table by an empty value; do nothing if there is no record.

    The cell is not deleted: its tombstone would hide a record that is written in the same
    millisecond, if a table of this name is created immediately afterwards.
    """
    mutation = RowMutation(table.encode(), puts=(Put(RECORD_COLUMN, b""),))
    try:
        _, stored = yield from read_cells(table)
        if stored:
            yield from ask(MutateRows(CATALOG_TABLE, (mutation,)))
    except TableNotFoundError:
        return
