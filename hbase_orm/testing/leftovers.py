"""Labels containers with the process that owns them, and removes those whose owner has ended.

A test run that is killed cannot stop its container. The reaper of testcontainers is a separate
image, which not every machine can pull. So each container has a label with the machine and the
process that owns it. The next run removes the containers whose owner has ended.
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
    """Return the label's value for a process on this machine; empty if the process has ended."""
    process = ProcessId.of(pid)
    if process is None:
        return ""
    return _SEPARATOR.join((_place(), str(pid), process.started))


def is_gone(label: str) -> bool:
    """Return whether the process that a label names has ended; False if that is unknown."""
    place, _, process = label.partition(_SEPARATOR)
    pid, _, started = process.partition(_SEPARATOR)
    if place != _place() or not pid.isdigit():
        return False
    return not ProcessId(int(pid), started).is_alive()


def _place() -> str:
    """Return the host and the process namespace in which process ids are valid."""
    namespace = _NAMESPACE.readlink().name if _NAMESPACE.exists() else ""
    return f"{socket.gethostname()} {namespace}"


def remove_leftovers(client: DockerClient) -> None:
    """Remove the containers whose owners have ended, with their volumes."""
    import docker.errors  # noqa: PLC0415  # imported by the caller already; keep this module cheap

    labelled: dict[str, str | list[str] | bool] = {"label": LABEL}
    # Another run may remove a container while the list is made.
    for container in client.containers.list(all=True, filters=labelled, ignore_removed=True):
        if is_gone(container.labels[LABEL]):
            # Another run may be removing the same container.
            with contextlib.suppress(docker.errors.NotFound, docker.errors.APIError):
                container.remove(v=True, force=True)
