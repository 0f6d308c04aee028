"""Storms: processes that write at once, ledgers of their writes, indexes compared with rows."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hbase_orm import Engine, Model, select
from hbase_orm.index.upkeep.compare import Finding
from hbase_orm.index_admin.verify import Verification

REPOSITORY = Path(__file__).parents[2]
WAIT_S = 600.0


@dataclass
class Ledger:
    """What writers said, on disk before anything else happens."""

    path: Path
    lines: list[dict[str, Any]] = field(default_factory=list)

    def enter(self, line: dict[str, Any]) -> dict[str, Any]:
        """Add a line and sync the file."""
        with self.path.open("a") as file:
            file.write(json.dumps(line) + "\n")
            file.flush()
            os.fsync(file.fileno())
        self.lines.append(line)
        return line


@dataclass(frozen=True)
class Writer:
    """A process that writes."""

    process: subprocess.Popen[str]

    def next(self) -> Any:
        """Return the next line it says; None once it has ended."""
        assert self.process.stdout is not None
        said = self.process.stdout.readline()
        return json.loads(said) if said.endswith("\n") else None

    def finish(self) -> dict[str, Any]:
        """End its input, wait for its end; return the last line it said."""
        said, _ = self.process.communicate(timeout=WAIT_S)
        assert self.process.returncode == 0
        last: dict[str, Any] = json.loads(said.splitlines()[-1])
        return last


@contextmanager
def writers(
    calls: Sequence[tuple[object, ...]], program: str = "storm_writer"
) -> Generator[list[Writer]]:
    """Start a process of a program of `tests.support` for each of these arguments; none outlives the block."""
    with ExitStack() as stack:
        yield [stack.enter_context(_writer(call, program)) for call in calls]


@contextmanager
def _writer(arguments: tuple[object, ...], program: str) -> Generator[Writer]:
    command = [sys.executable, "-m", f"tests.support.{program}", *map(str, arguments)]
    with subprocess.Popen(
        command, cwd=REPOSITORY, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        try:
            yield Writer(process)
        finally:
            process.kill()


def compare(engine: Engine, model: type[Model]) -> dict[str, Verification]:
    """Compare every index of a model with its rows."""
    return {
        index.name: engine.verify_index(model, index.name)
        for index in engine._bound_of(model).schema.indexes
    }


def check_indexes(engine: Engine, model: type[Model], *, at_most_stale: int) -> int:
    """Check that no entry misses and few are stale, and none after a repair; return the rows."""
    found = compare(engine, model)
    assert {name: one.missing for name, one in found.items()} == dict.fromkeys(found, 0)
    assert {name: n for name, one in found.items() if (n := stale(one)) > at_most_stale} == {}
    engine.repair_indexes(model, min_age_ms=-3_600_000)
    repaired = compare(engine, model)
    assert {name: (one.missing, stale(one)) for name, one in repaired.items()} == dict.fromkeys(
        found, (0, 0)
    )
    with engine.session() as session:
        return len(session.all(select(model).allow_full_scan()))


def stale(found: Verification) -> int:
    """Return how many entries their rows do not have, or have otherwise."""
    return found.stale + found.entries[Finding.INVALID]
