"""The HBase properties of every server that tests start."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from hbase_orm.server.options import DELAY_OBSERVER_SETTINGS

TEST_SETTINGS: Final[Mapping[str, str]] = {
    # So tests of expired scanners take seconds, not minutes.
    "hbase.client.scanner.timeout.period": "6000",
    # Otherwise a call to a table that cannot answer blocks for minutes inside the gateway.
    "hbase.client.retries.number": "3",
    # The observer does nothing until a test calls `ServerAdmin.delay`.
    **DELAY_OBSERVER_SETTINGS,
}
"""Short scanner leases, few retries, and the observer that `ServerAdmin.delay` needs."""
