from __future__ import annotations

import json
from pathlib import Path

import pytest

from hbase_orm.errors import ServerError
from hbase_orm.server.processes import ProcessId
from hbase_orm.server.state import DataFolder, ServerState

_STATE = ServerState(
    processes={"hbase": ProcessId(12, "345@boot")},
    ports={"thrift1": 9090, "thrift2": 9091},
    nonce="n",
    options={"ephemeral": False},
)
_JVM = {"pid": 12, "nonce": "n", "zookeeper": 1, "admin": 2, "token": "t"}


@pytest.fixture
def folder(tmp_path: Path) -> DataFolder:
    prepared = DataFolder(tmp_path / "data")
    prepared.prepare()
    return prepared


def test_a_state_is_read_back_as_written(folder: DataFolder) -> None:
    folder.write(_STATE)

    assert folder.read() == _STATE


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"processes": {"hbase": {}}}'])
def test_a_broken_state_counts_as_none(folder: DataFolder, text: str) -> None:
    (folder.path / "server.json").write_text(text)

    assert folder.read() is None


def test_the_jvm_of_another_start_is_not_taken_for_ready(folder: DataFolder) -> None:
    folder.jvm_file.write_text(json.dumps(_JVM))

    assert folder.read_jvm("n") is not None
    assert folder.read_jvm("another") is None


def test_a_folder_with_other_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")

    with pytest.raises(ServerError, match="files of another program"):
        DataFolder(tmp_path).prepare()
    assert [entry.name for entry in tmp_path.iterdir()] == ["thesis.txt"]


def test_a_folder_that_is_not_ours_is_not_wiped(tmp_path: Path) -> None:
    (tmp_path / "hbase").mkdir()

    with pytest.raises(ServerError, match="nothing was deleted"):
        DataFolder(tmp_path).wipe()
    assert (tmp_path / "hbase").is_dir()


def test_a_wipe_deletes_the_servers_files_and_no_others(folder: DataFolder) -> None:
    (folder.path / "hbase" / "data").mkdir(parents=True)
    (folder.path / "notes.txt").write_text("mine")

    folder.wipe()

    assert not (folder.path / "hbase").exists()
    assert (folder.path / "notes.txt").read_text() == "mine"
    assert folder.is_ours


def test_a_wipe_does_not_follow_a_symbolic_link(folder: DataFolder, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "file").write_text("mine")
    (folder.path / "hbase").symlink_to(elsewhere)

    folder.wipe()

    assert (elsewhere / "file").read_text() == "mine"
    assert not (folder.path / "hbase").is_symlink()


def test_removing_leaves_a_folder_that_holds_other_files(folder: DataFolder) -> None:
    (folder.path / "notes.txt").write_text("mine")

    folder.remove()

    assert [entry.name for entry in folder.path.iterdir()] == ["notes.txt"]


def test_removing_takes_the_folder_away(folder: DataFolder) -> None:
    folder.write(_STATE)

    folder.remove()

    assert not folder.path.exists()


def test_the_log_of_the_run_before_is_kept_and_only_the_owner_may_read_it(
    folder: DataFolder,
) -> None:
    folder.log.write_text("before")

    folder.begin_log(folder.log)

    assert folder.log.read_text() == ""
    assert folder.log.stat().st_mode & 0o777 == 0o600
    assert folder.log.with_name("server.log.1").read_text() == "before"
