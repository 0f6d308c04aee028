"""Notice a full disk before, or at least say it after."""

from __future__ import annotations

import shutil
from pathlib import Path

from hbase_orm.errors import DiskFullError

FULL = "No space left on device"
"""What the C library, Maven and the JVM all say."""

_MEGABYTE = 1_000_000


def require_space(folder: Path, needed_bytes: int) -> None:
    """Raise unless the file system that holds `folder` has this much room.

    Raises:
        DiskFullError: It has less.
    """
    existing = next(place for place in (folder, *folder.parents) if place.exists())
    free_bytes = shutil.disk_usage(existing).free
    if free_bytes < needed_bytes:
        raise DiskFullError(
            "the disk has too little room",
            folder=str(folder),
            free_mb=free_bytes // _MEGABYTE,
            needed_mb=needed_bytes // _MEGABYTE,
            fix="free some space, or choose a folder on another disk",
        )


def disk_full(folder: Path) -> DiskFullError:
    """Return the error for a child that ran out of room while it wrote to `folder`."""
    return DiskFullError(
        "the disk became full",
        folder=str(folder),
        fix="free some space and try again; what HBase has acknowledged is kept",
    )
