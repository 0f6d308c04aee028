"""What an import costs: CPU time of fresh processes, beside `import happybase`.

The CPU time of a process is counted by the operating system once it has ended, user and system
together. That of an empty Python is a part of each.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from resource import RUSAGE_CHILDREN, getrusage

from benchmarks.paired import Variant, compare
from benchmarks.results import AGAIN, BASE, Comparison

RUNS = 11  # at least; the median of fewer depends on single runs

PROGRAMS = {
    BASE: "import happybase",
    AGAIN: "import happybase",
    "nothing": "pass",
    "package": "import hbase_orm",
    "model": "from hbase_orm import Model",
    "memory": 'from hbase_orm import connect; connect("memory://")',
    "thrift": "import hbase_orm.session.thrift_gateways",
    "help": "from hbase_orm.cli.main import run; run(['--help'])",
}
_NAMES = {
    AGAIN: "the same again (A/A)",
    "nothing": "an empty Python",
    "thrift": "what connect(url) loads",
    "help": "hbase-orm --help",
}


def imports(repetitions: int) -> list[Comparison]:
    """Measure each program in processes of its own."""
    variants = [
        Variant(key, _NAMES.get(key, program), _running(program), cpu_s=_children_cpu_s)
        for key, program in PROGRAMS.items()
    ]
    title, runs = "Imports in fresh processes", max(RUNS, repetitions)
    return [compare("imports", title, "process", variants, repetitions=runs, seed=7)]


def _running(program: str) -> Callable[[], int]:
    def run() -> int:
        command = [sys.executable, "-c", program]
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)  # noqa: S603  # own code
        return 1

    return run


def _children_cpu_s() -> float:
    usage = getrusage(RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
