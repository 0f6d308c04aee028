"""An engine with tables, what it sends, and other programs on the same tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from hbase_orm import Engine, Model
from hbase_orm.gateway.base import Feature
from hbase_orm.ops import Delete, MutateRow, Put, RowMutation
from tests.recording import FailsBeforeSending, RecordsRequests, gateway_of, through

M = TypeVar("M", bound=Model)


class WithoutThrift2(RecordsRequests):
    """Can do what Thrift1 can."""

    @property
    def features(self) -> frozenset[Feature]:
        return frozenset()


@dataclass(frozen=True)
class Store:
    """An engine and the requests it sends."""

    engine: Engine
    sent: RecordsRequests

    @classmethod
    def on(cls, engine: Engine) -> Store:
        """Record what `engine` would send."""
        sent = RecordsRequests(gateway_of(engine))
        return cls(through(sent, engine), sent)

    def another(self) -> Store:
        """Return another program on the same HBase, which knows no names yet."""
        return Store.on(through(self.sent.inner, self.engine))

    def without_thrift2(self) -> Store:
        """Return a program that has only a Thrift1 gateway, and knows no names yet."""
        sent = WithoutThrift2(self.sent.inner)
        return Store(through(sent, self.engine), sent)

    def failing(self, error_of: Callable[[Any], Exception | None]) -> Store:
        """Return a program some of whose requests fail before they are sent."""
        sent = FailsBeforeSending(self.sent.inner, error_of)
        return Store(through(sent, self.engine), sent)

    def put(self, *objects: Model) -> None:
        """Write objects in a session of their own, and record from then on."""
        with self.engine.session() as session:
            session.add_all(objects)
        self.sent.requests.clear()

    def table(self, model: type[Model]) -> str:
        """Return the table's name on this engine."""
        return self.engine._bound_of(model).schema.table

    def named(self, table: str) -> str:
        """Return what a table of this name is called on this engine."""
        namespace = self.engine.options.namespace
        return f"{namespace}:{table}" if namespace else table

    def taken(self) -> Counter[str]:
        """Return how many requests of each kind were sent since this was last asked."""
        found = Counter(type(request).__name__ for request in self.sent.requests)
        self.sent.requests.clear()
        return found

    def write_raw(self, table: str, row: bytes, **values: bytes) -> None:
        """Write cells `d:<name>` of a row as another program would."""
        puts = tuple(Put(b"d:" + name.encode(), value) for name, value in values.items())
        self.sent.inner.execute(MutateRow(table, RowMutation(row, puts=puts)))

    def delete_raw(self, table: str, row: bytes) -> None:
        """Delete a row as another program would."""
        self.sent.inner.execute(MutateRow(table, RowMutation(row, deletes=(Delete(b"d"),))))


def rows_written(store: Store) -> list[bytes]:
    """Return the keys of all rows that were sent, in their order."""
    return [
        mutation.row
        for request in store.sent.writes
        for mutation in getattr(request, "mutations", None) or [request.mutation]  # type: ignore[attr-defined] # either has one
    ]
