"""Real HBase servers for tests, in a container or embedded, and the pytest plugin that shares one.

The plugin loads with pytest by itself; see `hbase_orm.testing.plugin` for its fixtures. The classes
here are for tests that start their own servers, to kill, pause or configure them. They are imported
on first use, because containers need `pip install 'hbase-orm[testing]'`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hbase_orm.server.admin import Region, ServerAdmin
    from hbase_orm.server.launcher import EmbeddedServer
    from hbase_orm.testing.containers import GatewayContainer, HBaseContainer
    from hbase_orm.testing.servers import RealHBase
    from hbase_orm.testing.settings import TEST_SETTINGS

__all__ = [
    "TEST_SETTINGS",
    "EmbeddedServer",
    "GatewayContainer",
    "HBaseContainer",
    "RealHBase",
    "Region",
    "ServerAdmin",
]

_MODULES = {
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
