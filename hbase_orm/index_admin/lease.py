"""Renews the permission to write a table's indexes during work that is longer than one lease."""

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
"""A function from a catalog entry to a model's table with the indexes that writes maintain.

It raises SchemaError if the model declares these indexes in another way.
"""


class TableLease:
    """The permission of one thread to write one table; it can be renewed when its lease expires.

    To renew it, the catalog is read again.
    """

    def __init__(
        self,
        table: str,
        kept_indexes: KeptIndexes,
        view: CatalogView,
        context: GuardContext,
        needs: str | None = None,
    ) -> None:
        """Prepare the lease; nothing is sent.

        Args:
            table: The table of the rows.
            kept_indexes: A function from a catalog entry to the table with its maintained indexes.
            view: A view of the catalog that only this thread uses. A view of several threads might
                have an entry from before this thread's last change of the catalog.
            context: The clocks and the random numbers.
            needs: The name of the index that the work is for. An error is raised if writes do not
                maintain it any more. None if the work is for all indexes.
        """
        self._table = table
        self._kept_indexes = kept_indexes
        self._view = view
        self._context = context
        self._needs = needs

    def forget(self) -> None:
        """Forget the catalog entry, so that it is read again before the next write."""
        self._view.forget(self._table)

    def refresh(self) -> Protocol[CatalogEntry]:
        """Read the table's catalog entry again, and return it."""
        return self._view.refresh(self._table)

    def permitted(self) -> Protocol[tuple[GuardedTable, GuardContext]]:
        """Return the table with the indexes that writes maintain now, and a context for writes.

        The context permits writes as long as the catalog's epoch does not change.

        Raises:
            ConflictError: Writes do not maintain the index that the work is for.
            SchemaError: The catalog has indexes that the model does not declare in the same way.
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
        """Return the table as `permitted` does, and a context that renews its own lease.

        The context is for long passes that fence rows and put no entries. If other indexes are
        maintained than at this call, its `renew` raises CatalogLeaseError.
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
    """Return a lease on the table of `bound`; nothing is sent.

    Args:
        bound: The bound model.
        writer: The source of clocks, random numbers and the catalog's entries.
        needs: As for `TableLease`.
    """
    view = writer.catalog.separate_leases()
    kept_indexes = partial(maintained_table, bound)
    return TableLease(bound.schema.table, kept_indexes, view, writer.guard_context, needs)
