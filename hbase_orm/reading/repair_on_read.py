"""Repair on read: after a statement's rows are read, repairs stale and unverified entries."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.binding.maintained_indexes import maintained_table
from hbase_orm.binding.table_writer import TableWriter
from hbase_orm.errors import HBaseORMError, SchemaError
from hbase_orm.execute import DoubtfulEntry
from hbase_orm.gateway.drive import result_of
from hbase_orm.index.catalog.entry import CatalogEntry
from hbase_orm.index.entries.targets import GuardedTable
from hbase_orm.index.upkeep.repair import MIN_AGE_MS, repair_entry
from hbase_orm.ops import Protocol, run_all
from hbase_orm.schema import IndexSchema

logger = logging.getLogger("hbase_orm.session")

MOST_REPAIRS: Final = 20
"""The most entries that one statement repairs. The repairs cost it some milliseconds."""


class Repairs:
    """Collects the stale and unverified entries that a statement reads, and repairs the first ones.

    Stale entries are deleted, and unverified entries of a covering index are verified. Young
    entries are ignored, because their write may be in progress. A failed repair is logged; the read
    does not fail.
    """

    def __init__(self, index: IndexSchema, bound: BoundModel, writer: TableWriter) -> None:
        """Start without entries."""
        self._index = index
        self._bound = bound
        self._writer = writer
        self._doubtful: list[DoubtfulEntry] = []

    def note(self, doubtful: Sequence[DoubtfulEntry]) -> None:
        """Add stale or unverified entries that were read."""
        self._doubtful.extend(doubtful)

    def after_read(self) -> Protocol[None] | None:
        """Return the protocol that repairs the added entries; None if no entries were added."""
        return self._make() if self._doubtful else None

    def _make(self) -> Protocol[None]:
        """Repair the first of the added entries that are old enough; log failures."""
        before_ms = self._writer.guard_context.now_ms() - MIN_AGE_MS
        old = [entry for entry in self._doubtful if entry.timestamp_ms <= before_ms]
        try:
            yield from _repair(old[:MOST_REPAIRS], self._index, self._bound, self._writer)
        except HBaseORMError as error:
            logger.info("doubtful entries of index %s were left: %s", self._index.name, error)


def _repair(
    doubtful: Sequence[DoubtfulEntry], index: IndexSchema, bound: BoundModel, writer: TableWriter
) -> Protocol[None]:
    """Repair entries of an index in parallel; log failures.

    Nothing is repaired if other programs maintain the index.
    """
    guarded = bound.guarded
    if not doubtful or guarded is None:
        return
    known = yield from writer.catalog.entry(guarded.table)
    if known is not None and known.move is not None and known.move.is_running:
        return  # an entry's row may be in either table
    kept = None if known is None else _kept_alike(bound, known)
    declared = next((i for i in kept.indexes if i.name == index.name), None) if kept else None
    if known is None or kept is None or declared is None:
        return
    target = replace(declared, table=index.table)
    context = writer.context_under(known.epoch)
    outcomes = yield from run_all(
        [
            result_of(
                repair_entry(
                    kept,
                    target,
                    context,
                    entry_key=entry.key,
                    entry_timestamp_ms=entry.timestamp_ms,
                    base_key=entry.base_key,
                )
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
    """Return the guarded table with the indexes that writes maintain and their tables, or None.

    The result is None if the catalog lists other indexes than the model declares, or if an index
    has other codes there. It is also None if the catalog requires other rules of writing. Then
    other programs repair the entries.
    """
    table = bound.schema.table
    try:
        kept = maintained_table(bound, known)
    except SchemaError as error:
        logger.info("doubtful entries of table %s were left: %s", table, error)
        return None
    others = known.with_other_codes(bound.indexes)
    if others:
        logger.info(
            "doubtful entries of table %s were left: the catalog has other codes of %s",
            table,
            ", ".join(others),
        )
    return None if others else kept
