"""Servers that are killed, stopped, orphaned, or meet a stranger on their port."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import happybase
import pytest
from thriftpy2.transport import TTransportException

from hbase_orm.errors import PortInUseError, ServerDiedError, ServerError
from hbase_orm.server import EmbeddedServer, ServerOptions, launcher
from hbase_orm.server.processes import ProcessId
from tests.integration.embedded import connected, count_rows, marks

pytestmark = marks()

_BROKEN = (OSError, TTransportException)


class _Writer:
    """Puts row after row on its own connection until it fails; remembers what was acknowledged."""

    def __init__(self, port: int, table: str) -> None:
        self.acknowledged: list[bytes] = []
        self._port = port
        self._table = table
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        with connected(self._port) as connection:
            table = connection.table(self._table)
            try:
                for number in range(1_000_000):
                    row = b"%07d" % number
                    table.put(row, {b"d:x": b"1"})
                    self.acknowledged.append(row)
            except _BROKEN:
                return

    def wait_for(self, count: int) -> None:
        while len(self.acknowledged) < count:
            time.sleep(0.01)

    def join(self) -> None:
        self._thread.join()


def _rows(port: int, table: str) -> set[bytes]:
    with connected(port) as connection:
        return {row for row, _ in connection.table(table).scan()}


def test_every_acknowledged_write_survives_a_kill_and_a_stop(tmp_path: Path) -> None:
    server = EmbeddedServer(ServerOptions(data_dir=tmp_path / "data")).start()
    ports = server.ports
    with connected(ports["thrift1"]) as connection:
        connection.create_table("t", {"d": {}})
    writer = _Writer(ports["thrift1"], "t")
    writer.wait_for(300)
    # From outside: nothing tells the launcher, its state file goes stale.
    hbase = ProcessId.of(server.processes()["hbase"])
    assert hbase is not None
    os.kill(hbase.pid, signal.SIGKILL)
    writer.join()
    hbase.wait_gone(10)

    found_after_kill = EmbeddedServer.running(server.data_dir)
    server.start()
    after_kill = _rows(server.ports["thrift1"], "t")
    ports_after_kill = server.ports
    server.stop()
    server.start()
    after_stop = _rows(server.ports["thrift1"], "t")
    server.stop()

    assert found_after_kill is None
    assert ports_after_kill == ports
    assert after_kill >= set(writer.acknowledged)
    assert after_stop == after_kill
    assert len(writer.acknowledged) >= 300


@pytest.fixture(scope="module")
def separate() -> Iterator[EmbeddedServer]:
    with EmbeddedServer(ServerOptions(ephemeral=True, thrift="separate")) as started:
        with connected(started.ports["thrift1"]) as connection:
            connection.create_table("t", {"d": {}})
            connection.table("t").put(b"r", {b"d:x": b"1"})
        yield started


def test_a_killed_gateway_comes_back_on_its_port_while_hbase_keeps_running(
    separate: EmbeddedServer,
) -> None:
    before = separate.processes()

    separate.kill_gateway("thrift1")
    while_killed = separate.answering()
    separate.start_gateway("thrift1")

    after = separate.processes()
    assert while_killed == {"thrift1": False, "thrift2": True}
    assert separate.answering() == {"thrift1": True, "thrift2": True}
    assert (after["hbase"], after["thrift2"]) == (before["hbase"], before["thrift2"])
    assert after["thrift1"] != before["thrift1"]
    assert count_rows(separate.ports["thrift1"], "t") == 1


def test_a_paused_gateway_accepts_but_answers_only_when_resumed(separate: EmbeddedServer) -> None:
    separate.pause_gateway("thrift1")
    with (
        connected(separate.ports["thrift1"], timeout_ms=500) as connection,
        pytest.raises(TimeoutError),
    ):
        connection.tables()

    separate.resume_gateway("thrift1")

    assert count_rows(separate.ports["thrift1"], "t") == 1


def test_a_gateway_that_runs_is_not_started_twice(separate: EmbeddedServer) -> None:
    with pytest.raises(PortInUseError):
        separate.start_gateway("thrift2")


def test_separate_gateways_listen_on_loopback_only(separate: EmbeddedServer) -> None:
    other_address = "127.0.0.2"  # every address of this machine leads to what listens on all

    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((other_address, separate.ports["thrift1"]), timeout=5).close()


def test_after_hbase_alone_was_killed_a_start_replaces_the_gateways_it_left(
    separate: EmbeddedServer,
) -> None:
    before = separate.processes()
    hbase = ProcessId.of(before["hbase"])
    assert hbase is not None
    hbase.send(signal.SIGKILL)
    hbase.wait_gone(10)

    separate.start()

    after = separate.processes()
    assert set(after) == {"hbase", "thrift1", "thrift2"}
    assert not set(after.values()) & set(before.values())
    assert count_rows(separate.ports["thrift1"], "t") == 1


def test_a_stranger_that_takes_the_port_during_the_start_is_not_adopted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as stranger:
        port = stranger.getsockname()[1]
        # As if it had taken the port after we had found it free.
        monkeypatch.setattr(launcher, "require_free", lambda _port, _option: None)
        server = EmbeddedServer(ServerOptions(port=port, data_dir=tmp_path / "data"))

        with pytest.raises(PortInUseError):
            server.start()

    assert not server.is_running()
    assert EmbeddedServer.running(tmp_path / "data") is None


def test_a_server_that_cannot_start_says_why_and_leaves_nothing_running(tmp_path: Path) -> None:
    data = tmp_path / "data"
    server = EmbeddedServer(
        ServerOptions(data_dir=data, settings={"hbase.regionserver.ipc.address": "192.0.2.1"})
    )

    with pytest.raises(ServerDiedError, match="Cannot assign requested address") as caught:
        server.start()

    assert caught.value.log == str(data / "logs" / "server.log")
    assert EmbeddedServer.running(data) is None


_OWNER = """
import sys, time
from hbase_orm.server import EmbeddedServer, ServerOptions
server = EmbeddedServer(ServerOptions(ephemeral=True)).start()
print(server.data_dir, server.processes()["hbase"], flush=True)
time.sleep(600)
"""


def test_an_ephemeral_server_ends_with_the_process_that_started_it() -> None:
    with subprocess.Popen([sys.executable, "-c", _OWNER], stdout=subprocess.PIPE) as owner:
        assert owner.stdout is not None
        folder, pid = owner.stdout.readline().decode().split()
        jvm = ProcessId.of(int(pid))
        owner.kill()

    assert jvm is not None
    assert jvm.wait_gone(30)
    assert not Path(folder).exists()


def _cli(*arguments: str) -> tuple[int, str, str]:
    command = [sys.executable, "-c", "from hbase_orm.cli.main import main; main()", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    return done.returncode, done.stdout, done.stderr


def test_the_command_line_starts_finds_and_stops_a_server_of_another_wire_format(
    tmp_path: Path,
) -> None:
    where = ("--data-dir", str(tmp_path / "data"))
    framed = ("--set", "hbase.regionserver.thrift.framed=true")
    compact = ("--set", "hbase.regionserver.thrift.compact=true")

    started = _cli("server", "start", "--port=0", "--thrift2-port=0", *framed, *compact, *where)
    again = _cli("server", "start", *where)
    status = _cli("--json", "server", "status", *where)
    reset_while_running = _cli("server", "reset", "--yes", *where)
    stopped = _cli("server", "stop", *where)
    after = _cli("server", "status", *where)
    last = _cli("server", "logs", "-n", "1", *where)
    logs = _cli("server", "logs", "-n", "100", *where)
    reset = _cli("server", "reset", "--yes", *where)

    assert started[0] == 0
    assert started[1].strip().endswith("&transport=framed&protocol=compact")
    assert "ready" in started[2]
    assert again[:2] == started[:2]
    assert (status[0], json.loads(status[1])["answering"]) == (
        0,
        {"thrift1": True, "thrift2": True},
    )
    assert (reset_while_running[0], stopped[0], after[0], reset[0]) == (1, 0, 3, 0)
    assert len(last[1].splitlines()) == 1
    # A thread of ZooKeeper's client may still complain after the last word.
    assert any(line.endswith("stopped") for line in logs[1].splitlines())
    assert not (tmp_path / "data" / "hbase").exists()


def test_a_server_without_separate_gateways_says_so(tmp_path: Path) -> None:
    with pytest.raises(ServerError, match="thrift='separate'"):
        EmbeddedServer(ServerOptions(data_dir=tmp_path)).kill_gateway("thrift1")


def _fill(table: happybase.Table) -> None:
    for number in range(1_000):
        table.put(b"%07d" % number, {b"d:x": bytes(4_000_000)})


def test_a_server_whose_memory_runs_out_says_so_and_its_files_are_its_owners(
    tmp_path: Path,
) -> None:
    options = ServerOptions(data_dir=tmp_path / "data", ephemeral=True, heap="96m")
    server = EmbeddedServer(options).start()
    try:
        folder = tmp_path / "data"
        with connected(server.ports["thrift1"]) as connection:
            connection.create_table("big", {"d": {}})
            table = connection.table("big")
            table.put(b"0", {b"d:x": b"1"})
            assert folder.stat().st_mode & 0o777 == 0o700
            inside = [path for path in folder.rglob("*") if path.stat().st_mode & 0o066]
            assert inside == []
            with pytest.raises(_BROKEN):
                _fill(table)
        assert server._state is not None
        assert server._state.processes["hbase"].wait_gone(60)
        death = server.death()
        assert death is not None
        assert "ran out of memory" in death.text
        assert "java.lang.OutOfMemoryError" in death.reason
        found = EmbeddedServer.recorded(folder)
        assert found is not None
        assert str(found.death()) == str(death)
    finally:
        server.stop()


def test_a_server_that_was_killed_says_so(tmp_path: Path) -> None:
    options = ServerOptions(data_dir=tmp_path / "data", ephemeral=True)
    server = EmbeddedServer(options).start()
    try:
        os.kill(server.processes()["hbase"], signal.SIGKILL)
        assert server._state is not None
        assert server._state.processes["hbase"].wait_gone(60)
        death = server.death()
        assert death is not None
        assert "it was killed" in death.text
    finally:
        server.stop()
