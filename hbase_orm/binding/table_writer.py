"""Sends all writes to the tables of models, after a check of the catalog.

A program that does not declare an index of the table would leave out index entries. So the catalog
is checked before each write:

- `TableWriter.send` sends rows of plain models, increments and appends.
- `TableWriter.change` changes guarded rows.
- Loads and repairs write the indexes that `maintained_table` returns.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final, TypeVar

from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.binding.catalog_cache import CatalogCache
from hbase_orm.binding.maintained_indexes import maintained_table, refuse_indexed
from hbase_orm.binding.recorded_models import usable_model
from hbase_orm.binding.table_creation.period_tables import MISSING_TABLE, send_to_missing_table
from hbase_orm.binding.table_moves.moves_in_progress import TableMoves
from hbase_orm.binding.write_clock import WriteClock
from hbase_orm.errors import (
    CatalogLeaseError,
    ConnectionLostError,
    FeatureMissingError,
    RejectedError,
    RetryableError,
)
from hbase_orm.gateway.base import Feature
from hbase_orm.index.catalog.catalog import refuse_differences
from hbase_orm.index.catalog.entry import CatalogEntry, TableState
from hbase_orm.index.entries.index_entries import guarded_table
from hbase_orm.index.entries.targets import GuardContext, RowChange, WriteOutcome
from hbase_orm.index.protocol.guarded_write import History
from hbase_orm.index.protocol.row_change import write_row
from hbase_orm.ops import Increment, Operation, Protocol

R = TypeVar("R")

LEASE_RENEWALS: Final = 3
"""The most attempts of a guarded write. Only an expired catalog lease causes a further attempt."""


class TableWriter:
    """Sends the writes of one engine. Threads may share it.

    Attributes:
        features: The features that the gateway supports.
        catalog: The cache of the catalog.
        clock: The clock for timestamps and for waits for HBase's clock.
        guard_context: The clocks, random numbers and catalog leases for guarded writes.
        repairs_on_read: Whether statements repair stale index entries that they read.
        moves: The moves of tables to other tables.
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
        """Prepare the writer; nothing is sent."""
        self.repairs_on_read = repairs_on_read
        self.features = features
        self.catalog = catalog
        self.clock = clock
        self.guard_context = guard_context
        self.moves = TableMoves(catalog, features)
        self._contexts: dict[int, GuardContext] = {}

    def usable(self, bound: BoundModel) -> Protocol[BoundModel]:
        """Return a model as the record of its table describes it now; see `usable_model`."""
        return usable_model(bound, self.catalog, self.features)

    def check(self, bound: BoundModel, operation: Operation[Any] | None = None) -> Protocol[None]:
        """Raise an error if a write that puts no index entries would make an index incomplete.

        The catalog is read once per table and lease. For the check of the model itself see
        `usable_model`. A table without a catalog entry and a foreign table pass the check.

        Args:
            bound: The bound model.
            operation: The write; None to compare only the declared indexes with the catalog.

        Raises:
            SchemaError: The model's indexes differ from those in the catalog, the write increments
                an indexed column, or the model contradicts the record of its table.
            TableHeldError: Another program uses the table exclusively.
            RetryableError: The catalog could not be read. Or the rows of a plain model are being
                moved, so that the write must be made again as one of a guarded row.
            FeatureMissingError: The rows are being moved, and there is no Thrift2 gateway.
        """
        table, model = bound.schema.table, bound.schema.model_name
        if bound.schema.is_foreign:
            return
        try:
            yield from self.usable(bound)
            entry = yield from self.catalog.entry(table)
            declared = bound.declared_table
            held = entry if declared == table else (yield from self.catalog.entry(declared))
            if held is not None and held.hold is not None:
                yield from self.catalog.refuse_held(declared)
                entry = yield from self.catalog.entry(table)
            if declared != table and held is not None and held.move is not None:
                entry = held  # rows move to the tables of all periods at once
        except ConnectionLostError as error:
            raise RetryableError(
                "nothing was written: the catalog could not be read", table=table, fix="write again"
            ) from error
        if entry is None or entry.state is TableState.DROPPED:
            return
        refuse_differences(table, entry, bound.indexes, model=model)
        if isinstance(operation, Increment):
            refuse_indexed(operation, entry, model)
        elif operation is not None and bound.guarded is None:
            self._refuse_without_guards(bound, entry)

    def _refuse_without_guards(self, bound: BoundModel, entry: CatalogEntry) -> None:
        """Raise an error for a write without a guard to a table whose rows are being moved."""
        if entry.move is None or not entry.move.is_running:
            return
        where = {"model": bound.schema.model_name, "table": bound.schema.table}
        if Feature.CHECK_AND_MUTATE not in self.features:
            raise FeatureMissingError(
                "rows that are being moved to another table are written with guards",
                **where,
                fix="add thrift2=host:9091 to the URL, or write when the move has ended",
            )
        raise RetryableError(
            "nothing was written: the rows of the table have begun to move to another table",
            **where,
            fix="write again",
        )

    def send(self, operation: Operation[R], bound: BoundModel) -> Protocol[R]:
        """Send a write to one table and return its answer; create a missing table of a period.

        The table is created only if the model lets writes create tables. The write is then sent
        again. A `MutateRows` that only deletes creates no table and is not sent again.

        Raises:
            TableNotFoundError: The table does not exist, and writes of the model do not create it.
            SchemaError, TableHeldError, RetryableError: As for `check`.
        """
        yield from self.check(bound, operation)
        return (yield from self._sent(operation, bound))

    def _sent(self, operation: Operation[R], bound: BoundModel) -> Protocol[R]:
        """Send a write without a check; create a missing table of a period."""
        try:
            answer: R = yield operation
        except MISSING_TABLE as error:
            if bound.tables.is_only:
                raise
            missing = error
        else:
            return answer
        return (yield from send_to_missing_table(operation, bound, self.features, missing))

    def increment(self, bound: BoundModel, increment: Increment) -> Protocol[dict[bytes, int]]:
        """Increment counters of one row, also of a table whose rows move; return the new values.

        Raises:
            HBaseORMError: As for `send`, and for increments of tables in a move.
        """
        for renewals_left in reversed(range(LEASE_RENEWALS)):
            try:
                return (yield from self._increment(bound, increment))
            except CatalogLeaseError:  # nothing was added
                self.moves.forget(bound.schema.table)
                if not renewals_left:
                    raise
        raise AssertionError(increment)  # the last renewal returned or raised

    def _increment(self, bound: BoundModel, increment: Increment) -> Protocol[dict[bytes, int]]:
        yield from self.check(bound, increment)
        table = bound.declared_table
        entry = self._last_entry(table)
        try:
            if entry is None or entry.move is None or entry.move.has_ended_here:
                values = yield from self._sent(increment, bound)
            else:
                entry = yield from self.catalog.leased(table, increment.row)
                context = self.context_under(entry.epoch)
                values = yield from self.moves.increment(bound, entry, increment, context)
        except RejectedError as error:
            if self.catalog.is_unchanged(table, entry):
                raise
            raise CatalogLeaseError(
                "HBase refused an increment: the row may have moved to another table meanwhile",
                table=table,
                row=increment.row,
                fix="increment again",
            ) from error
        if not bound.schema.is_foreign and not self.catalog.is_unchanged(table, entry):
            own = bound.guarded or guarded_table(bound.schema)
            yield from self.moves.confirm(own, increment, entry, self.guard_context)
        return values

    def _last_entry(self, table: str) -> CatalogEntry | None:
        read = self.catalog.last_read(table)
        return None if read is None else read.entry

    def change(
        self, bound: BoundModel, change: RowChange, history: History | None = None
    ) -> Protocol[WriteOutcome]:
        """Change one guarded row; renew the catalog lease if needed.

        Args:
            bound: The bound model of the row.
            change: The change of the row.
            history: The record of the write, to which each attempt is added; None for a new record.

        Raises:
            SchemaError: The model's indexes differ from those in the catalog, or the model
                contradicts the record of its table.
            HBaseORMError: As for `write_row`.
        """
        if bound.guarded is None:
            raise AssertionError(bound)
        # The tables of periods have guards only while rows move to them, under one entry.
        table, history = bound.declared_table, history or History()
        for renewals_left in reversed(range(LEASE_RENEWALS)):
            entry = self.catalog.leases.entry(table)
            if entry is None:
                yield from usable_model(bound, self.catalog, self.features)
                entry = yield from self.catalog.renew_lease(table, change.row)
            context = self.context_under(entry.epoch)
            try:
                if entry.move is not None:
                    return (yield from self.moves.change(bound, entry, change, context, history))
                target = maintained_table(bound, entry)
                return (yield from write_row(target, change, context, history))
            except CatalogLeaseError:
                self.moves.forget(table)
                if not renewals_left:
                    raise
        raise AssertionError(change)  # the last renewal returned or raised

    def context_under(self, epoch: int) -> GuardContext:
        """Return a copy of `guard_context` that permits writes only under this catalog epoch."""
        context = self._contexts.get(epoch)
        if context is None:
            permit = self.catalog.leases.permit_under(epoch)
            context = self._contexts[epoch] = replace(self.guard_context, permit=permit)
        return context
