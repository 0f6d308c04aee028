"""Peak memory of a stream of very many rows: each measurement is a process of its own.

What is reported is the peak above what the process had after its imports, once it was connected.
Run as `python -m benchmarks.jobs.memory URL TABLE WAY` it reads the table and prints what it took.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

import happybase

from benchmarks.jobs.scan import complete, read_by_hand, stream, write_readings
from benchmarks.models import PlainReading
from benchmarks.paired import Variant, compare
from benchmarks.place import Place
from benchmarks.pure import ROOT, environment
from benchmarks.results import AGAIN, BASE, COMPILED, PURE, Comparison
from hbase_orm import connect
from hbase_orm.compiled import compiled_cells

TIMES: Final = 50
MOST_REPETITIONS: Final = 3
"""Peaks hardly differ, and a million rows take long."""

_STATUS: Final = Path("/proc/self/status")
_KB: Final = 1_024
_MB: Final = 1_000_000


class _Reading:
    """Reads the table in a process of its own, and keeps what that has printed."""

    def __init__(self, place: Place, way: str, rows: int) -> None:
        self._command = [sys.executable, "-m", "benchmarks.jobs.memory", place.url]
        self._command += [place.name_of(PlainReading), way, str(rows)]
        self._way = way
        self._cpu_s = 0.0
        self._waited_s = 0.0
        self._peak_mb = 0.0

    def work(self) -> int:
        start = time.perf_counter()
        process = subprocess.run(  # noqa: S603  # own code
            self._command,
            cwd=ROOT,
            env=environment(is_pure=self._way == PURE),
            stdout=subprocess.PIPE,
            check=True,
        )
        rows, wall_s, cpu_s, self._peak_mb = json.loads(process.stdout)
        self._cpu_s += cpu_s
        self._waited_s = time.perf_counter() - start - wall_s
        return int(rows)

    def variant(self, key: str, name: str) -> Variant:
        return Variant(
            key,
            name,
            self.work,
            waited_s=lambda: self._waited_s,
            cpu_s=lambda: self._cpu_s,
            peak_mb=lambda: self._peak_mb,
        )


def memory(place: Place) -> list[Comparison]:
    """Compare the peak memory of streams."""
    if not _STATUS.exists():
        print("memory: left out, as this system has no /proc", file=sys.stderr)
        return []
    rows = TIMES * place.rows
    write_readings(place, rows)
    ways = [(BASE, BASE, "happybase scan, hand-written dataclass")]
    ways.append((AGAIN, BASE, "the same again (A/A)"))
    if compiled_cells is not None:
        ways.append((COMPILED, COMPILED, "session.stream(select(...)), compiled"))
    ways.append((PURE, PURE, "session.stream(select(...)), pure Python"))
    variants = [_Reading(place, way, rows).variant(key, name) for key, way, name in ways]
    title = f"Stream of {rows:,} rows of 5 cells in a process of its own"
    repetitions = min(MOST_REPETITIONS, place.repetitions)
    return [compare("memory", title, "row", variants, repetitions=repetitions, seed=11)]


def _status_bytes(field: str) -> int:
    """Return a size from the process's status: VmRSS is now, VmHWM the peak since its start."""
    lines = _STATUS.read_text(encoding="ascii").splitlines()
    (line,) = (line for line in lines if line.startswith(f"{field}:"))
    return int(line.split()[1]) * _KB


def _read(url: str, table: str, way: str, rows: int) -> list[float]:
    """Read the table; return rows, seconds, CPU seconds, and megabytes at most above the start."""
    with connect(url) as engine:
        host, port = engine.options.thrift1[0]
        connection = happybase.Connection(host, port)
        before = _status_bytes("VmRSS")
        wall, cpu = time.perf_counter(), time.process_time()
        if way == BASE:
            count = complete(read_by_hand(connection, table), rows)
        else:
            count = stream(engine, rows)
        wall_s, cpu_s = time.perf_counter() - wall, time.process_time() - cpu
        connection.close()
        return [count, wall_s, cpu_s, (_status_bytes("VmHWM") - before) / _MB]


if __name__ == "__main__":
    print(json.dumps(_read(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))))
