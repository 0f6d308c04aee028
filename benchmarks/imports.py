"""What an import costs: CPU time of fresh processes, beside `import happybase`.

The CPU time of a process is counted by the operating system once it has ended, user and system
together. That of an empty Python is a part of each.
"""

from __future__ import annotations

import random
import subprocess
import sys
from resource import RUSAGE_CHILDREN, getrusage
from statistics import median

RUNS = 11  # at least; the median of fewer depends on single runs
_MILLIS = 1_000

PROGRAMS = {
    "import happybase": "import happybase",
    "the same again (A/A)": "import happybase",
    "nothing": "pass",
    "import hbase_orm": "import hbase_orm",
    "from hbase_orm import Model": "from hbase_orm import Model",
    'connect("memory://")': 'from hbase_orm import connect; connect("memory://")',
    "what connect(url) loads": "import hbase_orm.session.thrift_gateways",
    "hbase-orm --help": "from hbase_orm.cli.main import run; run(['--help'])",
}


def imports(repetitions: int) -> str:
    """Measure each program in processes of its own; return a table in Markdown."""
    order = random.Random(7)
    found: dict[str, list[float]] = {name: [] for name in PROGRAMS}
    runs = max(RUNS, repetitions)
    for run in range(runs):
        for name in order.sample(list(PROGRAMS), len(PROGRAMS)):
            print(f"imports: {run + 1}/{runs} {name}", file=sys.stderr)
            found[name].append(_cpu_ms(PROGRAMS[name]))
    return "\n".join(
        [
            f"### Imports in fresh processes ({runs} runs)",
            "",
            "| program | CPU ms: median (min..max) |",
            "|---|---|",
            *(
                f"| `{name}` | {median(each):,.0f} ({min(each):,.0f}..{max(each):,.0f}) |"
                for name, each in found.items()
            ),
        ]
    )


def _cpu_ms(program: str) -> float:
    before = getrusage(RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", program], stdout=subprocess.DEVNULL, check=True)  # noqa: S603  # own code
    after = getrusage(RUSAGE_CHILDREN)
    user_s = after.ru_utime - before.ru_utime
    system_s = after.ru_stime - before.ru_stime
    return (user_s + system_s) * _MILLIS
