"""The process that reads rows without the compiled reader, which is chosen when it is imported.

Run as `python -m benchmarks.pure URL` it takes calls from its standard input, one JSON object a
line, and answers each with a line: how much was done, and its own CPU time so far.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from pkgutil import resolve_name
from types import TracebackType
from typing import Any, Self

from hbase_orm import connect
from hbase_orm.compiled.module import PURE

ROOT = Path(__file__).parents[1]


def environment(*, is_pure: bool) -> dict[str, str]:
    """Return the environment of a process that reads in Python only, or by the compiled reader."""
    return {**os.environ, PURE: "1" if is_pure else ""}


class PureProcess:
    """Calls functions in a process that reads in Python only; started at its first call."""

    def __init__(self, url: str) -> None:
        """Note where the process connects to."""
        self._url = url
        self._process: subprocess.Popen[str] | None = None
        self._cpu_s = 0.0

    def __enter__(self) -> Self:
        """Return this."""
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """End the process."""
        if self._process is not None:
            self._process.communicate()  # closes its input, at whose end it ends

    def cpu_s(self) -> float:
        """Return the CPU time of the process when its last call had ended."""
        if self._process is None:
            self._ask({})
        return self._cpu_s

    def call(self, function: Callable[..., int], arguments: Mapping[str, Any]) -> int:
        """Call a function of a module with an engine and arguments, and return what it returns.

        Raises:
            RuntimeError: The process has ended; standard error shows why.
        """
        name = f"{function.__module__}:{function.__qualname__}"
        return self._ask({"function": name, "arguments": dict(arguments)})

    def _ask(self, call: Mapping[str, Any]) -> int:
        process = self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(call) + "\n")
        process.stdin.flush()
        answer = process.stdout.readline()
        if not answer:
            raise RuntimeError(f"the process without the compiled reader ended: {process.wait()}")
        count, self._cpu_s = json.loads(answer)
        return int(count)

    def _started(self) -> subprocess.Popen[str]:
        if self._process is None:
            self._process = subprocess.Popen(  # noqa: S603  # own code
                [sys.executable, "-m", "benchmarks.pure", self._url],
                cwd=ROOT,
                env=environment(is_pure=True),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        return self._process


def _serve(url: str) -> None:
    with connect(url) as engine:
        for line in sys.stdin:
            call, count = json.loads(line), 0
            if call:
                count = resolve_name(call["function"])(engine, **call["arguments"])
            print(json.dumps([count, time.process_time()]), flush=True)


if __name__ == "__main__":
    _serve(sys.argv[1])
