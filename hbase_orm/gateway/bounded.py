"""Give a request less time than the gateway would."""

from __future__ import annotations

from typing import Protocol, TypeVar, runtime_checkable

from hbase_orm.gateway.base import Gateway
from hbase_orm.ops import Operation

R = TypeVar("R")


@runtime_checkable
class BoundedGateway(Protocol):
    """A gateway whose requests can be given a time of their own."""

    def execute_within(self, operation: Operation[R], timeout_s: float, /) -> R:
        """Send one request that may take `timeout_s` seconds in all."""
        ...


def execute_within(gateway: Gateway, operation: Operation[R], timeout_s: float) -> R:
    """Send one request within `timeout_s`, or as the gateway does if it knows no time of its own.

    The memory gateway, for one, answers at once.
    """
    if isinstance(gateway, BoundedGateway):
        return gateway.execute_within(operation, timeout_s)
    return gateway.execute(operation)
