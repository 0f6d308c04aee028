"""What builds, programs without guards and `create_tables` do, as the explorer runs it."""

from __future__ import annotations

from contextlib import suppress

from hbase_orm.errors import RowNotFoundError
from hbase_orm.index.catalog import read_entry
from hbase_orm.index.late import delete_late_copies, late_rows
from hbase_orm.index.registration import newest_epoch, register
from hbase_orm.index.targets import GuardContext, RowChange
from hbase_orm.index.writing import write_row
from hbase_orm.ops import KeyRange, MutateRows, Protocol, RowMutation, ask
from tests.replays import Bench, base_key_of

PAGE_ROWS = 9


def catch_up(bench: Bench, own: GuardContext) -> Protocol[None]:
    """Do what a build does when nobody is left who does not know the index."""
    target, index, every = bench.target, bench.index, KeyRange()
    epoch = own.permit(target.table)
    while True:
        page = yield from late_rows(target, index, every, own, epoch=epoch, page_rows=PAGE_ROWS)
        for row in (*page.late, *page.moving):
            with suppress(RowNotFoundError):
                yield from write_row(target, RowChange(row, kind="scrub"), own)
        if not page.late:
            break
    if index.included:
        yield from delete_late_copies(target, index, base_key_of, every, own, page_rows=PAGE_ROWS)


def change_plainly(table: str, mutation: RowMutation) -> Protocol[None]:
    """Change a row at the server's time, and not its guard."""
    yield from ask(MutateRows(table, (mutation,)))


def register_lost(table: str) -> Protocol[None]:
    """Enter a table with rows that the catalog does not know, as `create_tables` does."""
    if (yield from read_entry(table)) is None:
        newest = yield from newest_epoch(table)
        yield from register(table, {}, is_new=False, has_rows=True, newest_epoch=newest)
