"""The gateway that keeps tables in memory and follows HBase's rules, for fast tests.

It passes the same conformance tests as the real gateways. Nothing is stored on disk.
"""

from __future__ import annotations

import operator
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import count, islice
from types import MappingProxyType
from typing import Any, TypeVar, cast

from hbase_orm.errors import ConfigurationError, RejectedError, ScannerExpiredError
from hbase_orm.gateway.base import Feature
from hbase_orm.gateway.checks import check_request
from hbase_orm.gateway.memory.cells import When
from hbase_orm.gateway.memory.scan import scan_rows
from hbase_orm.gateway.memory.table import COUNTER_BYTES, MemoryTable
from hbase_orm.gateway.memory.tables import MemoryTables
from hbase_orm.ops import (
    AddFamily,
    Append,
    CheckAndMutate,
    CloseScanner,
    CreateNamespace,
    CreateTable,
    DeleteFamily,
    DescribeTable,
    DisableTable,
    DropNamespace,
    DropTable,
    EnableTable,
    FetchRows,
    FirstRows,
    GetRows,
    GetVersions,
    GetVersionsOfRows,
    Increment,
    ListNamespaces,
    ListRegions,
    ListTables,
    ModifyFamily,
    ModifyTable,
    MutateRow,
    MutateRows,
    OpenScanner,
    Operation,
    Ping,
    PutRows,
    PutStampedRows,
    ReadFirstRows,
    Row,
    RowMutation,
    ScannerId,
    StoredVersion,
    TruncateTable,
)

R = TypeVar("R")

# hbase.client.scanner.timeout.period
DEFAULT_SCANNER_LEASE_MS = 60_000


def server_clock_ms() -> int:
    """Return milliseconds since 1970, like the clock of a region server."""
    return time.time_ns() // 1_000_000


@dataclass(slots=True)
class _Scanner:
    table: str
    rows: Iterator[Row]
    expires_ms: int


class MemoryGateway:
    """Executes requests on tables in memory. Several threads may share a gateway.

    Writes in the same millisecond behave as in HBase: a delete hides a put, independent of the
    order of the calls.

    Attributes:
        features: All features.
    """

    features = frozenset(Feature)

    def __init__(
        self,
        clock: Callable[[], int] = server_clock_ms,
        *,
        scanner_lease_ms: int = DEFAULT_SCANNER_LEASE_MS,
    ) -> None:
        """Create an empty store.

        Args:
            clock: The server's clock, milliseconds since 1970.
            scanner_lease_ms: The lease of scanners: a scanner that is not read for longer expires.
        """
        self._clock = clock
        self._lease_ms = scanner_lease_ms
        self._lock = threading.RLock()
        self._tables = MemoryTables()
        self._scanners: dict[int, _Scanner] = {}
        self._numbers = count()
        self._is_closed = False
        self._handlers = self._table_handlers() | self._data_handlers()

    def __repr__(self) -> str:
        """Return the class with the names of the tables."""
        return f"MemoryGateway(tables={self._tables.names()!r})"

    def execute(self, operation: Operation[R], /) -> R:
        """Run one request.

        Raises:
            RejectedError: HBase refuses the request; a real gateway raises the same class of error.
            ScannerExpiredError: The scanner is closed, or was not read for longer than its lease.
            ConfigurationError: The gateway is closed.
        """
        with self._lock:
            if self._is_closed:
                raise ConfigurationError("the gateway is closed", fix="connect again")
            check_request(operation)
            handler = self._handlers.get(type(operation))
            if handler is None:
                raise RejectedError(
                    "the gateway does not know this request",
                    request=type(operation).__name__,
                    fix="use a request of hbase_orm.ops",
                )
            return cast("R", handler(operation))

    def close(self) -> None:
        """Delete all tables; the gateway cannot be used afterwards."""
        with self._lock:
            self._is_closed = True
            self._tables = MemoryTables()
            self._scanners.clear()

    def flush(self, table: str) -> None:
        """Drop surplus and deleted versions like a flush of HBase. For tests."""
        with self._lock:
            self._tables.get(table).compact(self._clock(), major=False)

    def major_compact(self, table: str) -> None:
        """Drop tombstones and the cells they delete, like a major compaction. For tests."""
        with self._lock:
            self._tables.get(table).compact(self._clock(), major=True)

    # --- dispatch ---------------------------------------------------------------------------------

    def _table_handlers(self) -> dict[type, Callable[[Any], Any]]:
        tables = self._tables
        return {
            AddFamily: lambda request: tables.add_family(request.table, request.family),
            CreateNamespace: lambda request: tables.create_namespace(request.namespace),
            CreateTable: lambda request: tables.create(
                request.descriptor, request.split_keys, self._clock()
            ),
            DeleteFamily: lambda request: tables.delete_family(request.table, request.family),
            DescribeTable: lambda request: tables.get(request.table).descriptor,
            DisableTable: lambda request: tables.disable(request.table),
            DropNamespace: lambda request: tables.drop_namespace(request.namespace),
            DropTable: lambda request: tables.drop(request.table),
            EnableTable: lambda request: tables.enable(request.table),
            ListNamespaces: lambda _: tables.list_namespaces(),
            ListRegions: lambda request: tables.get(request.table).regions(),
            ListTables: lambda _: tables.names(),
            ModifyFamily: lambda request: tables.modify_family(
                request.table, request.family, request.options
            ),
            ModifyTable: lambda request: tables.modify(request.table, request.options),
            Ping: lambda _: None,
            TruncateTable: lambda request: tables.truncate(request.table, self._clock()),
        }

    def _data_handlers(self) -> dict[type, Callable[[Any], Any]]:
        return {
            Append: self._append,
            CheckAndMutate: self._check_and_mutate,
            CloseScanner: self._close_scanner,
            FetchRows: self._fetch_rows,
            GetRows: self._get_rows,
            GetVersions: self._get_versions,
            GetVersionsOfRows: self._get_versions_of_rows,
            Increment: self._increment,
            MutateRow: self._mutate_row,
            MutateRows: self._mutate_rows,
            PutRows: self._put_rows,
            PutStampedRows: self._put_rows,
            OpenScanner: self._open_scanner,
            ReadFirstRows: self._read_first_rows,
        }

    def _table(self, name: str) -> MemoryTable:
        # `tables` has the names in the form that requests mostly use; `get` accepts every form.
        table = self._tables.tables.get(name) or self._tables.get(name)
        table.check_enabled()
        return table

    # --- reading ----------------------------------------------------------------------------------

    def _get_rows(self, request: GetRows) -> list[Row | None]:
        table = self._table(request.table)
        selection = table.select(request.columns)
        when = When(self._clock(), request.before_ms, request.from_ms)
        return [table.read(key, selection, when) for key in request.keys]

    def _get_versions(self, request: GetVersions) -> tuple[StoredVersion, ...]:
        table = self._table(request.table)
        selection = table.select(request.columns)
        read = table.raw if request.raw else table.versions
        return read(request.key, selection, request.max_versions, self._clock())

    def _get_versions_of_rows(self, request: GetVersionsOfRows) -> list[tuple[StoredVersion, ...]]:
        return [self._get_versions(request.of(key)) for key in request.keys]

    def _open_scanner(self, request: OpenScanner) -> ScannerId:
        scan = request.scan
        rows = scan_rows(self._table(scan.table), scan, self._clock)
        number = next(self._numbers)
        self._scanners[number] = _Scanner(scan.table, rows, self._clock() + self._lease_ms)
        return ScannerId(number, self)

    def _read_first_rows(self, request: ReadFirstRows) -> FirstRows:
        scan = request.scan
        rows = list(islice(scan_rows(self._table(scan.table), scan, self._clock), request.count))
        return FirstRows(rows, is_all=len(rows) < request.count)

    def _fetch_rows(self, request: FetchRows) -> list[Row]:
        if request.scanner.owner is not self:
            raise RejectedError(
                "the scanner was opened by another gateway",
                fix="fetch from the gateway that opened the scanner",
            )
        number = request.scanner.number
        scanner = self._scanners.get(number)
        now_ms = self._clock()
        if scanner is None or now_ms > scanner.expires_ms:
            self._scanners.pop(number, None)
            raise ScannerExpiredError(
                "the scanner is closed or expired",
                number=number,
                fix="open a new one after the last key seen",
            )
        self._table(scanner.table)
        scanner.expires_ms = now_ms + self._lease_ms
        return list(islice(scanner.rows, request.count))

    def _close_scanner(self, request: CloseScanner) -> None:
        if request.scanner.owner is self:
            self._scanners.pop(request.scanner.number, None)

    # --- writing ----------------------------------------------------------------------------------

    def _mutate_rows(self, request: MutateRows) -> None:
        """Write all rows with puts, then all rows with deletes, as Thrift1 does.

        After an error in one row, the other rows are still written, and the first error is raised
        at the end. But if a row with puts fails, no row with deletes is written.
        """
        table = self._table(request.table)
        puts = [mutation for mutation in request.mutations if mutation.puts]
        deletes = [mutation for mutation in request.mutations if mutation.deletes]
        for mutations in (puts, deletes):
            failures = [
                failure
                for failure in (self._try_apply(table, mutation) for mutation in mutations)
                if failure is not None
            ]
            if failures:
                raise failures[0]

    def _put_rows(self, request: PutRows | PutStampedRows) -> None:
        self._mutate_rows(request.as_mutations())

    def _try_apply(self, table: MemoryTable, mutation: RowMutation) -> RejectedError | None:
        now_ms = self._clock()
        try:
            table.check_mutation(mutation, now_ms)
        except RejectedError as failure:
            return failure
        table.apply(mutation, now_ms)
        return None

    def _mutate_row(self, request: MutateRow) -> None:
        table = self._table(request.table)
        now_ms = self._clock()
        table.check_mutation(request.mutation, now_ms)
        table.apply(request.mutation, now_ms)

    def _check_and_mutate(self, request: CheckAndMutate) -> bool:
        table = self._table(request.table)
        now_ms = self._clock()
        row = request.mutation.row
        stored = table.newest(row, request.column, now_ms)
        table.check_mutation(request.mutation, now_ms)
        if not _holds(request, None if stored is None else stored.value):
            return False
        # HRegion.checkAndMutate: a put never gets a lower timestamp than the cell that was checked.
        put_now_ms = now_ms if stored is None else max(now_ms, stored.timestamp_ms)
        table.apply(request.mutation, now_ms, put_now_ms)
        return True

    def _increment(self, request: Increment) -> dict[bytes, int]:
        table = self._table(request.table)
        now_ms = self._clock()
        totals = {
            column: table.add(request.row, column, amount, now_ms)
            for column, amount in request.amounts.items()
        }
        for column, total in totals.items():
            value = total.to_bytes(COUNTER_BYTES, "big", signed=True)
            table.write_over(request.row, column, value, now_ms)
        return totals

    def _append(self, request: Append) -> dict[bytes, bytes]:
        table = self._table(request.table)
        now_ms = self._clock()
        values = {}
        for column, tail in request.values.items():
            old = table.newest(request.row, column, now_ms)
            values[column] = (b"" if old is None else old.value) + tail
        for column, value in values.items():
            table.write_over(request.row, column, value, now_ms)
        return values


_OPERATORS: Mapping[str, Callable[[bytes, bytes], bool]] = MappingProxyType(
    {
        "==": operator.eq,
        "!=": operator.ne,
        "<": operator.lt,
        "<=": operator.le,
        ">": operator.gt,
        ">=": operator.ge,
    }
)


def _holds(request: CheckAndMutate, stored: bytes | None) -> bool:
    """Return whether the stored value fulfils the condition; `stored` is None if there is no cell.

    If the expected value is empty, an absent cell and an empty cell fulfil the condition.
    """
    if not request.expected:
        return not stored
    return stored is not None and _OPERATORS[request.operator](stored, request.expected)
