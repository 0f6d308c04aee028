"""Repair on read: the doubtful entries that a statement met are put right after its rows."""

from __future__ import annotations

import logging
from collections.abc import Generator, Sequence
from dataclasses import replace
from typing import Final

from hbase_orm.errors import HBaseORMError, SchemaError
from hbase_orm.execute import DoubtfulEntry, is_dropped, rows_of, stream
from hbase_orm.index.catalog_entry import CatalogEntry
from hbase_orm.index.repair import MIN_AGE_MS, repair_entry
from hbase_orm.index.targets import GuardedTable
from hbase_orm.ops import Row
from hbase_orm.query import IndexPlan
from hbase_orm.schema import IndexSchema
from hbase_orm.session.binding import BoundModel
from hbase_orm.session.catalog_checks import check_indexes
from hbase_orm.session.catalogued import answerer, kept_table
from hbase_orm.session.runtime import Runtime

logger = logging.getLogger("hbase_orm.session")

MOST_REPAIRS: Final = 20
"""Entries that one statement repairs: it costs the reader some milliseconds, once."""


def is_repaired(index: IndexSchema, runtime: Runtime) -> bool:
    """Say whether reads repair an index: what builds alone keep, writes would not make again."""
    return runtime.repairs_on_read and index.maintained == "always"


def repaired(
    chosen: IndexPlan, bound: BoundModel, runtime: Runtime
) -> Generator[Sequence[Row], None, None]:
    """Read the rows of a plan, and then repair the first doubtful entries that were met.

    Stale ones are deleted, and unverified ones of a covering index verified. A young entry, whose
    write may be under way, is left alone. That a repair fails is logged, and is no failure of the
    read.
    """
    met: list[DoubtfulEntry] = []
    rows = rows_of(chosen, bound.guarded)
    is_left = False
    try:
        answer = answerer(chosen, bound, runtime)
        yield from stream(rows, answer, runtime.each, met.extend)
    except GeneratorExit as error:
        is_left = is_dropped(error)
        raise
    finally:
        before_ms = runtime.guard_context.now_ms() - MIN_AGE_MS
        old = [entry for entry in met if entry.timestamp_ms <= before_ms and not is_left]
        try:
            repair(old[:MOST_REPAIRS], chosen.index, bound, runtime)
        except HBaseORMError as error:
            logger.info("doubtful entries of index %s were left: %s", chosen.index.name, error)


def repair(
    met: Sequence[DoubtfulEntry], index: IndexSchema, bound: BoundModel, runtime: Runtime
) -> None:
    """Repair entries of an index, as it was read, side by side; what fails is logged."""
    guarded = bound.guarded
    if not met or guarded is None:
        return
    known = runtime.catalog_entry(guarded.table)
    kept = None if known is None else _kept_alike(bound, known)
    declared = next((i for i in kept.indexes if i.name == index.name), None) if kept else None
    if known is None or kept is None or declared is None:
        return
    target = replace(declared, table=index.table)
    context = runtime.context_under(known.epoch)
    outcomes = runtime.run_many(
        [
            repair_entry(
                kept,
                target,
                context,
                entry_key=entry.key,
                entry_timestamp_ms=entry.timestamp_ms,
                base_key=entry.base_key,
            )
            for entry in met
        ]
    )
    for entry, outcome in zip(met, outcomes, strict=True):
        if isinstance(outcome.error, HBaseORMError):
            logger.info(
                "a doubtful entry %r of index %s was left: %s",
                entry.key,
                entry.index,
                outcome.error,
            )


def _kept_alike(bound: BoundModel, known: CatalogEntry) -> GuardedTable | None:
    """Return the indexes that writes keep, in the tables they have now.

    None where other programs keep the table by other rules: they repair it by them.
    """
    try:
        check_indexes(bound, known)
    except SchemaError as error:
        logger.info("doubtful entries of table %s were left: %s", bound.schema.table, error)
        return None
    return kept_table(bound, known)
