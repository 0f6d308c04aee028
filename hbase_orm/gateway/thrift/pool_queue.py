"""The slots of the connection pool, and the turns in which callers use them.

An exception from outside (a signal handler, a time limit, Ctrl-C) may end a thread's work between
any two steps, also while it gives back a connection. So there is no flag that must be reset: a slot
is busy as long as its turn exists and is not over. If an interrupted thread does not end its turn,
the turn is deleted with its last reference. Then the slot is free.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Generic, Protocol, TypeVar
from weakref import ref


class Connection(Protocol):
    """The interface of a connection in the pool."""

    def set_deadline(self, deadline: float) -> None:
        """Set the time, by the pool's clock, at which the following calls give up."""
        ...

    def is_in_step(self) -> bool:
        """Return whether every request has been answered; sends nothing."""
        ...

    def is_usable(self) -> bool:
        """Return whether all requests are answered, and the peer has not closed the connection."""
        ...

    def close(self) -> None:
        """Close the connection; in a forked child, send nothing to the peer."""
        ...


C = TypeVar("C", bound=Connection)
R = TypeVar("R")


class Slot(Generic[C]):
    """A place of the pool for one connection.

    Attributes:
        opened: The connection; None until the first turn has opened it.
        turn: A weak reference to the turn that has the slot, or had it last. None before the first
            turn.
        scanners: The ids of open scanners on this connection. They cannot be used on another
            connection.
        unwanted: The ids of scanners that are no longer needed; the next user of the slot closes
            them.
        is_gone: Whether the connection is closed.
        idle_since: The time when the last turn ended. If the turn did not end normally, it is the
            time when the turn got the slot.
        used: A number that is set at the end of each turn, greater than this number of all other
            slots. So the slot that was used last has the greatest number. 0 before the first turn.
    """

    __slots__ = ("idle_since", "is_gone", "opened", "scanners", "turn", "unwanted", "used")

    def __init__(self) -> None:
        """Create a slot, which has no connection and no turn yet."""
        self.opened: C | None = None
        self.turn: ref[Turn[C]] | None = None
        self.scanners: set[int] = set()
        self.unwanted: deque[int] = deque()
        self.is_gone = False
        self.idle_since = 0.0
        self.used = 0

    @property
    def connection(self) -> C:
        """The connection, which only the thread of the slot's turn may use."""
        if self.opened is None:
            raise AssertionError(self)  # the turn that made the slot opens it before any use
        return self.opened

    @property
    def is_busy(self) -> bool:
        """Whether a turn has the slot."""
        holder = self.turn
        turn = None if holder is None else holder()
        return turn is not None and not turn.is_over

    def is_held_by(self, turn: Turn[C]) -> bool:
        """Return whether this turn has the slot."""
        return self.turn is turn.me and not turn.is_over


class Turn(Generic[C]):
    """One caller's use of a connection. Its `with` block gets a slot, and gives it back at the end.

    An exception from outside may interrupt the end of the `with` block, before the slot is given
    back. `do` gives the slot back even then.

    Attributes:
        deadline: The time at which waiting, connecting and the calls in the `with` block give up.
        is_spread: Whether to open another connection, if the pool has room, instead of sharing one
            that has open scanners.
        same: The only suitable slot, or None if any slot is suitable.
        bell: A queue that gets an item when the turn has got a slot, or should look again.
        is_over: Whether the turn has ended and has given back its slot.
        me: The weak reference by which the pool refers to this turn.
    """

    __slots__ = (
        "__weakref__",
        "_enter",
        "_leave",
        "bell",
        "deadline",
        "is_over",
        "is_spread",
        "me",
        "same",
    )

    def __init__(
        self,
        enter: Callable[[Turn[C]], Slot[C]],
        leave: Callable[[Turn[C]], None],
        deadline: float,
        *,
        is_spread: bool = False,
        same: Slot[C] | None = None,
    ) -> None:
        """Prepare the turn, without waiting.

        Args:
            enter: A function that waits for a slot and returns it.
            leave: A function that gives the slot back to the pool; it may be called again after an
                interrupt.
            deadline: The time at which waiting, connecting and the calls in the `with` block give
                up.
            is_spread: Whether to open another connection, if the pool has room, instead of sharing
                one that has open scanners.
            same: The only suitable slot, or None if any slot is suitable.
        """
        self._enter = enter
        self._leave = leave
        self.deadline = deadline
        self.is_spread = is_spread
        self.same = same
        self.bell: SimpleQueue[None] = SimpleQueue()
        self.is_over = False
        self.me = ref(self)

    def __enter__(self) -> Slot[C]:
        """Wait for the slot and return it."""
        try:
            return self._enter(self)
        except BaseException:
            self.end()
            raise

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> None:
        """Give the slot back to the pool."""
        self.end()

    def end(self) -> None:
        """Give the slot back to the pool; do nothing if that was done before."""
        self._leave(self)

    def do(self, work: Callable[[Slot[C]], R]) -> R:
        """Call `work` with the slot, and return the result of `work`.

        The slot is then given back to the pool, even after an error or an interrupt.
        """
        try:
            with self as slot:
                return work(slot)
        finally:
            self.end()  # an exception from outside may have interrupted the end of the block

    def wait(self, longest_s: float) -> None:
        """Wait until the pool puts an item into `bell`, at most `longest_s` seconds."""
        try:
            self.bell.get(timeout=longest_s)
        except Empty:
            return
