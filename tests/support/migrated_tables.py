"""Tables that operations change: how an operation is run in tests, and what a table then is."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from hbase_orm import Engine, Model
from hbase_orm.binding.dictionaries import in_namespace
from hbase_orm.errors import ConnectionLostError
from hbase_orm.gateway.base import Gateway
from hbase_orm.index.entries.targets import GUARD_COLUMN
from hbase_orm.migrate.operations.operation import (
    Irreversible,
    Migration,
    MigrationOptions,
    Operation,
    Progress,
)
from hbase_orm.ops import (
    DescribeTable,
    GetVersionsOfRows,
    KeyRange,
    Scan,
    TableDescriptor,
    ask,
    fetch_once,
)
from hbase_orm.ops import Operation as Request
from hbase_orm.record.declaration import Declaration
from hbase_orm.record.snapshots import declaration_of
from hbase_orm.record.store import read_record
from tests.support.recording import RecordsRequests, gateway_of, through

R = TypeVar("R")

VERSIONS = 10
SHORT_LEASE_S = 0.5
SHORT_TIMEOUT_S = 0.5


@dataclass
class Saved:
    """A checkpoint in memory."""

    position: Mapping[str, str] = field(default_factory=dict)
    interrupted: Mapping[str, str] | None = None

    def save(self, position: Mapping[str, str]) -> None:
        self.position, self.interrupted = dict(position), None


@dataclass(frozen=True)
class Revision:
    """The declarations before and after a revision, in one engine."""

    engine: Engine
    before: tuple[type[Model], ...]
    after: tuple[type[Model], ...]
    reports: list[Progress] = field(default_factory=list)

    def migration(
        self, engine: Engine | None = None, *, back: bool = False, **options: Any
    ) -> Migration:
        """Return what an operation gets, for the upgrade or for the downgrade."""
        before, after = _declared(self.before), _declared(self.after)
        if back:
            before, after = after, before
        return Migration(
            engine or self.engine, before, after, MigrationOptions(**options), self.reports.append
        )

    def upgrade(self, *operations: Operation, **options: Any) -> None:
        """Run operations."""
        for operation in operations:
            operation.run(self.migration(**options), Saved())

    def downgrade(self, *operations: Operation, **options: Any) -> None:
        """Run what undoes operations, the last one first."""
        for operation in reversed(operations):
            undoing = operation.reverse()
            assert not isinstance(undoing, Irreversible), undoing
            undoing.run(self.migration(back=True, **options), Saved())


def _declared(models: tuple[type[Model], ...]) -> dict[str, Declaration]:
    by_table: dict[str, list[type[Model]]] = {}
    for model in models:
        by_table.setdefault(model.__schema__.table, []).append(model)
    return {
        table: declaration_of([model.__schema__ for model in group])
        for table, group in by_table.items()
    }


@dataclass(frozen=True)
class TableContents:
    """What a table is: its descriptor, its record and its cells, versions included."""

    descriptor: TableDescriptor
    record: Declaration | None
    cells: Mapping[bytes, Mapping[bytes, tuple[tuple[int, bytes], ...]]]

    @property
    def values(self) -> dict[bytes, dict[bytes, list[bytes]]]:
        """The values of all versions by row and column, without their timestamps."""
        return {
            row: {column: [value for _, value in cells] for column, cells in columns.items()}
            for row, columns in self.cells.items()
        }


def contents(engine: Engine, table: str) -> TableContents:
    """Return what a table is, without the guards of its rows."""
    name = in_namespace(table, engine.options.namespace)
    run = engine._runtime.run
    record = run(read_record(name))
    cells = {key: _versions(engine, name, key) for key in _keys(engine, name)}
    descriptor = run(ask(DescribeTable(name)))
    return TableContents(descriptor, None if record is None else record.current, cells)


def _keys(engine: Engine, table: str) -> Iterator[bytes]:
    rest = KeyRange()
    while page := engine._runtime.run(fetch_once(Scan(table, rest))):
        yield from (row.key for row in page)
        rest = KeyRange(page[-1].key + b"\x00")


def _versions(engine: Engine, table: str, key: bytes) -> dict[bytes, tuple[tuple[int, bytes], ...]]:
    request = GetVersionsOfRows(table, (key,), (), VERSIONS)
    (versions,) = engine._runtime.run(ask(request))
    columns: dict[bytes, tuple[tuple[int, bytes], ...]] = {}
    for each in versions:
        if each.column != GUARD_COLUMN:
            known = columns.get(each.column, ())
            columns[each.column] = (*known, (each.timestamp_ms, each.value))
    return columns


def with_short_lease(engine: Engine) -> Engine:
    """Return an engine on the same tables that need not wait long for other programs."""
    options = replace(engine.options, lease_s=SHORT_LEASE_S)
    return Engine(gateway_of(engine), options, engine._connections)


def with_short_waits(engine: Engine) -> Engine:
    """Return an engine on the same tables whose moves of rows wait about a second in each phase."""
    options = replace(engine.options, lease_s=SHORT_LEASE_S, timeout_s=SHORT_TIMEOUT_S)
    return Engine(gateway_of(engine), options, engine._connections)


class EndError(BaseException):
    """The program ends here: no `except Exception` of the code under test holds it back."""


class EndsBefore(RecordsRequests):
    """Ends the program before one request; None for none."""

    def __init__(self, inner: Gateway, last: int | None) -> None:
        super().__init__(inner)
        self.last = last

    def execute(self, request: Request[R], /) -> R:
        if len(self.requests) == self.last:
            if "_renew_on" in threading.current_thread().name:  # ends with its program
                raise ConnectionLostError("the program has ended")
            raise EndError
        return super().execute(request)


def run_in_two_programs(
    revision: Revision, operations: Sequence[Operation], last: int | None, **options: Any
) -> int:
    """Run operations in a program that ends before a request, then in another one to the end.

    Return the number of requests that the first one sent.
    """
    gateway = EndsBefore(gateway_of(revision.engine), last)
    saved = [Saved() for _ in operations]
    for engine in (through(gateway, revision.engine), revision.engine):
        try:
            for operation, checkpoint in zip(operations, saved, strict=True):
                operation.run(revision.migration(engine, **options), checkpoint)
        except EndError:
            continue
        break
    return len(gateway.requests)
