"""A gateway that sends each request to the more suitable of two gateways.

Reads and plain writes are sent to Thrift1, whose answers are smaller. Thrift2 gets the requests
that Thrift1 does not support completely, such as conditional writes.
"""

from __future__ import annotations

import time
from functools import partial
from typing import Any, TypeGuard, TypeVar, cast

from hbase_orm.gateway.base import Feature, Gateway, execute_within
from hbase_orm.gateway.begun_scans import (
    BegunScan,
    ScannerRequest,
    answer_of_begun_scan,
    begins_with_rows,
)
from hbase_orm.ops import (
    AddFamily,
    CheckAndMutate,
    CloseScanner,
    CreateNamespace,
    CreateTable,
    DeleteFamily,
    DescribeTable,
    DropNamespace,
    FetchRows,
    GetRows,
    GetVersions,
    GetVersionsOfRows,
    Increment,
    ListNamespaces,
    ListRegions,
    ModifyFamily,
    ModifyTable,
    MutateRow,
    MutateRows,
    OpenScanner,
    Operation,
    Ping,
    PutStampedRows,
    ReadFirstRows,
    RowMutation,
    TruncateTable,
)

R = TypeVar("R")

# Thrift1 does not support these requests, or not completely: it has fewer options of a family, and
# its answer to a read of versions is not a snapshot.
_ATOMIC_ONLY: tuple[type[Operation[Any]], ...] = (
    AddFamily,
    CheckAndMutate,
    CreateNamespace,
    CreateTable,
    DeleteFamily,
    DescribeTable,
    DropNamespace,
    GetVersions,
    GetVersionsOfRows,
    ListNamespaces,
    ModifyFamily,
    ModifyTable,
    PutStampedRows,
    ReadFirstRows,
    TruncateTable,
)


class RoutedGateway:
    """Sends the requests that `needs_atomic` selects to `atomic`, and all others to `data`.

    The requests of a scanner are sent to the gateway that opened it. Where `atomic` is given, it
    reads the first rows of most scans in one call (`begun_scans`).
    """

    def __init__(self, data: Gateway, atomic: Gateway | None = None) -> None:
        """Join two gateways, which this gateway closes.

        Args:
            data: Usually Thrift1.
            atomic: Usually Thrift2. None sends everything to `data`, which raises
                FeatureMissingError for requests that it does not support.
        """
        self.data = data
        self.atomic = atomic
        self._reads_first = atomic is not None and Feature.FIRST_ROWS in atomic.features

    def __repr__(self) -> str:
        """Return the class with both gateways."""
        return f"RoutedGateway(data={self.data!r}, atomic={self.atomic!r})"

    @property
    def features(self) -> frozenset[Feature]:
        """The features of both gateways together."""
        return self.data.features | (self.atomic.features if self.atomic else frozenset())

    def execute(self, operation: Operation[R], /) -> R:
        """Send one request to the suitable gateway; `Ping` is sent to both."""
        if isinstance(operation, Ping) and self.atomic is not None:
            self.atomic.execute(operation)
        if self._is_of_begun_scan(operation):
            return cast("R", answer_of_begun_scan(operation, self._send))
        return self._choose(operation).execute(operation)

    def execute_within(self, operation: Operation[R], timeout_s: float, /) -> R:
        """Send one request with a time limit of `timeout_s` seconds.

        `Ping` is sent to both gateways.
        """
        deadline = time.monotonic() + timeout_s
        if isinstance(operation, Ping) and self.atomic is not None:
            execute_within(self.atomic, operation, timeout_s)
            timeout_s = deadline - time.monotonic()
        if self._is_of_begun_scan(operation):
            return cast("R", answer_of_begun_scan(operation, partial(self._send_by, deadline)))
        return execute_within(self._choose(operation), operation, timeout_s)

    def close(self) -> None:
        """Close both gateways; closing twice is allowed."""
        self.data.close()
        if self.atomic is not None:
            self.atomic.close()

    def _send(self, operation: Operation[Any]) -> Any:
        return self._choose(operation).execute(operation)

    def _send_by(self, deadline: float, operation: Operation[Any]) -> Any:
        remaining_s = deadline - time.monotonic()
        return execute_within(self._choose(operation), operation, remaining_s)

    def _is_of_begun_scan(self, operation: Operation[Any]) -> TypeGuard[ScannerRequest]:
        if isinstance(operation, OpenScanner):
            return self._reads_first and begins_with_rows(operation.scan)
        return isinstance(operation, (FetchRows, CloseScanner)) and isinstance(
            operation.scanner.owner, BegunScan
        )

    def _choose(self, operation: Operation[Any]) -> Gateway:
        if isinstance(operation, (FetchRows, CloseScanner)):
            opener = getattr(operation.scanner.owner, "gateway", None)
            is_atomic = opener is self.atomic
            return self.atomic if self.atomic is not None and is_atomic else self.data
        if self.atomic is not None and needs_atomic(operation):
            return self.atomic
        return self.data


def needs_atomic(operation: Operation[Any]) -> bool:
    """Return whether a request is sent to Thrift2 if there is one.

    These are the requests that no single call of Thrift1 can do completely. A `ListRegions` that
    does not need the creation times is sent to Thrift2 too.

    Examples:
        >>> from hbase_orm.ops import Delete, Put
        >>> needs_atomic(MutateRow("t", RowMutation(b"r", (Put(b"d:a", b""),))))
        False
        >>> needs_atomic(
        ...     MutateRow("t", RowMutation(b"r", (Put(b"d:a", b"", 2),), (Delete(b"d:b", 1),)))
        ... )
        True
    """
    if isinstance(operation, _ATOMIC_ONLY):
        return True
    if isinstance(operation, ListRegions):
        return not operation.needs_times
    if isinstance(operation, (GetRows, OpenScanner)):
        read = operation if isinstance(operation, GetRows) else operation.scan
        return read.from_ms > 0 or read.is_timeline
    if isinstance(operation, MutateRow):
        return _is_mixed(operation.mutation) or len(_stamps(operation.mutation)) > 1
    if isinstance(operation, MutateRows):
        # Thrift1 has one timestamp and one TTL per call: several of them would need several calls.
        changing = [each for each in operation.mutations if each.puts or each.deletes]
        first = _stamp(changing[0]) if changing else None
        return not all(_has_only(mutation, first) for mutation in changing)
    return isinstance(operation, Increment) and len(operation.amounts) > 1


def _is_mixed(mutation: RowMutation) -> bool:
    return bool(mutation.puts and mutation.deletes)


def _stamp(mutation: RowMutation) -> tuple[int | None, int | None]:
    first = mutation.puts[0] if mutation.puts else mutation.deletes[0]
    return first.timestamp_ms, mutation.ttl_ms


def _has_only(mutation: RowMutation, stamp: tuple[int | None, int | None] | None) -> bool:
    if stamp is None or mutation.ttl_ms != stamp[1]:
        return stamp is None
    puts = all(put.timestamp_ms == stamp[0] for put in mutation.puts)
    return puts and all(delete.timestamp_ms == stamp[0] for delete in mutation.deletes)


def _stamps(mutation: RowMutation) -> set[tuple[int | None, int | None]]:
    stamps = {(put.timestamp_ms, mutation.ttl_ms) for put in mutation.puts}
    stamps.update((delete.timestamp_ms, mutation.ttl_ms) for delete in mutation.deletes)
    return stamps
