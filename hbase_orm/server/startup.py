"""Reads the log of a JVM: the phases of its start, and the reason why it died."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from hbase_orm.errors import JavaUnsuitableError, PortInUseError, ServerDiedError, ServerError
from hbase_orm.server.disk import FULL, disk_full, is_full
from hbase_orm.server.processes import ProcessId

_PREFIX = "HBASE-ORM "
_DIED = "HBASE-ORM died"
_ABORTED = "ABORTING master"  # the JVM runs on for minutes, but will never answer
_NO_MEMORY = "java.lang.OutOfMemoryError"
_POLL_S = 0.1
_SHOWN_LINES = 4
_SIGNS_OF_DEATH = (
    _DIED,
    _ABORTED,
    " ERROR ",
    " FATAL ",
    "Caused by:",
    "Error occurred",
    "Exception:",
    "Error:",
)


class StartUp:
    """Waits until one process has started, and reports the phases of the start from its log."""

    def __init__(self, process: ProcessId, log: Path, progress: Callable[[str], None]) -> None:
        """Watch `process`, whose output is in `log`, from the beginning of the log."""
        self._process = process
        self._log = log
        self._progress = progress
        self._offset = 0
        self._is_aborted = False

    def wait(self, is_ready: Callable[[], bool], timeout_s: float) -> None:
        """Wait until `is_ready` returns true.

        Raises:
            ServerError: The process ended or its HMaster failed; a subclass shows why. Or
                `is_ready` was still false after `timeout_s`.
        """
        end = time.monotonic() + timeout_s
        while True:
            is_alive = self._process.is_alive()
            self._report()
            if not is_alive or self._is_aborted:
                raise diagnose(self._log)
            if is_ready():
                return
            if time.monotonic() > end:
                raise ServerError(
                    "the server did not become ready in time",
                    timeout_s=timeout_s,
                    log=str(self._log),
                    fix="read the log; on a busy machine another try may be enough",
                )
            time.sleep(_POLL_S)

    def _report(self) -> None:
        with self._log.open("rb") as log:
            log.seek(self._offset)
            new = log.read()
        whole = new[: new.rfind(b"\n") + 1]
        self._offset += len(whole)
        for line in whole.decode("utf-8", "replace").splitlines():
            self._is_aborted |= _ABORTED in line
            if line.startswith(_PREFIX) and not line.startswith(_DIED):
                seconds, _, phase = line.removeprefix(_PREFIX).partition(" ")
                self._progress(f"{seconds:>6} s  {phase}")


def diagnose(log: Path) -> ServerError:
    """Return an error with the reason why a process has ended, which is read from its log."""
    text = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
    lines = text.splitlines()
    if FULL in text or is_full(log.parent):
        return disk_full(log.parent.parent)
    if "Address already in use" in text:
        return PortInUseError(
            "a port was taken while the server started",
            reason=_first(lines, _DIED),
            fix="try again, or choose other ports with --port and --thrift2-port",
        )
    if "UnsupportedClassVersionError" in text or "Could not create the Java Virtual" in text:
        return JavaUnsuitableError(
            "Java refused to start the server",
            reason=" | ".join(lines[:_SHOWN_LINES]),
            fix="set JAVA_HOME to another JDK 17 to 21, or choose another heap size",
        )
    reasons = [line.strip() for line in lines if any(sign in line for sign in _SIGNS_OF_DEATH)]
    return ServerDiedError(
        "the server's process has ended",
        reason=" | ".join((reasons or lines)[-_SHOWN_LINES:]),
        log=str(log),
        fix="read the log for more; the next start recovers writes that HBase acknowledged",
    )


def death_of(log: Path, heap: str) -> ServerError:
    """Return the error for a server that ended although nobody stopped it.

    The error has the reason, and the time when the log was last written.

    Args:
        log: The log of the server.
        heap: The largest heap of the server's JVM.
    """
    error = diagnose(log)
    text = log.read_text(encoding="utf-8", errors="replace") if log.exists() else ""
    last = text.rstrip().rpartition("\n")[2].strip()
    details = {**error.details, "last_log_at": _written_at(log), "log": str(log)}
    if _NO_MEMORY in text:
        why = "the server has died: its JVM ran out of memory"
        fix = (
            f"start the server with more memory, as --heap {_more_than(heap)}; writes that "
            "HBase acknowledged are kept"
        )
        reason = next(x for x in reversed(text.splitlines()) if _NO_MEMORY in x).strip()
        return ServerDiedError(why, **{**details, "reason": reason, "heap": heap}, fix=fix)
    if type(error) is not ServerDiedError:
        return type(error)(error.text, fix=error.fix, **details)
    if not any(sign in last for sign in _SIGNS_OF_DEATH):
        return ServerDiedError(
            "the server has died, and its log has no reason: it was killed, perhaps because memory "
            "ran out, or the machine was restarted",
            **{**details, "reason": last},
            fix="start the server again: writes that HBase acknowledged are kept",
        )
    return ServerDiedError("the server has died", **details, fix=error.fix)


def _written_at(log: Path) -> str:
    if not log.exists():
        return "never"
    return datetime.fromtimestamp(log.stat().st_mtime, UTC).isoformat(" ", "seconds")


def _more_than(heap: str) -> str:
    """Return twice the size of `heap` in the same format: "1024m" for "512m"."""
    number = int(heap.rstrip("kKmMgG"))
    return f"{2 * number}{heap[len(str(number)) :]}"


def _first(lines: list[str], sign: str) -> str:
    return next((line for line in lines if line.startswith(sign)), "")
