"""The files that name the namespaces which the runs of one checkout use one after another.

They are in pytest's cache. A run that uses a namespace holds the lock beside its file.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
from pathlib import Path
from typing import IO


class KeptNamespace:
    """The file that names a namespace which runs of one checkout use one after another."""

    def __init__(self, file: Path) -> None:
        """Name the file; nothing is read."""
        self._file = file
        self._lock: IO[str] | None = None

    @classmethod
    def of(cls, folder: Path, url: str, *purpose: str) -> KeptNamespace:
        """Return the namespace on a server for a purpose: the process, and the models' tables."""
        return cls(folder / f"{_digest(url)}-{_digest(*purpose)}.json")

    @classmethod
    def on(cls, folder: Path, url: str) -> list[KeptNamespace]:
        """Return all namespaces on a server."""
        return [cls(file) for file in sorted(folder.glob(f"{_digest(url)}-*.json"))]

    def lock(self) -> bool:
        """Take the lock for this run; return False if another run has it."""
        lock = self._file.with_suffix(".lock").open("w")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.close()
            return False
        self._lock = lock
        return True

    def unlock(self) -> None:
        """Let another run use the namespace."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def read(self) -> tuple[str, str]:
        """Return the namespace's name, and its state once its tables are made; empty if unknown."""
        if not self._file.exists():
            return "", ""
        try:
            fields = json.loads(self._file.read_text())
            return str(fields["namespace"]), str(fields["state"])
        except (ValueError, KeyError, TypeError):  # someone else wrote it
            return "", ""

    def write(self, name: str, state: str = "") -> None:
        """Keep a namespace's name, and its state once its tables are made."""
        part = self._file.with_suffix(".part")
        part.write_text(json.dumps({"namespace": name, "state": state}))
        part.rename(self._file)

    def forget(self) -> None:
        """Keep no namespace any more."""
        self._file.unlink(missing_ok=True)


def _digest(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:12]
