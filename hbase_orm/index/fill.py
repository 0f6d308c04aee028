"""Fills the table of an index that builds alone write: nobody else writes it, and nobody reads it.

Entries carry the timestamps of the rows they were computed of. Rows change meanwhile, so the index
is as old as its build; readers check entries against rows, as always. What entries of a covering
index repeat is never verified, for nobody would take that back.
"""

from __future__ import annotations

from hbase_orm.index.asking import ask_patiently
from hbase_orm.index.attempt import entry_puts
from hbase_orm.index.pages import scan_page
from hbase_orm.index.targets import GuardContext, GuardedTable, IndexTarget, with_guard
from hbase_orm.ops import KeyRange, MutateRows, Protocol, Row


def fill_page(
    target: GuardedTable,
    index: IndexTarget,
    key_range: KeyRange,
    page_rows: int,
    context: GuardContext,
) -> Protocol[list[Row]]:
    """Put the entries of a page of rows; return the rows, none at the end of the range."""
    columns = with_guard(target.existence_columns | index.columns)
    page = yield from scan_page(target.table, columns, key_range, page_rows, context)
    puts: list[MutateRows] = []
    for row in page:
        told_ms = max(cell.timestamp_ms for cell in row.cells.values())
        cells = {column: cell.value for column, cell in row.cells.items()}
        keys = target.needed_keys(index, row.key, cells)
        entries = [index.entry(key) for key in sorted(keys)]
        puts += entry_puts(entries, told_ms)
    if puts:
        mutations = tuple(mutation for put in puts for mutation in put.mutations)
        yield from ask_patiently(MutateRows(index.table, mutations), context)
    return page
