"""What a request is, and protocols that make them."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

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


Protocol = Generator[Operation[Any], Any, R]
"""A sans-I/O protocol: yields requests, is sent their answers (or thrown errors), returns an R."""


def ask(operation: Operation[R]) -> Generator[Operation[Any], Any, R]:
    """Yield one request and return its answer, typed.

    Used as `rows = yield from ask(GetRows(...))`.
    """
    return cast("R", (yield operation))


def ask_all(operations: Sequence[Operation[R]]) -> Generator[Operation[Any], Any, tuple[R, ...]]:
    """Yield independent requests at once and return their answers in order."""
    return cast("tuple[R, ...]", (yield Together(tuple(operations))))
