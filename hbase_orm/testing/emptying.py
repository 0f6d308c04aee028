"""Empties the tables of a namespace between tests, which is far quicker than making them again."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Final

from hbase_orm.gateway.base import Feature
from hbase_orm.index.catalog.catalog import CATALOG_TABLE
from hbase_orm.migrate.history import MIGRATIONS_TABLE
from hbase_orm.numbering.sequence import SEQUENCES_TABLE
from hbase_orm.ops import (
    CloseScanner,
    Delete,
    DropTable,
    FetchRows,
    ListTables,
    MutateRows,
    OpenScanner,
    Protocol,
    ReadFirstRows,
    Row,
    RowMutation,
    Scan,
    TruncateTable,
    ask,
    run_all,
)
from hbase_orm.session.engine import Engine, runtime_of
from hbase_orm.testing.cleanup import forget_tables

_METADATA: Final = frozenset({CATALOG_TABLE, MIGRATIONS_TABLE})
_MOST_ROWS: Final = 2_000
"""Above this number of rows a table is truncated, which takes a second or more."""

_KEYS_ONLY: Final = b"KeyOnlyFilter()"
_TIE_S: Final = 0.002
"""A put in the millisecond of a delete would be hidden by its tombstone."""


def empty_tables(engine: Engine) -> None:
    """Delete all rows of all tables in an engine's namespace, also of indexes and sequences.

    The tables stay as they are, with what `hbase_orm` and its migrations know of them. Tables of
    more than 2,000 rows, and those with cells whose timestamps are in the future, are truncated.
    Use a new engine afterwards: the old one may remember numbers of sequences and dictionaries.

    Raises:
        GatewayError: A request failed; some tables may be empty.
    """
    runtime = runtime_of(engine)
    is_one_call = Feature.FIRST_ROWS in runtime.features
    tables = [name for name in tables_of(engine) if name.rpartition(":")[2] not in _METADATA]
    emptied = runtime.run_as_is(run_all(_emptied(name, is_one_call=is_one_call) for name in tables))
    if any(emptied):
        time.sleep(_TIE_S)


def tables_of(engine: Engine) -> list[str]:
    """Return the names of all tables in an engine's namespace, with the namespace."""
    names = runtime_of(engine).execute(ListTables())
    return [name for name in names if name.rpartition(":")[0] == engine.options.namespace]


def has_sequences(table: str) -> bool:
    """Return whether a table, named with its namespace, is that of sequences."""
    return table.rpartition(":")[2] == SEQUENCES_TABLE


def drop_added_tables(engine: Engine, tables: Iterable[str]) -> None:
    """Drop tables that tests have made, with what the catalog says of them."""
    runtime = runtime_of(engine)
    for table in tables:
        runtime.execute(DropTable(table))
        runtime.execute(forget_tables([table.encode()]))


def _emptied(table: str, *, is_one_call: bool) -> Protocol[bool]:
    """Delete the rows of a table; return whether there were any."""
    rows = yield from read_rows(table, is_one_call=is_one_call)
    if not rows:
        return False
    if len(rows) < _MOST_ROWS:
        yield from ask(MutateRows(table, tuple(_deleted(row) for row in rows)))
        rows = yield from read_rows(table, is_one_call=is_one_call)
    if rows:
        yield from ask(TruncateTable(table))
    return True


def _deleted(row: Row) -> RowMutation:
    """Return the delete of the families in which a row has cells."""
    families = {column.partition(b":")[0] for column in row.columns}
    return RowMutation(row.key, deletes=tuple(Delete(family) for family in sorted(families)))


def read_rows(table: str, *, is_one_call: bool = False) -> Protocol[list[Row]]:
    """Return the rows of a table without values, at most as many as are deleted one by one.

    Args:
        table: The name of the table.
        is_one_call: Whether the gateway reads the first rows of a scan in one call.
    """
    scan = Scan(table, filter=_KEYS_ONLY)
    rows: list[Row] = []
    if is_one_call:
        first = yield from ask(ReadFirstRows(scan, _MOST_ROWS))
        rows = list(first.rows)
        if first.is_all or len(rows) == _MOST_ROWS:
            return rows
        scan = scan.after(rows[-1].key) if rows else scan
    return rows + (yield from _scanned(scan, _MOST_ROWS - len(rows)))


def _scanned(scan: Scan, count: int) -> Protocol[list[Row]]:
    scanner = yield from ask(OpenScanner(scan))
    rows: list[Row] = []
    try:
        while len(rows) < count:
            fetched = yield from ask(FetchRows(scanner, count - len(rows)))
            if not fetched:
                break
            rows += fetched
    finally:
        yield from ask(CloseScanner(scanner))
    return rows
