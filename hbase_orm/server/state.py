"""The files that describe a running server, and the data folder of an embedded server.

The launcher writes `server.json` (processes and ports). HBase's JVM writes `jvm.json` when it is
ready. That file has the admin token, so only its owner can read it. The marker file means that the
folder belongs to an embedded server: only such a folder is written or wiped.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from hbase_orm.errors import ServerError
from hbase_orm.server.options import GatewayName
from hbase_orm.server.processes import ProcessId

_MARKER = ".hbase-orm-server"
_MARKER_TEXT = "The embedded HBase of hbase-orm keeps its data here.\n"
_OURS = ("hbase", "tmp", "zk", "logs", "lock", "health", "server.json", "jvm.json")


OWNER_ONLY = 0o700
"""The mode of folders that hold a server's data: only the owner may read rows."""


def _write(path: Path, text: str) -> None:
    """Write a file that only its owner can read."""
    opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(opened, "w", encoding="utf-8") as file:
        file.write(text)


@dataclass(frozen=True, slots=True)
class ServerState:
    """The record of a started server.

    Attributes:
        processes: The processes by name: "hbase", and with separate gateways "thrift1" and
            "thrift2".
        ports: The ports of the gateways by name.
        nonce: A random text, which HBase's JVM also writes to `jvm.json`. A `jvm.json` with another
            nonce is left from an earlier run.
        options: The options that `status` shows and a restart of a gateway needs.
    """

    processes: Mapping[str, ProcessId]
    ports: Mapping[GatewayName, int]
    nonce: str
    options: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class JvmState:
    """The record that HBase's JVM writes about itself when it is ready.

    Attributes:
        pid: The process id of the JVM.
        nonce: The nonce of the `ServerState` of this run.
        zookeeper: The port of ZooKeeper.
        admin: The port for admin commands.
        token: The secret that each admin command must contain.
    """

    pid: int
    nonce: str
    zookeeper: int
    admin: int
    token: str


@dataclass(frozen=True, slots=True)
class DataFolder:
    """The folder of one server."""

    path: Path

    @property
    def log(self) -> Path:
        """The log of HBase's JVM."""
        return self.path / "logs" / "server.log"

    def gateway_log(self, name: str) -> Path:
        """Return the log of a separate gateway."""
        return self.path / "logs" / f"{name}.log"

    @property
    def jvm_file(self) -> Path:
        """The file that HBase's JVM writes when it is ready."""
        return self.path / "jvm.json"

    @property
    def is_ours(self) -> bool:
        """Whether the folder has the marker file."""
        return (self.path / _MARKER).is_file()

    def prepare(self) -> None:
        """Create the folder and its marker file if missing; only the owner can read the folder.

        Raises:
            ServerError: The folder has files of another program.
        """
        self.path.mkdir(mode=OWNER_ONLY, parents=True, exist_ok=True)
        if not self.is_ours:
            self._require_empty()
        self.path.chmod(OWNER_ONLY)  # earlier versions let others read it
        if not self.is_ours:
            _write(self.path / _MARKER, _MARKER_TEXT)
        self.log.parent.mkdir(mode=OWNER_ONLY, exist_ok=True)

    def _require_empty(self) -> None:
        if any(self.path.iterdir()):
            raise ServerError(
                "the data directory holds files of another program",
                data_dir=str(self.path),
                fix="choose an empty or new directory with --data-dir",
            )

    def wipe(self) -> None:
        """Delete the files of servers in this folder; other files are kept.

        Raises:
            ServerError: The folder does not have the marker file.
        """
        if not self.path.exists():
            return
        if not self.is_ours:
            raise ServerError(
                "the data directory does not belong to an embedded server; nothing was deleted",
                data_dir=str(self.path),
                fix="give the directory that the server was started with as --data-dir",
            )
        for name in _OURS:
            entry = self.path / name
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry)
            else:
                entry.unlink(missing_ok=True)

    def remove(self) -> None:
        """Delete the files of servers, and then the folder if no other files are in it."""
        self.wipe()
        (self.path / _MARKER).unlink(missing_ok=True)
        if self.path.exists() and not any(self.path.iterdir()):
            self.path.rmdir()

    def read(self) -> ServerState | None:
        """Return the state that the last start of a server recorded here; None if there is none."""
        try:
            raw = json.loads((self.path / "server.json").read_text(encoding="utf-8"))
            processes = {
                name: ProcessId(one["pid"], one["started"])
                for name, one in raw["processes"].items()
            }
            return ServerState(processes, raw["ports"], raw["nonce"], raw["options"])
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def write(self, state: ServerState) -> None:
        """Write the state of a server to `server.json`, atomically."""
        part = self.path / "server.json.part"
        _write(part, json.dumps(asdict(state)))
        part.replace(self.path / "server.json")

    def read_jvm(self, nonce: str) -> JvmState | None:
        """Return the record of the JVM with this nonce; None if that JVM is not ready."""
        try:
            state = JvmState(**json.loads(self.jvm_file.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            return None
        return state if state.nonce == nonce else None

    def forget(self) -> None:
        """Delete `server.json` and `jvm.json` of a server that has ended."""
        for name in ("server.json", "jvm.json"):
            (self.path / name).unlink(missing_ok=True)

    def begin_log(self, log: Path) -> None:
        """Start a new log; the log of the previous run is kept beside it."""
        if log.exists():
            log.replace(log.with_name(log.name + ".1"))
        os.close(os.open(log, os.O_WRONLY | os.O_CREAT, 0o600))
