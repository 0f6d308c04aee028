"""The socket of one Thrift connection, with one deadline for all steps of a call."""

from __future__ import annotations

import os
import select
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from thriftpy2.transport import TTransportException

LONGEST_WAIT_S: Final = 3600.0
"""The longest wait of one system call, which takes a number of milliseconds of 32 bits."""

_MILLIS: Final = 1000


class DeadlineSocket:
    """A TCP socket of a client with a deadline: a point in time, not a timeout for each step.

    A socket's own timeout starts again with every byte, so a gateway that sends single bytes could
    block a call forever. Here each send and receive has only the time that is left until
    `deadline`.

    A socket with a timeout makes two more system calls for each send and receive. So the socket
    does not block: it sends at once, and waits by `answers` before it receives.

    Attributes:
        sock: The connected socket; None if it is not open.
        answers: Waits until bytes of the socket can be received, or its peer closed it.
        deadline: The time at which calls give up, in the clock's seconds.
    """

    def __init__(self, host: str, port: int, clock: Callable[[], float]) -> None:
        """Store the address; nothing is sent."""
        self.sock: socket.socket | None = None
        self.answers = select.poll()
        self.deadline = 0.0
        self._peer = (host, port)
        self._clock = clock
        self._pid = os.getpid()

    def is_open(self) -> bool:
        """Return whether the socket was opened and not yet closed."""
        return self.sock is not None

    def open(self) -> None:
        """Connect; try every address of the host, with one deadline for all.

        Raises:
            OSError: No address accepts the connection in time.
        """
        host, port = self._peer
        places = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        for left, (family, kind, protocol, _, place) in zip(
            range(len(places), 0, -1), places, strict=True
        ):
            try:
                # One address that does not answer leaves time for those after it.
                self.sock = self._connected(family, kind, protocol, place, share=left)
            except OSError:
                if left == 1:
                    raise
            else:
                self.answers = select.poll()
                self.answers.register(self.sock, select.POLLIN)
                return

    def _connected(
        self, family: int, kind: int, protocol: int, place: Any, *, share: int
    ) -> socket.socket:
        sock = socket.socket(family, kind, protocol)
        try:
            sock.settimeout(self._remaining_s() / share)
            sock.connect(place)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            sock.setblocking(False)
        except BaseException:
            sock.close()
            raise
        return sock

    def read(self, size: int) -> bytes:
        """Return at least one and at most `size` bytes.

        Raises:
            TTransportException: The peer closed the connection.
            TimeoutError: The deadline passed.
        """
        sock = self._opened()
        while True:
            self._wait(self.answers)
            try:
                data = sock.recv(size)
            except BlockingIOError:  # there was nothing to receive after all
                continue
            if not data:
                raise TTransportException(
                    TTransportException.END_OF_FILE, "the gateway closed the connection"
                )
            return data

    def write(self, data: bytes) -> None:
        """Send all of `data`, or raise an error."""
        sock = self._opened()
        self._remaining_s()  # raises an error if nothing may be sent any more
        sent_bytes = _sent_at_once(sock, data)
        if sent_bytes < len(data):
            self._send_rest(sock, memoryview(data)[sent_bytes:])

    def _send_rest(self, sock: socket.socket, rest: memoryview) -> None:
        room = select.poll()
        room.register(sock, select.POLLOUT)
        while rest:
            self._wait(room)
            rest = rest[_sent_at_once(sock, rest) :]

    def flush(self) -> None:
        """Do nothing, because `write` sends everything immediately."""

    def is_quiet(self) -> bool:
        """Return whether the socket is open on both sides, and no byte has arrived."""
        return self.sock is not None and not self.answers.poll(0)

    def close(self) -> None:
        """Close the socket; in a forked child, close only the child's handle."""
        sock, self.sock = self.sock, None
        if sock is None:
            return
        if os.getpid() == self._pid:
            # The gateway notices even when a forked child still holds a copy of the handle.
            with suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
        sock.close()

    def _opened(self) -> socket.socket:
        if self.sock is None:
            raise TTransportException(TTransportException.NOT_OPEN, "the connection is closed")
        return self.sock

    def _wait(self, ready: select.poll) -> None:
        """Wait until `ready` reports the socket; raise a TimeoutError at the deadline."""
        while not ready.poll(min(self._remaining_s(), LONGEST_WAIT_S) * _MILLIS):
            pass

    def _remaining_s(self) -> float:
        remaining_s = self.deadline - self._clock()
        if remaining_s <= 0:
            raise TimeoutError("the deadline passed")
        return remaining_s


def _sent_at_once(sock: socket.socket, data: bytes | memoryview) -> int:
    """Send what the system takes without waiting; return the number of bytes."""
    try:
        return sock.send(data)
    except BlockingIOError:
        return 0
