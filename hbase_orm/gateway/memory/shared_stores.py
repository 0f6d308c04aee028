"""Tables in memory that several engines of a process share by a name: `memory://name`."""

from __future__ import annotations

import threading
from typing import Final, TypeVar

from hbase_orm.errors import ConfigurationError
from hbase_orm.gateway.base import Feature, Gateway
from hbase_orm.gateway.memory.gateway import MemoryGateway
from hbase_orm.ops import Operation

R = TypeVar("R")

_STORES: Final[dict[str, MemoryGateway]] = {}
_LOCK: Final = threading.Lock()


class SharedStoreGateway:
    """The gateway of one engine to tables that other engines may use, too.

    The tables are there until the process ends, or until `drop_store`. A forked process has a copy
    of them.

    Attributes:
        features: All features.
    """

    features: frozenset[Feature] = MemoryGateway.features

    def __init__(self, name: str) -> None:
        """Open the store with this name; it is made if there is none."""
        self.name = name
        self._is_closed = False
        with _LOCK:
            self._store = _STORES.setdefault(name, MemoryGateway())

    def __repr__(self) -> str:
        """Return the class with the name."""
        return f"SharedStoreGateway({self.name!r})"

    def execute(self, operation: Operation[R], /) -> R:
        """Run one request, as `MemoryGateway.execute` does.

        Raises:
            RejectedError: HBase refuses the request.
            ScannerExpiredError: The scanner is closed.
            ConfigurationError: The gateway is closed, or its store was dropped.
        """
        if self._is_closed:
            raise ConfigurationError("the gateway is closed", fix="connect again")
        return self._store.execute(operation)

    def close(self) -> None:
        """End the use of the store; its tables stay for other engines."""
        self._is_closed = True


def memory_gateway(store: str) -> Gateway:
    """Return a gateway to the tables of a named store; without a name, to tables of its own."""
    return SharedStoreGateway(store) if store else MemoryGateway()


def drop_store(name: str) -> None:
    """Delete the tables of `memory://name`; do nothing if there are none.

    Engines that are connected to them cannot be used any more: they raise `ConfigurationError`.
    """
    with _LOCK:
        store = _STORES.pop(name, None)
    if store is not None:
        store.close()
