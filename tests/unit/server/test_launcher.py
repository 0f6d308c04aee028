"""The launcher's decisions that need no HBase; the integration tests start real ones."""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from hbase_orm.cli import main as cli_main
from hbase_orm.errors import JavaNotFoundError, ServerError, ServerNotRunningError
from hbase_orm.server import EmbeddedServer, ServerOptions, launcher
from hbase_orm.server.options import GatewayName
from hbase_orm.server.probe import WireFormat
from hbase_orm.server.processes import ProcessId, spawn
from hbase_orm.server.state import DataFolder, ServerState


@pytest.fixture
def answering_port() -> Iterator[int]:
    """Answer like a Thrift1 gateway, in this very process."""
    reply = WireFormat().good_reply(b"getTableNames")

    def serve() -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            with closing(connection):
                connection.recv(1000)
                connection.sendall(reply)

    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        thread = threading.Thread(target=serve)
        thread.start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)
    thread.join()


def _state(hbase: ProcessId, port: int) -> ServerState:
    ports = {"thrift1": port, "thrift2": port + 1}
    return ServerState({"hbase": hbase}, ports, "n", {"ephemeral": False, "of_a_later_version": 1})  # type: ignore[arg-type] # as read from a file


def test_a_server_that_answers_is_ours_only_if_our_process_holds_the_port(
    answering_port: int, tmp_path: Path
) -> None:
    stranger = spawn(["/bin/sh", "-c", "exec sleep 60"], tmp_path / "log")
    ourselves = ProcessId.of(os.getpid())
    server = EmbeddedServer(ServerOptions(data_dir=tmp_path))
    server._ports = {"thrift1": answering_port}

    adopted = server._serves("thrift1", stranger)

    stranger.send(signal.SIGKILL)
    stranger.wait_gone(10)
    assert not adopted
    assert ourselves is not None
    assert server._serves("thrift1", ourselves)


def test_a_state_whose_process_id_was_given_to_another_process_is_stale(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path / "data")
    folder.prepare()
    folder.write(_state(ProcessId(os.getpid(), "1@another boot"), 9090))

    assert EmbeddedServer.running(folder.path) is None


def test_a_running_server_is_described_by_its_state(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path / "data")
    folder.prepare()
    ourselves = ProcessId.of(os.getpid())
    assert ourselves is not None
    folder.write(_state(ourselves, 9090))

    found = EmbeddedServer.running(folder.path)

    assert found is not None
    assert found.url == "hbase://127.0.0.1:9090?thrift2=127.0.0.1:9091"
    assert found.processes() == {"hbase": os.getpid()}
    with pytest.raises(ServerNotRunningError, match="not ready yet"):
        _ = found.admin


# --- a server that has died ------------------------------------------------------------------------


@pytest.fixture
def leftover(tmp_path: Path) -> Iterator[ProcessId]:
    """A gateway whose HBase was killed, of an ephemeral server in `tmp_path / "data"`."""
    folder = DataFolder(tmp_path / "data")
    folder.prepare()
    gateway = spawn(["/bin/sh", "-c", "exec sleep 60"], tmp_path / "log")
    processes = {"hbase": ProcessId(os.getpid(), "1@another boot"), "thrift1": gateway}
    ports: dict[GatewayName, int] = {"thrift1": 9090, "thrift2": 9091}
    folder.write(ServerState(processes, ports, "n", {"ephemeral": True, "thrift": "separate"}))
    yield gateway
    gateway.send(signal.SIGKILL)
    gateway.wait_gone(10)


def test_what_a_dead_server_left_is_found_but_does_not_count_as_running(
    leftover: ProcessId, tmp_path: Path
) -> None:
    found = EmbeddedServer.recorded(tmp_path / "data")

    assert EmbeddedServer.running(tmp_path / "data") is None
    assert found is not None
    assert found.processes() == {"thrift1": leftover.pid}


def test_a_stop_ends_what_a_dead_server_left_and_deletes_ephemeral_data(
    leftover: ProcessId, tmp_path: Path
) -> None:
    found = EmbeddedServer.recorded(tmp_path / "data")
    assert found is not None

    found.stop()

    assert not leftover.is_alive()
    assert not (tmp_path / "data").exists()


def test_a_start_first_ends_what_a_dead_server_left_and_says_so(
    leftover: ProcessId, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_java(_progress: object) -> None:
        raise JavaNotFoundError("the start goes no further here")

    monkeypatch.setattr(launcher, "chosen_java", no_java)
    said: list[str] = []

    with pytest.raises(JavaNotFoundError):
        EmbeddedServer(ServerOptions(data_dir=tmp_path / "data")).start(said.append)

    assert not leftover.is_alive()
    assert said[0].startswith("of the run before: the server has died")
    assert said[1:] == [f"ending thrift1 (process {leftover.pid}), left by a server that died"]
    assert EmbeddedServer.recorded(tmp_path / "data") is None


def test_a_start_beside_a_server_that_runs_is_refused(tmp_path: Path) -> None:
    folder = DataFolder(tmp_path / "data")
    folder.prepare()
    ourselves = ProcessId.of(os.getpid())
    assert ourselves is not None
    folder.write(_state(ourselves, 9090))

    with pytest.raises(ServerError, match="a server runs with this data directory"):
        EmbeddedServer(ServerOptions(data_dir=folder.path)).start()


def _command(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    code = cli_main.run(["server", *arguments])
    shown = capsys.readouterr()
    return code, shown.out + shown.err


def test_the_commands_know_what_a_dead_server_left(
    leftover: ProcessId, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    where = f"--data-dir={tmp_path / 'data'}"

    status = _command(capsys, "status", where)
    reset = _command(capsys, "reset", "--yes", where)
    stop = _command(capsys, "stop", where)

    assert status[0] == 3
    assert f"left thrift1 (process {leftover.pid})" in status[1]
    assert (reset[0], "the server is running" in reset[1]) == (1, True)
    assert (stop[0], stop[1][:10]) == (0, "stopped in")
    assert not leftover.is_alive()


def test_the_stop_command_deletes_the_data_of_an_ephemeral_server_that_died(
    leftover: ProcessId, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    leftover.send(signal.SIGKILL)
    leftover.wait_gone(10)

    stop = _command(capsys, "stop", f"--data-dir={tmp_path / 'data'}")

    assert stop[0] == 0
    assert stop[1].startswith("no server is running\nthe server has died")
    assert not (tmp_path / "data").exists()


def test_a_server_that_was_never_started_has_no_url(tmp_path: Path) -> None:
    server = EmbeddedServer(ServerOptions(data_dir=tmp_path))

    with pytest.raises(ServerNotRunningError, match=r"call start\(\)"):
        _ = server.url
    assert "ports not chosen yet not running" in repr(server)


def test_stopping_what_does_not_run_does_nothing(tmp_path: Path) -> None:
    EmbeddedServer(ServerOptions(data_dir=tmp_path)).stop()

    assert list(tmp_path.iterdir()) == []
