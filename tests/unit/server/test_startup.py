from __future__ import annotations

import shutil
import signal
from pathlib import Path

import pytest

from hbase_orm.errors import (
    DiskFullError,
    JavaUnsuitableError,
    PortInUseError,
    ServerDiedError,
    ServerError,
)
from hbase_orm.server.processes import spawn
from hbase_orm.server.startup import StartUp, diagnose


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("java.io.IOException: No space left on device\nHBASE-ORM died x", DiskFullError),
        ("java.net.BindException: Address already in use", PortInUseError),
        ("Error: Could not create the Java Virtual Machine.", JavaUnsuitableError),
        ("java.lang.UnsupportedClassVersionError: org/x", JavaUnsuitableError),
        ("HBASE-ORM died the master has stopped by itself", ServerDiedError),
        ("", ServerDiedError),
    ],
)
def test_the_log_tells_why_a_child_died(tmp_path: Path, text: str, kind: type[ServerError]) -> None:
    log = tmp_path / "log"
    log.write_text(text)

    assert type(diagnose(log)) is kind


def test_a_child_that_could_not_even_write_its_log_died_of_a_full_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A full disk cannot be had without being root.
    full = shutil.disk_usage(tmp_path)._replace(free=4096)
    monkeypatch.setattr(shutil, "disk_usage", lambda _folder: full)
    log = tmp_path / "log"
    log.write_text("")

    assert type(diagnose(log)) is DiskFullError


def test_the_telling_lines_of_the_log_are_shown(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("a line\nHBASE-ORM died the master has stopped by itself\n\tat some.Frame\n")

    error = diagnose(log)

    assert error.reason == "HBASE-ORM died the master has stopped by itself"


def test_phases_are_reported_once_and_in_order(tmp_path: Path) -> None:
    log = tmp_path / "log"
    program = (
        "echo HBASE-ORM 0.5 first; echo noise; sleep 0.3; echo HBASE-ORM 12.0 second; sleep 60"
    )
    child = spawn(["/bin/sh", "-c", program], log)
    seen: list[str] = []

    StartUp(child, log, seen.append).wait(lambda: len(seen) == 2, timeout_s=20)

    child.send(signal.SIGKILL)
    child.wait_gone(10)
    assert seen == ["   0.5 s  first", "  12.0 s  second"]


def test_a_dead_child_is_noticed_although_the_test_for_readiness_says_yes(tmp_path: Path) -> None:
    log = tmp_path / "log"
    child = spawn(["/bin/sh", "-c", "echo HBASE-ORM died of old age"], log)
    child.wait_gone(10)

    with pytest.raises(ServerDiedError, match="of old age"):
        StartUp(child, log, print).wait(lambda: True, timeout_s=20)


def test_a_start_that_takes_too_long_is_an_error(tmp_path: Path) -> None:
    log = tmp_path / "log"
    child = spawn(["/bin/sh", "-c", "exec sleep 60"], log)

    with pytest.raises(ServerError, match="not become ready in time"):
        StartUp(child, log, print).wait(lambda: False, timeout_s=0.1)

    child.send(signal.SIGKILL)
    child.wait_gone(10)


def test_a_master_that_gives_up_is_noticed_although_its_process_runs_on(tmp_path: Path) -> None:
    log = tmp_path / "log"
    program = "echo '***** ABORTING master localhost: no hbase:meta *****'; exec sleep 60"
    child = spawn(["/bin/sh", "-c", program], log)

    with pytest.raises(ServerDiedError, match="no hbase:meta"):
        StartUp(child, log, print).wait(lambda: False, timeout_s=20)

    assert child.is_alive()
    child.send(signal.SIGKILL)
    child.wait_gone(10)


def test_a_paused_process_has_stopped_when_the_call_returns(tmp_path: Path) -> None:
    child = spawn(["/bin/sh", "-c", "while :; do :; done"], tmp_path / "log")

    child.pause()

    state = Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()[0]
    child.send(signal.SIGKILL)
    child.wait_gone(10)
    assert state == "T"
