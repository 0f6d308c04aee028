"""The base class of requests, and the requests that a driver handles instead of the gateway."""

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
    """Several independent requests, which may be sent in parallel.

    The answers are in the order of the requests.

    If requests fail, the driver still waits for all of them. It then raises the error of the first
    failed request in `operations`.
    """

    operations: tuple[Operation[Any], ...]


@dataclass(frozen=True, slots=True)
class Sleep(Operation[None]):
    """Wait for `seconds` by the driver's clock."""

    seconds: float


@dataclass(frozen=True, slots=True)
class RenewTimeLimit(Operation[None]):
    """Start the time limit of the protocol again for its following requests.

    A protocol of independent parts makes this request before each part. A part that gets no answer
    from the gateway then does not use up the time of the parts after it.
    """


Protocol = Generator[Operation[Any], Any, R]
"""A sans-I/O protocol: a generator that yields requests, receives their answers, and returns an R.

The error of a request is raised inside the generator.
"""


@dataclass(frozen=True, slots=True)
class SideBySide(Operation[list[Any]]):
    """Run independent protocols, perhaps in parallel; the answer is their results in order.

    If protocols fail, the error of the first failed protocol in `protocols` is raised, after all
    started protocols have ended.

    Attributes:
        protocols: The protocols to run.
        expected_bytes: For each protocol, a lower estimate, in bytes, of the answer to one read.
            Empty if unknown.
    """

    protocols: tuple[Protocol[Any], ...]
    expected_bytes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Nested(Operation[R]):
    """Run another protocol to its end, with a separate time limit; the answer is its result.

    A read uses it to write rows or load related objects before it continues. The functions that
    check or record the requests of the read do not see the requests of the nested protocol.
    """

    protocol: Protocol[R]
