"""Revisions for tests: files, and steps whose effects are rows of a table."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from hbase_orm import Engine
from hbase_orm.binding.dictionaries import in_namespace
from hbase_orm.gateway.base import Gateway
from hbase_orm.gateway.memory.gateway import MemoryGateway
from hbase_orm.migrate import (
    Checkpoint,
    Estimate,
    Irreversible,
    Migration,
    Migrations,
    Operation,
    Progress,
    Revision,
    RevisionGraph,
    Scripts,
)
from hbase_orm.migrate.history import MigrationHistory, read_history
from hbase_orm.ops import (
    CreateTable,
    FamilyDescriptor,
    GetRows,
    MutateRows,
    Put,
    RowMutation,
    Scan,
    TableDescriptor,
    run_protocol,
)
from hbase_orm.ops.scanner import ResumableScan
from hbase_orm.session.engine import runtime_of
from tests.support.shop_processes import Clock, Process, engine_on

EFFECTS = "effects"
TABLE = "hbase_orm_migrations"
VALUE = b"d:v"


def revision_of(
    name: str, *parents: str, operations: Iterable[Operation] = (), checksum: str = "c"
) -> Revision:
    """Return a revision without a file."""
    return Revision(name, parents, f"revision {name}", tuple(operations), checksum)


@dataclass(frozen=True)
class Listed(Scripts):
    """Revisions that are in no files."""

    folder: Path = Path("nowhere")
    revisions: tuple[Revision, ...] = ()

    def graph(self) -> RevisionGraph:
        return RevisionGraph(self.revisions)


@dataclass(frozen=True)
class FillRows(Operation):
    """Puts rows one by one, or empties them, and saves a checkpoint after each."""

    name: str
    rows: int = 3
    value: bytes = b"x"
    old: bytes = b""
    before_row: Callable[[int], None] = field(default=lambda _: None, compare=False)

    def describe(self) -> str:
        return f"fill {self.name}" if self.value else f"empty {self.name}"

    def reverse(self) -> Operation | Irreversible:
        return FillRows(self.name, self.rows, self.old, self.value)

    def estimate(self, migration: Migration) -> Estimate:
        rate = migration.options.rows_per_second
        seconds = None if rate is None else self.rows / rate
        return Estimate((EFFECTS,), self.rows, 2 * self.rows, seconds, waits_s=60.0)

    def run(self, migration: Migration, checkpoint: Checkpoint) -> None:
        runtime = runtime_of(migration.engine)
        table = in_namespace(EFFECTS, migration.engine.options.namespace)
        for row in range(int(checkpoint.position.get("next", "0")), self.rows):
            self.before_row(row)
            key = f"{self.name}-{row}".encode()
            runtime.execute(MutateRows(table, (RowMutation(key, puts=(Put(VALUE, self.value),)),)))
            checkpoint.save({"next": str(row + 1)})
            migration.report(Progress("rows", row + 1, (row + 1) / self.rows, 0.0))


@dataclass(frozen=True)
class Fails(Operation):
    """Always raises an error; it can be undone."""

    error: Exception

    def describe(self) -> str:
        return "fail"

    def reverse(self) -> Operation | Irreversible:
        return FillRows("undone", 1)

    def estimate(self, migration: Migration) -> Estimate:
        del migration
        return Estimate((), None, None, None)

    def run(self, migration: Migration, checkpoint: Checkpoint) -> None:
        del migration, checkpoint
        raise self.error


def memory() -> MemoryGateway:
    """Return a gateway with the table of effects."""
    gateway = MemoryGateway()
    gateway.execute(CreateTable(TableDescriptor(EFFECTS, (FamilyDescriptor(b"d"),))))
    return gateway


def runner_on(gateway: Gateway, *revisions: Revision, clock: Clock | None = None) -> Migrations:
    """Return the migrations of a process of its own; its clock moves only in waits."""
    return Migrations(engine_on(Process(gateway), clock or Clock()), Listed(revisions=revisions))


def history_in(gateway: Gateway, table: str = TABLE) -> MigrationHistory:
    """Return what is recorded."""
    return run_protocol(read_history(table), gateway.execute)


def effects_in(gateway: Gateway, table: str = EFFECTS) -> dict[str, bytes]:
    """Return the rows that steps have put, without those that are empty."""
    rows = run_protocol(ResumableScan(Scan(table)).fetch(1000), gateway.execute)
    return {row.key.decode(): row.cells[VALUE].value for row in rows if row.cells[VALUE].value}


def recorded_cells(gateway: Gateway, table: str = TABLE) -> dict[bytes, tuple[bytes, int]]:
    """Return the cells of the history's row with their timestamps."""
    (row,) = gateway.execute(GetRows(table, (b"history",)))
    return {} if row is None else {c: (cell[0], cell[1]) for c, cell in row.cells.items()}


def write_file(
    folder: Path,
    name: str,
    down: str = "None",
    *,
    operations: str = "[]",
    body: str = "",
    message: str = "A message",
) -> Path:
    """Write the files of a revision; return the path of the Python file."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(json.dumps({"before": {}, "after": {}}))
    path = folder / f"{name}_test.py"
    path.write_text(
        f'"""{message}."""\n\nfrom hbase_orm.migrate import RunPython\n\n{body}\n'
        f'revision = "{name}"\ndown_revision = {down}\noperations = {operations}\n'
    )
    return path


def engine_of(gateway: Gateway, clock: Clock | None = None) -> Engine:
    """Return the engine of a process of its own."""
    return engine_on(Process(gateway), clock or Clock())
