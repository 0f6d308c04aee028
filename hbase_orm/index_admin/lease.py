"""Keeps the permission to change one table's indexes while work that outlasts a lease goes on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.binding.maintained_indexes import maintained_table
from hbase_orm.binding.table_writer import TableWriter
from hbase_orm.errors import CatalogLeaseError, ConflictError
from hbase_orm.index.catalog.catalog import CatalogView
from hbase_orm.index.catalog.entry import CatalogEntry
from hbase_orm.index.entries.targets import GuardContext, GuardedTable
from hbase_orm.ops import Protocol

KeptIndexes = Callable[[CatalogEntry], GuardedTable]
"""Returns the indexes that writes keep by a catalog entry; refuses one that declares others."""


class TableLease:
    """One thread's permission to write one table, read again from the catalog after each lease."""

    def __init__(
        self,
        table: str,
        kept_indexes: KeptIndexes,
        view: CatalogView,
        context: GuardContext,
        needs: str | None = None,
    ) -> None:
        """Prepare; nothing is sent.

        Args:
            table: The table of the rows.
            kept_indexes: What writes keep, by the catalog's entry.
            view: The catalog as this thread alone reads it. One that other threads refresh, too,
                may be older than a change of the catalog that this thread made.
            context: Clocks and randomness.
            needs: The index that the work is for: once writes do not keep it, the work is refused.
        """
        self._table = table
        self._kept_indexes = kept_indexes
        self._view = view
        self._context = context
        self._needs = needs

    def forget(self) -> None:
        """Read the catalog again before the next write."""
        self._view.forget(self._table)

    def refresh(self) -> Protocol[CatalogEntry]:
        """Return the current catalog entry."""
        return self._view.refresh(self._table)

    def permitted(self) -> Protocol[tuple[GuardedTable, GuardContext]]:
        """Return what writes keep now, and what permits them as long as that holds.

        Raises:
            ConflictError: Writes do not keep the index that the work is for.
            SchemaError: Writes keep indexes that the model does not declare in the same way.
        """
        entry = self._view.entry(self._table) or (yield from self.refresh())
        table = self._kept_indexes(entry)
        index = entry.indexes.get(self._needs or "")
        if self._needs is not None and (index is None or not index.is_kept):
            raise ConflictError(
                "the index was dropped in the meantime", table=self._table, index=self._needs
            )
        permit = self._view.permit_under(entry.epoch)
        return table, replace(self._context, permit=permit)

    def renewable(self) -> Protocol[tuple[GuardedTable, GuardContext]]:
        """Return what writes keep now, and what permits fences, by leases renewed as they end.

        For long passes that put no entries.
        """
        table, _ = yield from self.permitted()

        def renew() -> Protocol[None]:
            now, _ = yield from self.permitted()
            if now.indexes != table.indexes:
                raise CatalogLeaseError(
                    "other indexes were built or dropped in the meantime",
                    table=self._table,
                    fix="start the operation again",
                )

        return table, replace(self._context, permit=self._view.permit, renew=renew)


def lease_on(bound: BoundModel, writer: TableWriter, needs: str | None = None) -> TableLease:
    """Return a model's lease on its own table; nothing is sent."""
    catalog = writer.catalog
    view = CatalogView(catalog.monotonic_s, catalog.lease_s)
    kept_indexes = partial(maintained_table, bound)
    return TableLease(bound.schema.table, kept_indexes, view, writer.guard_context, needs)
