"""A server's files are its owner's alone, whatever the umask is and whoever made the folder."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hbase_orm.errors import ServerError
from hbase_orm.server import jars
from hbase_orm.server.processes import spawn
from hbase_orm.server.state import DataFolder, ServerState

STATE = ServerState({}, {"thrift1": 1, "thrift2": 2}, "nonce", {})


@contextmanager
def _umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def _open_to_others(folder: Path) -> list[Path]:
    return [path for path in (folder, *folder.rglob("*")) if path.stat().st_mode & 0o077]


@pytest.mark.parametrize("mask", [0, 0o022])
def test_what_the_launcher_writes_is_closed_to_others(tmp_path: Path, mask: int) -> None:
    folder = DataFolder(tmp_path / "new")
    with _umask(mask):
        folder.prepare()
        folder.begin_log(folder.log)
        folder.write(STATE)
    assert folder.read() == STATE
    assert _open_to_others(folder.path) == []


def test_a_folder_that_others_could_read_is_closed_to_them_at_the_next_start(
    tmp_path: Path,
) -> None:
    folder = DataFolder(tmp_path / "old")
    folder.prepare()
    folder.path.chmod(0o755)
    folder.prepare()
    assert _open_to_others(folder.path) == []


def test_a_folder_of_somebody_elses_files_is_refused_and_left_as_it_is(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    (tmp_path / "letter").write_text("mine")
    with pytest.raises(ServerError):
        DataFolder(tmp_path).prepare()
    assert tmp_path.stat().st_mode & 0o777 == 0o755


def test_files_of_a_server_process_are_closed_to_others(tmp_path: Path) -> None:
    program = "import os, sys; open(sys.argv[1], 'w').close(); os.mkdir(sys.argv[2])"
    made = [tmp_path / "file", tmp_path / "folder"]
    log = tmp_path / "log"
    with _umask(0):
        process = spawn([sys.executable, "-c", program, *map(str, made)], log)
        assert process.wait_gone(30)
    assert log.read_text() == ""
    assert [path.stat().st_mode & 0o777 for path in (*made, log)] == [0o600, 0o700, 0o600]


def test_nobody_else_may_write_to_the_cache_of_what_is_run(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    with _umask(0):
        (cache / "jars-1").mkdir(parents=True, mode=0o777)
    jars._keep_to_owner(cache)
    assert [path.stat().st_mode & 0o022 for path in (cache, cache / "jars-1")] == [0, 0]
    with _umask(0):
        jars._keep_to_owner(tmp_path / "new")
    assert (tmp_path / "new").stat().st_mode & 0o777 == 0o700


def test_a_cache_that_belongs_to_another_user_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner = tmp_path.stat().st_uid
    tmp_path.chmod(0o755)
    if owner == 0:  # as root: give it away
        os.chown(tmp_path, 12_345, -1)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    with pytest.raises(ServerError, match="belongs to another user"):
        jars._keep_to_owner(tmp_path)
