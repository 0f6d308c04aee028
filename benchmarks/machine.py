"""What is measured and on what: processor, versions, commit, load."""

from __future__ import annotations

import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Final

from benchmarks.pure import ROOT
from benchmarks.results import Machine
from hbase_orm.compiled import refusal

_GB: Final = 1_000_000_000


def this_machine(hbase: str, load_before: float) -> Machine:
    """Return what this machine is, at the end of a run.

    Args:
        hbase: What is known of the HBase.
        load_before: The load average before the run.
    """
    return Machine(
        day=datetime.now(UTC).date().isoformat(),
        processor=f"{_processor()}, {os.cpu_count()} cores",
        memory_gb=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / _GB,
        versions={
            "Python": platform.python_version(),
            "HBase": hbase,
            "happybase": version("happybase"),
            "thriftpy2": version("thriftpy2"),
        },
        commit=_commit(),
        reader=f"Python only ({refusal})" if refusal else "compiled, and Python",
        load_before=load_before,
        load_after=load_average(),
    )


def load_average() -> float:
    """Return how many processes have wanted to run in the last minute."""
    return os.getloadavg()[0]


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:  # not Linux
        return platform.processor() or platform.machine()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def _commit() -> str:
    try:
        commit = _git("rev-parse", "--short=10", "HEAD")
        # What a run writes itself is no change of what was measured.
        changes = _git("status", "--porcelain", "--untracked-files=no", "--", "hbase_orm", "*.py")
    except (OSError, subprocess.CalledProcessError):
        return "unknown: no git repository"
    return f"{commit} with changes" if changes else commit


def _git(*arguments: str) -> str:
    command = ["git", "-C", str(ROOT), *arguments]
    return subprocess.run(command, capture_output=True, check=True, text=True).stdout.strip()  # noqa: S603  # own code
