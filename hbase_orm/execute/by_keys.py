"""Rows by their keys: gets of some columns, and what those do not show."""

from __future__ import annotations

from collections.abc import Sequence

from hbase_orm.ops import GetRows, Protocol, Row, ask


def rows_by_key(
    table: str, keys: Sequence[bytes], columns: tuple[bytes, ...], families: tuple[bytes, ...]
) -> Protocol[list[Row | None]]:
    """Return rows by key, of each the cells of some columns, in the order of the keys.

    Args:
        table: The table.
        keys: The row keys.
        columns: Columns or bare families to read.
        families: What is asked of rows that show none of these: they may have other cells, as those
            do that were written before a column was deferred. Empty asks nothing more.
    """
    rows = yield from ask(GetRows(table, tuple(keys), columns))
    missing = [key for key, row in zip(keys, rows, strict=True) if row is None]
    if not (families and missing):
        return rows
    others = yield from ask(GetRows(table, tuple(missing), families))
    found = dict(zip(missing, others, strict=True))
    return [found[key] if row is None else row for key, row in zip(keys, rows, strict=True)]
