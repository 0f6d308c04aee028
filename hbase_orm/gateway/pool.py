"""A bounded pool of connections, each used by one thread at a time.

A connection goes back into the pool only when everything that was asked on it has been answered;
after anything else it is closed. One that has been idle for long is replaced before the server
drops it, one that the peer has closed is noticed before use, and a forked child starts with an
empty pool. The pool knows nothing of Thrift.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Generic, NamedTuple, Protocol, TypeVar
from weakref import WeakSet

from hbase_orm.errors import (
    ConfigurationError,
    ConnectionLostError,
    RetryableError,
    ScannerExpiredError,
    ServerBusyError,
)

# A gateway closes a connection after 60 s without a request (hbase.thrift.server.socket.read
# .timeout); leaving 10 s makes sure that our clock and the way there cannot lose the race.
IDLE_LIMIT_S = 50.0

# A host that drops packets answers nothing; the next address gets its turn after this.
CONNECT_TIMEOUT_S = 5.0


class Address(NamedTuple):
    """Where a gateway listens."""

    host: str
    port: int

    def __str__(self) -> str:
        """Return `host:port`, an IPv6 address in brackets."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class Connection(Protocol):
    """What the pool needs to know of a connection."""

    def set_deadline(self, deadline: float) -> None:
        """Let calls from now on give up at `deadline`, in the pool's clock's seconds."""
        ...

    def is_in_step(self) -> bool:
        """Say whether everything asked has been answered; asks nothing of the network."""
        ...

    def is_usable(self) -> bool:
        """Say whether it is in step and the peer has neither closed it nor sent anything."""
        ...

    def close(self) -> None:
        """Close it; in a forked child, without a word to the peer."""
        ...


C = TypeVar("C", bound=Connection)


class Slot(Generic[C]):
    """A place in the pool with its connection.

    Attributes:
        connection: Used by the thread that holds the slot, by nobody else.
        scanners: Ids of the scanners opened on this connection and not yet closed. They end with
            it, for a server numbers its scanners from 0 again after a restart: read over another
            connection, an old id may be somebody else's scanner.
        is_gone: The connection is closed for good.
    """

    __slots__ = ("connection", "idle_since", "is_busy", "is_gone", "scanners")

    def __init__(self, connection: C) -> None:
        """Hold `connection`, busy from the start."""
        self.connection = connection
        self.scanners: set[int] = set()
        self.is_busy = True
        self.is_gone = False
        self.idle_since = 0.0


class Pool(Generic[C]):
    """Connections to one or several equal gateways.

    `repr` shows the addresses and how many connections are open, busy and allowed.
    """

    def __init__(
        self,
        open_connection: Callable[[Address, float], C],
        addresses: Sequence[Address],
        *,
        size: int = 8,
        wait_s: float = 10.0,
        idle_limit_s: float = IDLE_LIMIT_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Prepare an empty pool; the first request opens the first connection.

        Args:
            open_connection: Opens a connection to an address before a deadline; raises OSError or
                a GatewayError.
            addresses: Where equal gateways listen; taken in turn, and passed over while down.
            size: Most connections open at once.
            wait_s: Longest wait for a free connection.
            idle_limit_s: A connection idle for longer is replaced.
            clock: Seconds of a clock that never goes back.

        Raises:
            ConfigurationError: No address, or a size below 1.
        """
        if not addresses:
            raise ConfigurationError("no gateway address is given", fix="write host:port")
        if size < 1:
            raise ConfigurationError("the pool is too small", pool=size, fix="use pool=1 or more")
        self.addresses = tuple(addresses)
        self.size = size
        self._open_connection = open_connection
        self._wait_s = wait_s
        self._idle_limit_s = idle_limit_s
        self._clock = clock
        self._turn = 0
        self._is_closed = False
        self._start_empty()
        _POOLS.add(self)

    def __repr__(self) -> str:
        """Show addresses and use, as `Pool(127.0.0.1:9090, 2 open, 1 busy, at most 8)`."""
        where = ",".join(str(address) for address in self.addresses)
        if self._is_closed:
            return f"Pool({where}, closed)"
        busy = sum(slot.is_busy for slot in tuple(self._slots))
        return f"Pool({where}, {len(self._slots)} open, {busy} busy, at most {self.size})"

    @contextmanager
    def use(self, deadline: float, *, is_spread: bool = False) -> Iterator[Slot[C]]:
        """Hold a connection for the `with` block.

        Args:
            deadline: When waiting, connecting and the calls of the block give up.
            is_spread: Rather open one more connection than share one with open scanners.

        Raises:
            ServerBusyError: No connection came free in time; nothing was sent.
            RetryableError: No gateway accepts connections; nothing was sent.
            ConfigurationError: The pool is closed, or the gateway is not what it should be.
        """
        slot = self._take(deadline, is_spread=is_spread)
        slot.connection.set_deadline(deadline)
        try:
            yield slot
        finally:
            self._give_back(slot)

    @contextmanager
    def use_same(self, slot: Slot[C], deadline: float) -> Iterator[Slot[C]]:
        """Hold the very connection of `slot` for the block, waiting while another thread has it.

        Raises:
            ScannerExpiredError: The connection is gone, and with it every scanner opened on it.
            ServerBusyError: It did not come free in time; nothing was sent.
        """
        self._take_same(slot, deadline)
        slot.connection.set_deadline(deadline)
        try:
            yield slot
        finally:
            self._give_back(slot)

    @contextmanager
    def use_apart(self, deadline: float) -> Iterator[C]:
        """Open a connection of its own for the block, not counted, and close it afterwards.

        Raises:
            RetryableError: No gateway accepts connections.
            ConfigurationError: The pool is closed, or the gateway is not what it should be.
        """
        with self._changed:
            self._refuse_closed()
        connection = self._connect(deadline)
        try:
            yield connection
        finally:
            connection.close()

    def close(self) -> None:
        """Close every idle connection now and every busy one when its call ends."""
        with self._changed:
            self._is_closed = True
            for slot in [slot for slot in self._slots if not slot.is_busy]:
                self._drop(slot)
            self._changed.notify_all()

    def start_empty_in_child(self) -> None:
        """Forget the parent's connections: they are neither used nor shut down here."""
        for slot in self._slots:
            slot.is_gone = True
        self._start_empty()

    # --- the book-keeping, always under the lock --------------------------------------------------

    def _start_empty(self) -> None:
        self._changed = threading.Condition()
        self._slots: set[Slot[C]] = set()
        # Most recently used last: the rest of the pool may grow old and be closed.
        self._idle: list[Slot[C]] = []
        self._opening = 0

    def _take(self, deadline: float, *, is_spread: bool) -> Slot[C]:
        started = self._clock()
        limit = min(deadline, started + self._wait_s)
        with self._changed:
            while True:
                self._refuse_closed()
                slot = self._choose(is_spread=is_spread)
                if slot is not None:
                    return slot
                if len(self._slots) + self._opening < self.size:
                    self._opening += 1
                    break
                self._wait(limit, started)
        return self._open(deadline)

    def _choose(self, *, is_spread: bool) -> Slot[C] | None:
        self._drop_stale()
        has_room = len(self._slots) + self._opening < self.size
        candidates = [slot for slot in self._idle if not slot.scanners]
        if not candidates and not (is_spread and has_room):
            candidates = self._idle
        while candidates:
            slot = min(reversed(candidates), key=lambda each: len(each.scanners))
            if slot.connection.is_usable():
                self._mark_busy(slot)
                return slot
            candidates = [each for each in candidates if each is not slot]
            self._drop(slot)
        return None

    def _take_same(self, slot: Slot[C], deadline: float) -> None:
        started = self._clock()
        with self._changed:
            while slot.is_busy and not slot.is_gone:
                self._wait(deadline, started)
            self._drop_stale()
            if not slot.is_gone and not slot.connection.is_usable():
                self._drop(slot)
            if slot.is_gone:
                raise ScannerExpiredError(
                    "the connection that opened the scanner is gone",
                    fix="open a new scanner after the last key seen",
                )
            self._mark_busy(slot)

    def _mark_busy(self, slot: Slot[C]) -> None:
        self._idle.remove(slot)
        slot.is_busy = True

    def _drop_stale(self) -> None:
        oldest = self._clock() - self._idle_limit_s
        for slot in [slot for slot in self._idle if slot.idle_since < oldest]:
            self._drop(slot)

    def _drop(self, slot: Slot[C]) -> None:
        slot.is_gone = True
        self._slots.discard(slot)
        if slot in self._idle:
            self._idle.remove(slot)
        slot.connection.close()

    def _give_back(self, slot: Slot[C]) -> None:
        if slot.is_gone:
            # Forked inside the block: the connection is the parent's.
            return
        with self._changed:
            slot.is_busy = False
            slot.idle_since = self._clock()
            if self._is_closed or not slot.connection.is_in_step():
                self._drop(slot)
            else:
                self._idle.append(slot)
            self._changed.notify_all()

    def _wait(self, limit: float, started: float) -> None:
        remaining_s = limit - self._clock()
        if remaining_s <= 0:
            raise ServerBusyError(
                "no connection of the pool came free in time",
                pool_size=self.size,
                waited_s=round(self._clock() - started, 3),
                fix="raise pool= in the URL, or run fewer requests at once",
            )
        self._changed.wait(remaining_s)

    def _refuse_closed(self) -> None:
        if self._is_closed:
            raise ConfigurationError("the gateway is closed", fix="connect again")

    # --- connecting, never under the lock ---------------------------------------------------------

    def _open(self, deadline: float) -> Slot[C]:
        pid = os.getpid()
        slot: Slot[C] | None = None
        try:
            slot = Slot(self._connect(deadline))
        finally:
            if os.getpid() == pid:
                with self._changed:
                    self._opening -= 1
                    if slot is not None:
                        self._slots.add(slot)
                    self._changed.notify_all()
        return slot

    def _connect(self, deadline: float) -> C:
        failures: list[tuple[str, Exception]] = []
        for address in self._addresses_in_turn():
            attempt = min(deadline, self._clock() + CONNECT_TIMEOUT_S)
            try:
                return self._open_connection(address, attempt)
            except (OSError, ConnectionLostError) as exc:
                failures.append((str(address), exc))
        last = failures[-1][1]
        if all(isinstance(exc, socket.gaierror) for _, exc in failures):
            raise ConfigurationError(
                "the gateway's host name is unknown",
                addresses=[address for address, _ in failures],
                fix="check the host in the URL",
            ) from last
        raise RetryableError(
            "no gateway accepts connections",
            addresses=[address for address, _ in failures],
            reason=f"{type(last).__name__}: {getattr(last, 'text', None) or last}",
            fix="start HBase's Thrift gateway, or check host and port in the URL",
        ) from last

    def _addresses_in_turn(self) -> tuple[Address, ...]:
        with self._changed:
            self._turn = (self._turn + 1) % len(self.addresses)
            return self.addresses[self._turn :] + self.addresses[: self._turn]


_POOLS: WeakSet[Pool[Any]] = WeakSet()


def _empty_pools_in_child() -> None:
    for pool in tuple(_POOLS):
        pool.start_empty_in_child()


# A hook and not a comparison of process ids at each use: a lock that another thread held during
# the fork stays locked for ever in the child, so it must be replaced before anybody takes it.
os.register_at_fork(after_in_child=_empty_pools_in_child)
