"""A pool of a limited number of connections; each is used by one thread at a time.

After its use, a connection returns to the pool if every request on it was answered. Otherwise it is
closed. A connection that was idle for long is replaced before the server closes it. A connection
that the peer has closed is detected before use. A forked child starts with an empty pool. The pool
does not depend on Thrift.
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import count
from typing import Any, Generic, NamedTuple
from weakref import WeakSet, ref

from hbase_orm.errors import (
    ConfigurationError,
    ConnectionLostError,
    RetryableError,
    ScannerExpiredError,
    ServerBusyError,
)
from hbase_orm.gateway.thrift.pool_queue import C, Connection, Slot, Turn

__all__ = ["Address", "Connection", "Pool", "Slot", "Turn"]

# A gateway closes a connection after 60 s without a request (hbase.thrift.server.socket.read
# .timeout). We close it 10 s earlier, so that no request is sent while the gateway closes it.
IDLE_LIMIT_S = 50.0

# A host that drops packets answers nothing; the next address is tried after this time.
CONNECT_TIMEOUT_S = 5.0

# A turn that gives back its connection wakes the next waiting turn. A turn whose end was
# interrupted by an exception from outside wakes nobody, so waiting turns also check at this
# interval.
LOOK_AGAIN_S = 0.5


class Address(NamedTuple):
    """The address of a gateway."""

    host: str
    port: int

    def __str__(self) -> str:
        """Return `host:port`, an IPv6 address in brackets."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class Pool(Generic[C]):
    """A pool of connections to one or several gateways of the same HBase.

    Its `repr` has the addresses, and the numbers of open, busy and allowed connections.
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
            open_connection: A function that opens a connection to an address before a deadline, or
                raises OSError or a GatewayError.
            addresses: The addresses of gateways of the same HBase; they are used in turn, and
                skipped while down.
            size: The largest number of open connections.
            wait_s: The longest wait for a free connection, in seconds.
            idle_limit_s: The time in seconds after which an idle connection is replaced.
            clock: A monotonic clock, in seconds.

        Raises:
            ConfigurationError: There is no address, or the size is less than 1.
        """
        if not addresses:
            raise ConfigurationError("the URL names no gateway", fix="write host:port")
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
        """Return for example `Pool(127.0.0.1:9090, 2 open, 1 busy, at most 8)`."""
        where = ",".join(str(address) for address in self.addresses)
        return f"Pool({where}, {self.usage})"

    @property
    def usage(self) -> str:
        """For example `2 open, 1 busy, at most 8`, or `closed`."""
        if self._is_closed:
            return "closed"
        slots = tuple(self._slots)
        busy = sum(slot.is_busy for slot in slots)
        return f"{len(slots)} open, {busy} busy, at most {self.size}"

    def use(self, deadline: float, *, is_spread: bool = False) -> Turn[C]:
        """Return a turn: a context manager whose `with` block gets a slot with an open connection.

        Args:
            deadline: The time at which waiting, connecting and the calls in the `with` block give
                up.
            is_spread: Whether to open another connection, if the pool has room, instead of sharing
                one that has open scanners.

        Raises:
            ServerBusyError: No connection became free in time; nothing was sent.
            RetryableError: No gateway accepts connections; nothing was sent.
            ConfigurationError: The pool is closed, or the gateway is of the wrong kind.
        """
        return Turn(self._enter, self._leave, deadline, is_spread=is_spread)

    def use_same(self, slot: Slot[C], deadline: float) -> Turn[C]:
        """Return a turn for `slot`; its `with` block first waits until no other thread uses `slot`.

        Raises:
            ScannerExpiredError: The connection is closed, and with it every scanner that was opened
                on it.
            ServerBusyError: The connection did not become free in time; nothing was sent.
            ConfigurationError: The pool is closed.
        """
        return Turn(self._enter, self._leave, deadline, same=slot)

    @contextmanager
    def use_apart(self, deadline: float) -> Iterator[C]:
        """Open a separate connection for a `with` block, outside of the pool's limit.

        Raises:
            RetryableError: No gateway accepts connections.
            ConfigurationError: The pool is closed, or the gateway is of the wrong kind.
        """
        with self._lock:
            self._refuse_closed()
        connection = self._connect(deadline)
        try:
            yield connection
        finally:
            connection.close()

    def close(self) -> None:
        """Close every idle connection now, and every busy one when its call ends."""
        with self._lock:
            self._is_closed = True
            self._drop_useless()
            for waiting in tuple(self._waiting):
                _ring(waiting)

    def start_empty_in_child(self) -> None:
        """In a forked child, close the child's handles of the parent's connections.

        The peer notices nothing, because the parent still has its handles.
        """
        slots = self._slots
        for slot in slots:
            slot.is_gone = True
        self._start_empty()
        for slot in slots:
            if slot.opened is not None:
                with suppress(OSError):
                    slot.opened.close()

    # --- the book-keeping, always under the lock --------------------------------------------------
    #
    # Any step may be the last one before an exception from outside, so each step leaves a valid
    # state. The lock is C code, which a `with` block takes and frees without a step in
    # between; it is re-entrant because a signal handler may send requests of its own.

    def _start_empty(self) -> None:
        self._lock = threading.RLock()
        self._slots: list[Slot[C]] = []
        self._waiting: deque[ref[Turn[C]]] = deque()
        self._uses = count(1)

    def _enter(self, turn: Turn[C]) -> Slot[C]:
        slot = self._take(turn)
        if slot.opened is None:
            slot.opened = self._connect(turn.deadline)
        slot.opened.set_deadline(turn.deadline)
        return slot

    def _take(self, turn: Turn[C]) -> Slot[C]:
        started = self._clock()
        limit = turn.deadline
        if turn.same is None:
            limit = min(limit, started + self._wait_s)
        with self._lock:
            slot = self._slot_at_once(turn)
            if slot is not None:
                return slot
            self._waiting.append(turn.me)
        while True:
            with self._lock:
                slot = self._slot_of(turn)
            if slot is not None:
                return slot
            self._wait(turn, limit, started)

    def _slot_at_once(self, turn: Turn[C]) -> Slot[C] | None:
        """Return a free slot if no other turn waits; None if the turn must queue."""
        self._refuse_closed()
        if self._waiting:
            return None
        self._drop_useless()
        return self._given_to(turn) if self._offer(turn) else None

    def _given_to(self, turn: Turn[C]) -> Slot[C] | None:
        me = turn.me
        for slot in self._slots:
            if slot.turn is me:
                return slot
        return None

    def _slot_of(self, turn: Turn[C]) -> Slot[C] | None:
        """Return the slot that was given to the turn; None if the turn must wait."""
        self._refuse_closed()
        self._serve()
        if turn.same is not None and turn.same.is_gone:
            raise ScannerExpiredError(
                "the connection that opened the scanner is closed or expired",
                fix="open a new scanner after the last key seen",
            )
        return self._given_to(turn)

    def _serve(self) -> None:
        """Give free slots to the waiting turns, in the order of their arrival."""
        self._drop_useless()
        for waiting in tuple(self._waiting):
            turn = waiting()
            if turn is not None and not turn.is_over and not self._offer(turn):
                if turn.same is None:
                    return  # nothing is free, and there is no room
                continue
            self._forget(waiting)
            _ring(waiting)

    def _offer(self, turn: Turn[C]) -> bool:
        """Give `turn` a suitable slot if one is free; return whether `turn` can stop waiting.

        It can also stop waiting if its only suitable slot (`turn.same`) is gone.
        """
        if self._given_to(turn) is not None:
            return True
        slot = self._choose(turn) if turn.same is None else self._the_same(turn.same)
        if slot is not None:
            slot.idle_since = self._clock()
            slot.turn = turn.me  # from here on it is busy
        return slot is not None or (turn.same is not None and turn.same.is_gone)

    def _choose(self, turn: Turn[C]) -> Slot[C] | None:
        free = [slot for slot in self._slots if not slot.is_busy]
        has_room = len(self._slots) < self.size
        candidates = [slot for slot in free if not slot.scanners]
        if not candidates and not (turn.is_spread and has_room):
            candidates = free
        # Prefer the connection used last, so that surplus connections become old and are closed.
        if len(candidates) > 1:
            candidates.sort(key=lambda each: (len(each.scanners), -each.used))
        for slot in candidates:
            if slot.connection.is_usable():
                return slot
            self._drop(slot)
        if len(self._slots) >= self.size:
            return None
        slot = Slot()
        self._slots.append(slot)
        return slot

    def _the_same(self, slot: Slot[C]) -> Slot[C] | None:
        if slot.is_gone or slot.is_busy:
            return None
        if slot.connection.is_usable():
            return slot
        self._drop(slot)
        return None

    def _drop_useless(self) -> None:
        """Close the free connections that are too old or out of step, and drop their slots.

        A slot whose turn ended before a connection was open is dropped too. If the pool is closed,
        all free connections are closed.
        """
        oldest = self._clock() - self._idle_limit_s
        for slot in [slot for slot in self._slots if not slot.is_busy]:
            is_useless = self._is_closed or slot.is_gone or slot.opened is None
            if is_useless or slot.idle_since < oldest or not slot.connection.is_in_step():
                self._drop(slot)

    def _drop(self, slot: Slot[C]) -> None:
        slot.is_gone = True
        with suppress(ValueError):
            self._slots.remove(slot)
        if slot.opened is not None:
            slot.opened.close()

    def _leave(self, turn: Turn[C]) -> None:
        """Take back the slot of `turn`; may be called again after an interrupt."""
        if turn.is_over and not self._waiting:
            return
        with self._lock:
            for slot in self._slots:
                if slot.is_held_by(turn):
                    slot.idle_since = self._clock()
                    slot.used = next(self._uses)
            turn.is_over = True  # from here on it is free
            if self._waiting:
                self._forget(turn.me)
            self._serve()

    def _forget(self, waiting: ref[Turn[C]]) -> None:
        with suppress(ValueError):
            self._waiting.remove(waiting)

    def _wait(self, turn: Turn[C], limit: float, started: float) -> None:
        remaining_s = limit - self._clock()
        if remaining_s <= 0:
            raise ServerBusyError(
                "all connections of the pool were busy, and none became free in time",
                pool_size=self.size,
                waited_s=round(self._clock() - started, 3),
                fix="raise pool= in the URL, or run fewer requests in parallel",
            )
        turn.wait(min(remaining_s, LOOK_AGAIN_S))

    def _refuse_closed(self) -> None:
        if self._is_closed:
            raise ConfigurationError("the gateway is closed", fix="connect again")

    # --- connecting, never under the lock ---------------------------------------------------------

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
        with self._lock:
            self._turn = (self._turn + 1) % len(self.addresses)
            return self.addresses[self._turn :] + self.addresses[: self._turn]


def _ring(waiting: ref[Turn[Any]]) -> None:
    turn = waiting()
    if turn is not None:
        turn.bell.put(None)


_POOLS: WeakSet[Pool[Any]] = WeakSet()


def _empty_pools_in_child() -> None:
    for pool in tuple(_POOLS):
        pool.start_empty_in_child()


# A hook and not a comparison of process ids at each use: a lock that another thread held during
# the fork stays locked for ever in the child, so it must be replaced before anybody takes it.
os.register_at_fork(after_in_child=_empty_pools_in_child)
