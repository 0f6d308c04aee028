"""An engine, the requests it sends, and other programs on the same tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hbase_orm import Engine, Model, Session
from hbase_orm.gateway.base import Feature, Gateway
from hbase_orm.index.entries.targets import GUARD_COLUMN
from hbase_orm.ops import Delete, GetRows, MutateRow, Operation, Put, RowMutation
from tests.support.recording import FailsBeforeSending, RecordsRequests, gateway_of, through


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
    def on(
        cls, engine: Engine, recorder: Callable[[Gateway], RecordsRequests] = RecordsRequests
    ) -> Store:
        """Record what `engine` would send."""
        sent = recorder(gateway_of(engine))
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

    def through(self, gateway: Gateway) -> Engine:
        """Return an engine whose requests go through another gateway first."""
        return through(gateway, self.engine)

    def put(self, *objects: Model) -> None:
        """Write objects in a session of their own, and record from then on."""
        with self.engine.session() as session:
            session.add_all(objects)
        self.forget()

    def stored(self, model: Any, **key: Any) -> Any:
        """Return a row as another session reads it."""
        with self.engine.session() as session:
            return load(session, model, **key)

    def forget(self) -> None:
        """Start a new list of requests."""
        self.sent.requests.clear()

    def taken(self) -> Counter[str]:
        """Return how many requests of each kind were sent since the last call, and start again."""
        counts = Counter(type(request).__name__ for request in self.sent.requests)
        self.forget()
        return counts

    def run(self, operation: Operation[Any]) -> Any:
        """Send one request that is not recorded."""
        return self.sent.inner.execute(operation)

    def table(self, model: type[Model]) -> str:
        """Return the name of a model's table on this engine."""
        return self.engine._bound_of(model).schema.table

    def named(self, table: str) -> str:
        """Return what a table of this name is called on this engine."""
        namespace = self.engine.options.namespace
        return f"{namespace}:{table}" if namespace else table

    def cells(self, obj: Any) -> dict[bytes, bytes]:
        """Return the stored cells of an object's row, but its guard."""
        (row,) = self.run(GetRows(self.table(type(obj)), (row_key(obj),)))
        cells = {} if row is None else row.cells
        return {column: cell.value for column, cell in cells.items() if column != GUARD_COLUMN}

    def write_raw(self, table: str, row: bytes, **values: bytes) -> None:
        """Write cells `d:<name>` of a row as another program would."""
        puts = tuple(Put(b"d:" + name.encode(), value) for name, value in values.items())
        self.run(MutateRow(table, RowMutation(row, puts=puts)))

    def delete_raw(self, table: str, row: bytes) -> None:
        """Delete a row as another program would."""
        self.run(MutateRow(table, RowMutation(row, deletes=(Delete(b"d"),))))


def load(session: Session, model: Any, **key: Any) -> Any:
    """Return a row's object; the model is one of several."""
    return session.get(model, **key)


def row_key(obj: Any) -> bytes:
    """Return the row key of an object."""
    names = type(obj).__schema__.layout.arguments
    encoded: bytes = type(obj).encode_key(**{name: getattr(obj, name) for name in names})
    return encoded


def rows_written(store: Store) -> list[bytes]:
    """Return the keys of all rows that were sent, in their order."""
    return [
        mutation.row
        for request in store.sent.writes
        for mutation in getattr(request, "mutations", None) or [request.mutation]  # type: ignore[attr-defined] # either has one
    ]
