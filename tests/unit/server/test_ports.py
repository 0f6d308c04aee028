from __future__ import annotations

import os
import signal
import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from hbase_orm.errors import PortInUseError
from hbase_orm.server.ports import describe_listener, free_ports, listens, require_free
from hbase_orm.server.processes import spawn


@pytest.fixture(params=["127.0.0.1", "0.0.0.0"])
def taken(request: pytest.FixtureRequest) -> Iterator[int]:
    with closing(socket.create_server((request.param, 0))) as server:
        yield server.getsockname()[1]


def test_free_ports_differ_and_can_be_listened_on() -> None:
    ports = free_ports(3)

    for port in ports:
        require_free(port, "--port")
    assert len(set(ports)) == 3


def test_a_taken_port_is_refused_and_its_process_named(taken: int) -> None:
    with pytest.raises(PortInUseError) as caught:
        require_free(taken, "--port")

    assert caught.value.port == taken
    assert caught.value.process.startswith(f"{os.getpid()}: ")
    assert "--port" in caught.value.fix


def test_a_port_with_lingering_connections_is_free() -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        port = server.getsockname()[1]
        with closing(socket.create_connection(("127.0.0.1", port))):
            accepted, _ = server.accept()
            accepted.close()  # this side closes first: its socket lingers in TIME_WAIT

    require_free(port, "--port")


def test_only_the_process_that_holds_the_socket_listens(taken: int, tmp_path: Path) -> None:
    other = spawn(["/bin/sh", "-c", "exec sleep 60"], tmp_path / "log")

    found = listens(other.pid, taken)

    other.send(signal.SIGKILL)
    other.wait_gone(10)
    assert listens(os.getpid(), taken)
    assert not found


def test_a_listener_on_another_address_does_not_take_the_calls() -> None:
    with closing(socket.create_server(("127.0.0.2", 0))) as server:
        assert not listens(os.getpid(), server.getsockname()[1])


def test_a_dual_stack_listener_takes_the_calls() -> None:
    with closing(
        socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True)
    ) as server:
        assert listens(os.getpid(), server.getsockname()[1])


def test_a_connected_socket_is_no_listener(taken: int) -> None:
    with closing(socket.create_connection(("127.0.0.1", taken))) as client:
        assert not listens(os.getpid(), client.getsockname()[1])


def test_a_listener_that_cannot_be_seen_is_said_to_be_unknown() -> None:
    (port,) = free_ports(1)

    assert describe_listener(port).startswith("unknown")
