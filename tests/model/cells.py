"""A store so small that its whole state is a hashable value; every request is one atomic step.

One version a column, as HBase shows it: a put at or below the column's tombstone, or below the
newest put, is not seen; at an equal timestamp the later arrival is. It knows the requests that the
protocols under test make. A test compares it with the memory gateway.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from hbase_orm.errors import RejectedError
from hbase_orm.ops import (
    Cell,
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
    PutStampedRows,
    Row,
    RowMutation,
    StoredVersion,
)

SERVER_NOW_MS = 1_000
COUNTER_BYTES = 8

READS = (GetRows, GetVersions, FetchRows)


class Place(NamedTuple):
    table: str
    row: bytes
    column: bytes


class Stored(NamedTuple):
    """The newest put (value None: nothing visible; it may have a TTL), and the highest tombstone."""

    timestamp_ms: int = -1
    value: bytes | None = None
    dead_up_to_ms: int = -1
    expires: bool = False


class ScannedRange(NamedTuple):
    """The owner of a scanner: what is left to scan."""

    table: str
    key_range: KeyRange
    reverse: bool = False


Store = tuple[tuple[Place, Stored], ...]

COLUMNS = (b"_:g", b"d:", b"d:d:v2", b"d:n", b"d:o", b"d:v1", b"d:v2", b"d:w")
"""Every column there is: what the delete of a family covers."""

CLOCK_TABLE = "(the server's clock)"

EMPTY: Store = ()


class Amounts(dict[bytes, int]):
    """Amounts of an increment under way: part of a state, which must be hashable."""

    def __hash__(self) -> int:  # type: ignore[override]  # a dict has none; nobody changes this one
        return hash(frozenset(self.items()))


@dataclass(frozen=True, slots=True)
class Compact(Operation[None]):
    """A major compaction: tombstones are gone, but in the tables that keep theirs for a while."""

    keeping: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ExpireDeadGuards(Operation[None]):
    """What has a TTL reaches it: guards of deleted rows, and the marks of values given up."""


NOTES = "(notes)"


@dataclass(frozen=True, slots=True)
class Note(Operation[None]):
    """What a process has seen or done, for the checks and for other processes; no part of HBase."""

    who: bytes
    what: bytes


def ticking(store: Store, at_ms: int = SERVER_NOW_MS) -> Store:
    """Return a store whose server's clock moves on with every write; otherwise it stands still."""
    return tuple(sorted((*store, (Place(CLOCK_TABLE, b"", b""), Stored(at_ms)))))


def execute(  # noqa: C901, PLR0911  # one return a kind of request
    store: Store, request: Operation[Any]
) -> tuple[Store, Any]:
    """Return the store after a request, and the request's answer."""
    if isinstance(request, PutStampedRows):
        request = request.as_mutations()
    if store and store[0][0].table == CLOCK_TABLE and not isinstance(request, READS):
        store = ((store[0][0], Stored(store[0][1].timestamp_ms + 1)), *store[1:])
    match request:
        case Compact(keeping):
            return tuple(_compacted(store, keeping)), None
        case ExpireDeadGuards():
            return tuple((place, _expired(stored)) for place, stored in store), None
        case Note(who, what):
            return tuple(
                sorted({**dict(store), Place(NOTES, who, b""): Stored(0, what)}.items())
            ), None
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


def _compacted(store: Store, keeping: tuple[str, ...]) -> Iterator[tuple[Place, Stored]]:
    for place, stored in store:
        if place.table in keeping:
            yield place, stored
        elif stored.value is not None or place.table == CLOCK_TABLE:
            yield place, stored._replace(dead_up_to_ms=-1)


def _expired(stored: Stored) -> Stored:
    return Stored(dead_up_to_ms=stored.dead_up_to_ms) if stored.expires else stored


def _read(store: Store, request: Operation[Any]) -> list[Row | None] | tuple[StoredVersion, ...]:
    match request:
        case GetRows(table, keys, columns):
            return [_row(store, table, key, columns) for key in keys]
        case GetVersions(table, key):
            return tuple(_versions(store, table, key))
        case FetchRows(scanner, count):
            scan = scanner.owner
            assert isinstance(scan, ScannedRange)
            present = {place.row for place, _ in store if place.table == scan.table}
            order = sorted(filter(scan.key_range.__contains__, present), reverse=scan.reverse)
            rows = [_row(store, scan.table, key, ()) for key in order]
            fetched: list[Row | None] = [row for row in rows if row is not None]
            return fetched[:count]
    raise NotImplementedError(request)


def _row(store: Store, table: str, key: bytes, columns: tuple[bytes, ...]) -> Row | None:
    cells = {
        place.column: Cell(stored.value, stored.timestamp_ms)
        for place, stored in store
        if (place.table, place.row) == (table, key)
        and stored.value is not None
        and (not columns or place.column in columns or place.column[:1] in columns)
    }
    return Row(key, cells) if cells else None


def _versions(store: Store, table: str, key: bytes) -> Iterator[StoredVersion]:
    for place, stored in store:
        if (place.table, place.row) != (table, key):
            continue
        if stored.dead_up_to_ms >= 0:
            yield StoredVersion(place.column, stored.dead_up_to_ms, "delete_column", b"")
        if stored.value is not None:
            yield StoredVersion(place.column, stored.timestamp_ms, "put", stored.value)


def _mutate(store: Store, table: str, mutation: RowMutation) -> Store:
    cells = dict(store)
    now_ms = _now_ms(store)
    for delete in mutation.deletes:
        up_to_ms = now_ms if delete.timestamp_ms is None else delete.timestamp_ms
        for column in _covered(delete):
            place = Place(table, mutation.row, column)
            cells[place] = _deleted(cells.get(place, Stored()), up_to_ms)
    for put in mutation.puts:
        place = Place(table, mutation.row, put.column)
        t = now_ms if put.timestamp_ms is None else put.timestamp_ms
        stored = cells.get(place, Stored())
        cells[place] = _put(stored, put.value, t, expires=mutation.ttl_ms is not None)
    return tuple(sorted(cells.items()))


def _now_ms(store: Store) -> int:
    has_clock = bool(store) and store[0][0].table == CLOCK_TABLE
    return store[0][1].timestamp_ms if has_clock else SERVER_NOW_MS


def _increment(
    store: Store, table: str, row: bytes, amounts: Mapping[bytes, int]
) -> tuple[Store, dict[bytes, int] | RejectedError]:
    stored = {c: dict(store).get(Place(table, row, c), Stored()) for c in amounts}
    if any(s.value is not None and len(s.value) != COUNTER_BYTES for s in stored.values()):
        return store, RejectedError("the cell is not a counter")
    totals = {c: int.from_bytes(stored[c].value or b"") + n for c, n in amounts.items()}
    puts = tuple(
        Put(c, total.to_bytes(COUNTER_BYTES), _stamp_past(stored[c], _now_ms(store)))
        for c, total in totals.items()
    )
    return _mutate(store, table, RowMutation(row, puts)), totals


def _stamp_past(stored: Stored, now_ms: int) -> int:
    """Return the timestamp of an increment, which HBase makes later than the cell before it."""
    return now_ms if stored.value is None else max(now_ms, stored.timestamp_ms + 1)


def _covered(delete: Delete) -> tuple[bytes, ...]:
    if b":" in delete.column:
        return (delete.column,)
    return tuple(column for column in COLUMNS if column.startswith(delete.column + b":"))


def _put(stored: Stored, value: bytes, timestamp_ms: int, *, expires: bool) -> Stored:
    if timestamp_ms <= stored.dead_up_to_ms or timestamp_ms < stored.timestamp_ms:
        return stored
    return Stored(timestamp_ms, value, stored.dead_up_to_ms, expires)


def _deleted(stored: Stored, up_to_ms: int) -> Stored:
    dead_up_to_ms = max(stored.dead_up_to_ms, up_to_ms)
    if stored.timestamp_ms <= dead_up_to_ms:
        return Stored(dead_up_to_ms=dead_up_to_ms)
    return stored._replace(dead_up_to_ms=dead_up_to_ms)
