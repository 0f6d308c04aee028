"""Reads, writes and deletes records: one cell for each table in the catalog."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Final

from hbase_orm.errors import ConflictError, RecordError
from hbase_orm.index.catalog.catalog import CATALOG_TABLE, CHANGES, RECORD_COLUMN, read_cells
from hbase_orm.ops import CheckAndMutate, Protocol, Put, RowMutation
from hbase_orm.ops.conditional_changes import ConditionalChanges
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
    """Replace a record by the result of `edit`; return the new record.

    `edit` is called again if another program has changed the record meanwhile, so it must compare
    with the record that it gets, and with nothing that was read before.

    Raises:
        ConflictError: Other programs changed the record at every attempt.
        GatewayError: The answers to the changes were lost.
        RecordError: The record is damaged, or a newer version of the library wrote it.
    """

    def decide(record: TableRecord | None) -> Protocol[TableRecord | None]:
        yield from ()
        return edit(record)

    changed = yield from decide_record(table, decide)
    assert changed is not None
    return changed


def decide_record(
    table: str, decide: Callable[[TableRecord | None], Protocol[TableRecord | None]]
) -> Protocol[TableRecord | None]:
    """Replace a record as `change_record` does, by what a protocol decides; return the new record.

    If `decide` returns None, nothing is written, and None is returned.

    Raises:
        ConflictError: Other programs changed the record at every attempt.
        GatewayError: The answers to the changes were lost.
        RecordError: The record is damaged, or a newer version of the library wrote it.
    """
    changes = ConditionalChanges()
    for tries in range(1, CHANGES.attempts + 1):
        _, stored = yield from read_cells(table)
        wanted = yield from decide(TableRecord.decode(stored, table) if stored else None)
        encoded = b"" if wanted is None else wanted.encode()
        if (
            not encoded
            or encoded == stored
            or (yield from changes.ask(_swap(table, stored, encoded)))
        ):
            return wanted
        yield from CHANGES.pause(tries)
    raise changes.error(
        ConflictError(
            "other programs changed the table's record at every attempt",
            table=table,
            tries=CHANGES.attempts,
            fix="call create_tables again",
        )
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
    changes = ConditionalChanges()
    for tries in range(1, CHANGES.attempts + 1):
        _, stored = yield from read_cells(table)
        if stored == record.encode():
            return
        if stored != seen:
            raise changed_record(table)
        if (yield from changes.ask(_swap(table, seen, record.encode()))):
            return
        yield from CHANGES.pause(tries)
    raise changes.error(changed_record(table))


def take_back_record(table: str, own: TableRecord, before: bytes) -> Protocol[None]:
    """Undo `replace_record`, unless another program has changed the record since.

    Args:
        table: The table.
        own: The record that the caller has written.
        before: The bytes of the record before; empty if there was none.
    """
    changes = ConditionalChanges()
    for tries in range(1, CHANGES.attempts + 1):
        _, stored = yield from read_cells(table)
        if stored != own.encode() or (yield from changes.ask(_swap(table, stored, before))):
            return
        yield from CHANGES.pause(tries)


def changed_record(table: str) -> ConflictError:
    """Return the error for a record that another program has changed since it was read."""
    return ConflictError(
        "another program has changed the table's record",
        table=table,
        fix="look at the record, and adopt the table again if it is still needed",
    )


def _swap(table: str, stored: bytes, wanted: bytes) -> CheckAndMutate:
    mutation = RowMutation(table.encode(), puts=(Put(RECORD_COLUMN, wanted),))
    return CheckAndMutate(CATALOG_TABLE, RECORD_COLUMN, stored, mutation)


def delete_record(
    table: str,
    seen: bytes | None = None,
    existing: Callable[[], Protocol[Collection[str]]] | None = None,
) -> Protocol[bytes]:
    """Replace the record of a dropped table by an empty value; return the bytes of the record.

    If there is no record, or if it is kept, nothing is changed and the result is empty. The cell is
    not deleted: its tombstone would hide a record that is written in the same millisecond, if a
    table of this name is created immediately afterwards.

    Args:
        table: The table.
        seen: The bytes of the record before the table was dropped; empty if there was none. If the
            present record is that of a later table of this name, it is kept. None deletes any
            record.
        existing: Returns the existing tables that the record describes. If there are none, the
            record of a later table is deleted too. None if this is not known.

    Raises:
        ConflictError: Other programs changed the record at every attempt.
        GatewayError: The answers to the changes were lost.
    """
    changes = ConditionalChanges()
    for tries in range(1, CHANGES.attempts + 1):
        _, stored = yield from read_cells(table)
        if not stored:
            return b""
        is_later = seen is not None and not _are_of_one_table(stored, seen)
        if is_later and (existing is None or (yield from existing())):
            return b""
        if (yield from changes.ask(_swap(table, stored, b""))):
            return stored
        yield from CHANGES.pause(tries)
    raise changes.error(
        ConflictError(
            "other programs changed the record of the dropped table at every attempt",
            table=table,
            tries=CHANGES.attempts,
            fix="drop the table again: its record is deleted then",
        )
    )


def restore_record(table: str, seen: bytes) -> Protocol[None]:
    """Write a deleted record again, unless another program has written one.

    Args:
        table: The table.
        seen: The bytes of the deleted record.
    """
    yield from ConditionalChanges().ask(_swap(table, b"", seen))


def _are_of_one_table(stored: bytes, seen: bytes) -> bool:
    if stored == seen or not seen:
        return stored == seen
    try:
        now, before = TableRecord.decode(stored), TableRecord.decode(seen)
    except RecordError:
        return False
    # Without Thrift2, tables have no ids, but a later table has later regions.
    return now.table_id == before.table_id and (
        bool(now.table_id) or now.regions_ms == before.regions_ms
    )
