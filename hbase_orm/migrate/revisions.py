"""One revision: what its file and the records beside it say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from hbase_orm.migrate.operations.operation import Operation
from hbase_orm.record.declaration import Declaration


class Direction(Enum):
    """Whether revisions are applied or undone."""

    UPGRADE = "upgrade"
    DOWNGRADE = "downgrade"


@dataclass(frozen=True, slots=True)
class Revision:
    """One revision.

    Attributes:
        id: The name of the revision.
        parents: The revisions that are applied before it; none for the first, several for a merge.
        message: What it does, in words.
        operations: The steps, in the order of an upgrade.
        checksum: The checksum of its files.
        before: The declarations by table before the revision; only of the tables that it changes.
        after: The declarations by table after the revision.
        path: The file; None for a revision that was made otherwise.
    """

    id: str
    parents: tuple[str, ...] = ()
    message: str = ""
    operations: tuple[Operation, ...] = ()
    checksum: str = ""
    before: Mapping[str, Declaration] = field(default_factory=dict[str, Declaration])
    after: Mapping[str, Declaration] = field(default_factory=dict[str, Declaration])
    path: Path | None = None

    def __str__(self) -> str:
        """Return the name and the message."""
        return f"{self.id} {self.message}".rstrip()
