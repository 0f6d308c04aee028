"""The interface of every gateway: one method per exchange, and a list of features.

The gateway knows bytes, not models. Every failure it raises is one of `hbase_orm.errors`, and its
class shows whether the request was applied.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any, Protocol, TypeVar

from hbase_orm.ops import Operation

R = TypeVar("R")


class Feature(Enum):
    """An ability that some gateways lack; a gateway without it raises FeatureMissingError."""

    ATOMIC_ROW = "atomic row mutations that mix puts and deletes (MutateRow)"
    CHECK_AND_MUTATE = "conditional row mutations (CheckAndMutate)"
    RAW_READ = "reads that show tombstones (GetVersions with raw)"
    SCHEMA = "full table administration (CreateTable with splits, AddFamily, namespaces)"
    MULTI_INCREMENT = "several counters of a row in one atomic call"


class Gateway(Protocol):
    """Executes requests. Safe to use from several threads at once."""

    @property
    def features(self) -> frozenset[Feature]:
        """What this gateway can do beyond reads and plain writes."""
        ...

    def execute(self, operation: Operation[R], /) -> R:
        """Send one request and return its answer.

        Nothing is sent when the request itself is unusable (a row key or cell too long, an empty
        row key, puts and deletes of one row mixed in `MutateRows`). `Together` and `Sleep` are the
        driver's and are refused here.

        Raises:
            RejectedError: The request is bad or what it names does not exist; never retry.
            RetryableError: Not applied; the same request may be sent again.
            ConnectionLostError: The outcome of a write is unknown.
            ScannerExpiredError: Open a new scanner after the last key seen.
            FeatureMissingError: This gateway cannot do that.
        """
        ...

    def close(self) -> None:
        """Close every connection. The gateway is unusable afterwards; closing twice is fine."""
        ...


def execute_within(gateway: Gateway, operation: Operation[R], timeout_s: float) -> R:
    """Send one request within `timeout_s`; a gateway without a timeout sends it without limit.

    The memory gateway, for one, answers at once.
    """
    # By name: isinstance of a runtime protocol costs tens of microseconds a request.
    bounded: Callable[..., Any] | None = getattr(gateway, "execute_within", None)
    if bounded is None:
        return gateway.execute(operation)
    answer: R = bounded(operation, timeout_s)
    return answer
