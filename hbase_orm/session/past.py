"""Reads of the past: every request of a statement asks for cells of a range of timestamps."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from typing import Any, TypeVar, cast

from hbase_orm.errors import QueryError
from hbase_orm.gateway.base import Feature, Gateway
from hbase_orm.gateway.bounded import execute_within
from hbase_orm.ops import GetRows, OpenScanner, Operation, Row
from hbase_orm.query import ANY_INDEX, Select
from hbase_orm.query.times import TimeRange
from hbase_orm.session.runtime import Runtime

R = TypeVar("R")


def by_row_key(stmt: Select[Any]) -> Select[Any]:
    """Return a statement on the past as one that uses no index; others as they are.

    Raises:
        QueryError: It names an index, or loads related objects: both are of the present.
    """
    if stmt.times is None:
        return stmt
    if stmt.index is not ANY_INDEX and stmt.index is not None:
        raise QueryError(
            "an index knows the present rows only",
            index=repr(stmt.index),
            fix="leave .using() out, and bound the row key or allow_full_scan()",
        )
    if stmt.related:
        raise QueryError(
            "related objects are read as they are now",
            asked=[repr(field) for field in stmt.related],
            fix="leave .load_related() out",
        )
    return replace(stmt, index=None)


def in_times(
    times: TimeRange,
    runtime: Runtime,
    read: Callable[[Runtime], Generator[Sequence[Row], None, None]],
) -> Generator[Sequence[Row], None, None]:
    """Yield what `read` reads with a runtime whose requests are bounded by `times`."""
    with runtime.through(_Past(runtime.gateway, times)) as past:
        yield from read(past)


class _Past:
    """A gateway that reads cells of some timestamps only."""

    def __init__(self, inner: Gateway, times: TimeRange) -> None:
        """Wrap `inner`, which stays open."""
        self.inner = inner
        self.times = times
        self.timeout_s: float | None = getattr(inner, "timeout_s", None)

    @property
    def features(self) -> frozenset[Feature]:
        """What the wrapped gateway can do."""
        return self.inner.features

    def execute(self, operation: Operation[R], /) -> R:
        """Send one request, a read bounded by the timestamps."""
        return self.inner.execute(self._bounded(operation))

    def execute_within(self, operation: Operation[R], timeout_s: float, /) -> R:
        """Send one request that may take `timeout_s` seconds in all."""
        return execute_within(self.inner, self._bounded(operation), timeout_s)

    def _bounded(self, operation: Operation[R]) -> Operation[R]:
        times = self.times
        if isinstance(operation, GetRows):
            bounded: Any = replace(operation, before_ms=times.before_ms, from_ms=times.from_ms)
        elif isinstance(operation, OpenScanner):
            scan = replace(operation.scan, before_ms=times.before_ms, from_ms=times.from_ms)
            bounded = OpenScanner(scan)
        else:
            bounded = operation
        return cast("Operation[R]", bounded)

    def close(self) -> None:
        """Leave the wrapped gateway open: it is the engine's."""
