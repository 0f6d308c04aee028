"""The default heap of HBase's JVM, as a share of this machine's memory."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

_MEGABYTE: Final = 1 << 20
_LEAST_MB: Final = 512
_MOST_MB: Final = 2048  # more would only keep what the system's page cache keeps as well
_PART: Final = 4
_OF_CONTAINER: Final = Path("/sys/fs/cgroup/memory.max")  # "max", or bytes


def default_heap() -> str:
    """Return a quarter of this machine's memory, between 512 MB and 2 GB, in the format of -Xmx."""
    megabytes = memory_bytes() // _PART // _MEGABYTE
    return f"{max(_LEAST_MB, min(megabytes, _MOST_MB))}m"


def memory_bytes() -> int:
    """Return the memory of this machine, or of the container if it has less, in bytes."""
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        limit = _OF_CONTAINER.read_text(encoding="ascii").strip()
    except OSError:
        return machine
    return min(machine, int(limit)) if limit.isdecimal() else machine
