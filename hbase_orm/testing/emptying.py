"""Empties the tables of a namespace between tests, which is far quicker than making them again."""

from __future__ import annotations

import time
from typing import Final

from hbase_orm.index.catalog.catalog import CATALOG_TABLE
from hbase_orm.migrate.history import MIGRATIONS_TABLE
from hbase_orm.ops import (
    CloseScanner,
    Delete,
    DescribeTable,
    FetchRows,
    ListTables,
    MutateRows,
    OpenScanner,
    Protocol,
    RowMutation,
    Scan,
    TruncateTable,
    ask,
)
from hbase_orm.session.engine import Engine, runtime_of

_KEPT: Final = frozenset({CATALOG_TABLE, MIGRATIONS_TABLE})
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
    namespace = engine.options.namespace
    deleted = False
    for name in runtime.execute(ListTables()):
        owner, _, table = name.rpartition(":")
        if owner == namespace and table not in _KEPT:
            deleted = runtime.run_as_is(_emptied(name)) or deleted
    if deleted:
        time.sleep(_TIE_S)


def _emptied(table: str) -> Protocol[bool]:
    """Delete the rows of a table; return whether there were any."""
    keys = yield from row_keys(table)
    if not keys:
        return False
    if len(keys) < _MOST_ROWS:
        described = yield from ask(DescribeTable(table))
        deletes = tuple(Delete(family.name) for family in described.families)
        rows = tuple(RowMutation(key, deletes=deletes) for key in keys)
        yield from ask(MutateRows(table, rows))
        keys = yield from row_keys(table)
    if keys:
        yield from ask(TruncateTable(table))
    return True


def row_keys(table: str) -> Protocol[list[bytes]]:
    """Return the row keys of a table, at most the number up to which rows are deleted."""
    scanner = yield from ask(OpenScanner(Scan(table, filter=_KEYS_ONLY)))
    keys: list[bytes] = []
    try:
        while len(keys) < _MOST_ROWS:
            rows = yield from ask(FetchRows(scanner, _MOST_ROWS - len(keys)))
            if not rows:
                break
            keys += [row.key for row in rows]
    finally:
        yield from ask(CloseScanner(scanner))
    return keys
