"""How many rows are written, how fast and for how long: two of the three give the third."""

from __future__ import annotations

from dataclasses import dataclass
from math import isclose, isfinite
from typing import Final

from hbase_orm.advise.remarks import DEFAULT_ROWS
from hbase_orm.errors import ConfigurationError

DEFAULT_SECONDS: Final = 3600.0
"""How long a load takes, unless the caller says so: an hour."""

MOST_ROWS: Final = 10**13
"""More rows than any cluster of HBase has; 64-bit counts of them cannot overflow."""

MOST_RATE_PER_S: Final = 100_000_000.0
"""More rows a second than any cluster takes: 1,000 servers with 100,000 rows each."""

_EVEN: Final = 0.01
"""The largest relative difference between `rows` and `rate` times `seconds`."""


@dataclass(frozen=True, slots=True)
class LoadShape:
    """A load of rows at a steady rate.

    Attributes:
        rows: The number of rows that are written, 1 or more.
        rate_per_s: The rows that are written in a second.
        seconds: How long the load takes.
    """

    rows: int
    rate_per_s: float
    seconds: float

    @classmethod
    def of(
        cls,
        *,
        rows: int | None = None,
        rate_per_s: float | None = None,
        seconds: float | None = None,
    ) -> LoadShape:
        """Return the load with these numbers; those that are None are computed or usual.

        Without `rows`, and without a rate and a duration that give them, 10,000,000 rows are
        written. Without a rate and a duration, they are written within an hour.

        Raises:
            ConfigurationError: A number is not positive or too large, or `rows` is not what the
                rate gives in `seconds`.

        Examples:
            >>> LoadShape.of(rows=600, seconds=60)
            LoadShape(rows=600, rate_per_s=10.0, seconds=60)
            >>> LoadShape.of(rate_per_s=100, seconds=60).rows
            6000
        """
        _check("rate", rate_per_s, MOST_RATE_PER_S)
        _check("seconds", seconds, float("inf"))
        _check("rows", rows, MOST_ROWS)
        if rate_per_s is not None and (seconds is not None or rows is None):
            return _at_rate(rows, rate_per_s, seconds or DEFAULT_SECONDS)
        rows = DEFAULT_ROWS if rows is None else rows
        lasting = rows / rate_per_s if rate_per_s is not None else seconds or DEFAULT_SECONDS
        _check("rate", rows / lasting, MOST_RATE_PER_S)
        return cls(rows, rate_per_s or rows / lasting, lasting)


def _at_rate(rows: int | None, rate_per_s: float, seconds: float) -> LoadShape:
    written = round(rate_per_s * seconds)
    _check("rows", written, MOST_ROWS)
    if rows is not None and not isclose(rows, rate_per_s * seconds, rel_tol=_EVEN):
        raise ConfigurationError(
            "the rows, the rate and the seconds contradict each other",
            rows=rows,
            rate=rate_per_s,
            seconds=seconds,
            rate_times_seconds=written,
            fix="leave one of them out, and it is computed",
        )
    return LoadShape(written if rows is None else rows, rate_per_s, seconds)


def _check(name: str, number: float | None, most: float) -> None:
    if number is None or (isfinite(number) and 0 < number <= most):
        return
    raise ConfigurationError(
        "a load needs at least one row, a positive rate and a positive duration, within limits",
        name=name,
        got=number,
        most=most,
        fix="write e.g. rows=10_000_000, rate_per_s=5000; the seconds follow",
    )
