"""The retry policy of requests for numbers, and of requests that create tables."""

from __future__ import annotations

from typing import Final

from hbase_orm.ops import RetryPolicy

RETRIES: Final = RetryPolicy(attempts=4, first_pause_s=0.1, factor=None)
"""At most four attempts; a request is also repeated if its answer was lost."""
