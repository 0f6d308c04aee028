"""A socket sends everything, waits no longer than its deadline, and notices a peer that left."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from thriftpy2.transport import TTransportException

from hbase_orm.gateway.thrift.deadline_socket import DeadlineSocket

# More than the buffers of a loopback connection take.
_MANY = bytes(range(256)) * 65_536


@contextmanager
def _pair(seconds: float = 30.0) -> Iterator[tuple[DeadlineSocket, socket.socket]]:
    """Return an open socket, and its peer."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        host, port = server.getsockname()
        own = DeadlineSocket(host, port, time.monotonic)
        own.deadline = time.monotonic() + seconds
        own.open()
        peer, _ = server.accept()
    with peer:
        yield own, peer
    own.close()


def _received(peer: socket.socket, count: int) -> bytes:
    pieces = []
    while count and (piece := peer.recv(count)):
        pieces.append(piece)
        count -= len(piece)
    return b"".join(pieces)


def test_what_does_not_fit_the_buffers_is_sent_as_the_peer_takes_it() -> None:
    with _pair() as (own, peer):
        sender = threading.Thread(target=own.write, args=(_MANY,))
        sender.start()
        received = _received(peer, len(_MANY))
        sender.join()

    assert received == _MANY


def test_a_peer_that_takes_nothing_ends_a_write_at_the_deadline() -> None:
    with _pair() as (own, _):
        own.deadline = time.monotonic() + 0.1

        with pytest.raises(TimeoutError):
            own.write(_MANY)


def test_after_the_deadline_nothing_is_sent() -> None:
    with _pair() as (own, peer):
        own.deadline = time.monotonic()

        with pytest.raises(TimeoutError):
            own.write(b"late")

        peer.setblocking(False)
        with pytest.raises(BlockingIOError):
            peer.recv(4)


def test_a_peer_that_sends_nothing_ends_a_read_at_the_deadline() -> None:
    with _pair() as (own, _):
        own.deadline = time.monotonic() + 0.1

        with pytest.raises(TimeoutError):
            own.read(1)


def test_a_deadline_further_away_than_a_system_call_can_wait_is_no_error() -> None:
    with _pair(seconds=1e9) as (own, peer):
        peer.sendall(b"answer")

        assert own.read(100) == b"answer"


def test_a_socket_is_quiet_until_bytes_arrive_or_the_peer_leaves() -> None:
    with _pair() as (own, peer):
        before = own.is_quiet()
        peer.sendall(b"x")
        own.answers.poll()
        with_bytes = own.is_quiet()
        own.read(1)
        again = own.is_quiet()
        peer.close()
        own.answers.poll()

        assert (before, with_bytes, again, own.is_quiet()) == (True, False, True, False)


def test_a_peer_that_left_ends_a_read_at_once() -> None:
    with _pair() as (own, peer):
        peer.close()

        with pytest.raises(TTransportException):
            own.read(1)


def test_a_closed_socket_is_neither_quiet_nor_usable() -> None:
    with _pair() as (own, _):
        own.close()

        assert not own.is_quiet()
        with pytest.raises(TTransportException):
            own.write(b"x")
