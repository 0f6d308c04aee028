"""How far pages have read the entries of an index."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Passed:
    """How far earlier pages have read the entries of an index.

    Attributes:
        key: The key of the last entry that earlier pages read.
        since_ms: The time of the request for the first page, in milliseconds since 1970.
    """

    key: bytes
    since_ms: int
