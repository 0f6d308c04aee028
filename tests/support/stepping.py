"""Writers that stop before every request until the test lets them go on.

Each writer runs in a thread of its own on a `SteppedGateway`; at any time at most one request is
executed, in the order the test says. So a published interleaving is replayed literally, and it
makes no difference whether the writer is a bare protocol or a session. Faults are told to single
steps: a writer may lose its connection before or after a request, get a wrong "False", or crash.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from typing import Any, TypeVar, cast

from hbase_orm.errors import ConnectionLostError
from hbase_orm.gateway.base import Feature, Gateway
from hbase_orm.ops import (
    Operation,
    Protocol,
    RenewTimeLimit,
    SideBySide,
    Sleep,
    Together,
    run_protocol,
)

R = TypeVar("R")

PATIENCE_S = 30.0


class Fault(Enum):
    CUT_BEFORE = "the connection breaks before the request is sent"
    CUT_AFTER = "the request is executed, its answer is lost"
    LATE = "the answer is lost; the request is executed when the test calls deliver"
    FALSE_THOUGH_APPLIED = "the gateway repeats the request and answers for the second try"
    CRASH = "the writer dies before the request is sent"
    CRASH_LATE = "the writer dies with the request under way: see LATE"


class CrashedError(BaseException):
    """Ends a writer: no `except Exception` of the code under test holds it back."""


@dataclass(slots=True)
class _Writer:
    gateway: SteppedGateway
    thread: threading.Thread | None = None
    asks: Operation[Any] | None = None
    fault: Fault | None = None
    may_go: bool = False
    is_dead: bool = False
    is_done: bool = False
    result: object = None
    error: BaseException | None = None
    log: list[Operation[Any]] = field(default_factory=list)


class StepController:
    """Holds the writers of one replay over one real gateway."""

    def __init__(
        self, gateway: Gateway, passes: Callable[[Operation[Any]], bool] = lambda _: False
    ) -> None:
        """Start without writers; requests that `passes` says True of take no turn."""
        self.passes = passes
        self.late: list[Operation[Any]] = []
        self._gateway = gateway
        self._writers: dict[str, _Writer] = {}
        self._turn = threading.Condition()

    def gateway(self, name: str) -> SteppedGateway:
        """Return the gateway of writer `name`; give it to an engine, or use `start`."""
        if name not in self._writers:
            self._writers[name] = _Writer(SteppedGateway(self, self._gateway, name))
        return self._writers[name].gateway

    def start(self, name: str, work: Callable[[Gateway], object]) -> None:
        """Start a writer and wait until it stops before its first request, or ends."""
        gateway = self.gateway(name)
        writer = self._writers[name]
        writer.thread = threading.Thread(target=self._run, args=(writer, work, gateway))
        writer.thread.start()
        self._wait_for(writer)

    def step(self, name: str, fault: Fault | None = None) -> Operation[Any] | None:
        """Let a writer make one request; return it, or None if the writer has ended."""
        writer = self._writers[name]
        self._wait_for(writer)
        asked = writer.asks
        if asked is None:
            return None
        with self._turn:
            writer.fault, writer.may_go, writer.asks = fault, True, None
            self._turn.notify_all()
        self._wait_for(writer)
        return asked

    def next_request(self, name: str) -> Operation[Any] | None:
        """Return the request before which a writer stands, or None if it has ended."""
        self._wait_for(self._writers[name])
        return self._writers[name].asks

    def finish(self, name: str) -> object:
        """Let a writer go on to its end; return what it returned or raise what it raised."""
        while self.step(name) is not None:
            pass
        writer = self._writers[name]
        if writer.error is not None and not isinstance(writer.error, CrashedError):
            raise writer.error
        return writer.result

    def deliver(self) -> list[object]:
        """Execute the requests that are under way since their answers were lost."""
        answers: list[object] = [self._gateway.execute(request) for request in self.late]
        self.late.clear()
        return answers

    def error(self, name: str) -> BaseException | None:
        """Return what ended a writer, or None if it returned or still runs."""
        return self._writers[name].error

    def requests(self, name: str) -> list[Operation[Any]]:
        """Return the requests a writer made, lost ones included."""
        return list(self._writers[name].log)

    def close(self) -> None:
        """Let every writer die where it stands."""
        for name, writer in self._writers.items():
            while writer.thread is not None and not writer.is_done:
                self.step(name, Fault.CRASH)
            if writer.thread is not None:
                writer.thread.join(PATIENCE_S)

    def wait_for_turn(self, name: str, request: Operation[R]) -> Fault | None:
        """Block a writer's thread before a request; return the fault meant for it."""
        writer = self._writers[name]
        with self._turn:
            if writer.is_dead:
                raise CrashedError
            writer.asks, writer.may_go = request, False
            self._turn.notify_all()
            assert self._turn.wait_for(lambda: writer.may_go, PATIENCE_S), "nobody steps"
            writer.log.append(request)
            if writer.fault in {Fault.CRASH, Fault.CRASH_LATE}:
                writer.is_dead = True
            return writer.fault

    def _run(self, writer: _Writer, work: Callable[[Gateway], object], gateway: Gateway) -> None:
        try:
            writer.result = work(gateway)
        except BaseException as error:  # noqa: BLE001  # kept for the test's thread, which raises it
            writer.error = error
        finally:
            with self._turn:
                writer.is_done = True
                self._turn.notify_all()

    def _wait_for(self, writer: _Writer) -> None:
        with self._turn:
            ready = self._turn.wait_for(
                lambda: writer.is_done or writer.asks is not None, PATIENCE_S
            )
        assert ready, "the writer neither asks nor ends"


class SteppedGateway:
    """One writer's gateway: stops before every request."""

    def __init__(self, controller: StepController, inner: Gateway, name: str) -> None:
        self._controller = controller
        self._inner = inner
        self._name = name

    @property
    def features(self) -> frozenset[Feature]:
        return self._inner.features

    def execute(self, operation: Operation[R], /) -> R:
        if self._controller.passes(operation):
            return self._inner.execute(operation)
        fault = self._controller.wait_for_turn(self._name, operation)
        if fault is None:
            return self._inner.execute(operation)
        if fault in {Fault.CUT_AFTER, Fault.FALSE_THOUGH_APPLIED}:
            self._inner.execute(operation)
        if fault in {Fault.LATE, Fault.CRASH_LATE}:
            self._controller.late.append(operation)
        if fault in {Fault.CRASH, Fault.CRASH_LATE}:
            raise CrashedError
        if fault is Fault.FALSE_THOUGH_APPLIED:
            return cast("R", False)
        raise ConnectionLostError("the connection broke", fault=fault.value)

    def close(self) -> None:
        """Leave the shared gateway open."""


def drive(protocol: Protocol[R], gateway: Gateway, sleep: Callable[[float], object] = id) -> R:
    """Run a protocol request by request; pauses take no time, `sleep` is told of them."""
    return run_protocol(protocol, partial(_execute, gateway=gateway, sleep=sleep))


def _execute(request: Operation[Any], gateway: Gateway, sleep: Callable[[float], object]) -> object:
    if isinstance(request, Sleep):
        sleep(request.seconds)
        return None
    if isinstance(request, RenewTimeLimit):
        return None
    if isinstance(request, Together):
        return tuple(gateway.execute(each) for each in request.operations)
    if isinstance(request, SideBySide):
        return [drive(each, gateway, sleep) for each in request.protocols]
    return cast("object", gateway.execute(request))
