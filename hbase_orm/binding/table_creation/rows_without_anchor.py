"""Refuses guards for a plain table in which rows lack the anchor: they would be hidden.

In a plain table any cell shows that a row exists; in a table with guards only the anchor does. A
row without it may come from an object that was flushed after another program had deleted its row.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.errors import SchemaDriftError
from hbase_orm.ops import Protocol, RenewTimeLimit, ResumableScan, Scan, ask
from hbase_orm.record.declaration import Declaration

_PAGE_ROWS: Final = 1000
_MOST_NAMED: Final = 10
"""How many rows an error names at most."""


def refuse_rows_without_anchor(
    bounds: Sequence[BoundModel], recorded: Declaration
) -> Protocol[None]:
    """Raise an error if models make a plain table guarded, and rows of it lack the anchor.

    The keys and columns of all rows are read, once in the life of a table: when it gets guards.

    Args:
        bounds: The bound models of one table. Tables of periods have no guards.
        recorded: What the record says of the table.

    Raises:
        SchemaDriftError: Rows lack the anchor; the error names the first of them.
    """
    if recorded.is_guarded or not any(bound.schema.is_guarded for bound in bounds):
        return
    table = bounds[0].schema.table
    rows = yield from rows_without_anchor(table, recorded)
    if rows:
        raise SchemaDriftError(
            "rows lack the column that shows, in a table with guards, that a row exists",
            model=next(bound.schema.model_name for bound in bounds if bound.schema.is_guarded),
            table=table,
            columns=anchors_of(recorded),
            rows=rows,
            fix="write the column into these rows, or delete them, while no program writes the "
            "table; then repeat",
        )


def anchors_of(recorded: Declaration) -> list[bytes]:
    """Return the columns one of which each row with a guard must have; empty if there is none.

    Rows of models without a required column exist if they have any column.
    """
    anchors = {rows.anchor for rows in recorded.rows}
    known = sorted(anchor for anchor in anchors if anchor is not None)
    return known if len(known) == len(anchors) else []


def rows_without_anchor(table: str, recorded: Declaration) -> Protocol[list[bytes]]:
    """Return the keys of the first rows that would not exist if the table had guards.

    The keys and columns of all rows are read.
    """
    anchors = anchors_of(recorded)
    if not anchors:
        return []
    return (yield from _first_rows(table, tuple(recorded.families), anchors))


def _first_rows(
    table: str, families: tuple[bytes, ...], anchors: Sequence[bytes]
) -> Protocol[list[bytes]]:
    """Return the keys of the first rows that have none of these columns."""
    scan = ResumableScan(
        Scan(table, columns=families, filter=b"KeyOnlyFilter()", caching_rows=_PAGE_ROWS)
    )
    keys: list[bytes] = []
    while len(keys) < _MOST_NAMED:
        yield from ask(RenewTimeLimit())
        page = yield from scan.fetch(_PAGE_ROWS)
        if not page:
            return keys
        keys += [row.key for row in page if row.cells.keys().isdisjoint(anchors)]
    yield from scan.close()
    return keys[:_MOST_NAMED]
