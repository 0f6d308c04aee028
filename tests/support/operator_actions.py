"""What an operator does to tables without the library: by the shell, snapshots, copies."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from hbase_orm.gateway.base import Gateway
from hbase_orm.ops import (
    CloseScanner,
    CreateTable,
    Delete,
    DescribeTable,
    DropTable,
    FetchRows,
    MutateRows,
    OpenScanner,
    Put,
    Row,
    RowMutation,
    Scan,
    TableDescriptor,
)

PAGE_ROWS = 500


@dataclass(frozen=True)
class Snapshot:
    """A table as it was."""

    descriptor: TableDescriptor
    rows: tuple[Row, ...]


def snapshot(gateway: Gateway, table: str) -> Snapshot:
    """Return a table with the timestamps of its cells."""
    descriptor = gateway.execute(DescribeTable(table))
    return Snapshot(descriptor, tuple(rows_of(gateway, table)))


def rows_of(gateway: Gateway, table: str) -> Iterator[Row]:
    """Yield all rows of a table."""
    scanner = gateway.execute(OpenScanner(Scan(table, caching_rows=PAGE_ROWS)))
    while rows := gateway.execute(FetchRows(scanner, PAGE_ROWS)):
        yield from rows
    gateway.execute(CloseScanner(scanner))


def restore(gateway: Gateway, saved: Snapshot) -> None:
    """Make a table what it was, as `restore_snapshot` does."""
    gateway.execute(DropTable(saved.descriptor.name))
    copy(gateway, saved)


def copy(gateway: Gateway, saved: Snapshot, name: str = "") -> None:
    """Make a table of a snapshot, as `clone_snapshot` does, or another cluster's import."""
    name = name or saved.descriptor.name
    gateway.execute(CreateTable(replace(saved.descriptor, name=name)))
    mutations = [
        RowMutation(
            row.key,
            tuple(Put(name, cell.value, cell.timestamp_ms) for name, cell in row.cells.items()),
        )
        for row in saved.rows
    ]
    for start in range(0, len(mutations), PAGE_ROWS):
        gateway.execute(MutateRows(name, tuple(mutations[start : start + PAGE_ROWS])))


def put_back(gateway: Gateway, table: str, row: Row) -> None:
    """Put what a row was, as it is now: where it was deleted since."""
    puts = tuple(Put(name, cell.value) for name, cell in row.cells.items())
    gateway.execute(MutateRows(table, (RowMutation(row.key, puts),)))


def truncate(gateway: Gateway, table: str) -> None:
    """Empty a table, as the shell's `truncate` does: it is dropped and made again."""
    restore(gateway, Snapshot(gateway.execute(DescribeTable(table)), ()))


def delete_row(gateway: Gateway, table: str, row: bytes, *families: bytes) -> None:
    """Delete a row, as the shell's `deleteall` does."""
    deletes = tuple(Delete(family) for family in families)
    gateway.execute(MutateRows(table, (RowMutation(row, deletes=deletes),)))
