"""Repair on read: repairs the doubtful entries that a statement read, after its rows."""

from __future__ import annotations

import logging
from collections.abc import Generator, Sequence
from dataclasses import replace
from typing import Final

from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.binding.maintained_indexes import maintained_table
from hbase_orm.binding.runtime import Runtime
from hbase_orm.errors import HBaseORMError, SchemaError
from hbase_orm.execute import DoubtfulEntry, Execute, Rows, is_dropped, stream
from hbase_orm.index.catalog.entry import CatalogEntry
from hbase_orm.index.entries.targets import GuardedTable
from hbase_orm.index.upkeep.repair import MIN_AGE_MS, repair_entry
from hbase_orm.ops import Row
from hbase_orm.schema import IndexSchema

logger = logging.getLogger("hbase_orm.session")

MOST_REPAIRS: Final = 20
"""Entries that one statement repairs: it costs the reader some milliseconds, once."""


def is_repaired(index: IndexSchema, runtime: Runtime) -> bool:
    """Return whether reads repair an index; they leave manual indexes to builds."""
    return runtime.repairs_on_read and index.maintained == "always"


def with_repairs(
    rows: Rows, answer: Execute, index: IndexSchema, bound: BoundModel, runtime: Runtime
) -> Generator[Sequence[Row], None, None]:
    """Read rows through an index, and then repair the first doubtful entries that were read.

    Stale ones are deleted, and unverified ones of a covering index verified. A young entry, whose
    write may be under way, is left alone. That a repair fails is logged, and is no failure of the
    read.
    """
    doubtful: list[DoubtfulEntry] = []
    is_left = False
    try:
        yield from stream(rows, answer, runtime.each, doubtful.extend)
    except GeneratorExit as error:
        is_left = is_dropped(error)
        raise
    finally:
        before_ms = runtime.guard_context.now_ms() - MIN_AGE_MS
        old = [entry for entry in doubtful if entry.timestamp_ms <= before_ms and not is_left]
        try:
            repair(old[:MOST_REPAIRS], index, bound, runtime)
        except HBaseORMError as error:
            logger.info("doubtful entries of index %s were left: %s", index.name, error)


def repair(
    doubtful: Sequence[DoubtfulEntry], index: IndexSchema, bound: BoundModel, runtime: Runtime
) -> None:
    """Repair entries of an index side by side; log failures."""
    guarded = bound.guarded
    if not doubtful or guarded is None:
        return
    known = runtime.catalog_entry(guarded.table)
    kept = None if known is None else _kept_alike(bound, known)
    declared = next((i for i in kept.indexes if i.name == index.name), None) if kept else None
    if known is None or kept is None or declared is None:
        return
    target = replace(declared, table=index.table)
    context = runtime.writer.context_under(known.epoch)
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
            for entry in doubtful
        ]
    )
    for entry, outcome in zip(doubtful, outcomes, strict=True):
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
        return maintained_table(bound, known)
    except SchemaError as error:
        logger.info("doubtful entries of table %s were left: %s", bound.schema.table, error)
        return None
