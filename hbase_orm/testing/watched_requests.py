"""`assert_requests`: how many requests a piece of a program sends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from hbase_orm.errors import ValidationError
from hbase_orm.gateway.base import Feature, Gateway, execute_within
from hbase_orm.model import Model
from hbase_orm.ops import Operation
from hbase_orm.session.engine import Engine, runtime_of
from hbase_orm.testing.request_words import Word, described, pattern_of

R = TypeVar("R")


class SentRequests:
    """The requests that an engine sent within a block, in their order.

    Attributes:
        requests: The requests, values of `hbase_orm.ops`.
    """

    def __init__(self, inner: Gateway) -> None:
        """Pass requests on to `inner`."""
        self._inner = inner
        self.requests: list[Operation[Any]] = []
        self.timeout_s: float | None = getattr(inner, "timeout_s", None)

    @property
    def features(self) -> frozenset[Feature]:
        """The features of the engine's gateway."""
        return self._inner.features

    def __len__(self) -> int:
        """Return the number of requests."""
        return len(self.requests)

    def __str__(self) -> str:
        """Return a line for each request."""
        return "\n".join(described(each) for each in self.requests)

    def execute(self, operation: Operation[R], /) -> R:
        """Note a request and send it."""
        self.requests.append(operation)
        return self._inner.execute(operation)

    def execute_within(self, operation: Operation[R], timeout_s: float, /) -> R:
        """Note a request and send it with a time limit."""
        self.requests.append(operation)
        return execute_within(self._inner, operation, timeout_s)

    def close(self) -> None:
        """Close the gateway: the engine was closed within the block."""
        self._inner.close()


@contextmanager
def assert_requests(
    engine: Engine,
    *,
    max: int | None = None,  # noqa: A002  # the shortest word that says it
    exactly: int | None = None,
    of: Word = "any",
    table: str | type[Model] | None = None,
) -> Iterator[SentRequests]:
    """Fail if an engine sends more requests within the block than a test allows.

    A `get` is one request, a scan at least two: opening its scanner, and each fetch of rows. The
    first use of a model also reads what is known of its table, so run the code once before.

    Args:
        engine: The engine that the program uses.
        max: The largest number of requests.
        exactly: The number of requests, instead of `max`.
        of: Which requests are counted: see `Word`.
        table: The table whose requests are counted, or its model.

    Raises:
        AssertionError: There were others; the message lists them.
        ValidationError: No number is given, or the word is not known.

    Examples:
        >>> with assert_requests(engine, max=1):  # doctest: +SKIP
        ...     session.get(Order, city="Paris", number=7)
    """
    __tracebackhide__ = True
    if (max is None) == (exactly is None):
        raise ValidationError(
            "no number of requests is given, or two", fix="write max=2, or exactly=2"
        )
    pattern = pattern_of(of, table)
    runtime = runtime_of(engine)
    sent = SentRequests(runtime.gateway)
    with runtime.diverted_to(sent):
        yield sent
    counted = [each for each in sent.requests if pattern.matches(each)]
    allowed = exactly if max is None else max
    if len(counted) == allowed or (max is not None and len(counted) < max):
        return
    limit = f"at most {max}" if exactly is None else f"{exactly}"
    listed = "\n  ".join(["", *(described(each) for each in counted)])
    raise AssertionError(f"{len(counted)} requests of {pattern}, not {limit}:{listed}")
