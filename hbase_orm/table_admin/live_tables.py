"""The methods of an engine for live tables: list, describe, truncate, adopt and drop."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from datetime import datetime

from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.binding.bound_tables import checked_model
from hbase_orm.binding.runtime import Runtime
from hbase_orm.binding.table_creation import model_tables as tables
from hbase_orm.binding.url import EngineOptions
from hbase_orm.errors import FeatureMissingError
from hbase_orm.gateway.base import Feature
from hbase_orm.index_admin.admin import GATEWAY_TIMEOUT_S
from hbase_orm.model import Model
from hbase_orm.model.declare.placement import base_of
from hbase_orm.ops import Protocol, RenewTimeLimit, ask
from hbase_orm.record.store import delete_record
from hbase_orm.table_admin.truncation import truncate
from hbase_orm.writing.options import check_pace

Periods = tuple[datetime, datetime]


def _silent(_: object) -> None:
    """Do nothing: the default progress function."""


class LiveTables(ABC):
    """The methods of an engine that work on existing tables."""

    options: EngineOptions
    _runtime: Runtime

    @abstractmethod
    def finish_clean_up(self) -> None:
        """Delete the stale index entries whose deletion was deferred."""

    @abstractmethod
    def _declared_of(self, model: type[Model]) -> BoundModel:
        """Return a model as it is declared, whatever the record of its table says."""

    def drop_tables(self, *models: type[Model], periods: Periods | None = None) -> list[str]:
        """Drop the models' tables with all their rows; return the names of the dropped tables.

        For a model with a table for each period, the tables of all periods are dropped, or only
        those of `periods`. The record of such tables stays until the last of them is dropped.
        Dictionaries are kept, because other tables may hold their numbers.

        Args:
            models: The models.
            periods: The first time (included) and the last (excluded). Every model must then have
                a table for each period. None drops the tables of all periods.

        Raises:
            ConfigurationError: `periods` is not two times in ascending order, or a model has only
                one table; nothing was dropped.
        """
        self.finish_clean_up()  # its deletes must not reach later tables of the same names
        return self._runtime.run(self._removal(models, periods))

    def truncate_tables(
        self,
        *models: type[Model],
        periods: Periods | None = None,
        gateway_timeout_s: float = GATEWAY_TIMEOUT_S,
        on_wait: Callable[[float], None] = _silent,
    ) -> list[str]:
        """Delete all rows of the models' tables; return the names of the emptied tables.

        Splits, options, attributes and the record of a table stay. The tables are disabled for some
        seconds, so that programs that read or write them then get errors.

        A table with indexes cannot be emptied while other programs write it. So its writes are
        refused (`CatalogLeaseError`), and no query uses its indexes, until it is empty. Before
        that, the method waits until no program uses an old catalog entry: the catalog's lease,
        `timeout_s` of the URL and `gateway_timeout_s` together. The indexes get new tables with the
        options and splits of the present ones. If the method is interrupted, call it again.

        Args:
            models: The models. All models of their tables lose their rows.
            periods: The first time (included) and the last (excluded). Every model must then have
                a table for each period. None truncates the tables of all periods.
            gateway_timeout_s: The time for which a gateway may repeat a request by itself: the
                value of its `hbase.client.operation.timeout`. With 0 the wait is shorter; a write
                whose connection was cut must then not be under way.
            on_wait: A function that is called about once a second during the wait, with the seconds
                that are left.

        Raises:
            FeatureMissingError: The engine has no Thrift2 gateway; nothing was sent.
            ConfigurationError: An argument is wrong, or a model has only one table although
                `periods` is given.
            TableNotFoundError: A table does not exist; nothing was changed.
            ConflictError: A table is being loaded; nothing was changed. Or another program
                truncated or dropped a table at the same time.
            SchemaError: The rows of a table with indexes have no guards, or an index that the model
                does not declare has no table; nothing was changed.
        """
        check_pace(None, gateway_timeout_s)
        if Feature.SCHEMA not in self._runtime.features:
            raise FeatureMissingError(
                "only Thrift2 gateways truncate tables",
                models=[checked_model(model).__name__ for model in models],
                fix="add thrift2=host:9091 to the URL",
            )
        self.finish_clean_up()
        settle_s = self._runtime.lease_s + self.options.timeout_s + gateway_timeout_s
        # In memory one process does everything, and nothing acts on an older catalog.
        is_memory = self.options.scheme == "memory"
        return self._runtime.run(
            self._truncation(models, periods, 0.0 if is_memory else settle_s, on_wait)
        )

    # --- the rest ---------------------------------------------------------------------------------

    def _removal(
        self, models: Iterable[type[Model]], periods: Periods | None
    ) -> Protocol[list[str]]:
        """Drop the tables of models, and return the names of the dropped tables."""
        chosen: list[tuple[BoundModel, list[str]]] = []
        for model in models:
            bound = self._shared_declaration_of(model)
            chosen.append((bound, (yield from bound.tables.existing(periods))))
        dropped: list[str] = []
        for bound, names in chosen:
            for name in names:
                yield from ask(RenewTimeLimit())
                dropped += yield from tables.drop(bound.in_table(name))
                self._runtime.catalog.forget(name)
            yield from ask(RenewTimeLimit())
            if periods is None or not (yield from bound.tables.existing()):
                yield from delete_record(bound.declared_table)
                self._runtime.catalog.forget(bound.declared_table)
        return dropped

    def _truncation(
        self,
        models: Iterable[type[Model]],
        periods: Periods | None,
        settle_s: float,
        on_wait: Callable[[float], None],
    ) -> Protocol[list[str]]:
        by_table: dict[str, BoundModel] = {}
        for model in models:
            bound = self._shared_declaration_of(model)
            for name in (yield from bound.tables.existing(periods)):
                known = by_table.get(name)
                if known is None or len(bound.indexes) > len(known.indexes):
                    by_table[name] = bound.in_table(name)
        return (
            yield from truncate(
                list(by_table.values()),
                settle_s=settle_s,
                on_wait=on_wait,
                on_change=self._runtime.catalog.forget,
            )
        )

    def _shared_declaration_of(self, model: type[Model]) -> BoundModel:
        """Return, as it is declared, the class that declares the model's table."""
        return self._declared_of(base_of(checked_model(model)) or model)
