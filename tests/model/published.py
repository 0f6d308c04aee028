"""Protocols that others write, or nearly wrote: small, and each with a published way to lose.

They make the same kinds of requests as the library, one row at a time, and send again what was not
answered. Values are the first column's, or both columns' where a key has two.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from hbase_orm.index.entries.targets import ENTRY_COLUMN
from hbase_orm.ops import (
    CheckAndMutate,
    Delete,
    FetchRows,
    GetRows,
    KeyRange,
    MutateRow,
    Protocol,
    Put,
    Row,
    RowMutation,
    ScannerId,
    ask,
)
from tests.model.cells import ScannedRange
from tests.support.replays import V1, Bench

Made = Callable[[Bench], Protocol[Any]]


def naive(value: bytes) -> Made:
    """A: get; put the data; put the entry; delete the old one, all at the server's time."""

    def run(bench: Bench) -> Protocol[None]:
        old = yield from keys_now(bench)
        yield from put_data(bench, {V1: value})
        yield from put_entry(bench, {V1: value})
        for key in sorted(old - keys_of(bench, {V1: value})):
            yield from delete_entry(bench, key)

    return run


def index_first(value: bytes) -> Made:
    """B: the entry before the data, the old one deleted after it."""

    def run(bench: Bench) -> Protocol[None]:
        old = yield from keys_now(bench)
        yield from put_entry(bench, {V1: value})
        yield from put_data(bench, {V1: value})
        for key in sorted(old - keys_of(bench, {V1: value})):
            yield from delete_entry(bench, key)

    return run


def checked_by_value(value: bytes) -> Made:
    """C: as B, the data put only if the indexed value is the one that was read."""

    def run(bench: Bench) -> Protocol[None]:
        for _ in range(3):
            row = yield from row_now(bench)
            old = values_of(row)
            yield from put_entry(bench, {V1: value})
            mutation = RowMutation(bench.row, puts=(Put(V1, value),))
            check = CheckAndMutate(bench.target.table, V1, old.get(V1, b""), mutation)
            if (yield from ask(check)):
                for key in sorted(keys_of(bench, old) - keys_of(bench, {V1: value})):
                    yield from delete_entry(bench, key)
                return

    return run


def index_first_undeleted(value: bytes) -> Made:
    """D: as B, and readers delete what they find stale."""

    def run(bench: Bench) -> Protocol[None]:
        yield from put_entry(bench, {V1: value})
        yield from put_data(bench, {V1: value})

    return run


def repair_at_once(bench: Bench) -> Protocol[None]:
    """D's reader: deletes each entry that its row does not have."""
    entries = yield from entries_now(bench)
    have = keys_of(bench, values_of((yield from row_now(bench))))
    for entry in entries:
        if entry.key not in have:
            yield from delete_entry(bench, entry.key, entry.cells[ENTRY_COLUMN].timestamp_ms)


def last_writer_wins(changes: Mapping[bytes, bytes], clock_ms: int) -> Made:
    """E: data and entry at one timestamp above what was read; entries first; no check."""

    def run(bench: Bench) -> Protocol[None]:
        row = yield from row_now(bench)
        seen_ms, before = newest_ms(row), values_of(row)
        t = max(clock_ms, seen_ms + 1)
        after = {**before, **changes}
        for key in sorted(keys_of(bench, after)):
            yield from put_at(bench.index.table, key, {ENTRY_COLUMN: b""}, t)
        yield from put_at(bench.target.table, bench.row, changes, t)
        for key in sorted(keys_of(bench, before) - keys_of(bench, after)):
            yield from delete_entry(bench, key, seen_ms)

    return run


def delete_at_last(clock_ms: int) -> Made:
    """E5, E6: the row deleted at a timestamp of one's own, and nothing left that remembers it."""

    def run(bench: Bench) -> Protocol[None]:
        row = yield from row_now(bench)
        seen_ms = newest_ms(row)
        delete = Delete(V1, max(clock_ms, seen_ms + 1))
        yield from ask(MutateRow(bench.target.table, RowMutation(bench.row, deletes=(delete,))))
        for key in sorted(keys_of(bench, values_of(row))):
            yield from delete_entry(bench, key, seen_ms)

    return run


def repair_by_time(*, also_equal: bool = False, also_absent: bool = False) -> Made:
    """E's repair: an entry goes if the row is newer; E3: or as old; E5: or not there."""

    def run(bench: Bench) -> Protocol[None]:
        entries = yield from entries_now(bench)
        row = yield from row_now(bench)
        have = keys_of(bench, values_of(row))
        for entry in entries:
            entry_ms = entry.cells[ENTRY_COLUMN].timestamp_ms
            is_older = row is not None and newest_ms(row) + also_equal > entry_ms
            if entry.key not in have and (is_older or (row is None and also_absent)):
                yield from delete_entry(bench, entry.key, entry_ms)

    return run


# --- the requests ---------------------------------------------------------------------------------


def row_now(bench: Bench) -> Protocol[Row | None]:
    (row,) = yield from ask(GetRows(bench.target.table, (bench.row,), (b"d",)))
    return row


def keys_now(bench: Bench) -> Protocol[frozenset[bytes]]:
    return keys_of(bench, values_of((yield from row_now(bench))))


def entries_now(bench: Bench) -> Protocol[list[Row]]:
    return (
        yield from ask(FetchRows(ScannerId(0, ScannedRange(bench.index.table, KeyRange())), 10))
    )


def values_of(row: Row | None) -> dict[bytes, bytes]:
    return {column: cell.value for column, cell in row.cells.items()} if row else {}


def newest_ms(row: Row | None) -> int:
    return max((cell.timestamp_ms for cell in row.cells.values()), default=0) if row else 0


def keys_of(bench: Bench, values: Mapping[bytes, bytes]) -> frozenset[bytes]:
    return bench.target.entry_keys(bench.index, bench.row, values)


def put_data(bench: Bench, values: Mapping[bytes, bytes]) -> Protocol[None]:
    yield from put_at(bench.target.table, bench.row, values, None)


def put_entry(bench: Bench, values: Mapping[bytes, bytes]) -> Protocol[None]:
    for key in sorted(keys_of(bench, values)):
        yield from put_at(bench.index.table, key, {ENTRY_COLUMN: b""}, None)


def put_at(
    table: str, row: bytes, values: Mapping[bytes, bytes], timestamp_ms: int | None
) -> Protocol[None]:
    puts = tuple(Put(column, value, timestamp_ms) for column, value in values.items())
    yield from ask(MutateRow(table, RowMutation(row, puts=puts)))


def delete_entry(bench: Bench, key: bytes, up_to_ms: int | None = None) -> Protocol[None]:
    delete = Delete(ENTRY_COLUMN, up_to_ms)
    yield from ask(MutateRow(bench.index.table, RowMutation(key, deletes=(delete,))))
