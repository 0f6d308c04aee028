"""One HBase for a whole test run, shared by all workers of pytest-xdist.

The first process that needs HBase starts it, under a lock. It writes the address of HBase to a
file, which the other processes read. Only the controlling process stops HBase, so HBase keeps
running when a worker ends.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from hbase_orm.errors import ServerError
from hbase_orm.testing.sources import Choice


@dataclass(frozen=True, slots=True)
class Running:
    """The address of a started HBase, as values that another process can read.

    Attributes:
        url: The URL for `hbase_orm.connect`.
        source: The kind of HBase: url, docker or embedded.
        handle: The container's id, or the embedded server's data directory; empty for a URL.
    """

    url: str
    source: str
    handle: str = ""


class Share:
    """A folder that the processes of one test run share."""

    def __init__(self, folder: Path, owner_pid: int | None = None) -> None:
        """Use a folder.

        Args:
            folder: The folder, which must exist.
            owner_pid: The id of the process that stops HBase at the end of the test run; without
                it, this process.
        """
        self.folder = folder
        self.owner_pid = os.getpid() if owner_pid is None else owner_pid
        self._choice = folder / "choice.json"
        self._record = folder / "running.json"

    def choice(self) -> Choice | None:
        """Return which HBase the tests use, or None if nothing has needed one yet."""
        if not self._choice.exists():
            return None
        fields = json.loads(self._choice.read_text())
        fields["refused"] = tuple((source, why) for source, why in fields["refused"])
        return Choice(**fields)

    def choice_or(self, decide: Callable[[], Choice]) -> Choice:
        """Return which HBase the tests use; the first call in a test run calls `decide` for it.

        Other processes wait meanwhile.
        """
        if choice := self.choice():
            return choice
        with self._locked():
            if choice := self.choice():
                return choice
            choice = decide()
            _write(self._choice, asdict(choice))
            return choice

    def get(self) -> Running | None:
        """Return the running HBase, or None if no test has needed it yet."""
        if not self._record.exists():
            return None
        return Running(**json.loads(self._record.read_text()))

    def get_or_start(self, start: Callable[[], Running]) -> Running:
        """Return the running HBase; if there is none, start it, while other processes wait.

        If the start fails, the error is written to a file. The other processes then fail with the
        same reason, without another try.

        Raises:
            ServerError: HBase did not start, in this process or in another.
        """
        failure = self.folder / "failed"
        with self._locked():
            if running := self.get():
                return running
            if failure.exists():
                raise ServerError(
                    "the HBase of this test run did not start", reason=failure.read_text()
                )
            try:
                running = start()
            except Exception as error:
                failure.write_text(str(error) or type(error).__name__)
                raise
            _write(self._record, asdict(running))
            return running

    @contextmanager
    def _locked(self) -> Iterator[None]:
        with (self.folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def _write(record: Path, fields: Mapping[str, object]) -> None:
    """Write a record such that other processes, which read it without the lock, see all of it."""
    part = record.with_suffix(".part")
    part.write_text(json.dumps(fields))
    part.rename(record)
