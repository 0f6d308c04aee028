"""A gateway in memory that refuses what Thrift1 cannot do, and a model with indexes for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

from hbase_orm import Counter, Engine, Family, Index, Key, Mapped, Model, column, counter, func, key
from hbase_orm.binding.url import EngineOptions
from hbase_orm.errors import FeatureMissingError
from hbase_orm.gateway.base import Feature
from hbase_orm.gateway.memory.gateway import MemoryGateway
from hbase_orm.ops import (
    AddFamily,
    CheckAndMutate,
    CreateNamespace,
    CreateTable,
    DeleteFamily,
    FamilyDescriptor,
    GetVersions,
    ListNamespaces,
    ModifyFamily,
    ModifyTable,
    MutateRow,
    MutateRows,
    Operation,
    RowMutation,
    TableDescriptor,
    TruncateTable,
)
from tests.support.recording import RecordsRequests

R = TypeVar("R")

_THRIFT2_ONLY = (
    AddFamily,
    CreateNamespace,
    DeleteFamily,
    ListNamespaces,
    ModifyFamily,
    ModifyTable,
    TruncateTable,
)


class Account(Model, table="account"):
    d = Family()
    number: Key[str] = key()
    email: Mapped[str] = column(d)
    points: Mapped[int] = column(d)
    note: Mapped[str | None] = column(d, default=None)
    visits: Counter = counter(d)
    by_email = Index(func.lower(email))
    by_points = Index(points.desc(), salt=2)


class DoesWhatThrift1Does(RecordsRequests):
    """Refuses what Thrift1 refuses, and keeps the other requests."""

    @property
    def features(self) -> frozenset[Feature]:
        return frozenset()

    def execute(self, operation: Operation[R], /) -> R:
        if not can_thrift1(operation):
            raise FeatureMissingError("Thrift1 cannot do this", operation=repr(operation))
        answer = super().execute(operation)
        return cast("R", _described(answer)) if isinstance(answer, TableDescriptor) else answer


def _described(table: TableDescriptor) -> TableDescriptor:
    """Return what Thrift1 shows of a table."""
    shown = ("versions", "ttl_s", "compression", "bloom", "block_cache", "in_memory")
    families = (
        FamilyDescriptor(family.name, **{name: getattr(family, name) for name in shown})
        for family in table.families
    )
    return TableDescriptor(table.name, tuple(families))


def can_thrift1(operation: Operation[Any]) -> bool:
    match operation:
        case CheckAndMutate(_, _, _, mutation, operator):
            (*_, put) = mutation.puts
            is_one = len(mutation.puts) == 1 and not mutation.deletes and operator == "=="
            return is_one and put.timestamp_ms is None and mutation.ttl_ms is None
        case GetVersions():
            return not operation.raw
        case MutateRow(_, mutation):
            return is_of_one_time(mutation)
        case MutateRows(_, mutations):
            return all(map(is_of_one_time, mutations))
        case CreateTable(descriptor, split_keys):
            return not split_keys and not descriptor.attributes
    return not isinstance(operation, _THRIFT2_ONLY)


def is_of_one_time(mutation: RowMutation) -> bool:
    stamps = {put.timestamp_ms for put in mutation.puts}
    stamps |= {delete.timestamp_ms for delete in mutation.deletes}
    return len(stamps) < 2 and not (mutation.puts and mutation.deletes)


def engine_without_thrift2(
    now_ms: Callable[[], int] | None = None,
) -> tuple[Engine, DoesWhatThrift1Does]:
    """Return an engine with an empty memory, and its gateway."""
    gateway = DoesWhatThrift1Does(MemoryGateway() if now_ms is None else MemoryGateway(now_ms))
    return Engine(gateway, EngineOptions(scheme="memory")), gateway
