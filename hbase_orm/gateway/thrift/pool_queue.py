"""Slots of the connection pool, and turns to use one, first come, first served.

An exception from outside (a signal handler that raises, a time limit of a task queue, Ctrl-C) may
end a thread's work between any two of its steps, those that give a connection back included. So
nothing here is a flag that somebody has to reset: a slot is busy while the turn that has it is
alive and not over. A turn that nobody holds any more has ended, whatever became of its thread.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Generic, Protocol, TypeVar
from weakref import ref


class Connection(Protocol):
    """What the pool needs to know of a connection."""

    def set_deadline(self, deadline: float) -> None:
        """Let calls from now on give up at `deadline`, in the pool's clock's seconds."""
        ...

    def is_in_step(self) -> bool:
        """Return whether every request has been answered; sends nothing."""
        ...

    def is_usable(self) -> bool:
        """Return whether it is in step, and the peer has not closed it and sent nothing."""
        ...

    def close(self) -> None:
        """Close it; in a forked child, send nothing to the peer."""
        ...


C = TypeVar("C", bound=Connection)
R = TypeVar("R")


class Slot(Generic[C]):
    """A place in the pool with its connection.

    Attributes:
        opened: The connection; None until the turn that made the slot has opened it.
        turn: The turn that has the slot, or had it last.
        scanners: Ids of the scanners opened on this connection and not yet closed. They end with
            it, for a server numbers its scanners from 0 again after a restart: read over another
            connection, an old id may be somebody else's scanner.
        unwanted: Ids of scanners that were given up while the slot was in use; the next user of it
            next closes them.
        is_gone: The connection is closed for good.
        idle_since: When the last turn ended, or began if it did not end as it should.
        used: A number that grows from use to use.
    """

    __slots__ = ("idle_since", "is_gone", "opened", "scanners", "turn", "unwanted", "used")

    def __init__(self) -> None:
        """Make a place without a connection, which belongs to no turn."""
        self.opened: C | None = None
        self.turn: ref[Turn[C]] | None = None
        self.scanners: set[int] = set()
        self.unwanted: deque[int] = deque()
        self.is_gone = False
        self.idle_since = 0.0
        self.used = 0

    @property
    def connection(self) -> C:
        """The connection: used by the thread whose turn has the slot, by nobody else."""
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
        """Return whether this very turn has the slot."""
        return self.turn is turn.me and not turn.is_over


class Turn(Generic[C]):
    """One caller's turn to use a connection: a `with` block gives the slot and takes it back.

    The end of the block may be interrupted like anything else: where the slot must come back
    whatever happens, use `do`.

    Attributes:
        deadline: When waiting, connecting and the calls of the block give up.
        is_spread: Rather open one more connection than share one with open scanners.
        same: The only slot that will do, if it is not any one.
        bell: Something is put in when it may be this turn's time.
        is_over: Whether the slot, if there was one, has been given back.
        me: The reference by which the pool knows this turn.
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
        """Prepare; nothing is waited for.

        Args:
            enter: Waits for a slot and returns it.
            leave: Gives the slot back; may be called again after it was interrupted.
            deadline: When waiting, connecting and the calls of the block give up.
            is_spread: Rather open one more connection than share one with open scanners.
            same: The only slot that will do.
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
        """Give the slot back."""
        self.end()

    def end(self) -> None:
        """Give the slot back; once more does nothing."""
        self._leave(self)

    def do(self, work: Callable[[Slot[C]], R]) -> R:
        """Do the work with the slot, and give it back even after an error or an interrupt."""
        try:
            with self as slot:
                return work(slot)
        finally:
            self.end()  # an exception from outside may have cut the end of the block short

    def wait(self, longest_s: float) -> None:
        """Wait for the bell, at most this long."""
        try:
            self.bell.get(timeout=longest_s)
        except Empty:
            return
