"""Answers reads of the new table by key, wherever the rows are.

An answer is what the new table would answer if all rows were there: only the requested columns, in
HBase's order, and None for a row that has none of them. It has no guards.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, islice

from hbase_orm.errors import QueryError
from hbase_orm.gateway.checks import check_request
from hbase_orm.index.catalog.move_phases import Phase
from hbase_orm.index.entries.targets import (
    GUARD_COLUMN,
    GUARD_FAMILY,
    GuardContext,
    family_of,
    with_guard,
)
from hbase_orm.moving.adoption import ALL_VERSIONS
from hbase_orm.moving.missing_tables import if_there
from hbase_orm.moving.translation import TableMove
from hbase_orm.moving.virtual_reads import rows_of_old, virtual_rows
from hbase_orm.ops import (
    Cell,
    GetRows,
    GetVersionsOfRows,
    Protocol,
    Row,
    Scan,
    StoredVersion,
    ask_with_retry,
)

Versions = tuple[StoredVersion, ...]


def has_guard_column(columns: Iterable[bytes]) -> bool:
    """Return whether some columns to read include the guard, or its family."""
    return any(family_of(column) == GUARD_FAMILY for column in columns)


def refuse_past(move: TableMove, phase: Phase, request: GetRows | Scan) -> None:
    """Raise an error for a read of the past: the two tables have different versions of a row.

    Raises:
        QueryError: The request limits the timestamps of cells.
    """
    if request.before_ms is None and not request.from_ms:
        return
    raise QueryError(
        "the past of a table cannot be read while rows of another table move to it",
        table=move.new.table,
        old_table=move.old.table,
        phase=phase.name,
        fix="read the present, or run the migration to its end (phase NEW) first",
    )


def moved_rows(
    move: TableMove, phase: Phase, request: GetRows, context: GuardContext
) -> Protocol[list[Row | None]]:
    """Return the answer to a `GetRows` of the new table. It is strong, also in a timeline read.

    Raises:
        QueryError: As for `refuse_past`.
        RejectedError: HBase would refuse the request.
    """
    check_request(request)
    refuse_past(move, phase, request)
    keys = tuple(dict.fromkeys(request.keys))
    rows = yield from virtual_rows(move, phase, keys, context, request.columns)
    by_key = {row.key: _with_cells(row, request.columns) for row in rows if row is not None}
    return [by_key.get(key) for key in request.keys]


def _with_cells(row: Row, columns: Sequence[bytes]) -> Row | None:
    shown = only_columns(row, columns)
    return shown if shown.cells else None


def only_columns(row: Row, columns: Sequence[bytes]) -> Row:
    """Return a row with its cells of some columns and families, all if there are none, in order."""
    names = sorted(filter(_Requested(columns).has, row.cells), key=_order_of)
    return Row(row.key, {name: row.cells[name] for name in names})


def moved_versions(
    move: TableMove, phase: Phase, request: GetVersionsOfRows, context: GuardContext
) -> Protocol[list[Versions]]:
    """Return the answer to a `GetVersionsOfRows` of the new table, which is not a raw read.

    The versions of a row that the old table decides about are what its adoption would keep.

    Raises:
        RejectedError: HBase would refuse the request.
    """
    check_request(request)
    keys = tuple(dict.fromkeys(request.keys))
    versions: dict[bytes, Versions] = {}
    if phase >= Phase.PREPARED:
        versions = yield from _versions_of_new(move, keys, request, context)
    left = tuple(key for key in keys if key not in versions)
    of_old = yield from _versions_of_old(move, left, request.columns, context)
    requested = _Requested(request.columns)
    for key, stored in of_old.items():
        versions[key] = tuple(_newest(stored, requested, request.max_versions))
    return [versions[key] for key in request.keys]


def _versions_of_new(
    move: TableMove, keys: tuple[bytes, ...], request: GetVersionsOfRows, context: GuardContext
) -> Protocol[dict[bytes, Versions]]:
    """Return the versions of the rows for which the new table has a guard, without the guard."""
    columns = with_guard(frozenset(request.columns) or frozenset(move.new.families))
    get = GetVersionsOfRows(move.new.table, keys, columns, request.max_versions)
    nothing: list[Versions] = [()] * len(keys)
    stored = yield from if_there(move, ask_with_retry(get, context.retries), nothing)
    return {
        key: tuple(version for version in versions if version.column != GUARD_COLUMN)
        for key, versions in zip(keys, stored, strict=True)
        if any(version.column == GUARD_COLUMN for version in versions)
    }


def _versions_of_old(
    move: TableMove, keys: tuple[bytes, ...], columns: tuple[bytes, ...], context: GuardContext
) -> Protocol[dict[bytes, Sequence[StoredVersion]]]:
    """Return the versions of old rows in the new layout; none for rows that do not exist."""
    if not keys:
        return {}
    if move.translation.older_versions is None:
        wanted = move.columns_of(columns)
        rows = yield from rows_of_old(move, keys, wanted, context)
        return {key: () if row is None else _as_versions(row) for key, row in rows.items()}
    old_keys = tuple(dict.fromkeys(map(move.old_key, keys)))
    get = GetVersionsOfRows(move.old.table, old_keys, move.old.families, ALL_VERSIONS)
    stored = yield from ask_with_retry(get, context.retries)
    by_key = dict(zip(old_keys, stored, strict=True))
    now_ms = context.now_ms()
    return {key: _translated(move, key, by_key[move.old_key(key)], now_ms) for key in keys}


def _as_versions(row: Row) -> Sequence[StoredVersion]:
    return [
        StoredVersion(column, cell.timestamp_ms, "put", cell.value)
        for column, cell in row.cells.items()
    ]


def _translated(
    move: TableMove, new_key: bytes, versions: Sequence[StoredVersion], now_ms: int
) -> Sequence[StoredVersion]:
    """Return all versions of an old row in the new layout, if it exists and has this new key."""
    versions = move.old_versions(versions, now_ms)
    newest: dict[bytes, Cell] = {}
    for version in versions:
        newest.setdefault(version.column, Cell(version.value, version.timestamp_ms))
    row = move.to_new(move.old_key(new_key), newest)
    translate = move.translation.older_versions
    if row is None or row.key != new_key or translate is None:
        return ()
    return translate(versions)


def _newest(
    versions: Iterable[StoredVersion], requested: _Requested, max_versions: int
) -> Iterator[StoredVersion]:
    """Yield the newest versions of each requested column, in HBase's order."""
    chosen = [version for version in versions if requested.has(version.column)]
    chosen.sort(key=lambda version: (_order_of(version.column), -version.timestamp_ms))
    for _, of_column in groupby(chosen, key=lambda version: version.column):
        yield from islice(of_column, max_versions)


def _order_of(column: bytes) -> tuple[bytes, bytes]:
    family, _, qualifier = column.partition(b":")
    return family, qualifier


class _Requested:
    """The columns and families of a request; all if it names none."""

    def __init__(self, columns: Sequence[bytes]) -> None:
        self._columns = frozenset(columns)

    def has(self, column: bytes) -> bool:
        wanted = self._columns
        return not wanted or column in wanted or family_of(column) in wanted
