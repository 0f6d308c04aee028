"""The options of an embedded server, and the default folders of its files."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal

from hbase_orm.errors import ConfigurationError
from hbase_orm.server.memory import default_heap

GatewayName = Literal["thrift1", "thrift2"]
ThriftMode = Literal["in-process", "separate"]

GATEWAYS: tuple[GatewayName, GatewayName] = ("thrift1", "thrift2")
DELAY_OBSERVER_SETTINGS: Mapping[str, str] = {
    "hbase.coprocessor.region.classes": "org.hbaseorm.DelayObserver"
}
"""Settings that load the observer which `ServerAdmin.delay` needs; for tests only."""

_HEAP = re.compile(r"[1-9][0-9]{0,9}[kKmMgG]?")
_MAX_PORT = 65535
_MAX_REGION_SERVERS = 8  # each takes threads and memstore of one small heap


def _user_folder(variable: str, fallback: str) -> Path:
    path = os.environ.get(variable, "")
    # By the XDG rules a relative path is ignored.
    base = Path(path) if Path(path).is_absolute() else Path.home() / fallback
    return base / "hbase-orm"


def default_data_dir(*, ephemeral: bool = False) -> Path:
    """Return the default data folder of the user's server, below `XDG_DATA_HOME`.

    The folder for ephemeral servers is separate from the folder for data that is kept.
    """
    name = "ephemeral" if ephemeral else "server"
    return _user_folder("XDG_DATA_HOME", ".local/share") / name


def default_cache_dir() -> Path:
    """Return the folder for jars and compiled classes, below `XDG_CACHE_HOME`."""
    return _user_folder("XDG_CACHE_HOME", ".cache")


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """The options of an embedded HBase.

    Attributes:
        port: The port of the Thrift1 gateway; None means a free one.
        thrift2_port: The port of the Thrift2 gateway; None means a free one.
        data_dir: The folder for everything that the server writes; None means a new temporary
            folder if `ephemeral`, else `default_data_dir()`.
        ephemeral: Whether the data is deleted when the server stops, so that the next start is
            empty.
        settings: HBase's own settings by name, as in hbase-site.xml; they override the settings of
            this library.
        thrift: Where the gateways run: in HBase's JVM, or each in a separate JVM that can be
            killed.
        region_servers: The number of RegionServers, 1 to 8, all in HBase's JVM.
        heap: The largest heap of HBase's JVM, in the format of -Xmx: "512m", "2g". The default is a
            quarter of the machine's memory, between 512 MB and 2 GB.
        daemon: Whether an ephemeral server continues when this Python process ends. Other servers
            always continue.
    """

    port: int | None = None
    thrift2_port: int | None = None
    data_dir: Path | None = None
    ephemeral: bool = False
    settings: Mapping[str, str] = field(default_factory=dict)
    thrift: ThriftMode = "in-process"
    region_servers: int = 1
    heap: str = field(default_factory=default_heap)
    daemon: bool = False

    def __post_init__(self) -> None:
        """Raise an error for values that would fail later, inside the JVM."""
        for name, port in (("port", self.port), ("thrift2_port", self.thrift2_port)):
            if port is not None and not 1 <= port <= _MAX_PORT:
                raise ConfigurationError(
                    "a port is out of range",
                    option=name,
                    value=port,
                    fix="choose one from 1 to 65535, or None for a free port",
                )
        if self.port is not None and self.port == self.thrift2_port:
            raise ConfigurationError(
                "both gateways have the same port",
                port=self.port,
                fix="give Thrift1 and Thrift2 a port each",
            )
        if not isinstance(self.heap, str) or not _HEAP.fullmatch(self.heap):
            raise ConfigurationError(
                "the heap's size is not valid",
                option="heap",
                value=self.heap,
                fix='write "512m" or "2g"',
            )
        if not 1 <= self.region_servers <= _MAX_REGION_SERVERS:
            raise ConfigurationError(
                "the number of RegionServers is out of range",
                option="region_servers",
                value=self.region_servers,
                fix=f"choose 1 to {_MAX_REGION_SERVERS}",
            )

    @property
    def watches_parent(self) -> bool:
        """Whether the server ends when this Python process ends."""
        return self.ephemeral and not self.daemon

    @property
    def is_framed(self) -> bool:
        """Whether the gateways use the framed transport."""
        return self.settings.get("hbase.regionserver.thrift.framed") == "true"

    @property
    def is_compact(self) -> bool:
        """Whether the gateways use the compact protocol."""
        return self.settings.get("hbase.regionserver.thrift.compact") == "true"

    def recorded(self) -> dict[str, object]:
        """Return the options for `server.json`; the data folder, which holds it, is left out."""
        values = asdict(replace(self, settings=dict(self.settings)))
        del values["data_dir"]
        return values

    @classmethod
    def read_back(cls, recorded: Mapping[str, Any], data_dir: Path) -> ServerOptions:
        """Return options that were stored in `server.json`; skip those that this version lacks.

        Args:
            recorded: The options, as read from `server.json`.
            data_dir: The folder that holds `server.json`.
        """
        names = {option.name for option in fields(cls)}
        kept = {name: value for name, value in recorded.items() if name in names}
        return cls(**{**kept, "data_dir": data_dir})
