"""The common part of both Thrift gateways: checks, time limits, errors and scanners.

A request is checked, and then gets a time limit and a pooled connection. Errors of the connection
are translated to errors of this library. A scanner may be used only on the connection that opened
it. After a restart of the server, an old scanner id may belong to another client's scanner. The
calls themselves are in `thrift1` and `thrift2`.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, ClassVar, Literal, Self, TypeVar, cast

from hbase_orm.errors import (
    ConfigurationError,
    ConnectionLostError,
    FeatureMissingError,
    GatewayError,
    RegionUnavailableError,
    RejectedError,
    ScannerExpiredError,
    TableNotFoundError,
)
from hbase_orm.gateway.base import Feature
from hbase_orm.gateway.checks import check_request
from hbase_orm.gateway.thrift.answer_sizes import ANSWER_BYTES, Pieces
from hbase_orm.gateway.thrift.decoding.answers import text
from hbase_orm.gateway.thrift.decoding.incoming import GarbledAnswerError
from hbase_orm.gateway.thrift.faults import WIRE_ERRORS, translate
from hbase_orm.gateway.thrift.handshake import Opener, ThriftConnection
from hbase_orm.gateway.thrift.pool import Address, Pool, Slot
from hbase_orm.gateway.thrift.scan_bounds import ScanBounds, server_bounds
from hbase_orm.gateway.thrift.wire import Line, WireStyle
from hbase_orm.ops import (
    ADMINISTRATION,
    CloseScanner,
    FetchRows,
    ListRegions,
    OpenScanner,
    Operation,
    Row,
    Scan,
    ScannerId,
)

R = TypeVar("R")

DEFAULT_TIMEOUT_S = 30.0

# Creating, disabling or dropping a table of many regions takes long even on a healthy cluster.
ADMIN_TIMEOUT_S = 120.0

# HConstants.FOREVER: Integer.MAX_VALUE seconds, reported for a family without a time to live.
FOREVER_S = 2**31 - 1

# The id of the scanner for an empty key range, for which nothing is opened on the server.
_NO_SCANNER = -1

Call = Callable[[Any, Any], Any]
"""A function that executes one request by a client: (client, operation) → answer."""


class ScannerOwner:
    """The gateway, connection and bounds of one scanner, and the `Pieces` that join its rows."""

    __slots__ = ("bounds", "gateway", "is_done", "pieces", "slot")

    def __init__(
        self,
        gateway: ThriftGateway,
        slot: Slot[ThriftConnection] | None = None,
        bounds: ScanBounds | None = None,
        pieces: Pieces | None = None,
    ) -> None:
        """Store the data; `slot` is None for an empty key range, which needs no connection."""
        self.gateway = gateway
        self.slot = slot
        self.bounds = bounds
        self.pieces = pieces
        self.is_done = slot is None


class ThriftGateway(ABC):
    """A gateway that reaches HBase over a pool of Thrift connections.

    Attributes:
        timeout_s: The time limit of one request in seconds, including connecting and waiting.
            Administration of tables has at least two minutes.
    """

    def __init__(
        self,
        pool: Pool[ThriftConnection],
        *,
        timeout_s: float = DEFAULT_TIMEOUT_S,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Use `pool`, which this gateway closes.

        Raises:
            ConfigurationError: The timeout is not positive.
        """
        if timeout_s <= 0:
            raise ConfigurationError(
                "the timeout is not positive", timeout_s=timeout_s, fix="write timeout_s=30"
            )
        self.timeout_s = timeout_s
        self.pool = pool
        self._clock = clock
        self._calls = self._table_of_calls()

    @classmethod
    def connect(
        cls,
        addresses: Sequence[Address],
        *,
        style: WireStyle | None = None,
        timeout_s: float = DEFAULT_TIMEOUT_S,
        pool_size: int = 8,
        clock: Callable[[], float] = time.monotonic,
    ) -> Self:
        """Return a gateway for Thrift servers of the same HBase.

        Nothing is sent before the first request.
        """
        opener = Opener(cls._INTERFACE, style or WireStyle(), cls._pooled, clock=clock)
        pool = Pool(opener, addresses, size=pool_size, wait_s=timeout_s, clock=clock)
        return cls(pool, timeout_s=timeout_s, clock=clock)

    def __repr__(self) -> str:
        """Show the pool and the timeout."""
        return f"{type(self).__name__}({self.pool!r}, timeout_s={self.timeout_s:g})"

    @property
    @abstractmethod
    def features(self) -> frozenset[Feature]:
        """The features of this gateway beyond reads and plain writes."""

    def execute(self, operation: Operation[R], /) -> R:
        """Send one request and return its answer; see `Gateway.execute`."""
        return self.execute_within(operation, self.timeout_s)

    def execute_within(self, operation: Operation[R], timeout_s: float, /) -> R:
        """Send one request with a time limit of `timeout_s` seconds."""
        check_request(operation)
        if isinstance(operation, ADMINISTRATION):
            timeout_s = max(timeout_s, ADMIN_TIMEOUT_S)
        deadline = self._clock() + timeout_s
        if isinstance(operation, FetchRows):
            return cast("R", self._fetch(operation, deadline))
        if isinstance(operation, OpenScanner):
            return cast("R", self._open(operation, deadline))
        if isinstance(operation, CloseScanner):
            return cast("R", self._close_scanner(operation, deadline))
        return cast("R", self._call(operation, deadline))

    def close(self) -> None:
        """Close every connection; closing twice is allowed."""
        self.pool.close()

    # --- what differs between the two interfaces --------------------------------------------------

    _INTERFACE: ClassVar[Literal[1, 2]]

    @staticmethod
    @abstractmethod
    def _pooled(line: Line, address: Address) -> ThriftConnection:
        """Return a `ThriftConnection` over the open `line`, to be put into the pool."""

    @abstractmethod
    def _table_of_calls(self) -> Mapping[type[Operation[Any]], Call]:
        """Return the function for each class of requests, except the requests for scanners."""

    @abstractmethod
    def _send_open(
        self, client: Any, scan: Scan, bounds: ScanBounds, batch_cells: int | None
    ) -> int:
        """Open a scanner with at most `batch_cells` cells per result, and return its id."""

    @abstractmethod
    def _send_fetch(self, client: Any, scanner: int, count: int) -> list[Row]:
        """Return the next results of a scanner, at most `count`: rows or pieces of rows."""

    @abstractmethod
    def _send_close(self, client: Any, scanner: int) -> None:
        """Close a scanner."""

    # --- one request ------------------------------------------------------------------------------

    def _call(self, operation: Operation[Any], deadline: float) -> Any:
        call = self._calls.get(type(operation))
        if call is None:
            raise self._missing(operation)

        def send(slot: Slot[ThriftConnection]) -> Any:
            self._close_unwanted(slot)
            try:
                return call(slot.connection.client, operation)
            except WIRE_ERRORS as exc:
                raise translate(exc, operation) from exc

        return self.pool.use(deadline).do(send)

    def _missing(self, operation: Operation[Any]) -> FeatureMissingError:
        return FeatureMissingError(
            "this gateway does not support the request",
            gateway=type(self).__name__,
            operation=type(operation).__name__,
            fix="give the engine a Thrift2 gateway: add thrift2=host:port to the URL",
        )

    # --- scanners ---------------------------------------------------------------------------------

    def _open(self, operation: OpenScanner, deadline: float) -> ScannerId:
        scan = operation.scan
        if scan.key_range.is_empty:
            return ScannerId(_NO_SCANNER, ScannerOwner(self))
        bounds = server_bounds(scan.key_range, is_reverse=scan.reverse)

        def send(slot: Slot[ThriftConnection]) -> ScannerId:
            self._close_unwanted(slot)
            client = slot.connection.client
            pieces = Pieces(scan, client.sizes)
            try:
                number = self._send_open(client, scan, bounds, pieces.batch_cells)
            except WIRE_ERRORS as exc:
                raise translate(exc, operation) from exc
            slot.scanners.add(number)
            return ScannerId(number, ScannerOwner(self, slot, bounds, pieces))

        return self.pool.use(deadline, is_spread=True).do(send)

    def _fetch(self, operation: FetchRows, deadline: float) -> list[Row]:
        number, owner = operation.scanner.number, _owner(operation.scanner)
        slot, bounds, pieces = owner.slot, owner.bounds, owner.pieces
        if slot is None or bounds is None or pieces is None:
            return []
        if owner.is_done and not pieces.surplus:
            return []

        def send(slot: Slot[ThriftConnection]) -> list[Row]:
            self._close_unwanted(slot)
            if number not in slot.scanners:
                raise ScannerExpiredError(
                    "the scanner is closed", fix="open a new scanner after the last key seen"
                )
            try:
                return self._next_rows(slot.connection.client, operation, owner, bounds, pieces)
            except WIRE_ERRORS as exc:
                raise self._fetch_fault(exc, operation, slot) from exc

        return self.pool.use_same(slot, deadline).do(send)

    def _next_rows(
        self,
        client: Any,
        operation: FetchRows,
        owner: ScannerOwner,
        bounds: ScanBounds,
        pieces: Pieces,
    ) -> list[Row]:
        """Return up to `operation.count` rows, fewer if rows are large; none at the scan's end."""
        rows, pieces.surplus = pieces.surplus, []
        received_bytes = 0
        # All rows of an answer may lie outside the range, and an empty list would mean the end.
        while not owner.is_done and (
            not rows or (len(rows) < operation.count and received_bytes < ANSWER_BYTES)
        ):
            count = pieces.next_count(operation.count - len(rows))
            answer = self._send_fetch(client, operation.scanner.number, count)
            if len(answer) > count:
                message = f"{len(answer)} results where {count} were requested"
                raise GarbledAnswerError(message)
            received_bytes += client.answer_bytes
            pieces.portion.note(len(answer), client.answer_bytes)
            kept, is_past = bounds.select(pieces.join(answer))
            rows += kept
            owner.is_done = is_past or not answer
        pieces.surplus = rows[operation.count :]
        return rows[: operation.count]

    def _fetch_fault(
        self, exc: BaseException, operation: FetchRows, slot: Slot[ThriftConnection]
    ) -> GatewayError:
        error = translate(exc, operation)
        if isinstance(error, ScannerExpiredError):
            slot.scanners.discard(operation.scanner.number)
        elif isinstance(error, ConnectionLostError) and not isinstance(exc, TimeoutError):
            return ScannerExpiredError(
                "the connection that opened the scanner broke",
                reason=error.details.get("reason", ""),
                fix="open a new scanner after the last key seen",
            )
        return error

    def _close_scanner(self, operation: CloseScanner, deadline: float) -> None:
        number, slot = operation.scanner.number, _owner(operation.scanner).slot
        if slot is None or slot.is_gone or number not in slot.scanners:
            return

        slot.unwanted.append(number)
        if slot.is_busy:
            return  # do not wait for the connection: its next user closes the scanner
        # A scanner that cannot be closed ends with its lease: no reason to hide another error.
        with suppress(GatewayError):
            self.pool.use_same(slot, deadline).do(self._close_unwanted)

    def _close_unwanted(self, slot: Slot[ThriftConnection]) -> None:
        """Close the scanners in `slot.unwanted`, which are no longer needed."""
        while slot.unwanted:
            number = slot.unwanted.popleft()
            if number in slot.scanners:
                slot.scanners.discard(number)
                with suppress(*WIRE_ERRORS):
                    self._send_close(slot.connection.client, number)


def needs_thrift2(what: str, operation: Operation[Any]) -> FeatureMissingError:
    """Return the error for a request that Thrift1 does not support; `what` describes it."""
    return FeatureMissingError(
        "Thrift1 does not support this request",
        what=what,
        operation=type(operation).__name__,
        fix="give the engine a Thrift2 gateway: add thrift2=host:port to the URL",
    )


def no_table(operation: ListRegions) -> TableNotFoundError:
    """Return the error for an answer without regions, which means that there is no such table."""
    return TableNotFoundError(
        "the table does not exist", table=operation.table, fix="create the table"
    )


def no_server(operation: ListRegions) -> RegionUnavailableError:
    """Return the error for a region that no server has."""
    return RegionUnavailableError(
        "a region of the table is on no server at the moment",
        table=operation.table,
        fix="send the request again",
    )


def server_of(operation: ListRegions, host: bytes | None, port: int | None) -> str:
    """Return the address of a region's server as `host:port`.

    Raises:
        RegionUnavailableError: The region is on no server at the moment.
        GarbledAnswerError: The host's name is not text.
    """
    if host is None or port is None:
        raise no_server(operation)
    return f"{text(host)}:{port}"


def whole_families(columns: Sequence[bytes]) -> list[bytes]:
    """Return the distinct columns, without single columns of families that are read whole.

    If a request names a family and then one of its columns, HBase returns only that column.

    Examples:
        >>> whole_families([b"d", b"d:a", b"e:b", b"e:b"])
        [b'd', b'e:b']
    """
    families = {column for column in columns if b":" not in column}
    return [
        column
        for column in dict.fromkeys(columns)
        if column in families or column.partition(b":")[0] not in families
    ]


def table_bytes(operation: Any) -> bytes:
    """Return the name of the request's table as UTF-8 bytes."""
    name: str = operation.table
    return name.encode()


def _owner(scanner: ScannerId) -> ScannerOwner:
    if not isinstance(scanner.owner, ScannerOwner):
        raise RejectedError(
            "the scanner was opened by another gateway",
            fix="fetch from the gateway that opened the scanner",
        )
    return scanner.owner
