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

from hbase_orm.errors import ServerNotRunningError
from hbase_orm.server import EmbeddedServer, ServerOptions
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


def test_a_server_that_was_never_started_has_no_url(tmp_path: Path) -> None:
    server = EmbeddedServer(ServerOptions(data_dir=tmp_path))

    with pytest.raises(ServerNotRunningError, match=r"call start\(\)"):
        _ = server.url
    assert "ports not chosen yet not running" in repr(server)


def test_stopping_what_does_not_run_does_nothing(tmp_path: Path) -> None:
    EmbeddedServer(ServerOptions(data_dir=tmp_path)).stop()

    assert list(tmp_path.iterdir()) == []
