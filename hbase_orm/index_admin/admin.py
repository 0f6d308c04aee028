"""The methods of an engine for indexes: build, drop, list, verify and repair."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime
from typing import Literal

from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.binding.runtime import Runtime
from hbase_orm.binding.table_holds.exclusive_tables import ExclusiveUse
from hbase_orm.binding.url import EngineOptions
from hbase_orm.errors import ConfigurationError, RecordError, SchemaDriftError
from hbase_orm.index.catalog import catalog
from hbase_orm.index.catalog.entry import (
    VERSION_COLUMN,
    CatalogIndex,
    IndexState,
)
from hbase_orm.index.catalog.lease import GATEWAY_TIMEOUT_S
from hbase_orm.index.catalog.refused_writes import refuse_moving
from hbase_orm.index.entries.index_entries import base_key_of
from hbase_orm.index.upkeep.compare import FOREVER_MS, TimeSpan
from hbase_orm.index.upkeep.repair import MIN_AGE_MS, RepairCounts
from hbase_orm.index_admin.build import BuildProgress, IndexBuild, OnProgress
from hbase_orm.index_admin.drop import drop_tables, stop_using
from hbase_orm.index_admin.index_arguments import (
    declared_name,
    guarded_index,
    index_name,
    refuse_other_declaration,
    refuse_repair,
    sources_of,
    time_ms,
)
from hbase_orm.index_admin.lease import lease_on
from hbase_orm.index_admin.reindex import RowReindexer
from hbase_orm.index_admin.status import IndexStatus, status_of
from hbase_orm.index_admin.verify import (
    IndexVerify,
    Source,
    Verification,
    in_table,
    repair_entries,
)
from hbase_orm.model import Model
from hbase_orm.ops import Protocol, RenewTimeLimit, ask
from hbase_orm.ops.waits import OnWait
from hbase_orm.schema import Index
from hbase_orm.writing.options import MAX_TIMESTAMP_MS, check_number, check_pace


def _silent(_: object) -> None:
    """Do nothing: the default progress function."""


class IndexAdmin(ABC):
    """The methods of an engine that administrate indexes."""

    options: EngineOptions
    _runtime: Runtime

    @abstractmethod
    def _bound_of(self, model: type[Model]) -> BoundModel:
        """Return the bound model of `model` in this engine."""

    @abstractmethod
    def _usable(self, model: type[Model]) -> Protocol[BoundModel]:
        """Compare a model with the record of its table; return the model to use."""

    @abstractmethod
    def _used(self, model: type[Model]) -> BoundModel:
        """Compare a model with the record of its table; return the model to use.

        Raises:
            SchemaDriftError: The model contradicts the record.
        """

    def indexes(self, model: type[Model]) -> dict[str, IndexStatus]:
        """Return, by index name, the status of each index in the model or in the catalog.

        The catalog describes indexes by the names of fields that the record of the table has, so
        the model is compared with the record first. A model that contradicts it is described as it
        is declared.
        """
        try:
            bound = self._used(model)
        except (SchemaDriftError, RecordError):
            bound = self._bound_of(model)
        known = self._catalogued(bound)
        declared = {index.name: index.table for index in bound.schema.indexes}
        names = dict.fromkeys([*declared, *(name for name in known if name != VERSION_COLUMN)])
        return {name: status_of(bound, name, known.get(name)) for name in names}

    def build_index(
        self,
        model: type[Model],
        index: Index | str,
        /,
        *,
        rebuild: bool = False,
        exclusive: bool = False,
        rows_per_second: float | None = None,
        gateway_timeout_s: float = GATEWAY_TIMEOUT_S,
        on_progress: OnProgress = _silent,
    ) -> IndexStatus:
        """Build an index while other processes write its table; afterwards queries use it.

        As soon as the build starts, every process that writes the table must maintain the index.
        Writes by models that do not declare it are refused. If the last build of the index was
        interrupted, this one continues it. Several builds at the same time are safe, but repeat
        work.

        A build waits until no process uses an old catalog entry. So it takes at least as long as
        the catalog's lease, `timeout_s` of the URL and `gateway_timeout_s` together.

        An index that is already readable is not built again, unless `rebuild` is True or its table
        is missing. An index with `maintained="manual"` is always built again.

        If no other program uses the table, `exclusive=True` leaves out the long wait. See the
        method `exclusive` for what the caller promises by it.

        Args:
            model: The model.
            index: The index or its name.
            rebuild: Build the index again even if it is readable. Queries do not use the index
                during the build. For a manual index, queries use the old entries.
            exclusive: Use the table exclusively during the build, and wait for the lease only.
            rows_per_second: Process at most this many rows per second on average; None: no limit.
            gateway_timeout_s: The time for which a gateway may repeat a request by itself: the
                value of its `hbase.client.operation.timeout`.
            on_progress: A function that is called after each round of some hundred rows, and during
                waits.

        Raises:
            ConfigurationError: The model does not declare the index, or a number is out of range.
            CatalogLeaseError: The catalog has no entry for the table: call `create_tables`.
            ConflictError: The index is being dropped, or the table is being loaded.
            SchemaError: The index exists with another declaration: drop it first.
            TableHeldError: Another program uses the table exclusively.
            UniqueViolationError: Two rows have the same values of a unique index.
        """
        bound = self._used(model)
        name = declared_name(bound, index)
        check_pace(rows_per_second, gateway_timeout_s)
        is_settled = self._is_memory or exclusive
        settle_s = self._runtime.lease_s + self.options.timeout_s + gateway_timeout_s
        build = IndexBuild(
            bound,
            name,
            self._runtime.writer,
            parallel=self._runtime.parallel,
            settle_s=0.0 if is_settled else settle_s,
            rows_per_second=rows_per_second,
            on_progress=on_progress,
        )
        purpose = f"build of index {name}"
        use = self._exclusively(
            bound, purpose, lambda left_s: on_progress(BuildProgress("wait", 0, 0.0, left_s))
        )
        with use if exclusive else nullcontext():
            self._runtime.run(build.run(rebuild=rebuild))
        return self.indexes(model)[name]

    def exclusive(
        self, model: type[Model], /, *, on_wait: OnWait = _silent
    ) -> AbstractContextManager[None]:
        """Use a model's table exclusively in a with block: all other programs may only read it.

        At the beginning of the block, the engine records its use of the table in the catalog. The
        writes of another program raise TableHeldError once the program has read the catalog again.
        The engine waits until that is so for all programs, which takes the lease of the URL. In the
        block, the sessions of this engine may write the table, in all threads. Builds and changes
        of tables in the block need not wait for gateways.

        The caller makes two promises. No other program has written the table for as long as a
        gateway may repeat a request (20 minutes by default). And no other program begins to write
        it before the block begins. The library cannot check that; see docs/index-life-cycle.md.

        If a program was killed while it used the table exclusively, this engine takes the table
        over, after another lease. Blocks of the same engine may be nested.

        Args:
            model: The model.
            on_wait: A function that is called about once a second during the waits, with the
                seconds that are left of them.

        Raises:
            TableHeldError: Another running program uses the table exclusively. Or, at the end of
                the block, another program has taken the table over from this one, because it was
                suspended or could not reach the catalog for a lease.
            ConflictError: The table is being loaded.
        """
        return self._exclusively(self._used(model), "exclusive use", on_wait)

    def drop_index(
        self, model: type[Model], index: Index | str, /, *, on_wait: OnWait = _silent
    ) -> list[str]:
        """Drop an index with its tables, and cancel its build; return the names of the tables.

        First queries stop using the index, then writes stop maintaining it. After each step the
        drop waits until no process uses an old catalog entry any more. To finish an interrupted
        drop, call the method again. The model need not declare the index any more. If the catalog
        does not have the index, nothing is dropped and the list is empty.

        Args:
            model: The model.
            index: The index or its name.
            on_wait: A function that is called about once a second during the waits, with the
                seconds that are left of all of them.

        Raises:
            ConfigurationError: Neither the model nor the catalog has an index of this name.
            ConflictError: Another program builds the index at the same time.
            TableHeldError: Another program uses the table exclusively.
            SchemaError: The table was created for rows with guards and this engine has no Thrift2
                gateway, or the reverse.
        """
        bound = self._bound_of(model)
        name = index_name(bound, index)
        known = self._catalogued(bound).get(name)
        if known is None:
            name = declared_name(bound, index)
            return []
        table, runtime = bound.schema.table, self._runtime
        is_lww = None if bound.guarded is None else bound.guarded.is_lww
        wait_s = 0.0 if self._is_memory else runtime.lease_s + self.options.timeout_s
        runtime.run(runtime.catalog.refuse_held(table))
        if known.state is not IndexState.ABSENT or known.build:
            runtime.run(
                stop_using(
                    table,
                    name,
                    known,
                    is_lww=is_lww,
                    wait_s=wait_s,
                    on_change=runtime.catalog.forget,
                    on_wait=on_wait,
                )
            )
        runtime.clean_up.finish()
        dropped = runtime.run(drop_tables(table, name))
        runtime.catalog.forget(table)
        return dropped

    def verify_index(
        self,
        model: type[Model],
        index: Index | str,
        /,
        *,
        source: Literal["data", "index", "both"] = "both",
        since: datetime | None = None,
        until: datetime | None = None,
        repair: bool = False,
        min_age_ms: int = MIN_AGE_MS,
        on_progress: Callable[[int], None] = _silent,
    ) -> Verification:
        """Compare an index with its rows; safe while other programs write.

        Args:
            model: The model.
            index: The index or its name.
            source: "data" checks the entries of each row, "index" checks the row of each entry,
                "both" does one after the other.
            since: Compare only rows and entries that were written at this time or later.
            until: Compare only rows and entries that were written before this time.
            repair: Repair the differences: put missing or wrong entries, delete entries that rows
                do not have, and give guards to rows that other programs wrote. Rows that cannot be
                repaired are listed in `Verification.unrepaired`. Missing entries of a manual index
                are written only by builds.
            min_age_ms: Do not fence rows for entries younger than this: a write may be in progress.
            on_progress: A function that is called with the number of entries compared so far.

        Raises:
            ConfigurationError: The index is not declared or not built, an argument is out of range,
                or a time has no time zone.
            TableNotFoundError: The index has no table: build it.
            ConflictError: The rows of the table are being moved.
            SchemaError: The catalog has another declaration of the index. Or the table was created
                for rows with guards and this engine has no Thrift2 gateway, or the reverse.
        """
        span = TimeSpan(time_ms(since, 0), time_ms(until, FOREVER_MS))
        sources = sources_of(source)
        least_age_ms = min_age_ms if repair else None
        return self._runtime.run(
            self._verification(model, index, sources, span, least_age_ms, on_progress=on_progress)
        )

    def repair_indexes(
        self, model: type[Model], *, min_age_ms: int = MIN_AGE_MS
    ) -> dict[str, RepairCounts]:
        """Delete stale index entries and verify unverified ones; return the counts by index.

        It is safe while other programs read and write, and safe to repeat. Only one page of entries
        is held in memory. Indexes without a table are skipped.

        Args:
            model: The model.
            min_age_ms: Do not fence rows for entries younger than this: a write may be in progress.

        Raises:
            SchemaError: The catalog has other indexes for the table.
        """
        bound = self._used(model)
        check_number("min_age_ms", min_age_ms, -MAX_TIMESTAMP_MS, MAX_TIMESTAMP_MS)
        if bound.guarded is None:
            return {}
        refuse_repair(bound, self._runtime.run(catalog.read_entry(bound.schema.table)))
        base_keys = {index.name: base_key_of(index) for index in bound.schema.indexes}
        lease = lease_on(bound, self._runtime.writer)
        return self._runtime.run(repair_entries(lease, base_keys, min_age_ms))

    # --- the rest ---------------------------------------------------------------------------------

    @property
    def _is_memory(self) -> bool:
        """Whether the engine is in memory: no other process exists, and no request is under way."""
        return self.options.scheme == "memory"

    def _exclusively(self, bound: BoundModel, purpose: str, on_wait: OnWait) -> ExclusiveUse:
        wait_s = 0.0 if self._is_memory else self._runtime.lease_s
        tables = self._runtime.exclusive_tables
        return tables.use(bound.declared_table, purpose, wait_s=wait_s, on_wait=on_wait)

    def _verification(
        self,
        model: type[Model],
        index: Index | str,
        sources: Sequence[Source],
        span: TimeSpan,
        min_age_ms: int | None,
        *,
        on_progress: Callable[[int], None] = _silent,
    ) -> Protocol[Verification]:
        if min_age_ms is not None:
            check_number("min_age_ms", min_age_ms, -MAX_TIMESTAMP_MS, MAX_TIMESTAMP_MS)
        bound = yield from self._usable(model)
        table, target = guarded_index(bound, declared_name(bound, index))
        entry = yield from catalog.read_entry(bound.schema.table)
        refuse_moving(bound.schema.table, entry)
        if min_age_ms is not None:
            refuse_repair(bound, entry)
        known = None if entry is None else entry.indexes.get(target.name)
        if (
            entry is None
            or known is None
            or known.state in {IndexState.ABSENT, IndexState.DROPPING}
        ):
            raise ConfigurationError(
                "the index is not built",
                model=bound.schema.model_name,
                index=target.name,
                state=IndexState.ABSENT.value if known is None else known.state.value,
                fix="build it: engine.build_index(model, index), or 'hbase-orm index build'",
            )
        refuse_other_declaration(bound, target.name, known)
        catalog.refuse_other_protocol(
            bound.schema.table, entry, is_lww=table.is_lww, model=bound.schema.model_name
        )
        schema = next(each for each in bound.schema.indexes if each.name == target.name)
        verify = IndexVerify(
            table,
            in_table(target, known.table),
            base_key_of(schema),
            RowReindexer(lease_on(bound, self._runtime.writer)),
            self._runtime.guard_context,
            parallel=self._runtime.parallel,
            span=span,
            min_age_ms=min_age_ms,
            on_progress=on_progress,
        )
        yield from ask(RenewTimeLimit())
        return (yield from verify.run(sources))

    def _catalogued(self, bound: BoundModel) -> dict[str, CatalogIndex]:
        """Read the catalog; return its entry of each index of the model's table, by index name."""
        entry = self._runtime.run(catalog.read_entry(bound.schema.table))
        return {} if entry is None else entry.known_indexes
