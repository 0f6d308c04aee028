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
    # Otherwise the master waits 0.15 s for more regions to open, twice for each table that is made.
    "hbase.assignment.dispatch.wait.msec": "5",
    "hbase.procedure.remote.dispatcher.delay.msec": "5",
    # The observer does nothing until a test calls `ServerAdmin.delay`.
    **DELAY_OBSERVER_SETTINGS,
}
"""Short scanner leases, few retries, short waits of the master, and the observer of delays."""
