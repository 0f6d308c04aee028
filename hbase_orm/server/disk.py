"""Notice a full disk before, or at least say it after."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hbase_orm.errors import DiskFullError, ServerError

FULL = "No space left on device"
"""What the C library, Maven and the JVM all say."""

_MEGABYTE = 1_000_000


def require_space(folder: Path, needed_bytes: int) -> None:
    """Raise unless the file system that holds `folder` has this much room.

    Raises:
        DiskFullError: It has less.
    """
    free_bytes = _free_bytes(folder)
    if free_bytes < needed_bytes:
        raise DiskFullError(
            "the disk has too little room",
            folder=str(folder),
            free_mb=free_bytes // _MEGABYTE,
            needed_mb=needed_bytes // _MEGABYTE,
            fix="free some space, or choose a folder on another disk",
        )


def _free_bytes(folder: Path) -> int:
    existing = next(place for place in (folder, *folder.parents) if place.exists())
    return shutil.disk_usage(existing).free


def is_full(folder: Path) -> bool:
    """Return whether next to nothing can be written to `folder`, not even a log."""
    return _free_bytes(folder) < _MEGABYTE


@contextmanager
def writing_to(folder: Path) -> Iterator[None]:
    """Turn the system's refusals to write in `folder` into errors of our tree.

    Raises:
        DiskFullError: The disk is full.
        ServerError: The folder cannot be written for another reason.
    """
    try:
        yield
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise disk_full(folder) from error
        raise ServerError(
            "the folder cannot be used",
            folder=str(folder),
            reason=str(error),
            fix="check its permissions, or choose another folder",
        ) from error


def disk_full(folder: Path) -> DiskFullError:
    """Return the error for a child that ran out of room while it wrote to `folder`."""
    return DiskFullError(
        "the disk became full",
        folder=str(folder),
        fix="free some space and try again; what HBase has acknowledged is kept",
    )
