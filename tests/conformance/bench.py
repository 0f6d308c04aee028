"""What a conformance test works on: one gateway, one table, and row keys of its own."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from hbase_orm.gateway.base import Gateway
from hbase_orm.ops import (
    Append,
    Cell,
    CheckAndMutate,
    CloseScanner,
    CreateTable,
    Delete,
    DropTable,
    FamilyDescriptor,
    FetchRows,
    GetRows,
    GetVersions,
    Increment,
    KeyRange,
    MutateRow,
    MutateRows,
    OpenScanner,
    Operation,
    Put,
    Row,
    RowMutation,
    Scan,
    StoredVersion,
    TableDescriptor,
)

R = TypeVar("R")

FAMILIES = (
    FamilyDescriptor(b"d"),
    FamilyDescriptor(b"e"),
    FamilyDescriptor(b"v", versions=3),
    FamilyDescriptor(b"k", versions=3, keep_deleted_cells="TRUE"),
    FamilyDescriptor(b"s", versions=3, ttl_s=1),
    FamilyDescriptor(b"m", versions=3, min_versions=1, ttl_s=1),
)
"""One plain family and one more, three versions, kept deletes, short-lived, min versions."""


@dataclass(frozen=True)
class Subject:
    """A gateway under test, and how to reach what it cannot do itself.

    Attributes:
        gateway: The gateway under test.
        admin: A gateway to the same store that can do everything.
        compact: Flushes and major-compacts a table, so that tombstones go.
        flush: Flushes a table.
        now_ms: The server's clock.
        lease_s: After how long without a fetch a scanner is gone.
        sleep: Lets so many seconds pass on the server's clock.
    """

    name: str
    gateway: Gateway
    admin: Gateway
    compact: Callable[[str], object]
    flush: Callable[[str], object]
    now_ms: Callable[[], int]
    sleep: Callable[[float], object]
    lease_s: float

    def new_table(
        self,
        *families: FamilyDescriptor,
        splits: tuple[bytes, ...] = (),
        attributes: Mapping[str, str] | None = None,
    ) -> str:
        name = f"conformance_{uuid.uuid4().hex[:12]}"
        descriptor = TableDescriptor(name, families or FAMILIES, attributes or {})
        self.admin.execute(CreateTable(descriptor, splits))
        return name

    def drop(self, table: str) -> None:
        self.admin.execute(DropTable(table))


@dataclass(frozen=True)
class Bench:
    """Short words for requests on one table; `key` makes row keys of one test."""

    subject: Subject
    table: str
    prefix: bytes = field(default_factory=lambda: uuid.uuid4().hex[:12].encode() + b"/")

    def run(self, operation: Operation[R]) -> R:
        return self.subject.gateway.execute(operation)

    def key(self, name: bytes = b"r") -> bytes:
        return self.prefix + name

    # --- writing ----------------------------------------------------------------------------------

    def put(
        self,
        column: bytes,
        value: bytes,
        ts: int | None = None,
        *,
        row: bytes = b"r",
        ttl_ms: int | None = None,
    ) -> None:
        mutation = RowMutation(self.key(row), (Put(column, value, ts),), ttl_ms=ttl_ms)
        self.run(MutateRows(self.table, (mutation,)))

    def put_row(self, row: bytes, cells: Mapping[bytes, bytes], ts: int | None = None) -> None:
        puts = tuple(Put(column, value, ts) for column, value in cells.items())
        self.run(MutateRows(self.table, (RowMutation(self.key(row), puts),)))

    def delete(self, column: bytes, ts: int | None = None, *, row: bytes = b"r") -> None:
        mutation = RowMutation(self.key(row), deletes=(Delete(column, ts),))
        self.run(MutateRows(self.table, (mutation,)))

    def run_rows(self, *mutations: RowMutation) -> None:
        self.run(MutateRows(self.table, mutations))

    def mutate(self, *changes: Put | Delete, ttl_ms: int | None = None) -> None:
        self.run(MutateRow(self.table, self.mutation(*changes, ttl_ms=ttl_ms)))

    def mutation(
        self, *changes: Put | Delete, row: bytes = b"r", ttl_ms: int | None = None
    ) -> RowMutation:
        return RowMutation(
            self.key(row),
            tuple(change for change in changes if isinstance(change, Put)),
            tuple(change for change in changes if isinstance(change, Delete)),
            ttl_ms,
        )

    def check(self, column: bytes, expected: bytes, *changes: Put | Delete) -> bool:
        return self.run(CheckAndMutate(self.table, column, expected, self.mutation(*changes)))

    def check_that(
        self, column: bytes, operator: str, expected: bytes, *changes: Put | Delete
    ) -> bool:
        mutation = self.mutation(*changes)
        return self.run(CheckAndMutate(self.table, column, expected, mutation, operator))  # type: ignore[arg-type]  # one of the literals

    def increment(self, amounts: Mapping[bytes, int]) -> dict[bytes, int]:
        return self.run(Increment(self.table, self.key(), amounts))

    def append(self, values: Mapping[bytes, bytes]) -> dict[bytes, bytes]:
        return self.run(Append(self.table, self.key(), values))

    # --- reading ----------------------------------------------------------------------------------

    def cells(
        self, *columns: bytes, row: bytes = b"r", before_ms: int | None = None
    ) -> dict[bytes, Cell]:
        found = self.run(GetRows(self.table, (self.key(row),), columns, before_ms))[0]
        return found.cells if found else {}

    def values(
        self, *columns: bytes, row: bytes = b"r", before_ms: int | None = None
    ) -> dict[bytes, bytes]:
        return _values(self.cells(*columns, row=row, before_ms=before_ms))

    def from_on(self, from_ms: int, before_ms: int | None = None) -> dict[bytes, Cell]:
        found = self.run(GetRows(self.table, (self.key(),), (), before_ms, from_ms))[0]
        return found.cells if found else {}

    def value(self, column: bytes, *, before_ms: int | None = None) -> bytes | None:
        return self.values(column, before_ms=before_ms).get(column)

    def versions(self, *columns: bytes, most: int = 10) -> list[tuple[bytes, int, bytes]]:
        found = self.run(GetVersions(self.table, self.key(), columns, most))
        return [(cell.column, cell.timestamp_ms, cell.value) for cell in found]

    def raw(self, *families: bytes) -> tuple[StoredVersion, ...]:
        return self.run(GetVersions(self.table, self.key(), families, 10, raw=True))

    # --- scanning ---------------------------------------------------------------------------------

    def rows(self, low: bytes = b"", high: bytes | None = None, **options: Any) -> list[Row]:
        """Scan this test's rows from `low` to `high` (excluded); keys lose their prefix."""
        own = KeyRange.prefix(self.prefix)
        wanted = KeyRange(self.prefix + low, own.stop if high is None else self.prefix + high)
        found = self.scan(Scan(self.table, wanted, **options))
        return [Row(row.key.removeprefix(self.prefix), row.cells) for row in found]

    def keys(self, low: bytes = b"", high: bytes | None = None, **options: Any) -> list[bytes]:
        return [row.key for row in self.rows(low, high, **options)]

    def scan(self, scan: Scan) -> list[Row]:
        scanner = self.run(OpenScanner(scan))
        rows: list[Row] = []
        while batch := self.run(FetchRows(scanner, scan.caching_rows)):
            rows += batch
        self.run(CloseScanner(scanner))
        return rows


def _values(cells: Mapping[bytes, Cell]) -> dict[bytes, bytes]:
    return {column: cell.value for column, cell in cells.items()}


def row_values(row: Row) -> dict[bytes, bytes]:
    return _values(row.cells)
