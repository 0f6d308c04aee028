"""The interface of all gateways, and the features that only some gateways have.

A gateway uses bytes, not models. All its errors are classes of `hbase_orm.errors`, which show
whether the request was applied.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from enum import Enum
from typing import Any, Protocol, TypeVar

from hbase_orm.ops import Operation

R = TypeVar("R")


class Feature(Enum):
    """A feature that only some gateways have; a gateway without it raises FeatureMissingError."""

    ATOMIC_ROW = "atomic row mutations that mix puts and deletes (MutateRow)"
    CHECK_AND_MUTATE = "conditional row mutations (CheckAndMutate)"
    RAW_READ = "reads that show tombstones (GetVersions with raw)"
    SCHEMA = "full table administration (CreateTable with splits, changes of families, namespaces)"
    MULTI_INCREMENT = "several counters of a row in one atomic call"
    FIRST_ROWS = "the first rows of a scan in one call (ReadFirstRows)"
    TIMELINE = "reads that replicas of regions may answer (is_timeline of GetRows and Scan)"


class Gateway(Protocol):
    """Executes requests. Several threads may use a gateway at the same time."""

    @property
    def features(self) -> frozenset[Feature]:
        """The features of this gateway beyond reads and plain writes."""
        ...

    def execute(self, operation: Operation[R], /) -> R:
        """Send one request and return its answer.

        Nothing is sent if the request is not valid. For example, its row key may be empty or too
        long, or a `MutateRows` may have puts and deletes of the same row. Requests
        for drivers, such as `Together` and `Sleep`, are refused.

        Raises:
            RejectedError: The request is wrong, or names something that does not exist; do not
                repeat it.
            RetryableError: The request was not applied; it may be sent again.
            ConnectionLostError: The outcome of a write is unknown.
            ScannerExpiredError: The scanner is closed: open a new one after the last key that was
                read.
            FeatureMissingError: This gateway does not support the request.
        """
        ...

    def close(self) -> None:
        """Close every connection.

        The gateway cannot be used afterwards; closing it twice is allowed.
        """
        ...


class Connections(Protocol):
    """The connections of an engine to the gateways."""

    @property
    def usage(self) -> str:
        """How many are open, busy and allowed, such as `thrift1: 2 open, 1 busy, at most 8`."""
        ...

    def raw(self) -> AbstractContextManager[Any]:
        """Return a context manager with a separate happybase `Connection`; it closes it at exit.

        Raises:
            RetryableError: No gateway accepts connections.
        """
        ...


def execute_within(gateway: Gateway, operation: Operation[R], timeout_s: float) -> R:
    """Send one request, with a time limit of `timeout_s` seconds if the gateway supports that.

    The memory gateway does not support time limits, because it answers immediately.
    """
    # The method is looked up by its name, because an isinstance check of a runtime protocol costs
    # tens of microseconds per request.
    bounded: Callable[..., Any] | None = getattr(gateway, "execute_within", None)
    if bounded is None:
        return gateway.execute(operation)
    answer: R = bounded(operation, timeout_s)
    return answer
