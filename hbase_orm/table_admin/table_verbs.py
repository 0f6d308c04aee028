"""The methods of an engine for existing tables: compare them with models, and alter them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from datetime import datetime

from hbase_orm.binding.addressing.tables import refuse_needless_periods
from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.binding.bound_tables import checked_model
from hbase_orm.binding.runtime import Runtime
from hbase_orm.errors import FeatureMissingError
from hbase_orm.gateway.base import Feature
from hbase_orm.model import Model
from hbase_orm.model.declare.placement import base_of
from hbase_orm.ops import Protocol
from hbase_orm.table_admin.alteration import AlterationProgress, OnAlteration, alter
from hbase_orm.table_admin.changes import TableChange
from hbase_orm.table_admin.compare import ComparedTable, TableComparison
from hbase_orm.table_admin.declared_tables import declared_tables
from hbase_orm.table_admin.plans import planned_changes, refuse_losses
from hbase_orm.table_admin.table_check import TableCheck
from hbase_orm.table_admin.tables_in_use import refuse_tables_in_use

Periods = tuple[datetime, datetime]


def _silent(_: AlterationProgress) -> None:
    """Do nothing: the default progress function."""


class TableAdmin(ABC):
    """The methods of an engine that compare and alter existing tables."""

    _runtime: Runtime

    @abstractmethod
    def _declared_of(self, model: type[Model]) -> BoundModel:
        """Return a model as it is declared, without the changes that the table's record causes."""

    def check_tables(
        self, *models: type[Model], periods: Periods | None = None
    ) -> list[TableCheck]:
        """Compare tables with their models; nothing is changed.

        Families with every option, options of the table, index tables, the record in the catalog
        and the split keys are compared. Models of one table are compared together. Families,
        attributes and settings that no model declares are no difference: other programs may have
        added them. Missing split keys are only a note, because HBase splits tables by itself.

        With Thrift1 only, the options that Thrift1 does not show are undecided.

        Args:
            models: The models.
            periods: The first time (included) and the last (excluded) of the periods whose tables
                must exist, for models with a table for each period. By default all existing tables
                are compared.

        Raises:
            SchemaError: Two models of one table declare it differently; nothing was sent.
            ConfigurationError: `periods` is wrong, or no model needs it.
        """
        compared = self._runtime.run(self._compared(models, periods))
        return [check for comparison in compared for check in comparison.checks]

    def table_changes(
        self, *models: type[Model], periods: Periods | None = None
    ) -> list[TableChange]:
        """Return the changes that `alter_tables` would make; nothing is changed.

        Raises:
            SchemaError: As for `alter_tables`.
            TableNotFoundError: A table does not exist.
        """
        return planned_changes(self._runtime.run(self._compared(models, periods)))

    def alter_tables(
        self,
        *models: type[Model],
        periods: Periods | None = None,
        allow_data_loss: bool = False,
        on_progress: OnAlteration = _silent,
    ) -> list[TableChange]:
        """Change tables so that they are as their models declare; return the changes.

        Missing families are added, and options of families and tables are changed, while other
        programs use the tables. Only what differs is changed. Nothing is ever dropped. The method
        returns when all regions use the new options. An alteration that was interrupted is finished
        by the next one.

        Missing tables, missing index tables and split keys are left as they are.

        Args:
            models: The models.
            periods: As for `check_tables`.
            allow_data_loss: Whether to make changes after which data may be lost, such as a shorter
                TTL, fewer versions, deleted cells that are no longer kept, or a weaker durability.
            on_progress: A function that is called before each step.

        Raises:
            SchemaError: A model contradicts its table (`SchemaDriftError`), or two models of one
                table declare it differently, or the record of a table cannot be read
                (`RecordError`); nothing was changed.
            TableNotFoundError: A table does not exist; nothing was changed.
            DataLossError: A change would lose data; nothing was changed.
            FeatureMissingError: The engine has no Thrift2 gateway; nothing was changed.
            TableHeldError: Another program uses a table exclusively; nothing was changed. The check
                comes before the first change: a use that begins later is not noticed.
            GatewayError: HBase refused a change. The error names the changes that were `made` and
                those that are `left`.
        """
        return self._runtime.run(
            self._alteration(models, periods, on_progress, allow_data_loss=allow_data_loss)
        )

    def _alteration(
        self,
        models: Sequence[type[Model]],
        periods: Periods | None,
        on_progress: OnAlteration,
        *,
        allow_data_loss: bool,
    ) -> Protocol[list[TableChange]]:
        comparisons = yield from self._compared(models, periods)
        changes = planned_changes(comparisons)
        if not allow_data_loss:
            refuse_losses(changes)
        if changes and Feature.SCHEMA not in self._runtime.features:
            raise FeatureMissingError(
                "only Thrift2 gateways alter tables",
                changes=list(map(str, changes)),
                fix="add thrift2=host:9091 to the URL",
            )
        if changes:
            held = [c.bound for each in comparisons for c in each.declared.creations]
            yield from refuse_tables_in_use(held, self._runtime.catalog.own_holds)
        try:
            yield from alter(comparisons, changes, on_progress)
        finally:
            for comparison in comparisons:
                self._runtime.catalog.forget(comparison.declared.table)
        return changes

    def _compared(
        self, models: Sequence[type[Model]], periods: Periods | None
    ) -> Protocol[list[ComparedTable]]:
        bounds = [self._declared_of(base_of(checked_model(model)) or model) for model in models]
        tables = declared_tables(bounds)
        names = [model.__name__ for model in models]
        refuse_needless_periods(periods, [bound.tables for bound in bounds], names)
        return (yield from TableComparison(self._runtime.features).run(tables, periods))
