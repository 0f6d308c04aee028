from __future__ import annotations

import os
import signal
import time
from dataclasses import replace
from pathlib import Path

from hbase_orm.server.processes import ProcessId, command_line, spawn


def _sleeper(log: Path) -> ProcessId:
    return spawn(["/bin/sh", "-c", "exec sleep 60"], log)


def test_a_killed_child_is_not_alive(tmp_path: Path) -> None:
    child = _sleeper(tmp_path / "log")
    alive_before = child.is_alive()

    child.send(signal.SIGKILL)

    assert alive_before
    assert child.wait_gone(10)
    assert ProcessId.of(child.pid) is None


def test_a_process_that_has_the_id_but_another_start_time_is_not_the_one_meant(
    tmp_path: Path,
) -> None:
    child = _sleeper(tmp_path / "log")
    earlier = replace(child, started="1@another boot")

    earlier.send(signal.SIGKILL)

    assert not earlier.is_alive()
    assert not child.wait_gone(0.2)
    child.send(signal.SIGKILL)
    assert child.wait_gone(10)


def _shell_with_trap(log: Path, trap: str) -> ProcessId:
    program = f"trap '{trap}' TERM; echo ready; while :; do sleep 0.1; done"
    child = spawn(["/bin/sh", "-c", program], log)
    while "ready" not in log.read_text():
        time.sleep(0.01)
    return child


def test_a_paused_process_still_ends_cleanly(tmp_path: Path) -> None:
    child = _shell_with_trap(tmp_path / "log", "echo cleaned up; exit")
    child.send(signal.SIGSTOP)

    child.terminate(20)

    assert not child.is_alive()
    assert "cleaned up" in (tmp_path / "log").read_text()


def test_a_process_that_ignores_sigterm_is_killed(tmp_path: Path) -> None:
    child = _shell_with_trap(tmp_path / "log", "")

    child.terminate(0.2)

    assert not child.is_alive()


def test_waiting_ends_when_the_time_is_over(tmp_path: Path) -> None:
    child = _sleeper(tmp_path / "log")

    gone = child.wait_gone(0.1)

    child.send(signal.SIGKILL)
    assert not gone
    assert child.wait_gone(10)


def test_a_child_has_a_session_of_its_own_and_writes_to_its_log(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("before\n")

    # Field 6 of this file is the process's session; a minimal machine has no ps.
    child = spawn(["/bin/sh", "-c", "echo out; echo err >&2; cut -d ' ' -f 6 /proc/$$/stat"], log)

    assert child.wait_gone(10)
    assert log.read_text().split() == ["before", "out", "err", str(child.pid)]


def test_our_own_command_line_can_be_seen() -> None:
    assert "python" in command_line(os.getpid())


def test_a_process_that_does_not_exist_has_no_id() -> None:
    assert ProcessId.of(2**22 + 1) is None


def test_an_ended_process_is_not_alive_though_its_parent_has_not_noticed(tmp_path: Path) -> None:
    log = tmp_path / "log"
    parent = spawn(["/bin/sh", "-c", "sleep 0.5 & echo $!; exec sleep 60"], log)
    while not log.read_text().endswith("\n"):
        time.sleep(0.01)
    child = ProcessId.of(int(log.read_text()))
    assert child is not None
    assert child.is_alive()

    has_ended = child.wait_gone(10)
    parent.send(signal.SIGKILL)

    assert has_ended
    assert parent.wait_gone(10)
