"""How long a process may use what it has read of the catalog, and a gateway its requests."""

from __future__ import annotations

from typing import Final

LEASE_S: Final = 30.0
"""How long a process may use an entry after reading it; each change of state waits this long."""

GATEWAY_TIMEOUT_S: Final = 1200.0
"""How long a gateway repeats a request by itself: HBase's hbase.client.operation.timeout."""
