"""A gateway whose timeline reads are answered by replicas that lag behind their regions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar, cast

from hbase_orm.gateway.base import Gateway
from hbase_orm.gateway.memory.gateway import MemoryGateway
from hbase_orm.ops import (
    CloseScanner,
    CreateNamespace,
    CreateTable,
    DescribeTable,
    FetchRows,
    GetRows,
    MutateRows,
    OpenScanner,
    Operation,
    Put,
    Row,
    RowMutation,
    Scan,
    StaleRow,
)
from tests.support.recording import RecordsRequests

R = TypeVar("R")

FETCHED_ROWS = 100


def everywhere(row_key: bytes) -> bool:
    """Return True: the regions of all rows lag."""
    del row_key
    return True


class LagsBehind(RecordsRequests):
    """Answers timeline reads from a copy of tables, as rows of replicas; sends all else.

    Only the rows whose keys `lags` names come from a replica; the region answers for the others.
    Rows that are new since the copy are missing in scans.
    """

    def __init__(self, inner: Gateway) -> None:
        super().__init__(inner)
        self._copy = MemoryGateway()
        self._copied: set[str] = set()
        self._lags: Callable[[bytes], bool] = everywhere

    def fall_behind(self, *tables: str, lags: Callable[[bytes], bool] = everywhere) -> None:
        """Copy these tables: from now on, replicas answer with what they hold at this time."""
        self._copy, self._copied, self._lags = MemoryGateway(), set(tables), lags
        for namespace in {table.partition(":")[0] for table in tables if ":" in table}:
            self._copy.execute(CreateNamespace(namespace))
        for table in tables:
            self._copy.execute(CreateTable(self.inner.execute(DescribeTable(table))))
            rows = tuple(_copied(row) for row in rows_in(self.inner, table))
            self._copy.execute(MutateRows(table, rows))

    def catch_up(self) -> None:
        """Let the regions answer again."""
        self._copied = set()

    def execute(self, operation: Operation[R], /) -> R:
        self.requests.append(operation)
        return cast("R", self._answer(operation))

    def _answer(self, operation: Operation[Any]) -> Any:
        match operation:
            case GetRows(table=table, is_timeline=True) if table in self._copied:
                return self._get(operation)
            case OpenScanner(Scan(table=table, is_timeline=True)) if table in self._copied:
                return self._copy.execute(operation)
            case FetchRows(scanner) if scanner.owner is self._copy:
                return [self._as_read(row) for row in self._copy.execute(operation)]
            case CloseScanner(scanner) if scanner.owner is self._copy:
                return self._copy.execute(operation)
        return self.inner.execute(operation)

    def _get(self, operation: GetRows) -> list[Row | None]:
        copies = self._copy.execute(operation)
        rows = self.inner.execute(operation)
        answers = zip(operation.keys, copies, rows, strict=True)
        return [
            StaleRow(key, {} if copied is None else copied.cells) if self._lags(key) else row
            for key, copied, row in answers
        ]

    def _as_read(self, row: Row) -> Row:
        return StaleRow(row.key, row.cells) if self._lags(row.key) else row


def rows_in(gateway: Gateway, table: str) -> Iterator[Row]:
    """Yield the rows of a table."""
    scanner = gateway.execute(OpenScanner(Scan(table)))
    while rows := gateway.execute(FetchRows(scanner, FETCHED_ROWS)):
        yield from rows
    gateway.execute(CloseScanner(scanner))


def _copied(row: Row) -> RowMutation:
    puts = tuple(Put(column, *cell) for column, cell in row.cells.items())
    return RowMutation(row.key, puts)
