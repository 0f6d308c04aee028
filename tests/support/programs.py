"""Programs on one HBase that begin at the same moment."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


def run_together(script: str, every: Sequence[dict[str, Any]]) -> None:
    """Run one process for each set of arguments; they begin once all are connected."""
    with ExitStack() as stack:
        processes = []
        for arguments in every:
            command = [sys.executable, "-c", script, json.dumps(arguments)]
            process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
            )
            processes.append(stack.enter_context(process))
            stack.callback(process.kill)
        for process in processes:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        for process in processes:
            assert process.stdin is not None
            process.stdin.write("\n")
            process.stdin.flush()
        assert [process.wait(60) for process in processes] == [0] * len(every)
