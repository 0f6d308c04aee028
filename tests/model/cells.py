"""A store so small that its whole state is a hashable value; every request is one atomic step.

One version a column, as HBase shows it: a put at or below the column's tombstone, or below the
newest put, is not seen; at an equal timestamp the later arrival is. It knows the requests that the
protocols under test make. A test compares it with the memory gateway.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from hbase_orm.ops import (
    Cell,
    CellVersion,
    CheckAndMutate,
    Delete,
    FetchRows,
    GetRows,
    GetVersions,
    Increment,
    KeyRange,
    MutateRow,
    MutateRows,
    Operation,
    Put,
    Row,
    RowMutation,
)

SERVER_NOW_MS = 1_000


class Place(NamedTuple):
    table: str
    row: bytes
    column: bytes


class Stored(NamedTuple):
    """The newest put (value None: nothing visible) and the column's highest tombstone."""

    timestamp_ms: int = -1
    value: bytes | None = None
    dead_up_to_ms: int = -1


Store = tuple[tuple[Place, Stored], ...]

COLUMNS = (b"_:g", b"d:", b"d:v1", b"d:v2")
"""Every column there is: what the delete of a family covers."""

EMPTY: Store = ()


def execute(store: Store, request: Operation[Any]) -> tuple[Store, Any]:
    """Return the store after a request, and the request's answer."""
    match request:
        case MutateRows(table, mutations):
            for mutation in mutations:
                store = _mutate(store, table, mutation)
            return store, None
        case MutateRow(table, mutation):
            return _mutate(store, table, mutation), None
        case CheckAndMutate(table, column, expected, mutation):
            found = dict(store).get(Place(table, mutation.row, column), Stored())
            if (found.value or b"") != expected:
                return store, False
            return _mutate(store, table, mutation), True
        case Increment(table, row, amounts):
            return _increment(store, table, row, amounts)
    return store, _read(store, request)


def _read(store: Store, request: Operation[Any]) -> list[Row | None] | tuple[CellVersion, ...]:
    match request:
        case GetRows(table, keys, columns):
            return [_row(store, table, key, columns) for key in keys]
        case GetVersions(table, key):
            return tuple(_versions(store, table, key))
        case FetchRows(scanner):
            table, key_range = _scan_of(scanner.owner)
            present = sorted({place.row for place, _ in store if place.table == table})
            rows = [_row(store, table, key, ()) for key in present if key in key_range]
            return [row for row in rows if row is not None]
    raise NotImplementedError(request)


def _scan_of(owner: object) -> tuple[str, KeyRange]:
    assert isinstance(owner, tuple)
    table, key_range = owner
    return table, key_range


def _row(store: Store, table: str, key: bytes, columns: tuple[bytes, ...]) -> Row | None:
    cells = {
        place.column: Cell(stored.value, stored.timestamp_ms)
        for place, stored in store
        if (place.table, place.row) == (table, key)
        and stored.value is not None
        and (not columns or place.column in columns or place.column[:1] in columns)
    }
    return Row(key, cells) if cells else None


def _versions(store: Store, table: str, key: bytes) -> Iterator[CellVersion]:
    for place, stored in store:
        if (place.table, place.row) != (table, key):
            continue
        if stored.dead_up_to_ms >= 0:
            yield CellVersion(place.column, stored.dead_up_to_ms, "delete_column", b"")
        if stored.value is not None:
            yield CellVersion(place.column, stored.timestamp_ms, "put", stored.value)


def _mutate(store: Store, table: str, mutation: RowMutation) -> Store:
    cells = dict(store)
    for delete in mutation.deletes:
        for column in _covered(delete):
            place = Place(table, mutation.row, column)
            cells[place] = _deleted(cells.get(place, Stored()), _or_now(delete.timestamp_ms))
    for put in mutation.puts:
        place = Place(table, mutation.row, put.column)
        cells[place] = _put(cells.get(place, Stored()), put)
    return tuple(sorted(cells.items()))


def _increment(
    store: Store, table: str, row: bytes, amounts: Mapping[bytes, int]
) -> tuple[Store, dict[bytes, int]]:
    totals = {
        column: int.from_bytes(dict(store).get(Place(table, row, column), Stored()).value or b"")
        + amount
        for column, amount in amounts.items()
    }
    puts = tuple(Put(column, total.to_bytes(8)) for column, total in totals.items())
    return _mutate(store, table, RowMutation(row, puts)), totals


def _covered(delete: Delete) -> tuple[bytes, ...]:
    if b":" in delete.column:
        return (delete.column,)
    return tuple(column for column in COLUMNS if column.startswith(delete.column + b":"))


def _put(stored: Stored, put: Put) -> Stored:
    t = _or_now(put.timestamp_ms)
    if t <= stored.dead_up_to_ms or t < stored.timestamp_ms:
        return stored
    return Stored(t, put.value, stored.dead_up_to_ms)


def _deleted(stored: Stored, up_to_ms: int) -> Stored:
    dead_up_to_ms = max(stored.dead_up_to_ms, up_to_ms)
    if stored.timestamp_ms <= dead_up_to_ms:
        return Stored(dead_up_to_ms=dead_up_to_ms)
    return stored._replace(dead_up_to_ms=dead_up_to_ms)


def _or_now(timestamp_ms: int | None) -> int:
    return SERVER_NOW_MS if timestamp_ms is None else timestamp_ms
