"""Runs the protocols of one engine on its gateway, and holds the cache of the catalog."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from functools import partial
from typing import Any, Self, TypeVar

from hbase_orm.binding.catalog_cache import CatalogCache
from hbase_orm.gateway.base import Feature, Gateway
from hbase_orm.gateway.coalesce import run_grouped
from hbase_orm.gateway.drive import Driver, Patience, ProtocolResult
from hbase_orm.gateway.row_sizes import ReadSizes
from hbase_orm.index.catalog.catalog import CATALOG_TABLE
from hbase_orm.ops import Operation, Protocol

R = TypeVar("R")
T = TypeVar("T")


class Runner:
    """Runs protocols on one gateway. Threads may share it.

    Attributes:
        gateway: The gateway that executes requests.
        catalog: The cache of the catalog.
    """

    def __init__(
        self,
        gateway: Gateway,
        *,
        parallel: int,
        fan_out: int,
        monotonic_s: Callable[[], float],
        sleep: Callable[[float], None],
        lease_s: float,
    ) -> None:
        """Prepare the runner; nothing is sent.

        Args:
            gateway: The gateway that executes requests.
            parallel: The largest number of protocols that run in parallel.
            fan_out: The number of scanners of one statement that are read in parallel.
            monotonic_s: A clock for leases and waits.
            sleep: A function that waits a number of seconds.
            lease_s: The time for which a catalog entry may be used after it was read, in seconds.
        """
        self.gateway = gateway
        self.catalog = CatalogCache(monotonic_s, lease_s)
        self._monotonic_s = monotonic_s
        self._sleep = sleep
        self._fan_out = fan_out
        self._read_sizes = ReadSizes()
        self._driver = self._driver_on(gateway, parallel)

    @property
    def parallel(self) -> int:
        """The largest number of protocols that run in parallel."""
        return self._driver.parallel

    @property
    def features(self) -> frozenset[Feature]:
        """The features that the gateway supports."""
        return self.gateway.features

    def execute(self, operation: Operation[R]) -> R:
        """Send one request and return its answer."""
        return self.gateway.execute(operation)

    @contextmanager
    def through(self, gateway: Gateway) -> Iterator[Self]:
        """Provide a copy of the runner that sends through `gateway`, for use in a with block."""
        other = copy(self)
        other.gateway = gateway
        driver = self._driver_on(gateway, self._driver.parallel)
        other._driver = driver  # noqa: SLF001 - one of this class
        try:
            yield other
        finally:
            driver.let_go()

    @contextmanager
    def diverted_to(self, gateway: Gateway) -> Iterator[None]:
        """Send the requests of this runner through `gateway` within a with block; for tests."""
        before, self.gateway = self.gateway, gateway
        self._driver.gateway = gateway
        try:
            yield
        finally:
            self.gateway = self._driver.gateway = before

    def patience(self) -> Patience:
        """Return a sender for the requests of one operation, with one time limit for all.

        If the gateway does not answer, the operation ends after about the time limit of one
        request.
        """
        return self._driver.patience()

    def answering(self, patience: Patience | None = None) -> Callable[[Operation[Any]], Any]:
        """Return a function that executes the requests of one read, including requests to pause."""
        return partial(self._driver.answer, patience=patience or self.patience())

    def run(self, protocol: Protocol[R]) -> R:
        """Run a protocol to its end."""
        return self._driver.run(protocol)

    def run_as_is(self, protocol: Protocol[R]) -> R:
        """Run a protocol on the tables as they are, whatever rows are being moved."""
        return self._driver.run(protocol)

    def _driver_on(self, gateway: Gateway, parallel: int) -> Driver:
        return Driver(
            gateway,
            parallel=parallel,
            sleep=self._sleep,
            clock=self._monotonic_s,
            run_group=self._run_group,
        )

    def _run_group(
        self, driver: Driver, protocols: Sequence[Protocol[R]], expected_bytes: Sequence[int] = ()
    ) -> list[ProtocolResult[R]]:
        return run_grouped(
            driver,
            protocols,
            expected_bytes=expected_bytes,
            unjoined=(CATALOG_TABLE,),  # one answer renews the lease for all that need it later
            sizes=self._read_sizes,
        )

    def each(self, work: Callable[[T], R], items: Sequence[T], /) -> list[R]:
        """Run a reading function on each item, several in parallel; return the results in order.

        An error of `work` is raised only after all running work has ended. If several items fail,
        the error of the first of them in `items` is raised.
        """
        return self._driver.each(work, items, self._fan_out)

    def close(self) -> None:
        """Close the driver and the gateway."""
        try:
            self._driver.close()
        finally:
            self.gateway.close()
