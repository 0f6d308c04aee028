"""The only path of writes to the tables of models: it checks each against the catalog first.

A program whose model has other indexes than the catalog would leave entries missing. So rows of
plain models, increments and appends are sent by `TableWriter.send`, and rows with indexes are
changed by `TableWriter.change`; loads and repairs get what they write from `maintained_table`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final, TypeVar

from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.binding.catalog_cache import CatalogCache
from hbase_orm.binding.maintained_indexes import maintained_table, refuse_indexed
from hbase_orm.binding.period_tables import MISSING_TABLE, send_to_missing_table
from hbase_orm.binding.write_clock import WriteClock
from hbase_orm.errors import CatalogLeaseError, ConnectionLostError, RetryableError
from hbase_orm.gateway.base import Feature
from hbase_orm.index.catalog.catalog import refuse_differences
from hbase_orm.index.catalog.entry import TableState
from hbase_orm.index.entries.targets import GuardContext, RowChange, WriteOutcome
from hbase_orm.index.protocol.guarded_write import History
from hbase_orm.index.protocol.row_change import write_row
from hbase_orm.ops import Increment, Operation, Protocol

R = TypeVar("R")

LEASE_RENEWALS: Final = 3
"""How often one write reads the catalog again before it gives up."""


class TableWriter:
    """Sends the writes of one engine. Threads may share it.

    Attributes:
        features: What the gateway can do.
        catalog: What the catalog says of tables.
        clock: Timestamps, and waits for HBase's clock.
        guard_context: Clocks, randomness and the catalog's permission for guarded writes.
        repairs_on_read: Whether stale index entries that statements meet are repaired.
    """

    def __init__(
        self,
        features: frozenset[Feature],
        catalog: CatalogCache,
        clock: WriteClock,
        guard_context: GuardContext,
        *,
        repairs_on_read: bool = False,
    ) -> None:
        """Prepare; nothing is sent."""
        self.repairs_on_read = repairs_on_read
        self.features = features
        self.catalog = catalog
        self.clock = clock
        self.guard_context = guard_context
        self._contexts: dict[int, GuardContext] = {}

    def check(self, bound: BoundModel, operation: Operation[Any] | None = None) -> Protocol[None]:
        """Refuse a write without guards to a table whose indexes other programs maintain.

        The catalog is read once a table and lease; nothing else was sent.

        Args:
            bound: The model.
            operation: The write, if it is known.

        Raises:
            SchemaError: The model's indexes are not those that writers maintain, or it increments
                what one of them is made of.
            RetryableError: The catalog could not be read.
        """
        table, model = bound.schema.table, bound.schema.model_name
        try:
            entry = yield from self.catalog.entry(table)
        except ConnectionLostError as error:
            raise RetryableError(
                "nothing was written: the catalog could not be read", table=table, fix="write again"
            ) from error
        if entry is None or entry.state is TableState.DROPPED:
            return
        refuse_differences(table, entry, bound.indexes, model=model)
        if isinstance(operation, Increment):
            refuse_indexed(operation, entry, model)

    def send(self, operation: Operation[R], bound: BoundModel) -> Protocol[R]:
        """Send a write of one table and return its answer; make the table if its model says so.

        A write to a table that does not exist was not applied, so it may be sent again. Deletes
        have nothing to do there.

        Raises:
            TableNotFoundError: There is no such table, and writing does not make it.
            SchemaError, RetryableError: As `check` does.
        """
        yield from self.check(bound, operation)
        try:
            answer: R = yield operation
        except MISSING_TABLE as error:
            if bound.tables.is_only:
                raise
            missing = error
        else:
            return answer
        return (yield from send_to_missing_table(operation, bound, self.features, missing))

    def change(
        self, bound: BoundModel, change: RowChange, history: History | None = None
    ) -> Protocol[WriteOutcome]:
        """Change one guarded row, the catalog lease renewed as needed.

        Args:
            bound: The row's model.
            change: What is done to the row.
            history: Where to note what is sent.

        Raises:
            SchemaError: The model's indexes are not those that the catalog knows.
            HBaseORMError: As `write_row` does.
        """
        if bound.guarded is None:
            raise AssertionError(bound)
        table, history = bound.guarded.table, history or History()
        for renewals_left in reversed(range(LEASE_RENEWALS)):
            entry = self.catalog.leases.entry(table)
            if entry is None:
                entry = yield from self.catalog.renew_lease(table, change.row)
            target, context = maintained_table(bound, entry), self.context_under(entry.epoch)
            try:
                return (yield from write_row(target, change, context, history))
            except CatalogLeaseError:
                self.catalog.leases.forget(table)
                if not renewals_left:
                    raise
        raise AssertionError(change)  # the last renewal returned or raised

    def context_under(self, epoch: int) -> GuardContext:
        """Return `guard_context` for writes that were prepared under this catalog epoch."""
        context = self._contexts.get(epoch)
        if context is None:
            permit = self.catalog.leases.permit_under(epoch)
            context = self._contexts[epoch] = replace(self.guard_context, permit=permit)
        return context
