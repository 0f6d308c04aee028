"""The retry policy of requests for numbers."""

from __future__ import annotations

from typing import Final

from hbase_orm.ops import RetryPolicy

RETRIES: Final = RetryPolicy(attempts=4, first_pause_s=0.1, factor=None)
"""Each attempt may take as long as the engine's time-out."""
