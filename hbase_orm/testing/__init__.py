"""What tests need: real HBase servers, faults told in words, a clock, counts of requests.

The pytest plugin loads by itself; see `hbase_orm.testing.plugin` for its fixtures. The names here
are imported on first use, because containers need `pip install 'hbase-orm[testing]'`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hbase_orm.gateway.memory.shared_stores import drop_store
    from hbase_orm.server.admin import Region, ServerAdmin
    from hbase_orm.server.launcher import EmbeddedServer
    from hbase_orm.testing.clocks import SettableClock, memory_engine
    from hbase_orm.testing.containers import GatewayContainer, HBaseContainer
    from hbase_orm.testing.emptying import empty_tables
    from hbase_orm.testing.injected_faults import Faults, faults
    from hbase_orm.testing.object_factories import Factory, factory
    from hbase_orm.testing.request_words import Word
    from hbase_orm.testing.servers import RealHBase
    from hbase_orm.testing.settings import TEST_SETTINGS
    from hbase_orm.testing.strategies import objects_of
    from hbase_orm.testing.watched_requests import SentRequests, assert_requests

__all__ = [
    "TEST_SETTINGS",
    "EmbeddedServer",
    "Factory",
    "Faults",
    "GatewayContainer",
    "HBaseContainer",
    "RealHBase",
    "Region",
    "SentRequests",
    "ServerAdmin",
    "SettableClock",
    "Word",
    "assert_requests",
    "drop_store",
    "empty_tables",
    "factory",
    "faults",
    "memory_engine",
    "objects_of",
]

_MODULES = {
    "Factory": "hbase_orm.testing.object_factories",
    "factory": "hbase_orm.testing.object_factories",
    "objects_of": "hbase_orm.testing.strategies",
    "Faults": "hbase_orm.testing.injected_faults",
    "SentRequests": "hbase_orm.testing.watched_requests",
    "SettableClock": "hbase_orm.testing.clocks",
    "Word": "hbase_orm.testing.request_words",
    "assert_requests": "hbase_orm.testing.watched_requests",
    "drop_store": "hbase_orm.gateway.memory.shared_stores",
    "empty_tables": "hbase_orm.testing.emptying",
    "faults": "hbase_orm.testing.injected_faults",
    "memory_engine": "hbase_orm.testing.clocks",
    "TEST_SETTINGS": "hbase_orm.testing.settings",
    "EmbeddedServer": "hbase_orm.server.launcher",
    "GatewayContainer": "hbase_orm.testing.containers",
    "HBaseContainer": "hbase_orm.testing.containers",
    "RealHBase": "hbase_orm.testing.servers",
    "Region": "hbase_orm.server.admin",
    "ServerAdmin": "hbase_orm.server.admin",
}


def __getattr__(name: str) -> Any:
    """Import a public name on first use."""
    if name not in _MODULES:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    from importlib import import_module  # noqa: PLC0415  # keeps this module's own names few

    return getattr(import_module(_MODULES[name]), name)
