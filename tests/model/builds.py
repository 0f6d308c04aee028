"""What an engine does with indexes, and programs without guards, as the explorer runs it."""

from __future__ import annotations

from typing import Any

from hbase_orm.errors import HBaseORMError
from hbase_orm.index.catalog.catalog import CatalogView, read_entry
from hbase_orm.index.catalog.entry import (
    BuildRange,
    CatalogEntry,
    CatalogIndex,
    IndexState,
    TableHold,
    TableState,
)
from hbase_orm.index.catalog.registration import newest_epoch, register
from hbase_orm.index.catalog.table_hold import release_hold, take_hold
from hbase_orm.index.entries.targets import GuardContext
from hbase_orm.index.upkeep.repair import repair_pass
from hbase_orm.index_admin.catch_up import CatchUp
from hbase_orm.index_admin.lease import TableLease
from hbase_orm.index_admin.reindex import RowReindexer
from hbase_orm.index_admin.verify import IndexVerify, repair_entries
from hbase_orm.ops import MutateRows, Protocol, RowMutation, ask
from tests.model.explorer import LeasesEnd, in_turn
from tests.support.replays import Bench, base_key_of

PAGE_ROWS = 9


def catalog_entry(bench: Bench, epoch: int, state: IndexState) -> CatalogEntry:
    """Return what the catalog says of a table that is written, and of its index."""
    index = CatalogIndex("", state, bench.index.table, epoch=epoch)
    indexes = {bench.index.name: index}
    return CatalogEntry(epoch, TableState.READABLE, None, indexes, bench.is_lww)


def lease(
    bench: Bench, own: GuardContext, needs: str | None = None, own_hold: str = ""
) -> TableLease:
    """Return a process's lease, which does not end while time stands still."""
    view = CatalogView(lambda: 0.0, own_holds=(own_hold,))
    return TableLease(bench.target.table, lambda _: bench.target, view, own, needs)


def catch_up(bench: Bench, own: GuardContext, own_hold: str = "") -> Protocol[None]:
    """Do what a build does when nobody is left who does not know the index."""
    epoch = own.permit(bench.target.table)
    index = CatalogIndex("", epoch=epoch, build=(BuildRange(b"", b"", None),))
    reindexer = RowReindexer(lease(bench, own, bench.index.name, own_hold))
    last_part = CatchUp(
        bench.target,
        bench.index,
        index,
        base_key_of,
        reindexer,
        context=own,
        parallel=1,
        page_rows=PAGE_ROWS,
        after_round=after_round,
    )
    return in_turn(last_part.run())


def build_exclusively(
    bench: Bench, own: GuardContext, hold_id: str, wait: LeasesEnd
) -> Protocol[None]:
    """Do what an exclusive build does of a table with one row; nobody's hold is renewed."""
    table = bench.target.table
    yield from take_hold(table, TableHold(hold_id, "a builder", 0), 0.0)
    yield from ask(wait)
    reindexer = RowReindexer(lease(bench, own, bench.index.name, hold_id))
    yield from in_turn(reindexer.reindex([bench.row]))
    yield from catch_up(bench, own, hold_id)
    if not (yield from release_hold(table, hold_id)):
        raise HBaseORMError("somebody has taken the table over")


def after_round(_reindexed: int, _compared: int) -> Protocol[None]:
    """Wait for nothing."""
    yield from ()


def repair(
    bench: Bench, own: GuardContext, min_age_ms: int, *, is_new: bool = False
) -> Protocol[Any]:
    """Do what `engine.repair_indexes` does; in a new table, as if its load had ended."""
    if is_new:
        return repair_pass(bench.target, bench.index, base_key_of, own, min_age_ms=min_age_ms)
    base_keys = {bench.index.name: base_key_of}
    return in_turn(repair_entries(lease(bench, own), base_keys, min_age_ms))


def verify(bench: Bench, own: GuardContext, min_age_ms: int | None) -> Protocol[None]:
    """Do what `engine.verify_index` does; beside the library's own writers nothing is wrong.

    Being refused means to have found what no crash leaves behind.
    """
    verification = IndexVerify(
        bench.target,
        bench.index,
        base_key_of,
        RowReindexer(lease(bench, own)),
        own,
        page_rows=PAGE_ROWS,
        min_age_ms=min_age_ms,
    )
    found = yield from in_turn(verification.run())
    if not found.is_sound or found.unrepaired:
        raise HBaseORMError("the verification saw a fault", pairs=found.pairs)


def change_plainly(table: str, mutation: RowMutation) -> Protocol[None]:
    """Change a row at the server's time, and not its guard."""
    yield from ask(MutateRows(table, (mutation,)))


def register_lost(table: str) -> Protocol[None]:
    """Enter a table with rows that the catalog does not know, as `create_tables` does."""
    if (yield from read_entry(table)) is None:
        newest = yield from newest_epoch(table)
        yield from register(table, {}, is_new=False, has_rows=True, newest_epoch=newest)
