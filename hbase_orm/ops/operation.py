"""What a request is, and the requests that drivers answer themselves."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Operation(Generic[R]):
    """A request whose answer is an `R`."""


@dataclass(frozen=True, slots=True)
class Together(Operation[tuple[Any, ...]]):
    """Several independent requests; a driver may send them at once. Answers keep positions.

    If some fail, the driver still waits for all, then raises the first failure by position.
    """

    operations: tuple[Operation[Any], ...]


@dataclass(frozen=True, slots=True)
class Sleep(Operation[None]):
    """Wait for `seconds`; the driver's clock decides what that means."""

    seconds: float


@dataclass(frozen=True, slots=True)
class RenewTimeLimit(Operation[None]):
    """Give what follows the whole time limit again, whatever a gateway left unanswered before.

    For protocols of independent parts: one that gets no answer leaves the others their time.
    """


Protocol = Generator[Operation[Any], Any, R]
"""A sans-I/O protocol: yields requests, is sent their answers (or thrown errors), returns an R."""


@dataclass(frozen=True, slots=True)
class SideBySide(Operation[list[Any]]):
    """Run protocols that do not need each other; the answer is what each returned, in order.

    If some fail, the first failure by position is raised once those that had begun have ended.

    Attributes:
        protocols: What to run.
        expected_bytes: How much each is expected to read at a time at least, if known.
    """

    protocols: tuple[Protocol[Any], ...]
    expected_bytes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Nested(Operation[R]):
    """Run another protocol to its end, with a time limit of its own; the answer is what it returns.

    For writes in the middle of a read, whose requests are sent in another way.
    """

    protocol: Protocol[R]
