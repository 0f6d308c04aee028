"""A clock that tests set, and engines in memory that go by it: lifetimes pass without sleeping."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Final

from hbase_orm.binding.url import parse_url
from hbase_orm.errors import ConfigurationError, ValidationError
from hbase_orm.gateway.memory.gateway import MemoryGateway
from hbase_orm.session.engine import Engine

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MS: Final = timedelta(milliseconds=1)


class SettableClock:
    """A clock that goes on like every clock, and can be put forward.

    Examples:
        >>> clock = SettableClock(datetime(2026, 1, 1, tzinfo=UTC))
        >>> clock.advance(timedelta(days=30))
        >>> clock.now().date().isoformat()
        '2026-01-31'
    """

    def __init__(self, start: datetime | None = None) -> None:
        """Start at a time with a time zone, or now."""
        self._start_s = time.monotonic()
        self._start = datetime.now(UTC) if start is None else _aware(start)

    def __call__(self) -> int:
        """Return the time in milliseconds since 1970, as engines ask for it."""
        return (self.now() - _EPOCH) // _MS

    def __repr__(self) -> str:
        """Return the class with the time."""
        return f"SettableClock({self.now().isoformat(timespec='milliseconds')})"

    def now(self) -> datetime:
        """Return the time, in UTC."""
        return self._start + timedelta(seconds=time.monotonic() - self._start_s)

    def advance(self, by: timedelta) -> None:
        """Put the clock forward.

        Raises:
            ValidationError: The duration is negative: HBase hides writes behind newer cells.
        """
        if by < timedelta(0):
            raise ValidationError(
                "the clock cannot go back, because newer cells would hide what is written",
                by=by,
                fix="use another clock and another engine for an earlier time",
            )
        self._start += by

    def set(self, when: datetime) -> None:
        """Put the clock forward to a time with a time zone.

        Raises:
            ValidationError: The time has passed on this clock, or has no time zone.
        """
        self.advance(_aware(when) - self.now())


def memory_engine(url: str = "memory://", *, clock: SettableClock | None = None) -> Engine:
    """Return an engine with tables of its own in memory, whose HBase goes by `clock`.

    Timestamps of cells, lifetimes (TTL) and `as_of` go by the clock. Defaults of fields, and what a
    program computes itself, do so only where the program asks the same clock.

    Args:
        url: `memory://`, with a namespace and options if need be.
        clock: The clock; None for this machine's.

    Raises:
        ConfigurationError: The URL is not of this kind, or names tables that engines share.
    """
    options = parse_url(url)
    if options.scheme != "memory" or options.store:
        raise ConfigurationError(
            "only tables in memory that no other engine uses can go by a clock of a test",
            url=options.url,
            fix='write "memory://", or "memory:///namespace"',
        )
    if clock is None:
        return Engine(MemoryGateway(), options)
    return Engine(MemoryGateway(clock), options, now_ms=clock)


def _aware(when: datetime) -> datetime:
    if when.tzinfo is None:
        raise ValidationError(
            "the time has no time zone", time=when, fix="write datetime(2026, 1, 1, tzinfo=UTC)"
        )
    return when.astimezone(UTC)
