"""The verbs of an engine for indexes: build, drop, show, verify, repair."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.binding.runtime import Runtime
from hbase_orm.binding.url import EngineOptions
from hbase_orm.errors import ConfigurationError
from hbase_orm.index.catalog import catalog
from hbase_orm.index.catalog.entry import (
    VERSION_COLUMN,
    CatalogIndex,
    IndexState,
)
from hbase_orm.index.entries.index_entries import base_key_of
from hbase_orm.index.entries.targets import GuardedTable, IndexTarget
from hbase_orm.index.upkeep.compare import FOREVER_MS, TimeSpan
from hbase_orm.index.upkeep.repair import MIN_AGE_MS, RepairCounts
from hbase_orm.index_admin.build import IndexBuild, OnProgress, fraction_of
from hbase_orm.index_admin.drop import drop_tables, stop_using
from hbase_orm.index_admin.lease import lease_on
from hbase_orm.index_admin.reindex import RowReindexer
from hbase_orm.index_admin.verify import (
    BOTH,
    IndexVerify,
    Source,
    Verification,
    in_table,
    repair_entries,
)
from hbase_orm.model import Model
from hbase_orm.ops import Protocol, RenewTimeLimit, ask
from hbase_orm.schema import Index
from hbase_orm.writing.options import MAX_TIMESTAMP_MS, check_number, check_pace

GATEWAY_TIMEOUT_S: Final = 1200.0
"""How long a gateway repeats a request of its own accord: hbase.client.operation.timeout."""


def _silent(_: object) -> None:
    """Show no progress."""


@dataclass(frozen=True, slots=True)
class IndexStatus:
    """The catalog's state of an index.

    Attributes:
        name: Its name.
        state: Whether writes keep it and queries use it.
        table: Its table; empty while there is none.
        is_declared: Whether the model declares it, and so.
        is_manual: Whether builds alone write it.
        built: How much of a build is done, from 0 to 1; None while none is under way.
        epoch: The catalog's epoch from which on writers keep it.
    """

    name: str
    state: IndexState
    table: str
    is_declared: bool
    is_manual: bool = False
    built: float | None = None
    epoch: int = 0


class IndexAdmin(ABC):
    """The part of an engine that looks after indexes."""

    options: EngineOptions
    _runtime: Runtime

    @abstractmethod
    def _bound_of(self, model: type[Model]) -> BoundModel:
        """Return the model bound to its tables on this engine."""

    def indexes(self, model: type[Model]) -> dict[str, IndexStatus]:
        """Return the indexes that a model declares, and those that the catalog knows, by name."""
        bound = self._bound_of(model)
        known = self._catalogued(bound)
        declared = {index.name: index.table for index in bound.schema.indexes}
        names = dict.fromkeys([*declared, *(name for name in known if name != VERSION_COLUMN)])
        return {name: _status(bound, name, known.get(name)) for name in names}

    def build_index(
        self,
        model: type[Model],
        index: Index | str,
        /,
        *,
        rebuild: bool = False,
        rows_per_second: float | None = None,
        gateway_timeout_s: float = GATEWAY_TIMEOUT_S,
        on_progress: OnProgress = _silent,
    ) -> IndexStatus:
        """Build an index while other processes write its table, and let queries use it.

        From its beginning on every process that writes the table must keep the index: those whose
        model does not declare it are refused. A build that was interrupted goes on where it
        stopped; several at once only do the work twice. It takes at least the lease on the catalog
        plus both timeouts, until nobody acts on what the catalog said before.

        An index that is readable is left alone, unless its table is gone. One that builds alone
        write (`maintained="manual"`) is built again each time, and queries use the old one
        meanwhile.

        Args:
            model: The model.
            index: The index, or its name.
            rebuild: Build it again even if it is readable; queries do not use it meanwhile.
            rows_per_second: Process at most this many rows a second, to spare other clients.
            gateway_timeout_s: How long a gateway may repeat a request by itself: as much as its
                `hbase.client.operation.timeout`.
            on_progress: Called after each round of some hundred rows, and while it waits.

        Raises:
            ConfigurationError: The model has no such index, or a number is out of range.
            CatalogLeaseError: The catalog does not know the table: call `create_tables`.
            ConflictError: The index is being dropped or the table loaded.
            SchemaError: The index is kept with another declaration: drop it first.
            UniqueViolationError: Two rows have the same values of a unique index.
        """
        bound = self._bound_of(model)
        name = _declared_name(bound, index)
        check_pace(rows_per_second, gateway_timeout_s)
        # In memory one process does everything, and nothing is under way between requests.
        is_memory = self.options.scheme == "memory"
        settle_s = self._runtime.lease_s + self.options.timeout_s + gateway_timeout_s
        build = IndexBuild(
            bound,
            name,
            self._runtime.writer,
            parallel=self._runtime.parallel,
            settle_s=0.0 if is_memory else settle_s,
            rows_per_second=rows_per_second,
            on_progress=on_progress,
        )
        self._runtime.run(build.run(rebuild=rebuild))
        return self.indexes(model)[name]

    def drop_index(self, model: type[Model], index: Index | str, /) -> list[str]:
        """Drop an index, its table and a build of it; return the names of the tables dropped.

        First queries do without it, then writes; each time it waits until no process acts on what
        the catalog said before. An interrupted drop is finished by dropping again. The model need
        not declare the index any more.

        Raises:
            ConfigurationError: Neither the model nor the catalog has such an index.
            ConflictError: Somebody builds it meanwhile.
            SchemaError: The table was made for rows with guards, and this engine has no Thrift2
                gateway, or the reverse.
        """
        bound = self._bound_of(model)
        name = _name_of(bound, index)
        known = self._catalogued(bound).get(name)
        if known is None:
            name = _declared_name(bound, index)
            return []
        table, runtime = bound.schema.table, self._runtime
        is_lww = None if bound.guarded is None else bound.guarded.is_lww
        # In memory one process does everything, and nothing acts on an older catalog.
        is_memory = self.options.scheme == "memory"
        wait_s = 0.0 if is_memory else runtime.lease_s + self.options.timeout_s
        if known.state is not IndexState.ABSENT or known.build:
            runtime.run(
                stop_using(
                    table,
                    name,
                    known,
                    is_lww=is_lww,
                    wait_s=wait_s,
                    on_change=runtime.catalog.forget,
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
        """Compare an index with its rows, in both directions or one; safe beside writers.

        Args:
            model: The model.
            index: The index, or its name.
            source: "data" looks for the entries of each row, "index" for the row of each entry,
                "both" does the one after the other.
            since: Only rows and entries written then or later.
            until: Only those written before.
            repair: Put right what is found: put entries that are missing or wrong, delete those
                that rows do not have, and take over rows that other programs have written. Rows
                of theirs that fit no entry, or have a unique value of another row, are left as
                they are: `unrepaired` says why. Missing entries of a manual index are left to
                builds.
            min_age_ms: Leave entries younger than this, whose write may be under way.
            on_progress: Called with the number of entries compared so far.

        Raises:
            ConfigurationError: The model has no such index, source= does not have an allowed value,
                or a time has no zone. TableNotFoundError: The index has no table: build it.
            SchemaError: The table was made for rows with guards, and this engine has no Thrift2
                gateway, or the reverse: what it has would be judged by the wrong rules.
        """
        span = TimeSpan(_ms(since, 0), _ms(until, FOREVER_MS))
        sources = _sources(source)
        least_age_ms = min_age_ms if repair else None
        return self._runtime.run(
            self._verification(model, index, sources, span, least_age_ms, on_progress=on_progress)
        )

    def repair_indexes(
        self, model: type[Model], *, min_age_ms: int = MIN_AGE_MS
    ) -> dict[str, RepairCounts]:
        """Delete index entries that no row has; return the counts by index.

        Safe beside writers and readers, and to repeat; memory holds one page of entries. Indexes
        that have no table yet are left out.

        Args:
            model: The model.
            min_age_ms: Entries younger than this, whose write may be under way, are left alone.

        Raises:
            SchemaError: The catalog knows the table with other indexes.
        """
        bound = self._bound_of(model)
        check_number("min_age_ms", min_age_ms, -MAX_TIMESTAMP_MS, MAX_TIMESTAMP_MS)
        if bound.guarded is None:
            return {}
        base_keys = {index.name: base_key_of(index) for index in bound.schema.indexes}
        lease = lease_on(bound, self._runtime.writer)
        return self._runtime.run(repair_entries(lease, base_keys, min_age_ms))

    # --- the rest ---------------------------------------------------------------------------------

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
        bound = self._bound_of(model)
        if min_age_ms is not None:
            check_number("min_age_ms", min_age_ms, -MAX_TIMESTAMP_MS, MAX_TIMESTAMP_MS)
        table, target = _guarded(bound, _declared_name(bound, index))
        entry = yield from catalog.read_entry(bound.schema.table)
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
        """Return the current catalog entries of the model's indexes."""
        entry = self._runtime.run(catalog.read_entry(bound.schema.table))
        return {} if entry is None else dict(entry.indexes)


def _status(bound: BoundModel, name: str, known: CatalogIndex | None) -> IndexStatus:
    declared = bound.indexes.get(name)
    if known is None:
        return IndexStatus(name, IndexState.ABSENT, "", declared is not None)
    has_table = known.state is not IndexState.ABSENT
    built = None
    if known.build:
        built = sum(map(fraction_of, known.build)) / len(known.build)
    return IndexStatus(
        name,
        known.state,
        (known.table or f"{bound.schema.table}_ix_{name}") if has_table else "",
        declared == known.entries,
        known.is_manual,
        built,
        known.epoch,
    )


def _declared_name(bound: BoundModel, index: Index | str) -> str:
    """Return the name of an index that the model declares.

    Raises:
        ConfigurationError: It declares no such index.
    """
    declared = [each.name for each in bound.schema.indexes]
    name = _name_of(bound, index)
    own = getattr(bound.model, name, None)
    if name not in declared or (isinstance(index, Index) and own is not index):
        raise ConfigurationError(
            "the model does not declare an index of this name",
            model=bound.schema.model_name,
            index=name,
            fix=f"there are: {', '.join(declared) or 'none'}",
        )
    return name


def _name_of(bound: BoundModel, index: object) -> str:
    if isinstance(index, (Index, str)):
        return index if isinstance(index, str) else index.name
    declared = ", ".join(each.name for each in bound.schema.indexes) or "none"
    raise ConfigurationError(
        "the argument is not an index",
        model=bound.schema.model_name,
        got=index,
        fix=f"give the index or its name; the model has: {declared}",
    )


def _guarded(bound: BoundModel, name: str) -> tuple[GuardedTable, IndexTarget]:
    """Return the table of a model that has an index, and the index, as writes see them."""
    if bound.guarded is None:
        raise AssertionError(bound)
    return bound.guarded, next(i for i in bound.guarded.indexes if i.name == name)


def _sources(source: str) -> Sequence[Source]:
    """Return the directions in which an index is compared with its rows.

    Raises:
        ConfigurationError: There is no such source.
    """
    directions: dict[str, Sequence[Source]] = {"data": ("data",), "index": ("index",), "both": BOTH}
    if source not in directions:
        raise ConfigurationError(
            "source= does not have an allowed value",
            source=source,
            fix='source="data", "index" or "both"',
        )
    return directions[source]


def _ms(at: datetime | None, otherwise_ms: int) -> int:
    """Return a time as milliseconds since 1970.

    Raises:
        ConfigurationError: It has no time zone.
    """
    if at is None:
        return otherwise_ms
    if at.tzinfo is None:
        raise ConfigurationError(
            "the time has no time zone", got=at, fix="datetime(..., tzinfo=UTC)"
        )
    return int(at.timestamp() * 1000)
