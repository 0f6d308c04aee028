"""`faults`: what goes wrong between a program and HBase, told in words."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from hbase_orm.errors import ConnectionLostError, ServerBusyError, ValidationError
from hbase_orm.gateway.base import Feature, Gateway, execute_within
from hbase_orm.model import Model
from hbase_orm.ops import Operation
from hbase_orm.session.engine import Engine, runtime_of
from hbase_orm.testing.request_words import RequestPattern, Word, pattern_of

R = TypeVar("R")

_Kind = Literal["lost answer", "lost request", "refusal", "other work"]


@dataclass
class _Fault:
    """A fault that is to happen, `left` times, after `skip` requests that match."""

    kind: _Kind
    pattern: RequestPattern
    left: int
    skip: int
    work: Callable[[], object] | None = None
    happened: int = 0

    def __str__(self) -> str:
        return f"{self.kind} at {self.pattern}"


@dataclass
class Faults:
    """Faults of one engine within a block of `faults`.

    Each method takes the word for the requests, such as "put" or "read" (see
    `hbase_orm.testing.Word`), and:

    - `table`: a table or its model; None for all tables.
    - `times`: how many requests it happens to, 1 or more; repeated requests count.
    - `skip`: how many such requests are let through before.
    """

    _inner: Gateway
    _faults: list[_Fault] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def lose_answer(
        self, after: Word, *, table: str | type[Model] | None = None, times: int = 1, skip: int = 0
    ) -> None:
        """Send the request, and break the connection before the answer: HBase has applied it.

        The program sees `ConnectionLostError`, and cannot know whether it was applied.
        """
        self._add(_Fault("lost answer", pattern_of(after, table), times, skip))

    def lose_request(
        self, before: Word, *, table: str | type[Model] | None = None, times: int = 1, skip: int = 0
    ) -> None:
        """Break the connection before the request arrives: HBase never sees it.

        The program sees `ConnectionLostError`, as after a lost answer.
        """
        self._add(_Fault("lost request", pattern_of(before, table), times, skip))

    def refuse(
        self, what: Word, *, table: str | type[Model] | None = None, times: int = 1, skip: int = 0
    ) -> None:
        """Refuse the request as a busy server does (`ServerBusyError`): it was not applied."""
        self._add(_Fault("refusal", pattern_of(what, table), times, skip))

    def meanwhile(
        self,
        before: Word,
        do: Callable[[], object],
        *,
        table: str | type[Model] | None = None,
        skip: int = 0,
    ) -> None:
        """Call `do` once before the request is sent: what another program does at this moment.

        `do` may use other engines of the same tables, and this one.
        """
        self._add(_Fault("other work", pattern_of(before, table), 1, skip, do))

    def _add(self, fault: _Fault) -> None:
        if fault.left < 1 or fault.skip < 0:
            raise ValidationError(
                "a fault happens once or more often",
                times=fault.left,
                skip=fault.skip,
                fix="write times=1",
            )
        with self._lock:
            self._faults.append(fault)

    # --- as the gateway of the engine -------------------------------------------------------------

    @property
    def features(self) -> frozenset[Feature]:
        """The features of the engine's gateway."""
        return self._inner.features

    @property
    def timeout_s(self) -> float | None:
        """The time limit of one request, in seconds; None if there is none."""
        limit: float | None = getattr(self._inner, "timeout_s", None)
        return limit

    def execute(self, operation: Operation[R], /) -> R:
        """Send a request, unless a fault happens to it."""
        return self._sent(operation, self._inner.execute)

    def execute_within(self, operation: Operation[R], timeout_s: float, /) -> R:
        """Send a request with a time limit, unless a fault happens to it."""
        return self._sent(operation, lambda each: execute_within(self._inner, each, timeout_s))

    def close(self) -> None:
        """Close the gateway: the engine was closed within the block."""
        self._inner.close()

    def _sent(self, operation: Operation[R], send: Callable[[Operation[R]], R]) -> R:
        fault = self._fault_of(operation)
        if fault is None:
            return send(operation)
        if fault.kind == "refusal":
            raise ServerBusyError("the server is too busy: a fault of this test")
        if fault.kind == "lost request":
            raise ConnectionLostError("the connection broke: a fault of this test")
        if fault.work is not None:
            fault.work()
            return send(operation)
        send(operation)
        raise ConnectionLostError("the connection broke before the answer: a fault of this test")

    def _fault_of(self, operation: Operation[Any]) -> _Fault | None:
        """Return the fault that happens to a request now, and note that it does."""
        with self._lock:
            for fault in self._faults:
                if not fault.left or not fault.pattern.matches(operation):
                    continue
                if fault.skip:
                    fault.skip -= 1
                    continue
                fault.left -= 1
                fault.happened += 1
                return fault
        return None

    def check(self) -> None:
        """Fail if a fault did not happen at all: the test would show nothing.

        Raises:
            AssertionError: No request of this kind was sent.
        """
        missed = [str(each) for each in self._faults if not each.happened]
        if missed:
            raise AssertionError(f"no such request was sent: {', '.join(missed)} did not happen")


@contextmanager
def faults(engine: Engine) -> Iterator[Faults]:
    """Let things go wrong between an engine and HBase within the block.

    A fault is one that goes on: a request that the engine would repeat by itself, because that is
    safe, is not repeated. At the end of a block without an error, a fault that did not happen fails
    the test.

    Raises:
        AssertionError: A fault did not happen.

    Examples:
        >>> with faults(engine) as injected:  # doctest: +SKIP
        ...     injected.lose_answer(after="put", table=Order)
        ...     with pytest.raises(ConnectionLostError):
        ...         session.put(order)
    """
    runtime = runtime_of(engine)
    injected = Faults(runtime.gateway)
    with runtime.diverted_to(injected):
        yield injected
    injected.check()
