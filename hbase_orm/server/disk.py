"""Checks of free disk space, before a server writes or after it has failed."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hbase_orm.errors import DiskFullError, ServerError

FULL = "No space left on device"
"""The text in messages of the C library, Maven and the JVM that means a full disk."""

_MEGABYTE = 1_000_000


def require_space(folder: Path, needed_bytes: int) -> None:
    """Raise an error if the file system of `folder` has less free space than `needed_bytes`.

    Raises:
        DiskFullError: There is less free space.
    """
    free_bytes = _free_bytes(folder)
    if free_bytes < needed_bytes:
        raise DiskFullError(
            "the disk has too little free space",
            folder=str(folder),
            free_mb=free_bytes // _MEGABYTE,
            needed_mb=needed_bytes // _MEGABYTE,
            fix="free some space, or choose a folder on another disk",
        )


def _free_bytes(folder: Path) -> int:
    existing = next(place for place in (folder, *folder.parents) if place.exists())
    return shutil.disk_usage(existing).free


def is_full(folder: Path) -> bool:
    """Return whether the file system of `folder` has less than 1 MB of free space."""
    return _free_bytes(folder) < _MEGABYTE


@contextmanager
def writing_to(folder: Path) -> Iterator[None]:
    """Convert errors of writing to `folder` to errors of this library.

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
    """Return the error for a disk that became full while `folder` was written."""
    return DiskFullError(
        "the disk became full",
        folder=str(folder),
        fix="free some space and try again; writes that HBase acknowledged are kept",
    )
