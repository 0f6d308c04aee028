"""The number of rows that a scanner fetches in each call: few at first, more later."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

FIRST_ROWS: Final = 100
"""The most rows of a first fetch, before the size of the rows is known."""

MERGED_FIRST_ROWS: Final = 400
"""The most rows in the first fetches of all buckets together. Very many buckets fetch more."""

MERGED_ROWS: Final = 32_000
"""The most rows in later fetches of all buckets together. Very many buckets fetch more."""

_LEAST_FIRST_ROWS: Final = 10
_LEAST_ROWS: Final = 50
_SPARE_ROWS: Final = 4


@dataclass(frozen=True, slots=True)
class Fetches:
    """The sizes of a scanner's fetches.

    Attributes:
        first: The largest number of rows of the first fetch.
        most: The largest number of rows of later fetches.
        is_fixed: Whether every fetch has the same number of rows, whatever their size.
    """

    first: int
    most: int
    is_fixed: bool = False

    def __str__(self) -> str:
        """Return the sizes as `100 to 1000`, or as one number."""
        return f"{self.first}" if self.first == self.most else f"{self.first} to {self.most}"


def fetches(caching_rows: int, most_rows: int, limit: int | None, buckets: int = 1) -> Fetches:
    """Return the fetch sizes of one scanner. Each of the buckets has its own scanner.

    If `most_rows` is 0, every fetch has `caching_rows` rows.

    Examples:
        >>> str(fetches(30, 1000, 30))
        '30 to 1000'
        >>> str(fetches(30, 1000, 30, buckets=16))
        '8 to 1000'
    """
    if not most_rows:
        return Fetches(caching_rows, caching_rows, is_fixed=True)
    first = min(caching_rows, FIRST_ROWS)
    if buckets > 1:
        most_rows = min(most_rows, max(MERGED_ROWS // buckets, _LEAST_ROWS))
        first = min(first, most_rows, max(MERGED_FIRST_ROWS // buckets, _LEAST_FIRST_ROWS))
    if buckets > 1 and limit is not None:
        # Salts spread rows evenly: twice the share is enough nearly always.
        first = min(first, 2 * -(-caching_rows // buckets) + _SPARE_ROWS)
    return Fetches(first, most_rows)
