"""Runners that are killed, paused or still at work, each a process with the command line."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hbase_orm import connect
from hbase_orm.gateway.base import Gateway
from hbase_orm.session.engine import runtime_of
from tests.support.revisions import TABLE, history_in, recorded_cells, write_file

pytestmark = [pytest.mark.hbase, pytest.mark.timeout(300)]

MAIN = "from hbase_orm.cli.main import main; main()"
LEASE_S = 2
ROWS = 60
ROW_S = 0.2
"""A run takes longer than the start of a second process on a slow machine."""
BODY = f"""
import time

def forward(engine, checkpoint):
    for row in range(int(checkpoint.position.get("next", "0")), {ROWS}):
        with open("rows.txt", "a") as file:
            file.write(f"{{row}}\\n")
        time.sleep({ROW_S})
        checkpoint.save({{"next": str(row + 1)}})

def backward(engine): pass
"""


class Place:
    """A folder with a revision, and a namespace with its history."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder = folder
        self.url = f"{url}{'&' if '?' in url else '?'}lease_s={LEASE_S}"
        self.engine = connect(self.url)
        self.table = f"{self.engine.options.namespace}:{TABLE}"
        write_file(
            folder / "migrations",
            "3f2a",
            operations="[RunPython(forward, backward)]",
            body=BODY,
        )

    @property
    def gateway(self) -> Gateway:
        return runtime_of(self.engine).gateway

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-c", MAIN, "--url", self.url, *arguments],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def finish(self, *arguments: str) -> tuple[int, str, str]:
        process = self.start(*arguments)
        out, err = process.communicate(timeout=120)
        return process.returncode, out, err

    def wait_for_rows(self, count: int) -> None:
        until_s = time.monotonic() + 60
        while len(self.rows()) < count:
            assert time.monotonic() < until_s
            time.sleep(0.02)

    def rows(self) -> list[int]:
        path = self.folder / "rows.txt"
        return [int(line) for line in path.read_text().split()] if path.exists() else []


@pytest.fixture
def place(tmp_path: Path, url: str) -> Iterator[Place]:
    place = Place(tmp_path, url)
    place.finish("stamp", "base")
    yield place
    place.engine.close()


def test_a_killed_run_goes_on_at_its_checkpoint(place: Place) -> None:
    process = place.start("upgrade", "--yes")
    place.wait_for_rows(10)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=60)
    before = len(place.rows())
    began_s = time.monotonic()

    code, out, err = place.finish("upgrade", "--yes")

    assert (code, out) == (0, "current: 3f2a\n"), err
    assert time.monotonic() - began_s > LEASE_S
    assert "watching for a lease" in err
    rows = place.rows()
    assert sorted(set(rows)) == list(range(ROWS))
    assert len(rows) <= ROWS + 1  # the row that was not saved
    assert rows[before] >= before - 1


def test_a_runner_at_work_is_not_disturbed(place: Place) -> None:
    process = place.start("upgrade", "--yes")
    place.wait_for_rows(5)

    code, _, err = place.finish("upgrade", "--yes")

    assert code == 4
    assert "another runner is at work" in err
    assert f"process {process.pid} on" in err
    process.communicate(timeout=120)
    assert process.returncode == 0
    assert place.rows() == list(range(ROWS))


def test_a_runner_that_is_paused_through_a_takeover_records_nothing(place: Place) -> None:
    process = place.start("upgrade", "--yes")
    place.wait_for_rows(5)
    os.kill(process.pid, signal.SIGSTOP)
    taken = place.finish("upgrade", "--yes")
    before = recorded_cells(place.gateway, place.table)

    os.kill(process.pid, signal.SIGCONT)
    _, err = process.communicate(timeout=60)

    assert taken[:2] == (0, "current: 3f2a\n"), taken[2]
    assert process.returncode == 4
    assert "another runner has taken over" in err
    assert "[revision='3f2a' step=1" in err
    assert recorded_cells(place.gateway, place.table) == before
    assert list(history_in(place.gateway, place.table).applied) == ["3f2a"]
