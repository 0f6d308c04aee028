"""Region operations that Thrift lacks: split, merge, move, assign, flush, compact; delay calls.

Each method returns when its effect is there. Commands are lines of JSON, answered by a thread
inside HBase's JVM on a loopback port; who can read the server's `jvm.json` may send them.
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
        name: Its encoded name, a hash.
        start: First row key, included; empty for the table's first region.
        stop: Last row key, excluded; empty for the table's last region.
        state: HBase's word for it: OPEN, CLOSED, …
        server: The RegionServer that holds it, as `host,port,start code`.
        store_files: Number of store files; 0 while it is not open.
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
        """Use `send` to pass a command on; it returns the answer's line."""
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
        """Move the region of `key` to `server`, or to any other.

        With one RegionServer there is no other: the region is closed and opened again.
        """
        return self._on("move", table, key=key.hex(), server=server)

    def assign(self, table: str, key: bytes) -> list[Region]:
        """Open the region that holds `key`."""
        return self._on("assign", table, key=key.hex())

    def unassign(self, table: str, key: bytes) -> list[Region]:
        """Close the region that holds `key`; it stays closed, also for retrying clients."""
        return self._on("unassign", table, key=key.hex())

    def flush(self, table: str) -> list[Region]:
        """Write the memstores of a table to store files."""
        return self._on("flush", table)

    def major_compact(self, table: str) -> list[Region]:
        """Rewrite the store files of each region into one, without deleted cells.

        Only store files take part: `flush` first to include what was written last.
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
            kind: Which calls. A batch of puts is one delay for each put.
            delay_ms: How long, 0 to 60000 milliseconds.
            row_prefix: Only rows (for a scan: start rows) that begin with these bytes.
            after: Delay the answer of a change that is made, instead of the change.
            times: For how many calls.
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
        """Forget all delays that have not been used up."""
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
    """Return the admin of a server on this machine."""
    return ServerAdmin(lambda command: _call(jvm, command))


def _call(jvm: JvmState, command: Mapping[str, object]) -> str:
    line = json.dumps({"token": jvm.token, **command}) + "\n"
    with socket.create_connection((LOOPBACK, jvm.admin), timeout=_TIMEOUT_S) as connection:
        connection.sendall(line.encode())
        with connection.makefile("r", encoding="utf-8") as replies:
            return replies.readline()
