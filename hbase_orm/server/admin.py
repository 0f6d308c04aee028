"""Operations that Thrift does not support: split, merge, move, assign, flush, compact, delays.

Each method waits until its operation is finished. Commands are lines of JSON, sent to a loopback
port of HBase's JVM. Every user who can read the server's `jvm.json` may send them.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from hbase_orm.errors import ServerError, TableNotFoundError
from hbase_orm.server.ports import LOOPBACK
from hbase_orm.server.state import JvmState

DelayedKind = Literal["get", "scan", "put", "delete", "increment", "append", "checkAndMutate"]
Send = Callable[[Mapping[str, object]], str]

_TIMEOUT_S = 180.0  # each command gives up by itself before


@dataclass(frozen=True, slots=True)
class Region:
    """One region of a table.

    Attributes:
        name: The encoded name, a hash.
        start: The first row key, included; empty for the table's first region.
        stop: The first row key after the region; empty for the table's last region.
        state: The state in HBase: OPEN, CLOSED, …
        server: The RegionServer of the region, as `host,port,start code`.
        store_files: The number of store files; 0 if the region is not open.
    """

    name: str
    start: bytes
    stop: bytes
    state: str
    server: str
    store_files: int


class ServerAdmin:
    """Sends admin commands to one server."""

    def __init__(self, send: Send) -> None:
        """Use `send`, which sends a command and returns the line of the answer."""
        self._send = send

    def servers(self) -> list[str]:
        """Return the names of the RegionServers."""
        return [str(name) for name in self._run("servers")]

    def regions(self, table: str) -> list[Region]:
        """Return the regions of a table in key order."""
        return self._on("regions", table)

    def split(self, table: str, key: bytes) -> list[Region]:
        """Split the region that holds `key`, so that `key` starts the upper part."""
        return self._on("split", table, key=key.hex())

    def merge(self, table: str, key_a: bytes, key_b: bytes) -> list[Region]:
        """Merge the two neighbouring regions that hold these keys."""
        return self._on("merge", table, key=key_a.hex(), other_key=key_b.hex())

    def move(self, table: str, key: bytes, server: str | None = None) -> list[Region]:
        """Move the region that holds `key` to `server`; if None, to any other RegionServer.

        With only one RegionServer, the region is closed and opened again.
        """
        return self._on("move", table, key=key.hex(), server=server)

    def assign(self, table: str, key: bytes) -> list[Region]:
        """Open the region that holds `key`."""
        return self._on("assign", table, key=key.hex())

    def unassign(self, table: str, key: bytes) -> list[Region]:
        """Close the region that holds `key`; it stays closed until `assign` opens it."""
        return self._on("unassign", table, key=key.hex())

    def flush(self, table: str) -> list[Region]:
        """Write the memstores of a table to store files."""
        return self._on("flush", table)

    def major_compact(self, table: str) -> list[Region]:
        """Rewrite the store files of each region into one, without deleted cells.

        Only store files are compacted: call `flush` first to include the latest writes.
        """
        return self._on("major_compact", table)

    def delay(
        self,
        table: str,
        kind: DelayedKind,
        delay_ms: int,
        *,
        row_prefix: bytes = b"",
        after: bool = False,
        times: int = 1,
    ) -> None:
        """Delay the next calls of one kind, on servers started with the delay observer.

        Args:
            table: The table whose calls are delayed.
            kind: The kind of the calls. A batch of puts is delayed once for each put.
            delay_ms: The delay, 0 to 60,000 milliseconds.
            row_prefix: Delay only calls for rows (for a scan: start rows) with this prefix.
            after: Whether to delay the answer after the change, instead of the change itself.
            times: The number of calls to delay.
        """
        self._on(
            "delay",
            table,
            kind=kind,
            ms=delay_ms,
            row_prefix=row_prefix.hex(),
            after=after,
            times=times,
        )

    def clear_delays(self) -> None:
        """Remove all remaining delays."""
        self._run("clear_delays")

    def _on(self, command: str, table: str, **arguments: Any) -> list[Region]:
        rows = self._run(command, table=table, **arguments)
        return [_region(row) for row in rows]

    def _run(self, command: str, **arguments: Any) -> list[Any]:
        reply = json.loads(self._send({"command": command, **arguments}))
        if "error" not in reply:
            return list(reply["result"])
        if reply["error"].endswith(".TableNotFoundException"):
            raise TableNotFoundError("the table does not exist", table=arguments["table"])
        raise ServerError(
            "the server refused the admin command",
            command=command,
            java_class=reply["error"],
            reason=reply["message"],
            **arguments,
        )


def _region(row: dict[str, Any]) -> Region:
    start, stop = bytes.fromhex(row.pop("start")), bytes.fromhex(row.pop("stop"))
    return Region(start=start, stop=stop, **row)


def admin_of(jvm: JvmState) -> ServerAdmin:
    """Return the `ServerAdmin` of a server on this machine."""
    return ServerAdmin(lambda command: _call(jvm, command))


def _call(jvm: JvmState, command: Mapping[str, object]) -> str:
    line = json.dumps({"token": jvm.token, **command}) + "\n"
    with socket.create_connection((LOOPBACK, jvm.admin), timeout=_TIMEOUT_S) as connection:
        connection.sendall(line.encode())
        with connection.makefile("r", encoding="utf-8") as replies:
            return replies.readline()
