"""Give a request less time than the gateway would, and all requests of a read or write together."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeVar

from hbase_orm.errors import ConnectionLostError, RetryableError
from hbase_orm.gateway.base import Gateway
from hbase_orm.ops import FetchRows, Operation

R = TypeVar("R")


def execute_within(gateway: Gateway, operation: Operation[R], timeout_s: float) -> R:
    """Send one request within `timeout_s`, or as the gateway does if it knows no time of its own.

    The memory gateway, for one, answers at once.
    """
    # Asked by name: isinstance of a runtime protocol costs tens of microseconds a request.
    bounded: Callable[..., Any] | None = getattr(gateway, "execute_within", None)
    if bounded is None:
        return gateway.execute(operation)
    answer: R = bounded(operation, timeout_s)
    return answer


class Patience:
    """How long one piece of work, of many requests, goes on with a gateway that does not answer.

    As long as one request may take: work repeats requests, reads back what became of a write and
    resumes scans, and each of these would wait as long again. From the beginning of the first
    request that fails, all that follow share its time, until one is answered.
    """

    def __init__(self, gateway: Gateway, clock: Callable[[], float] = time.monotonic) -> None:
        """Send through `gateway`; one that knows no time of its own has all the patience."""
        self._gateway = gateway
        self._clock = clock
        self._timeout_s: float | None = getattr(gateway, "timeout_s", None)
        self._silent_since: float | None = None

    def execute(self, operation: Operation[R], /) -> R:
        """Send one request and return its answer; threads may do so side by side.

        Raises:
            RetryableError: Nothing was sent: the time is over.
        """
        timeout_s = self._timeout_s
        if timeout_s is None:
            return self._gateway.execute(operation)
        begun = self._clock()
        left_s = self._left_s(timeout_s, begun)
        if left_s <= 0:
            raise RetryableError(
                "the gateway has not answered in time; this request was not sent",
                timeout_s=timeout_s,
                fix="look whether the gateway is up, or raise timeout_s= in the URL",
            )
        if isinstance(operation, FetchRows):
            left_s *= operation.share
        try:
            answer = execute_within(self._gateway, operation, left_s)
        except (RetryableError, ConnectionLostError):
            if self._silent_since is None:
                self._silent_since = begun
            raise
        self._silent_since = None
        return answer

    def pause_s(self, seconds: float) -> float:
        """Return how long to wait before the next request: as long as asked, if that helps."""
        if self._timeout_s is None or self._silent_since is None:
            return seconds
        return max(0.0, min(seconds, self._left_s(self._timeout_s, self._clock())))

    def _left_s(self, timeout_s: float, now: float) -> float:
        since = self._silent_since
        return timeout_s if since is None else since + timeout_s - now
