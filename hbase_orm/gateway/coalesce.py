"""Runs many protocols in step, and joins their requests of the same kind into one request.

Protocols in step advance together, in rounds:

1. Each protocol runs until it makes a request that may be joined.
2. The requests of all protocols are joined where possible, and sent.
3. Each protocol gets the answer to its own request.

Three kinds of requests may be joined: reads of rows (`GetRows`), reads of versions (`GetVersions`),
and batches of writes (`MutateRows`) in which every put and delete has a timestamp. A joined request
has only one kind and one table. Every other request is sent separately and immediately, by the
thread that runs the protocol. So a check that the protocol made just before the request, such as
the check of a lease, is still valid.

A protocol that makes a request for the driver itself, such as `Sleep` or `Nested`, leaves the
group. It continues after the protocols of the group have ended.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeVar, cast

from hbase_orm.errors import GatewayError, RejectedError
from hbase_orm.gateway.drive import Driver, ProtocolResult, result_of_call
from hbase_orm.gateway.retry import is_repeatable
from hbase_orm.gateway.row_sizes import ReadSizes
from hbase_orm.ops import (
    GetRows,
    GetVersions,
    GetVersionsOfRows,
    MutateRows,
    Nested,
    Operation,
    Protocol,
    ProtocolRun,
    RenewTimeLimit,
    RowMutation,
    SideBySide,
    Sleep,
    Together,
)

R = TypeVar("R")

_Execute = Callable[[Operation[Any]], Any]

# The requests that a driver handles itself.
_OF_DRIVERS: Final = (Nested, RenewTimeLimit, SideBySide, Sleep, Together)

IN_STEP: Final = 100
"""The largest number of protocols that run in step."""

GROUP_ROWS: Final = 500
"""The largest number of rows in one joined request.

One request of a protocol may have several rows, for example the index entries of one row.
"""

GROUP_BYTES: Final = 2 * 1024 * 1024
"""The largest size in bytes of the cells that a joined request writes, or is expected to read.

HBase's own client sends its collected writes when they reach the same size
(hbase.client.write.buffer). A single request of a protocol is not divided, even if it is larger.
"""


def run_grouped(
    driver: Driver,
    protocols: Sequence[Protocol[R]],
    *,
    expected_bytes: Sequence[int] = (),
    unjoined: Collection[str] = (),
    sizes: ReadSizes | None = None,
) -> list[ProtocolResult[R]]:
    """Run independent protocols in step, and return their results or errors in order.

    An error of one protocol does not stop the others. If a joined request fails, the class of its
    error decides what happens:

    - RejectedError: The requests are sent again one by one, so that only the protocols that cause
      the error get it.
    - Any other GatewayError: The error is raised in all protocols whose requests were joined.
    - Any other error: The requests are sent again one by one. If none of them causes the error
      again, it came from outside, for example from a time limit. It is then raised here.

    Sending again is safe, because only reads and repeatable writes are joined.

    Args:
        driver: The driver that sends the requests.
        protocols: The protocols.
        expected_bytes: For each protocol, a lower estimate, in bytes, of the answer to one read.
            Empty if unknown.
        unjoined: The tables whose row reads and batches of writes are never joined. In these
            tables, one protocol's answer may make the requests of other protocols unnecessary.
        sizes: The estimates of row sizes, which each read of rows corrects. None means that there
            are no estimates yet.
    """
    sizes = sizes or ReadSizes()
    expected = list(expected_bytes) or [0] * len(protocols)
    members = [_Member(*each) for each in zip(protocols, expected, strict=True)]
    outcomes: list[ProtocolResult[R]] = []
    for start in range(0, len(members), IN_STEP):
        some = members[start : start + IN_STEP]
        try:
            outcomes += _run_in_step(driver, some, frozenset(unjoined), sizes)
        finally:
            for member in some:
                member.run.close()
    return outcomes


def _run_in_step(
    driver: Driver, members: Sequence[_Member], unjoined: frozenset[str], sizes: ReadSizes
) -> list[ProtocolResult[Any]]:
    patience = driver.patience()
    execute = patience.execute
    driver.each(lambda member: member.begin(execute, unjoined), members)
    while in_step := [member for member in members if member.is_in_step]:
        requests = (each for member in in_step for each in member.requests)
        driver.each(lambda joined: joined.send(execute, sizes), _joined_requests(requests, sizes))
        driver.each(lambda member: member.go_on(execute, unjoined), in_step)
    waiting = [member for member in members if member.outcome is None]
    results = driver.run_many([member.run.rest() for member in waiting], patience=patience)
    for member, result in zip(waiting, results, strict=True):
        member.outcome = result
    return [cast("ProtocolResult[Any]", member.outcome) for member in members]


@dataclass(eq=False, slots=True)
class _Request:
    """A request of one protocol.

    Attributes:
        operation: The request.
        kind: The same for requests that may be joined; None for other requests.
        expected_bytes: The expected size of the answer.
        outcome: The result.
    """

    operation: Operation[Any]
    kind: Any
    expected_bytes: int = 0
    outcome: ProtocolResult[Any] = ProtocolResult()  # noqa: RUF009  # frozen


class _Member:
    """One of the protocols that run in step.

    Attributes:
        run: The running protocol.
        expected_bytes: A lower estimate, in bytes, of the answer to one read.
        requests: The present requests: several for a `Together`, none after the protocol's end.
        outcome: The result or the error of the protocol; None before its end.
    """

    def __init__(self, protocol: Protocol[Any], expected_bytes: int) -> None:
        self.run: ProtocolRun[Operation[Any], Any] = ProtocolRun(protocol)
        self.expected_bytes = expected_bytes
        self.requests: list[_Request] = []
        self.outcome: ProtocolResult[Any] | None = None

    @property
    def is_in_step(self) -> bool:
        """Whether the protocol has requests, and none of them is for the driver itself."""
        return bool(self.requests) and not any(
            isinstance(each.operation, _OF_DRIVERS) for each in self.requests
        )

    def begin(self, execute: _Execute, unjoined: frozenset[str]) -> None:
        """Start the protocol, and send its requests separately until a request may be joined."""
        self._step(ProtocolRun.begin)
        self._send_unjoined(execute, unjoined)

    def go_on(self, execute: _Execute, unjoined: frozenset[str]) -> None:
        """Answer the protocol, and send its requests separately until a request may be joined."""
        self._answer()
        self._send_unjoined(execute, unjoined)

    def _send_unjoined(self, execute: _Execute, unjoined: frozenset[str]) -> None:
        while self._is_unjoined(unjoined):
            request = self.requests[0]
            request.outcome = result_of_call(execute, request.operation)
            self._answer()

    def _is_unjoined(self, unjoined: frozenset[str]) -> bool:
        """Return whether the present request is sent separately and immediately."""
        present = self.run.request
        # After an interrupt, there may be a request here that is not among `requests`.
        if present is None or not self.requests or isinstance(present, _OF_DRIVERS):
            return False
        is_excluded = isinstance(present, GetRows | MutateRows) and present.table in unjoined
        return is_excluded or self.requests[0].kind is None

    def _answer(self) -> None:
        """Send the answers to the protocol.

        If a request failed, raise the first error inside the protocol instead.
        """
        outcomes = [each.outcome for each in self.requests]
        failure = next((each.error for each in outcomes if each.error is not None), None)
        if failure is not None:
            self._step(lambda run: run.throw(failure))
            return
        values = tuple(each.value for each in outcomes)
        answer = values if isinstance(self.run.request, Together) else values[0]
        self._step(lambda run: run.send(answer))

    def _step(self, step: Callable[[ProtocolRun[Operation[Any], Any]], None]) -> None:
        self.requests = []
        try:
            step(self.run)
        except Exception as exc:  # noqa: BLE001  # handed to the caller as this one's outcome
            self.outcome = ProtocolResult(error=exc)
            return
        request = self.run.request
        if request is None:
            self.outcome = ProtocolResult(self.run.result)
            return
        operations = request.operations if isinstance(request, Together) else (request,)
        self.requests = [_Request(each, _kind(each), self.expected_bytes) for each in operations]


@dataclass(eq=False, slots=True)
class _JoinedRequest:
    """Requests of the same kind that are sent as one request."""

    requests: list[_Request] = field(default_factory=list[_Request])
    rows: set[bytes] = field(default_factory=set[bytes])
    size_bytes: int = 0

    def has_room(self, rows: set[bytes], size_bytes: int) -> bool:
        """Return whether a request can be added: its `rows` are new here, and no limit is hit."""
        return (
            not rows & self.rows
            and len(rows) + len(self.rows) <= GROUP_ROWS
            and size_bytes + self.size_bytes <= GROUP_BYTES
        )

    def add(self, request: _Request, rows: set[bytes], size_bytes: int) -> None:
        self.requests.append(request)
        self.rows |= rows
        self.size_bytes += size_bytes

    def send(self, execute: _Execute, sizes: ReadSizes) -> None:
        """Send the joined request, and record the result of each part."""
        operations = [each.operation for each in self.requests]
        outcomes = _send_as_one(operations, execute)
        for each, outcome in zip(self.requests, outcomes, strict=True):
            each.outcome = outcome
        first = operations[0]
        if isinstance(first, GetRows):
            sizes.note(first, [row for each in outcomes for row in each.value or ()])


def _send_as_one(
    operations: Sequence[Operation[Any]], execute: _Execute
) -> list[ProtocolResult[Any]]:
    if len(operations) > 1:
        try:
            return _split(operations, execute(_joined(operations)))
        except RejectedError:
            pass  # HBase refuses one part: sending each part separately shows which one
        except GatewayError as error:
            return [ProtocolResult(error=error) for _ in operations]
        except Exception as error:  # perhaps caused by one part: sending each shows which one
            outcomes = [result_of_call(execute, operation) for operation in operations]
            if not any(isinstance(each.error, type(error)) for each in outcomes):
                raise  # no part causes it: it came from outside, for example from a time limit
            return outcomes
    return [result_of_call(execute, operation) for operation in operations]


def _joined_requests(requests: Iterable[_Request], sizes: ReadSizes) -> list[_JoinedRequest]:
    """Join requests that may be sent together; a joined request has each row at most once."""
    joined: list[_JoinedRequest] = []
    with_room: dict[Any, _JoinedRequest] = {}
    for each in requests:
        kind = each.kind
        rows, size_bytes = set(_rows(each.operation)), _size_bytes(each, sizes)
        place = with_room.get(kind) if kind is not None else None
        if place is None or not place.has_room(rows, size_bytes):
            place = _JoinedRequest()
            joined.append(place)
            if kind is not None:
                with_room[kind] = place
        place.add(each, rows, size_bytes)
    return joined


def _size_bytes(request: _Request, sizes: ReadSizes) -> int:
    """Return the size of the cells that a request writes or is expected to read; 0 if unknown."""
    operation = request.operation
    if isinstance(operation, GetRows):
        return max(request.expected_bytes, sizes.expected_bytes(operation))
    if isinstance(operation, GetVersions):
        return request.expected_bytes
    if isinstance(operation, MutateRows):
        return sum(
            len(each.row) + len(put.column) + len(put.value)
            for each in operation.mutations
            for put in each.puts
        )
    return 0


def _kind(operation: Operation[Any]) -> Any:
    """Return a key that is the same for requests that may be joined; None for other requests."""
    if isinstance(operation, GetRows):
        times = operation.before_ms, operation.from_ms
        return GetRows, operation.table, operation.columns, *times, operation.is_timeline
    if isinstance(operation, GetVersions):
        wanted = operation.columns, operation.max_versions, operation.raw
        return GetVersions, operation.table, *wanted
    if isinstance(operation, MutateRows) and is_repeatable(operation):
        return MutateRows, operation.table
    return None


def _rows(operation: Operation[Any]) -> Iterator[bytes]:
    if isinstance(operation, GetRows):
        yield from operation.keys
    elif isinstance(operation, GetVersions):
        yield operation.key
    elif isinstance(operation, MutateRows):
        yield from (each.row for each in operation.mutations)


def _joined(operations: Sequence[Operation[Any]]) -> Operation[Any]:
    first = operations[0]
    if isinstance(first, GetRows):
        keys = tuple(row for each in operations for row in _rows(each))
        return replace(first, keys=keys)
    if isinstance(first, GetVersions):
        keys = tuple(row for each in operations for row in _rows(each))
        wanted = first.columns, first.max_versions, first.raw
        return GetVersionsOfRows(first.table, keys, *wanted)
    assert isinstance(first, MutateRows)
    mutations: list[RowMutation] = []
    for each in operations:
        mutations += cast("MutateRows", each).mutations
    return MutateRows(first.table, tuple(mutations))


def _split(operations: Sequence[Operation[Any]], answer: Any) -> list[ProtocolResult[Any]]:
    """Divide the answer to a joined request into the answers to its parts."""
    if isinstance(operations[0], GetVersions):
        return [ProtocolResult(versions) for versions in answer]
    if not isinstance(operations[0], GetRows):
        return [ProtocolResult(answer) for _ in operations]
    rows = iter(answer)
    return [ProtocolResult([next(rows) for _ in _rows(each)]) for each in operations]
