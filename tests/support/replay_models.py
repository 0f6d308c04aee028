"""The replays' tables as models with an index, and writers that are sessions.

Each writer is a session of an engine of its own; between the engine and the gateway it is given
stands the retrying gateway that `connect` puts there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from hbase_orm import Engine, Family, Index, Key, Mapped, Model, Session, column, key, select
from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.binding.bound_tables import bind
from hbase_orm.binding.dictionaries import Dictionaries
from hbase_orm.binding.runtime import Runtime
from hbase_orm.binding.url import EngineOptions
from hbase_orm.gateway.base import Gateway
from hbase_orm.gateway.memory.gateway import MemoryGateway
from hbase_orm.gateway.retry import RetryingGateway
from hbase_orm.index.catalog.catalog import CATALOG_TABLE
from hbase_orm.index.entries.index_entries import base_key_of
from hbase_orm.index.entries.targets import GuardedTable, IndexTarget
from hbase_orm.index.upkeep.repair import repair_pass
from hbase_orm.ops import CheckAndMutate, GetRows, Operation
from tests.support.replays import Bench, Work, raw_delete
from tests.support.stepping import drive

MEMORY: Final = EngineOptions(scheme="memory")


class ByValue(Model, table="by_value"):
    d = Family()
    host: Key[str] = key()
    v1: Mapped[str] = column(d, "v1")
    by_value = Index(v1)


class ByBoth(Model, table="by_both"):
    d = Family()
    host: Key[str] = key()
    v1: Mapped[str] = column(d, "v1")
    v2: Mapped[str | None] = column(d, "v2", default=None)
    by_both = Index(v1, v2)


def fields_of(cells: Mapping[bytes, bytes]) -> dict[str, str]:
    """Return cells as fields of either model."""
    return {column.removeprefix(b"d:").decode(): value.decode() for column, value in cells.items()}


def no_wait(_: float) -> None:
    """Let a pause take no time."""


_RUNTIME = Runtime(MemoryGateway(), parallel=1)
DICTIONARIES = Dictionaries(_RUNTIME.catalog, _RUNTIME.features, "")


@dataclass(frozen=True, slots=True)
class ModelBench(Bench):
    """The tables of a model with one index, read and written through engines."""

    options: EngineOptions = MEMORY

    @property
    def model(self) -> Any:
        return ByBoth if self.is_composite else ByValue

    @property
    def bound(self) -> BoundModel:
        return bind(self.model, self.options.namespace, self.gateway.features, DICTIONARIES)

    @property
    def target(self) -> GuardedTable:
        assert self.bound.guarded is not None
        return self.bound.guarded

    @property
    def index(self) -> IndexTarget:
        return self.target.indexes[0]

    @property
    def host(self) -> str:
        return str(self.model.decode_key(self.row)["host"])

    def base_key(self, entry_key: bytes) -> bytes:
        return base_key_of(self.bound.schema.indexes[0])(entry_key)

    def engine(self, gateway: Gateway, clock_ms: int = 0) -> Engine:
        """Return an engine as `connect` makes it, over `gateway` and with a clock of its own."""
        retrying = RetryingGateway(gateway, attempts=self.options.retries + 1, sleep=no_wait)
        engine = Engine(retrying, self.options)
        engine._runtime = Runtime(
            retrying,
            parallel=self.options.pool,
            now_ms=lambda: self.base_ms + clock_ms,
            sleep=no_wait,
        )
        return engine

    def create_tables(self) -> None:
        """Create both models' tables and open them for writes, lest an insert starts a load."""
        engine = self.engine(self.gateway)
        engine.create_tables(ByValue, ByBoth)
        with engine.session() as session:
            first = (ByValue(host="first", v1="A"), ByBoth(host="first", v1="A"))
            session.add_all(first)
            session.flush()
            for obj in first:
                session.delete(obj)

    def values(self) -> dict[bytes, bytes]:
        """Return what a session gets."""
        with self.engine(self.gateway).session() as session:
            return cells_of(session.get(self.model, host=self.host))

    def values_by_index(self, wanted: Mapping[bytes, bytes]) -> list[dict[bytes, bytes]]:
        """Return the rows that a session finds by these values."""
        with self.engine(self.gateway).session() as session:
            terms = [getattr(self.model, name) == v for name, v in fields_of(wanted).items()]
            return [cells_of(found) for found in session.all(select(self.model).where(*terms))]


def cells_of(obj: Model | None) -> dict[bytes, bytes]:
    """Return the plain fields of an object as cells."""
    fields = {} if obj is None else obj.to_dict()
    return {
        b"d:" + name.encode(): value.encode()
        for name, value in fields.items()
        if name != "host" and value is not None
    }


def by_session(bench: Bench, work: Work, gateway: Gateway) -> object:
    """Do one writer's work in a session of an engine of its own."""
    assert isinstance(bench, ModelBench)
    engine = bench.engine(gateway, work.clock_ms)
    if work.kind == "raw delete":
        return drive(raw_delete(bench, work), gateway)
    if work.kind == "repair":
        return repair(bench, engine)
    with engine.session() as session:
        write(bench, session, work)
    return None


def write(bench: ModelBench, session: Session, work: Work) -> None:
    """Make the change in a session; a partial update is made on the object as loaded."""
    fields = fields_of(work.puts)
    loads = bench.is_composite or work.kind == "delete"
    obj = session.get(bench.model, host=bench.host) if loads else None
    if work.kind == "insert":
        with session.bulk(insert_only=True) as bulk:
            bulk.add(bench.model(host=bench.host, **fields))
    elif work.kind == "delete":
        session.delete(bench.model(host=bench.host, v1="") if obj is None else obj)
    elif obj is None:
        session.add(bench.model(host=bench.host, **fields))
    else:
        for name, value in fields.items():
            setattr(obj, name, value)


def repair(bench: ModelBench, engine: Engine) -> object:
    """Repair the index under the catalog's permission, as a command would."""
    runtime = engine._runtime
    runtime.run(runtime.catalog.leases.refresh(bench.target.table))
    context = runtime.guard_context
    args = (bench.target, bench.index, bench.base_key, context)
    return runtime.run(repair_pass(*args, min_age_ms=-99_999))


def is_beside(request: Operation[Any]) -> bool:
    """Return whether a request is no step of the protocol: the catalog's, or a session's own get."""
    if isinstance(request, CheckAndMutate | GetRows) and request.table == CATALOG_TABLE:
        return True
    return isinstance(request, GetRows) and request.columns == (b"d",)
