"""Processes, identified by their process id and start time.

A process id may be reused by another process, but not with the same start time. So no signal is
sent to a wrong process.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_PAUSE_POLL_S = 0.001
_POLL_S = 0.05
_SHELL = "/bin/sh"  # sets the child's umask: Python can only set its own, of all its threads
_PROC = Path("/proc")
_STAT_STATE = 0  # fields of /proc/PID/stat, counted after the closing bracket of the name
_STAT_START_TICKS = 19


@dataclass(frozen=True, slots=True)
class ProcessId:
    """The id and the start time of a process, which identify it even after it ends."""

    pid: int
    started: str

    @classmethod
    def of(cls, pid: int) -> ProcessId | None:
        """Return the identity of the process that has this id now, or None."""
        started = _start_of(pid)
        return None if started is None else cls(pid, started)

    def is_alive(self) -> bool:
        """Return whether the process runs; reap it if it is a child that has ended."""
        if _start_of(self.pid) != self.started:
            return False
        try:
            reaped, _status = os.waitpid(self.pid, os.WNOHANG)
        except ChildProcessError:
            return True  # runs, but is not our child
        return reaped == 0

    def send(self, number: signal.Signals) -> None:
        """Send a signal; do nothing if the process has ended."""
        if self.is_alive():
            os.kill(self.pid, number)

    def pause(self) -> None:
        """Stop the process by SIGSTOP, and wait until each of its threads has stopped."""
        self.send(signal.SIGSTOP)
        while self.is_alive() and not _is_stopped(self.pid):
            time.sleep(_PAUSE_POLL_S)

    def terminate(self, timeout_s: float) -> None:
        """End the process by SIGTERM, even if it is paused; after `timeout_s` by SIGKILL."""
        self.send(signal.SIGCONT)  # a paused process would never see SIGTERM
        self.send(signal.SIGTERM)
        if not self.wait_gone(timeout_s):
            self.send(signal.SIGKILL)
            self.wait_gone(timeout_s)

    def wait_gone(self, timeout_s: float) -> bool:
        """Wait for the end of the process, for a limited time; return whether it has ended."""
        end = time.monotonic() + timeout_s
        while self.is_alive():
            if time.monotonic() > end:
                return False
            time.sleep(_POLL_S)
        return True


def _start_of(pid: int) -> str | None:
    if not (_PROC / "self").exists():
        return _start_by_ps(pid)
    try:
        stat = (_PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
        boot = (_PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()
    if fields[_STAT_STATE] == "Z" and not _is_child(pid):
        return None  # ended; only its parent has not noticed yet
    return f"{fields[_STAT_START_TICKS]}@{boot}"


def _is_stopped(pid: int) -> bool:
    if not (_PROC / "self").exists():
        return True  # only Linux shows the state of each thread
    try:
        stats = [stat.read_text(errors="replace") for stat in _PROC.glob(f"{pid}/task/*/stat")]
    except OSError:
        return False  # a thread has ended meanwhile
    return all(stat.rpartition(")")[2].split()[_STAT_STATE] in "Tt" for stat in stats)


def _is_child(pid: int) -> bool:
    stat = (_PROC / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
    return int(stat.rpartition(")")[2].split()[1]) == os.getpid()


def _start_by_ps(pid: int) -> str | None:
    shown = subprocess.run(  # noqa: S603 -- one number
        ["ps", "-p", str(pid), "-o", "lstart="],  # noqa: S607 -- ps is at different places
        capture_output=True,
        text=True,
        check=False,
    )
    return shown.stdout.strip() or None


def spawn(command: Sequence[str], log: Path) -> ProcessId:
    """Start a process in a new session; append its output to `log`.

    Signals of this terminal (Ctrl-C) do not reach the process, and it continues when this process
    ends. Only the user may read the files that it creates.
    """
    opened = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        pid = os.posix_spawn(
            _SHELL,
            [_SHELL, "-c", 'umask 077 && exec "$@"', "sh", *command],
            os.environ,
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_DUP2, opened, 1),
                (os.POSIX_SPAWN_DUP2, opened, 2),
            ],
            setsid=True,
            setsigmask=[],
        )
    finally:
        os.close(opened)
    # A child that has already ended is still known to the system until we reap it.
    started = _start_of(pid)
    return ProcessId(pid, started or "")


def command_line(pid: int) -> str:
    """Return the command line of a process, for messages; empty if it cannot be read."""
    try:
        raw = (_PROC / str(pid) / "cmdline").read_bytes()
    except OSError:
        return ""
    return raw.replace(b"\0", b" ").decode("utf-8", "replace").strip()
