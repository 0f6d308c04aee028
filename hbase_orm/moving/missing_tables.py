"""Reads of new tables that may not exist yet: each period's table is made when a row comes."""

from __future__ import annotations

from typing import TypeVar

from hbase_orm.errors import NamespaceNotFoundError, TableNotFoundError
from hbase_orm.moving.translation import TableMove
from hbase_orm.ops import Protocol

T = TypeVar("T")


def if_there(move: TableMove, read: Protocol[T], otherwise: T) -> Protocol[T]:
    """Return the answer of a read of the new table; `otherwise` if it is not made yet.

    A table that does not exist has no guards, so the old table decides about all its rows.

    Args:
        move: The tables.
        read: The read of the new table.
        otherwise: The answer of a table without rows.

    Raises:
        TableNotFoundError: The new table does not exist, although it is not that of a period.
    """
    try:
        return (yield from read)
    except (NamespaceNotFoundError, TableNotFoundError):
        if move.period is None:
            raise
        return otherwise
