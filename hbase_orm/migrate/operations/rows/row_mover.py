"""What moves the rows of a table to another table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from hbase_orm.migrate.operations.migrated_table import MigratedTable
from hbase_orm.migrate.operations.operation import Checkpoint


class RowMover(Protocol):
    """Moves all rows of one table to another; `run` may be repeated after a crash."""

    def run(self, checkpoint: Checkpoint) -> None:
        """Move the rows; continue where an earlier run stopped."""
        ...


Movers = Callable[[MigratedTable, MigratedTable, str], RowMover]
"""A function from an old table, a new table and the phase of a checkpoint to what moves rows."""
