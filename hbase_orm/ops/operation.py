"""The base class of requests, and the requests that drivers answer themselves."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Operation(Generic[R]):
    """A request whose answer has type `R`."""


@dataclass(frozen=True, slots=True)
class Together(Operation[tuple[Any, ...]]):
    """Several independent requests, which may be sent in parallel; the answers keep their order.

    If some fail, the driver still waits for all, then raises the first error by position.
    """

    operations: tuple[Operation[Any], ...]


@dataclass(frozen=True, slots=True)
class Sleep(Operation[None]):
    """Wait for `seconds` by the driver's clock."""

    seconds: float


@dataclass(frozen=True, slots=True)
class RenewTimeLimit(Operation[None]):
    """Start the time limit again for the following requests, even after a timeout.

    For protocols with independent parts: a part without an answer does not use up the time of the
    others.
    """


Protocol = Generator[Operation[Any], Any, R]
"""A sans-I/O protocol: yields requests, is sent their answers (or thrown errors), returns an R."""


@dataclass(frozen=True, slots=True)
class SideBySide(Operation[list[Any]]):
    """Run independent protocols, perhaps in parallel; the answer has their results in order.

    If some fail, the first error by position is raised after all started protocols have ended.

    Attributes:
        protocols: The protocols to run.
        expected_bytes: The least size that each protocol is expected to read at a time, if known.
    """

    protocols: tuple[Protocol[Any], ...]
    expected_bytes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Nested(Operation[R]):
    """Run another protocol to its end, with a time limit of its own; the answer is what it returns.

    For writes in the middle of a read, whose requests are sent in another way.
    """

    protocol: Protocol[R]
