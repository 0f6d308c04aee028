"""The engine: it holds a process's connections to HBase, and creates sessions and tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from datetime import datetime
from types import TracebackType
from typing import Any, Never, Self

from hbase_orm.binding.addressing.tables import refuse_needless_periods
from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.binding.bound_tables import bind, checked_model
from hbase_orm.binding.dictionaries import Dictionaries, in_namespace
from hbase_orm.binding.recorded_models import usable_model
from hbase_orm.binding.runtime import Runtime
from hbase_orm.binding.table_creation import model_tables as tables
from hbase_orm.binding.table_creation.existing_tables import TableWarnings
from hbase_orm.binding.table_creation.model_dictionaries import refuse_lost_dictionaries
from hbase_orm.binding.table_creation.shared_tables import Creation, creations
from hbase_orm.binding.table_creation.table_records import (
    create_described,
    record_to_follow,
    write_record,
)
from hbase_orm.binding.url import EngineOptions, parse_url
from hbase_orm.binding.write_clock import wall_clock_ms
from hbase_orm.errors import ConfigurationError
from hbase_orm.gateway.base import Connections, Gateway
from hbase_orm.gateway.memory.shared_stores import memory_gateway
from hbase_orm.index.catalog import catalog
from hbase_orm.index.catalog.entry import TableState
from hbase_orm.index_admin.admin import IndexAdmin
from hbase_orm.model import Model
from hbase_orm.model.declare.placement import base_of, model_of_key
from hbase_orm.model.refusals import refuse_unnamed
from hbase_orm.numbering.sequence import DEFAULT_BLOCK, SEQUENCES_TABLE, Sequence
from hbase_orm.ops import ListRegions, Protocol, RegionRange, RenewTimeLimit, ask
from hbase_orm.reading.by_key import row_keys
from hbase_orm.record.declaration import TableRecord
from hbase_orm.schema import TableSchema
from hbase_orm.session.session import Session
from hbase_orm.table_admin.live_tables import LiveTables
from hbase_orm.table_admin.table_verbs import TableAdmin
from hbase_orm.table_admin.tables_in_use import refuse_creation_in_use, refuse_tables_in_use


class Engine(IndexAdmin, TableAdmin, LiveTables):
    """The connections to one HBase. Threads may share an engine, and forked processes may use it.

    Attributes:
        options: The options of the URL.
    """

    def __init__(
        self,
        gateway: Gateway,
        options: EngineOptions,
        connections: Connections | None = None,
        *,
        now_ms: Callable[[], int] = wall_clock_ms,
    ) -> None:
        """Create an engine that uses `gateway`; applications call `connect` instead.

        `now_ms` is the clock for timestamps that this client sets, in milliseconds since 1970.
        """
        self.options = options
        self._connections = connections
        self._runtime = Runtime(
            gateway,
            parallel=options.pool,
            fan_out=1 if options.scheme == "memory" else options.pool,  # memory answers at once
            timestamps=options.timestamps,
            repairs_on_read=options.repair_on_read == "on",
            defers_clean_up=options.clean_up == "deferred",
            on_corrupt=options.on_corrupt,
            lease_s=options.lease_s,
            timeout_s=0.0 if options.scheme == "memory" else options.timeout_s,
            now_ms=now_ms,
        )
        self._dictionaries = Dictionaries(
            self._runtime.catalog, self._runtime.features, options.namespace
        )
        self._bound: dict[type[Model], tuple[TableSchema, BoundModel]] = {}

    def __repr__(self) -> str:
        """Return the engine with its URL, without secrets, and the number of connections."""
        usage = f", {self._connections.usage}" if self._connections else ""
        return f"Engine({self.options.url!r}{usage})"

    def __enter__(self) -> Self:
        """Return the engine."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> None:
        """Close the engine."""
        self.close()

    @property
    def corrupt_rows(self) -> int:
        """How many corrupt rows the statements left out so far; see `Select.on_corrupt`."""
        return self._runtime.corrupt_rows.total

    def finish_clean_up(self) -> None:
        """Delete the stale index entries whose deletion was deferred, and wait for the answers.

        Only an engine with the URL option `clean_up=deferred` defers these deletes. With any other
        engine the method does nothing.
        """
        self._runtime.clean_up.finish()

    def close(self) -> None:
        """Send the waiting deletes of stale index entries, and close every connection."""
        self._runtime.close()

    def session(self) -> Session:
        """Return a new session."""
        return Session(self._runtime, self._bound_of, self._usable)

    def sequence(
        self, name: str, *, block: int = DEFAULT_BLOCK, loaders: int = 1, loader: int = 0
    ) -> Sequence:
        """Return a function that returns a new number at each call.

        The numbers are 1 or more, and no number is returned twice. The function suits
        `default_factory`. All processes that use the same name in the same namespace share the
        numbers. Each process reserves `block` numbers by one request. Numbers that it reserves but
        does not use are skipped for good. This method sends nothing. The first call of the function
        creates the table `hbase_orm_sequences` if it is missing.

        Args:
            name: The name of the sequence.
            block: How many numbers one request reserves: many for loads, few to keep the numbers
                low.
            loaders: How many loaders (processes that load data at the same time) share the
                sequence.
            loader: Which of the loaders this process is, counted from 0. The process gets only
                numbers with `number % loaders == loader`.

        Raises:
            ConfigurationError: The name cannot be a row key, or an argument is out of range.
        """
        return Sequence(
            self._runtime.run,
            in_namespace(SEQUENCES_TABLE, self.options.namespace),
            name,
            block=block,
            loaders=loaders,
            loader=loader,
        )

    def raw(self) -> AbstractContextManager[Any]:
        """Return a context manager of a happybase `Connection` with this engine's settings.

        Raises:
            ConfigurationError: The engine has no Thrift gateway.
        """
        if self._connections is None:
            raise ConfigurationError("the in-process gateway has no happybase connection")
        return self._connections.raw()

    def create_tables(
        self, *models: type[Model], periods: tuple[datetime, datetime] | None = None
    ) -> list[str]:
        """Create the missing tables of models; return the names of the created tables.

        Families get their declared options, and tables are pre-split, by the salt or as declared.
        Missing namespaces, index tables and dictionaries of substitutes are created too. An
        existing table is not changed. If several of the models have the same table, a new table
        gets the families of all of them.

        Args:
            models: The models.
            periods: For models with a table for each period: the first time, the last (excluded).

        Raises:
            SchemaError: Two models of one table declare different options of the table or of a
                family, or different codecs for one column; then nothing was sent. Or one of these
                is wrong with an existing table:

                - It belongs to a dictionary or to sequences, or has no family for guards.
                - The table of an index is missing, or has entries although the table is empty.
                - It has rows although the table of a dictionary is missing.
            TableHeldError: Another program uses one of the tables exclusively; nothing was created,
                unless that use began only then.
            SchemaDriftError: A model contradicts the record of its table, or would hide rows.
                Nothing was created, unless another program wrote the record only then.
            RecordError: A record is damaged, or a newer version wrote it.
            ConfigurationError: `periods` is missing, or given although no model needs it.
            FeatureMissingError: A missing table needs a Thrift2 gateway; nothing was created.
        """
        wanted = [bound for model in models for bound in self._tables_of(model, periods)]
        names = [model.__name__ for model in models]
        refuse_needless_periods(periods, [bound.tables for bound in wanted], names)
        return self._runtime.run(self._creation(models, creations(wanted)))

    def _creation(
        self, models: Iterable[type[Model]], wanted: Iterable[Creation]
    ) -> Protocol[list[str]]:
        """Create the missing tables of `wanted`, and return the names of the created tables."""
        for model in models:
            shared = self._shared_bound_of(model)
            if shared.keys.names is not None:
                yield from ask(RenewTimeLimit())
                existing = yield from shared.tables.existing()
                yield from ask(RenewTimeLimit())
                yield from refuse_lost_dictionaries(shared, existing)
        wanted = list(wanted)
        by_table: dict[str, list[BoundModel]] = {}
        for creation in wanted:
            if not creation.bound.schema.is_foreign:
                by_table.setdefault(creation.bound.declared_table, []).append(creation.bound)
        records, own_holds = dict[str, TableRecord](), self._runtime.catalog.own_holds
        for table, bounds in by_table.items():
            yield from ask(RenewTimeLimit())
            records[table] = yield from record_to_follow(bounds, self._runtime.features)
            yield from refuse_creation_in_use(bounds, own_holds)
        yield from tables.refuse_without_thrift2([w.bound for w in wanted], self._runtime.features)
        made, warnings = list[str](), TableWarnings()
        for creation in wanted:
            yield from ask(RenewTimeLimit())
            record = records.get(creation.bound.declared_table)
            new = yield from create_described(creation, record, warnings, own_holds)
            self._runtime.catalog.forget(creation.bound.schema.table)
            self._dictionaries.forget(new)
            made += new
        warnings.log()
        for table, bounds in by_table.items():
            yield from ask(RenewTimeLimit())
            self._runtime.catalog.forget(table)  # also if the record turns out to contradict
            yield from write_record(bounds, made, self._runtime.features, records[table].table_id)
            self._runtime.catalog.forget(table)
            yield from ask(RenewTimeLimit())
            yield from self._runtime.catalog.record(table)  # so that the first use sends nothing
        return made

    def _tables_of(
        self, model: type[Model], periods: tuple[datetime, datetime] | None
    ) -> list[BoundModel]:
        """Return a bound model for the model's only table, or for each table in `periods`.

        Raises:
            ConfigurationError: `periods` does not fit the model.
        """
        bound = self._declared_of(base_of(checked_model(model)) or model)
        starts = bound.tables.starts(periods)
        return [bound if start is None else bound.with_table_at(start) for start in starts]

    def _shared_bound_of(self, model: type[Model]) -> BoundModel:
        """Return the bound model of the class that declares the table.

        For a record type, this is its base class; for any other model, the model itself.
        """
        return self._bound_of(base_of(checked_model(model)) or model)

    def add_guard_family(self, model: type[Model]) -> None:
        """Add the family `_`, which holds the guards, to a model's existing table; safe to repeat.

        Raises:
            TableNotFoundError: The table does not exist.
            TableHeldError: Another program uses the table exclusively.
        """
        bound = self._bound_of(model)
        self._runtime.run(refuse_tables_in_use([bound], self._runtime.catalog.own_holds))
        self._runtime.run(tables.add_guard_family(bound))

    def regions(self, model: type[Model], *, at: datetime | None = None) -> list[RegionRange]:
        """Return the regions of a model's table in key order, each with its server.

        Args:
            model: The model.
            at: A time in the table's period; only for a model with a table for each period.

        Raises:
            TableNotFoundError: The table does not exist.
            ConfigurationError: `at` is missing.
        """
        bound = self._bound_of(model)
        bound = bound.with_table_of(bound.tables.values_at(at))
        return self._runtime.run(ask(ListRegions(bound.schema.table)))

    def row_keys(self, model: type[Model], /, *values: Never, **key: Any) -> tuple[bytes, ...]:
        """Return every row key that a row with these key fields can have.

        If the key has a random salt, there are several row keys. If the key stores a name as a
        number, and the name has no number yet, the result is empty. The only requests look up the
        numbers of names.

        Raises:
            RowKeyError: A key field is missing, unknown or does not fit.
        """
        refuse_unnamed("engine.row_keys", model, values)
        return self._runtime.run(row_keys(self._bound_of(model), key))

    def decode_key(
        self, model: type[Model], data: bytes, /, *, table: str | None = None
    ) -> Mapping[str, Any]:
        """Return the key fields that a row key contains; look up names that it holds as numbers.

        These look-ups are the only requests. `M.decode_key` sends nothing, and cannot return the
        names.

        Args:
            model: The model.
            data: The row key.
            table: The row's table. For a model with a table for each period, the table's name and
                the row key together contain the time.

        Raises:
            CorruptRowError: The bytes are not a row key of this model, or a dictionary has no name
                for a number.
            ConfigurationError: `table` is not a table of the model.
        """
        bound = self._bound_of(model_of_key(checked_model(model), data))
        if table is not None:
            start = bound.tables.start_of_table(in_namespace(table, self.options.namespace))
            bound = bound if start is None else bound.with_table_at(start)
        return self._runtime.run(bound.decode_row_key(data))

    def table_state(self, model: type[Model]) -> TableState | None:
        """Return the state of a model's table in the catalog; None if the catalog lacks the table.

        LOADING means that a load is running or was interrupted; run an interrupted load again.
        """
        table = self._bound_of(model).schema.table
        entry = self._runtime.run(catalog.read_entry(table))
        return None if entry is None else entry.state

    def _used(self, model: type[Model]) -> BoundModel:
        """Compare a model with the record of its table; return the model to use."""
        return self._runtime.run(self._usable(model))

    def _usable(self, model: type[Model]) -> Protocol[BoundModel]:
        """Compare a model with the record of its table; return the model to use."""
        bound = self._declared_of(model)
        return (yield from usable_model(bound, self._runtime.catalog, self._runtime.features))

    def _declared_of(self, model: type[Model]) -> BoundModel:
        """Return a model as it is declared, without the changes that the table's record causes."""
        self._bound_of(model)
        return self._bound[model][1]

    def _bound_of(self, model: type[Model]) -> BoundModel:
        """Return the model to use by the last comparison with its table's record; send nothing.

        Until there is such a comparison, this is the model as it is declared.
        """
        entry = self._bound.get(model) if isinstance(model, type) else None
        # A base's schema changes when a record type joins.
        if entry is not None and entry[0] is model.__schema__:
            return entry[1].as_compared
        options = self.options
        bound = bind(
            model,
            options.namespace,
            self._runtime.features,
            self._dictionaries,
            options.servers,
            on_drift=options.on_drift,
        )
        self._bound[model] = (bound.model.__schema__, bound)
        return bound


def runtime_of(engine: Engine) -> Runtime:
    """Return what runs an engine's protocols, for the packages that use engines."""
    return engine._runtime  # noqa: SLF001 - one library


def schema_in_use(engine: Engine, model: type[Model]) -> TableSchema:
    """Return a model's schema as an engine uses it: with its tables, and the indexes it may read.

    Raises:
        SchemaDriftError: The model contradicts the record of its table.
    """
    return engine._used(model).schema  # noqa: SLF001 - one library


def connect(url: str, /) -> Engine:
    """Return an engine for `hbase://host[:port][/namespace]?thrift2=host:port&…` or `memory://`.

    Checks that every gateway in the URL answers and speaks the expected Thrift interface.

    Raises:
        ConfigurationError: The URL is wrong, or a port belongs to the other Thrift interface.
        GatewayError: A gateway does not answer.
    """
    options = parse_url(url)
    if options.scheme == "memory":
        return Engine(memory_gateway(options.store), options)
    from hbase_orm.session.thrift_gateways import open_gateways  # noqa: PLC0415  # loads happybase

    gateway, connections = open_gateways(options)
    return Engine(gateway, options, connections)
