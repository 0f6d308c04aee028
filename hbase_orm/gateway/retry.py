"""A gateway that repeats failed requests only if sending them twice is safe.

It repeats reads. It also repeats writes in which every put and delete has a given timestamp: sent
twice, they have the same effect as sent once. It never repeats increments, appends, conditional
mutations, writes without a timestamp, or fetches from a scanner. It repeats the administration of
tables only after a RetryableError, which means that nothing was applied.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Any, Final, TypeVar

from hbase_orm.errors import ConfigurationError, RetryableError
from hbase_orm.gateway.base import Feature, Gateway, execute_within
from hbase_orm.ops import (
    ADMINISTRATION,
    CloseScanner,
    DescribeTable,
    GetRows,
    GetVersions,
    GetVersionsOfRows,
    ListNamespaces,
    ListRegions,
    ListTables,
    MutateRow,
    MutateRows,
    OpenScanner,
    Operation,
    Ping,
    PutRows,
    PutStampedRows,
    ReadFirstRows,
    RetryPolicy,
    RowMutation,
)

R = TypeVar("R")

# Regions move in seconds: a longer pause waits for nothing.
LONGEST_PAUSE_S: Final = 5.0

# Long.MAX_VALUE as a timestamp means the present time of the server.
_NOW_MS = 2**63 - 1

# FetchRows is not among them: a lost answer would leave a hole in the scan.
_READS: tuple[type[Operation[Any]], ...] = (
    CloseScanner,
    DescribeTable,
    GetRows,
    GetVersions,
    GetVersionsOfRows,
    ListNamespaces,
    ListRegions,
    ListTables,
    OpenScanner,
    Ping,
    ReadFirstRows,
)


def is_repeatable(operation: Operation[Any]) -> bool:
    """Return whether sending the request twice has the same effect as sending it once.

    Examples:
        >>> from hbase_orm.ops import Put
        >>> is_repeatable(MutateRow("t", RowMutation(b"r", (Put(b"d:a", b"1", timestamp_ms=7),))))
        True
        >>> is_repeatable(MutateRow("t", RowMutation(b"r", (Put(b"d:a", b"1"),))))
        False
    """
    if isinstance(operation, MutateRow):
        return _is_stamped(operation.mutation)
    if isinstance(operation, MutateRows):
        return all(_is_stamped(mutation) for mutation in operation.mutations)
    if isinstance(operation, PutRows):
        return operation.timestamp_ms not in (None, _NOW_MS)
    if isinstance(operation, PutStampedRows):
        return not any(_NOW_MS in stamps for group in operation.groups for stamps in group.stamps)
    return isinstance(operation, _READS)


def _is_stamped(mutation: RowMutation) -> bool:
    return all(put.timestamp_ms not in (None, _NOW_MS) for put in mutation.puts) and all(
        delete.timestamp_ms not in (None, _NOW_MS) for delete in mutation.deletes
    )


class RetryingGateway:
    """A gateway that repeats failed requests, with increasing pauses, if this is safe.

    It gives up at the time limit, or after the largest number of attempts.

    Attributes:
        inner: The gateway that sends the requests.
        timeout_s: The time limit of a request in seconds, including repetitions and pauses.
    """

    def __init__(
        self,
        inner: Gateway,
        *,
        attempts: int = 5,
        base_pause_s: float = 0.1,
        timeout_s: float = 30.0,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        """Wrap `inner`, which this gateway closes.

        Args:
            inner: The gateway that sends the requests.
            attempts: The largest number of attempts; 1 means that a request is never repeated.
            base_pause_s: The pause before the second attempt; it is doubled for each further
                attempt.
            timeout_s: The time limit of one request in seconds, for all attempts together.
            clock: A monotonic clock, in seconds.
            sleep: A function that waits a number of seconds.
            jitter: A function that returns a number from 0 (keep the whole pause) to 1 (halve it).

        Raises:
            ConfigurationError: The number of attempts is less than one.
        """
        if attempts < 1:
            raise ConfigurationError(
                "the number of attempts is not positive", retries=attempts, fix="write retries=5"
            )
        self.inner = inner
        self.timeout_s = timeout_s
        self._policy = RetryPolicy(attempts, base_pause_s, LONGEST_PAUSE_S, jitter=jitter)
        self._clock = clock
        self._sleep = sleep

    def __repr__(self) -> str:
        """Return the class with the inner gateway and the number of attempts."""
        return f"RetryingGateway({self.inner!r}, attempts={self._policy.attempts})"

    @property
    def features(self) -> frozenset[Feature]:
        """The features of the inner gateway."""
        return self.inner.features

    def execute(self, operation: Operation[R], /) -> R:
        """Send one request and return its answer; repeat a failed request if that is safe."""
        return self.execute_within(operation, self.timeout_s)

    def execute_within(self, operation: Operation[R], timeout_s: float, /) -> R:
        """Send one request with a time limit of `timeout_s` seconds, including repetitions."""
        deadline = self._clock() + timeout_s
        policy, failures = self._policy, 0
        # Not `ask_with_retry`: the pauses are bounded by the deadline, too.
        while True:
            try:
                return execute_within(self.inner, operation, deadline - self._clock())
            except policy.errors as error:
                failures += 1
                pause_s = policy.pause_s(failures)
                is_last = failures >= policy.attempts or self._clock() + pause_s >= deadline
                if is_last or not _may_be_sent_again(operation, error):
                    raise
            self._sleep(pause_s)

    def close(self) -> None:
        """Close the inner gateway; closing twice is allowed."""
        self.inner.close()


def _may_be_sent_again(operation: Operation[Any], error: Exception) -> bool:
    if is_repeatable(operation):
        return True
    return isinstance(error, RetryableError) and isinstance(operation, ADMINISTRATION)
