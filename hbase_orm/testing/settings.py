"""The HBase properties of every server that tests start."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from hbase_orm.server.options import DELAY_OBSERVER_SETTINGS

TEST_SETTINGS: Final[Mapping[str, str]] = {
    # Expired scanners are then tested in seconds, not minutes.
    "hbase.client.scanner.timeout.period": "6000",
    # Else a call on a table that cannot serve it blocks for minutes inside the gateway.
    "hbase.client.retries.number": "3",
    # Lets tests delay chosen calls; does nothing until it is told to.
    **DELAY_OBSERVER_SETTINGS,
}
"""Short leases, few retries, and the observer that delays calls on demand."""
