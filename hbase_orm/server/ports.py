"""Free ports, and the processes that listen on ports.

The launcher uses only ports on which its own child process listens. A test suite drops tables, and
must never do so on another server that happens to answer.
"""

from __future__ import annotations

import socket
import subprocess
from pathlib import Path

from hbase_orm.errors import PortInUseError
from hbase_orm.server.processes import command_line

LOOPBACK = "127.0.0.1"
_LISTEN = "0A"  # state TCP_LISTEN in /proc/net/tcp
_REACHED = ("0100007F", "00000000")  # the ends of addresses there that accept calls to 127.0.0.1
_TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
_SHOWN_CHARS = 80


def free_ports(count: int) -> list[int]:
    """Return different free ports of the loopback interface."""
    opened = [socket.socket() for _ in range(count)]
    try:
        for one in opened:
            one.bind((LOOPBACK, 0))
        return [one.getsockname()[1] for one in opened]
    finally:
        for one in opened:
            one.close()


def require_free(port: int, option: str) -> None:
    """Raise an error if a server cannot listen on `port`.

    Args:
        port: The port.
        option: The option of the command line that sets the port, for the message.

    Raises:
        PortInUseError: Another process listens there; the error names it if possible.
    """
    with socket.socket() as trial:
        # As the JVM does: lingering connections of an earlier server must not prevent the bind.
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind((LOOPBACK, port))
        except OSError as error:
            raise PortInUseError(
                "the port is taken",
                port=port,
                process=describe_listener(port),
                fix=f"stop that process, or choose another port with {option} (0: a free one)",
            ) from error


def describe_listener(port: int) -> str:
    """Return a text about the process that listens on `port`."""
    for pid in _all_pids():
        if listens(pid, port):
            return f"{pid}: {command_line(pid)[:_SHOWN_CHARS]}"
    return "unknown (another user's, perhaps)"


def listens(pid: int, port: int) -> bool:
    """Return whether the process `pid` listens on `port` of the loopback interface."""
    if not _TABLES[0].exists():
        return _listens_by_lsof(pid, port)
    wanted = {f"socket:[{inode}]" for inode in _listening_inodes(port)}
    return bool(wanted) and not wanted.isdisjoint(_open_files(pid))


def _all_pids() -> list[int]:
    proc = Path("/proc")
    if not proc.exists():
        return []
    return [int(entry.name) for entry in proc.iterdir() if entry.name.isdigit()]


def _listening_inodes(port: int) -> set[str]:
    inodes = set()
    for table in _TABLES:
        if not table.exists():
            continue
        for line in table.read_text(encoding="ascii").splitlines()[1:]:
            fields = line.split()
            address, _, number = fields[1].rpartition(":")
            if fields[3] == _LISTEN and int(number, 16) == port and address.endswith(_REACHED):
                inodes.add(fields[9])
    return inodes


def _open_files(pid: int) -> set[str]:
    links = set()
    try:
        for entry in Path(f"/proc/{pid}/fd").iterdir():
            try:
                links.add(str(entry.readlink()))
            except OSError:
                continue  # closed since
    except OSError:
        return links  # ended since, or another user's
    return links


def _listens_by_lsof(pid: int, port: int) -> bool:
    shown = subprocess.run(  # noqa: S603 -- two numbers
        ["lsof", "-nP", "-a", "-p", str(pid), f"-iTCP:{port}", "-sTCP:LISTEN"],  # noqa: S607 -- lsof is at different places
        capture_output=True,
        check=False,
    )
    return shown.returncode == 0
