"""Mark the containers of this process, and remove those whose process has ended.

A test run that is killed cannot stop its container, and the reaper of testcontainers is an image
of its own that not every machine can pull. So each container carries a label that says which
process of which machine owns it; the next run removes those whose owner has ended.
"""

from __future__ import annotations

import contextlib
import socket
from pathlib import Path
from typing import TYPE_CHECKING

from hbase_orm.server.processes import ProcessId

if TYPE_CHECKING:
    from docker import DockerClient

LABEL = "org.hbase-orm.owner"
"""The label of every container that tests start."""

_NAMESPACE = Path("/proc/self/ns/pid")
_SEPARATOR = "|"


def owner(pid: int) -> str:
    """Return the label's value for a process of this machine; empty if it has ended."""
    process = ProcessId.of(pid)
    if process is None:
        return ""
    return _SEPARATOR.join((_place(), str(pid), process.started))


def is_gone(label: str) -> bool:
    """Return whether the owning process has ended; False if that cannot be known."""
    place, _, process = label.partition(_SEPARATOR)
    pid, _, started = process.partition(_SEPARATOR)
    if place != _place() or not pid.isdigit():
        return False
    return not ProcessId(int(pid), started).is_alive()


def _place() -> str:
    """Name the host and the process namespace within which process ids mean something."""
    namespace = _NAMESPACE.readlink().name if _NAMESPACE.exists() else ""
    return f"{socket.gethostname()} {namespace}"


def remove_leftovers(client: DockerClient) -> None:
    """Remove the containers, with their volumes, whose owners have ended."""
    import docker.errors  # noqa: PLC0415  # imported by the caller already; keep this module cheap

    for container in client.containers.list(all=True, filters={"label": LABEL}):
        if is_gone(container.labels[LABEL]):
            # Another run may be removing the same one.
            with contextlib.suppress(docker.errors.NotFound, docker.errors.APIError):
                container.remove(v=True, force=True)
