"""The methods of an engine for live tables: list, describe, truncate, adopt and drop."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from datetime import datetime
from functools import partial
from typing import Final

from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.binding.bound_tables import checked_model
from hbase_orm.binding.runtime import Runtime
from hbase_orm.binding.table_creation.existing_tables import exists
from hbase_orm.binding.table_creation.shared_tables import creations
from hbase_orm.binding.table_creation.table_removal import delete_last_record, drop
from hbase_orm.binding.url import EngineOptions
from hbase_orm.errors import FeatureMissingError, TableNotFoundError
from hbase_orm.gateway.base import Feature
from hbase_orm.index.catalog.catalog import read_cells
from hbase_orm.index.catalog.lease import GATEWAY_TIMEOUT_S
from hbase_orm.model import Model
from hbase_orm.model.declare.placement import base_of
from hbase_orm.ops import Protocol, RenewTimeLimit, ask
from hbase_orm.table_admin.adoption import Adoption, AdoptionPlan, adopt, plan_adoption
from hbase_orm.table_admin.listing import ListedTable, live_tables
from hbase_orm.table_admin.tables_in_use import refuse_tables_in_use
from hbase_orm.table_admin.truncation import truncate
from hbase_orm.writing.options import check_number, check_pace

Periods = tuple[datetime, datetime]

SAMPLED_ROWS: Final = 1000
"""How many rows of a table are decoded before its record is written."""

MAX_SAMPLED_ROWS: Final = 1_000_000


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
        """Return a model as it is declared, without the changes that the table's record causes."""

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
            TableHeldError: Another program uses a table exclusively; nothing was dropped. The check
                comes before the first change: a use that begins later is not noticed.
            ConflictError: Another program has created or truncated a table since the drop began;
                nothing of this table was dropped. Only right before a table is dropped, it cannot
                be noticed that another program drops it and creates it again.
        """
        self.finish_clean_up()  # its deletes must not reach later tables of the same names
        return self._runtime.run(self._removal(models, periods))

    def truncate_tables(
        self,
        *models: type[Model],
        periods: Periods | None = None,
        exclusive: bool = False,
        gateway_timeout_s: float = GATEWAY_TIMEOUT_S,
        on_wait: Callable[[float], None] = _silent,
    ) -> list[str]:
        """Delete all rows of the models' tables; return the names of the emptied tables.

        Splits, options, attributes and the record of a table stay. The tables are disabled for some
        seconds, so that programs that read or write them then get errors.

        A table with indexes cannot be emptied while other programs write it. So first the catalog
        refuses all writes of the table (`CatalogLeaseError`), and queries stop using its indexes.
        Then the method waits until no program uses an old catalog entry: the catalog's lease,
        `timeout_s` of the URL and `gateway_timeout_s` together. Only then are the rows deleted. The
        indexes get new tables with the options and splits of the present ones. If the method is
        interrupted, call it again. Within `exclusive` of the same engine, it waits for the lease.

        Args:
            models: The models. All models of their tables lose their rows.
            periods: The first time (included) and the last (excluded). Every model must then have
                a table for each period. None truncates the tables of all periods.
            exclusive: Wait for the lease only. The caller promises that no other program has
                written the tables for `gateway_timeout_s`, as for the method `exclusive`.
            gateway_timeout_s: The time for which a gateway may repeat a request by itself: the
                value of its `hbase.client.operation.timeout`.
            on_wait: A function that is called about once a second during the wait, with the seconds
                that are left.

        Raises:
            FeatureMissingError: The engine has no Thrift2 gateway; nothing was sent.
            ConfigurationError: An argument is wrong, or a model has only one table although
                `periods` is given.
            TableNotFoundError: A table does not exist; nothing was changed.
            ConflictError: A table is being loaded; nothing was changed. Or another program
                truncated or dropped a table at the same time.
            TableHeldError: Another program uses a table exclusively; nothing was changed. For a
                table without indexes, a use that begins after the check is not noticed.
            SchemaError: The rows of a table with indexes have no guards, or an index that the model
                does not declare has no table; or the record of a table cannot be read
                (`RecordError`). Nothing was changed.
        """
        check_pace(None, gateway_timeout_s)
        if Feature.SCHEMA not in self._runtime.features:
            raise FeatureMissingError(
                "only Thrift2 gateways truncate tables",
                models=[checked_model(model).__name__ for model in models],
                fix="add thrift2=host:9091 to the URL",
            )
        self.finish_clean_up()
        # In memory one process does everything, and nothing acts on an older catalog.
        is_memory = self.options.scheme == "memory"
        lease_s = 0.0 if is_memory else self._runtime.lease_s
        gateway_s = 0.0 if is_memory or exclusive else self.options.timeout_s + gateway_timeout_s
        return self._runtime.run(
            self._truncation(models, periods, (lease_s, lease_s + gateway_s), on_wait)
        )

    def tables(self) -> list[ListedTable]:
        """Return all tables that exist in HBase, with what the catalog knows of each.

        Two requests are sent for each table. With Thrift1 alone, the attributes of tables and most
        options of families are not known.
        """
        return self._runtime.run(live_tables(self._runtime.features))

    def describe_tables(self, *named: type[Model] | str) -> list[ListedTable]:
        """Return the existing tables with these names, and the existing tables of these models.

        Args:
            named: Names of tables as HBase lists them, and models. For a model with a table for
                each period, all existing tables are returned.

        Raises:
            TableNotFoundError: There is no table of this name, or none of the model.
        """
        return self._runtime.run(self._description(named))

    def adopt_tables(
        self, *models: type[Model], rows: int = SAMPLED_ROWS, dry_run: bool = False
    ) -> list[Adoption]:
        """Write records for tables that other programs made; return the records and the samples.

        A record is written for a table without one, and for a table whose record is damaged or
        belongs to an earlier table of the same name. Before that, rows from the start of each
        region are decoded with the models. Any other record is not changed.

        Args:
            models: The models. All models of a table with several kinds of rows must be given.
            rows: About how many rows of each table are read.
            dry_run: Read only, and write nothing.

        Raises:
            SchemaDriftError: Rows do not decode as the models declare: `differences` describes the
                first of these rows, `undecodable` is their number, and `sampled` is the number of
                rows that were read. Or the table has a record that contradicts a model. No record
                was written.
            SchemaError: Two models of one table contradict each other; or the table lacks a family
                of a model or the family for guards, is declared as foreign, or belongs to a
                dictionary or to sequences. No record was written.
            TableNotFoundError: A table does not exist; no record was written.
            RecordError: A newer version of the library wrote the record.
            ConflictError: Another program has written the record meanwhile, or has dropped the
                table or made it again.
            TableHeldError: Another program uses a table exclusively; no record was written. A use
                that begins after the check is not noticed.
            ConfigurationError: `rows` is not a number of rows.
        """
        check_number("rows", rows, 1, MAX_SAMPLED_ROWS)
        return self._runtime.run(self._adoption(models, rows, dry_run=dry_run))

    # --- the rest ---------------------------------------------------------------------------------

    def _removal(
        self, models: Iterable[type[Model]], periods: Periods | None
    ) -> Protocol[list[str]]:
        """Drop the tables of models, and return the names of the dropped tables."""
        chosen: list[tuple[BoundModel, list[str]]] = []
        for model in models:
            bound = self._shared_declaration_of(model)
            chosen.append((bound, (yield from bound.tables.existing(periods))))
        yield from self._refuse_tables_in_use(bound for bound, _ in chosen)
        dropped: list[str] = []
        for bound, names in chosen:
            pattern = bound.declared_table
            record = b"" if bound.schema.is_foreign else (yield from read_cells(pattern))[1]
            for name in names:
                yield from ask(RenewTimeLimit())
                dropped += yield from drop(bound.in_table(name))
                self._runtime.catalog.forget(name)
            if not bound.schema.is_foreign:
                yield from ask(RenewTimeLimit())
                yield from delete_last_record(
                    pattern, record, partial(_existing, bound), is_only=bound.tables.is_only
                )
            self._runtime.catalog.forget(pattern)
        return dropped

    def _refuse_tables_in_use(self, bounds: Iterable[BoundModel]) -> Protocol[None]:
        return refuse_tables_in_use(bounds, self._runtime.catalog.own_holds)

    def _truncation(
        self,
        models: Iterable[type[Model]],
        periods: Periods | None,
        waits_s: tuple[float, float],
        on_wait: Callable[[float], None],
    ) -> Protocol[list[str]]:
        lease_s, settle_s = waits_s
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
                self._runtime.features,
                own_holds=self._runtime.catalog.own_holds,
                settle_s=settle_s,
                lease_s=lease_s,
                on_wait=on_wait,
                on_change=self._runtime.catalog.forget,
            )
        )

    def _shared_declaration_of(self, model: type[Model]) -> BoundModel:
        """Return the class that declares the table as a bound model, as the class is declared."""
        return self._declared_of(base_of(checked_model(model)) or model)

    def _description(self, named: Iterable[type[Model] | str]) -> Protocol[list[ListedTable]]:
        names: dict[str, str] = {}
        for each in named:
            if isinstance(each, str):
                names[each] = each
                continue
            bound = self._shared_declaration_of(each)
            existing = yield from bound.tables.existing()
            names |= dict.fromkeys(existing or [bound.declared_table], bound.schema.model_name)
        listed = yield from live_tables(self._runtime.features, names)
        missing = names.keys() - {table.name for table in listed}
        if missing:
            raise TableNotFoundError(
                "the table does not exist",
                table=min(missing),
                named=names[min(missing)],
                fix="correct the name; 'hbase-orm tables list' shows all tables",
            )
        return listed

    def _adoption(
        self, models: Iterable[type[Model]], rows: int, *, dry_run: bool
    ) -> Protocol[list[Adoption]]:
        by_table: dict[str, dict[type[Model], BoundModel]] = {}
        for model in models:
            bound = self._shared_declaration_of(model)
            by_table.setdefault(bound.declared_table, {})[bound.model] = bound
        for bounds in by_table.values():
            creations(bounds.values())  # raises an error for models that contradict each other
        plans: list[AdoptionPlan] = []
        for table, bounds in by_table.items():
            plans.append(
                (
                    yield from plan_adoption(
                        table, list(bounds.values()), rows, self._runtime.features
                    )
                )
            )
        if not dry_run:
            held = (bound for bounds in by_table.values() for bound in bounds.values())
            yield from self._refuse_tables_in_use(held)
        for plan in plans if not dry_run else ():
            yield from adopt(plan)
            self._runtime.catalog.forget(plan.adoption.table)
        return [plan.adoption for plan in plans]


def _existing(bound: BoundModel) -> Protocol[list[str]]:
    names = yield from bound.tables.existing()
    is_missing = bound.tables.is_only and not (yield from exists(bound.declared_table))
    return [] if is_missing else names
