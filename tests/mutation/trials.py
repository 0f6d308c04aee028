"""Runs of pytest on a private copy of the repository, each in a process forked for it.

The parent process imports what all runs need, but not the library: each child imports it again, as it
stands in the copy. Statements that are watched there call `hit`, and a run says which tests met them.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, Final, Literal

import pytest
from hypothesis import HealthCheck, Phase, settings

PROFILE: Final = "mutation"
ARGUMENTS: Final = (
    "-q",
    "--assert=plain",
    "-p",
    "no:cacheprovider",
    "--randomly-seed=16",
    "--randomly-dont-reorganize",
    "-m",
    "not hbase and not soak and not server and not docker and not fault",
    "--ignore=tests/typing",  # type checkers as processes
    "--ignore-glob=*/test_mutation*.py",
)
PRELOADED: Final = ("click", "happybase", "hypothesis.stateful", "msgspec", "pydantic")

PROBE: Final = "mutation_probe"
HIT: Final = f"__import__({PROBE!r}).hit"
_PROBE_SOURCE: Final = """
where = [""]
met = {}

def hit(mutant):
    met.setdefault(mutant, {})[where[0]] = None
"""

MEMORY_LIMIT_BYTES: Final = 4 << 30
"""What a run may allocate: a mutant may build up without end what the machine cannot hold."""

Ending = Literal["passed", "failed", "timeout"]


class _TooLongError(BaseException):
    """A test took more CPU time than it may."""


@dataclass(frozen=True, slots=True)
class Trial:
    """What a run of pytest found.

    Attributes:
        ending: Whether all tests passed, one failed (or none could start), or time ran out.
        by: The test that failed, or the test file that cannot be imported.
        tests: The CPU seconds of the tests that passed.
        met: By watched statement the tests that executed it, and `file:...` for test files.
        cpu_s: The CPU seconds of the run.
    """

    ending: Ending
    by: str = ""
    tests: Mapping[str, float] = field(default_factory=dict)
    met: Mapping[str, list[str]] = field(default_factory=dict)
    cpu_s: float = 0.0


class _Tests:
    """A pytest plugin: runs the wanted tests, the quickest first, and notes how each one ends."""

    def __init__(
        self, wanted: Mapping[str, float] | None, limit_s: float, where: list[str]
    ) -> None:
        self.wanted, self.limit_s, self.where = wanted, limit_s, where
        self.cpu_s: dict[str, float] = {}
        self.failed: list[str] = []
        self.is_too_long = False

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        if self.wanted is not None:
            wanted = self.wanted
            found = [item for item in items if item.nodeid in wanted]
            items[:] = sorted(found, key=lambda item: wanted[item.nodeid])

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self, collector: pytest.Collector) -> Iterator[None]:
        self.where[0] = file_mark(collector.nodeid)
        report = yield
        self.where[0] = ""
        return report

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        self.where[0] = item.nodeid
        # Again and again: code that catches everything catches the first one.
        signal.setitimer(signal.ITIMER_PROF, self.limit_s, 1)
        begun_s = time.process_time()
        done = yield
        signal.setitimer(signal.ITIMER_PROF, 0)
        self.where[0] = ""
        self.cpu_s[item.nodeid] = round(time.process_time() - begun_s, 4)
        return done

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed:
            self.failed.append(report.nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed.append(report.nodeid)

    def pytest_exception_interact(self, call: pytest.CallInfo[Any]) -> None:
        if call.excinfo is not None and isinstance(call.excinfo.value, _TooLongError):
            self.is_too_long = True


def file_mark(nodeid: str) -> str:
    """Return what stands for a test file while it is imported."""
    return "file:" + nodeid.partition("::")[0]


@dataclass(frozen=True, slots=True)
class Copy:
    """A private copy of the repository, in which modules may be changed.

    Attributes:
        root: Its directory.
        scratch: The directory of the temporary files of the tests.
    """

    root: Path
    scratch: Path

    @classmethod
    def make(cls, repository: Path, directory: Path) -> Copy:
        """Copy the files that git tracks or would track."""
        listed = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=repository,
            capture_output=True,
            check=True,
        )
        root = directory / "copy"
        for name in filter(None, listed.stdout.decode().split("\0")):
            if (repository / name).is_file():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(repository / name, root / name)
        (root / f"{PROBE}.py").write_text(_PROBE_SOURCE)
        folders = [name for name in ("hbase_orm", "tests", "examples") if (root / name).is_dir()]
        subprocess.run([sys.executable, "-m", "compileall", "-q", *folders], cwd=root, check=True)
        return cls(root, directory / "scratch")

    @contextmanager
    def changed(self, sources: Mapping[Path, str]) -> Iterator[None]:
        """Have other sources in files for a while; their times change, so nothing stale is run."""
        before = {path: (path.read_text(), path.stat().st_mtime_ns) for path in sources}
        for path, source in sources.items():
            path.write_text(source)
        try:
            yield
        finally:
            for path, (source, mtime_ns) in before.items():
                path.write_text(source)
                os.utime(path, ns=(mtime_ns, mtime_ns))

    def output_lines(self) -> list[str]:
        """Return what the last run printed."""
        return self.output.read_text(errors="replace").splitlines()

    @property
    def output(self) -> Path:
        """The file of what the last run printed."""
        return self.root.parent / "output"

    def run(
        self,
        wanted: Mapping[str, float] | None = None,
        *,
        limit_s: float,
        timeout_s: float,
    ) -> Trial:
        """Run tests in a process of their own; wanted ones stop at the first failure.

        Args:
            wanted: The tests, and the order in which they run; None: all.
            limit_s: CPU seconds of one test.
            timeout_s: Seconds of the run.
        """
        self.scratch.mkdir()
        answer = self.scratch / "answer.json"
        used_s = _children_s()
        pid = os.fork()
        if not pid:
            _be_child(self, wanted, limit_s, answer)
        is_in_time = _wait(pid, timeout_s)
        try:
            found = json.loads(answer.read_text()) if answer.exists() else {"ending": "failed"}
            if not is_in_time:
                found["ending"] = "timeout"
            return Trial(**found, cpu_s=round(_children_s() - used_s, 2))
        finally:
            shutil.rmtree(self.scratch, ignore_errors=True)
            shutil.rmtree(self.root / ".hypothesis", ignore_errors=True)


def preload() -> None:
    """Import what every run imports, once for all of them."""
    assert "hbase_orm" not in sys.modules
    for name in PRELOADED:
        importlib.import_module(name)


def _children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _wait(pid: int, timeout_s: float) -> bool:
    """Return whether a process ended in time; it and its children are gone in either case."""
    last_s = time.monotonic() + timeout_s
    ended = 0
    while not ended and time.monotonic() < last_s:
        ended, _ = os.waitpid(pid, os.WNOHANG)
        time.sleep(0.02)
    with suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGKILL)
    if not ended:
        os.waitpid(pid, 0)
    return bool(ended)


def _be_child(copy: Copy, wanted: Mapping[str, float] | None, limit_s: float, answer: Path) -> None:
    """Run pytest and write the answer; never return. Without memory there may be no answer."""
    try:
        os.setsid()
        # Not RLIMIT_AS: threads and libraries reserve addresses that they never use.
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_LIMIT_BYTES, MEMORY_LIMIT_BYTES))
        _enter(copy)
        found = _tests_run(wanted, limit_s)
        partial = answer.with_suffix(".partial")
        partial.write_text(json.dumps(found))
        partial.rename(answer)
    finally:
        os._exit(0)


def _enter(copy: Copy) -> None:
    """Let this process and its children see the copy alone, and write no bytecode there."""
    others = [path for path in sys.path if not Path(path, "hbase_orm/__init__.py").exists()]
    sys.path[:] = [str(copy.root), *others]
    os.chdir(copy.root)
    for name in [name for name in sys.modules if name.partition(".")[0] == "tests"]:
        del sys.modules[name]
    sys.dont_write_bytecode = True
    os.environ |= {
        "PYTHONPATH": str(copy.root),
        "PYTHONDONTWRITEBYTECODE": "1",
        "TMPDIR": str(copy.scratch),
        "HYPOTHESIS_PROFILE": PROFILE,
    }
    output = os.open(copy.output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for stream in (1, 2):
        os.dup2(output, stream)
    # A failing example is enough: a smaller one takes long to find.
    settings.register_profile(
        PROFILE,
        deadline=None,
        database=None,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=[HealthCheck.too_slow],
    )


def _tests_run(wanted: Mapping[str, float] | None, limit_s: float) -> dict[str, Any]:
    probe = importlib.import_module(PROBE)
    tests = _Tests(wanted, limit_s, probe.where)
    signal.signal(signal.SIGPROF, _stop)
    files = [] if wanted is None else sorted({name.partition("::")[0] for name in wanted})
    stop = [] if wanted is None else ["-x"]
    code = pytest.main([*ARGUMENTS, *stop, *files], plugins=[tests])
    ending: Ending = "passed" if code in {0, pytest.ExitCode.NO_TESTS_COLLECTED} else "failed"
    return {
        "ending": "timeout" if tests.is_too_long else ending,
        "by": next(iter(tests.failed), ""),
        "tests": {name: s for name, s in tests.cpu_s.items() if name not in tests.failed},
        "met": {mutant: list(where) for mutant, where in probe.met.items()},
    }


def _stop(_signal: int, _frame: FrameType | None) -> None:
    raise _TooLongError
