"""Gateways between an engine and the real one: what was sent, what is not let through.

Each is named for what it does to requests; all else goes through untouched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from hbase_orm import Engine
from hbase_orm.errors import ConnectionLostError
from hbase_orm.gateway.base import Feature, Gateway
from hbase_orm.ops import MutateRow, MutateRows, Operation, PutRows, PutStampedRows

R = TypeVar("R")

BATCHES = (MutateRows, PutRows, PutStampedRows)
WRITES = (MutateRow, *BATCHES)


class RecordsRequests:
    """Keeps every request, and sends it."""

    def __init__(self, inner: Gateway) -> None:
        self.inner = inner
        self.requests: list[Operation[Any]] = []

    @property
    def features(self) -> frozenset[Feature]:
        return self.inner.features

    @property
    def writes(self) -> list[Operation[Any]]:
        return [request for request in self.requests if isinstance(request, WRITES)]

    def execute(self, operation: Operation[R], /) -> R:
        self.requests.append(operation)
        return self.inner.execute(operation)

    def close(self) -> None:
        self.inner.close()


class FailsBeforeSending(RecordsRequests):
    """Raises instead of sending, for the requests that `error_of` has an error for."""

    def __init__(
        self, inner: Gateway, error_of: Callable[[Operation[Any]], Exception | None]
    ) -> None:
        super().__init__(inner)
        self.error_of = error_of

    def execute(self, operation: Operation[R], /) -> R:
        self.requests.append(operation)
        error = self.error_of(operation)
        if error is not None:
            raise error
        return self.inner.execute(operation)


class LosesAnswers(RecordsRequests):
    """Sends, and then says that the connection broke, for the requests that `loses` names."""

    def __init__(self, inner: Gateway, loses: Callable[[Operation[Any]], bool]) -> None:
        super().__init__(inner)
        self.loses = loses

    def execute(self, operation: Operation[R], /) -> R:
        self.requests.append(operation)
        answer = self.inner.execute(operation)
        if self.loses(operation):
            raise ConnectionLostError("the connection broke before the answer")
        return answer


class HoldsBack(RecordsRequests):
    """Keeps the first request that `holds` names, says that the connection broke, sends it late."""

    def __init__(self, inner: Gateway, holds: Callable[[Operation[Any]], bool]) -> None:
        super().__init__(inner)
        self.holds = holds
        self.held: Operation[Any] | None = None

    def execute(self, operation: Operation[R], /) -> R:
        self.requests.append(operation)
        if self.held is None and self.holds(operation):
            self.held = operation
            raise ConnectionLostError("no answer came: the request is still under way")
        return self.inner.execute(operation)

    def send_held(self) -> None:
        assert self.held is not None
        self.inner.execute(self.held)


class LetsAnotherWork(RecordsRequests):
    """Lets another program do its work once, at the first request that `meets` names.

    Args:
        inner: The gateway.
        meets: Whether a request is the one.
        work: The work of the other program.
        is_after: Whether the work is done after that request; else before it.
    """

    def __init__(
        self,
        inner: Gateway,
        meets: Callable[[Operation[Any]], bool],
        work: Callable[[], object],
        *,
        is_after: bool = False,
    ) -> None:
        super().__init__(inner)
        self.meets = meets
        self.work = work
        self.is_after = is_after
        self.has_worked = False

    def execute(self, operation: Operation[R], /) -> R:
        self.requests.append(operation)
        is_met = not self.has_worked and self.meets(operation)
        self.has_worked = self.has_worked or is_met
        if is_met and not self.is_after:
            self.work()
        answer = self.inner.execute(operation)
        if is_met and self.is_after:
            self.work()
        return answer


def batches_of(requests: Iterable[Operation[Any]]) -> list[MutateRows]:
    """Return the requests that write many rows, each row by row."""
    return [
        request.as_mutations() if isinstance(request, (PutRows, PutStampedRows)) else request
        for request in requests
        if isinstance(request, BATCHES)
    ]


def gateway_of(engine: Engine) -> Gateway:
    """Return what an engine sends its requests to."""
    return engine._runtime.gateway


def through(gateway: Gateway, engine: Engine) -> Engine:
    """Return an engine like `engine` that sends through `gateway`."""
    return Engine(gateway, engine.options, engine._connections)
