"""What moves the rows of a table to another table."""

from __future__ import annotations

from typing import Protocol

from hbase_orm.migrate.operations.operation import Checkpoint


class RowMover(Protocol):
    """Moves all rows of one table to another; `run` may be repeated after a crash."""

    def run(self, checkpoint: Checkpoint) -> None:
        """Move the rows; continue where an earlier run stopped."""
        ...
