"""Decides by the state of a table whether a program may write it, and raises the errors."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime

from hbase_orm.errors import CatalogLeaseError, ConflictError, TableHeldError
from hbase_orm.index.catalog.entry import HOW_TO_FINISH, CatalogEntry, TableHold, TableState


def is_held(entry: CatalogEntry | None, own_holds: Collection[str]) -> bool:
    """Return whether another program uses the table exclusively.

    Args:
        entry: The catalog's entry of the table; None if there is none.
        own_holds: The ids of the exclusive uses of this program.
    """
    return entry is not None and entry.hold is not None and entry.hold.id not in own_holds


def refuse_held(table: str, entry: CatalogEntry | None, own_holds: Collection[str]) -> None:
    """Raise an error if another program uses the table exclusively.

    Raises:
        TableHeldError: Another program uses the table exclusively.
    """
    if is_held(entry, own_holds) and entry is not None and entry.hold is not None:
        raise held_error(table, entry.hold)


def refuse_guarded_writes(table: str, entry: CatalogEntry, own_holds: Collection[str]) -> None:
    """Refuse to write a table whose state is not READABLE, unless this program has it exclusively.

    Raises:
        TableHeldError: Another program uses the table exclusively.
        CatalogLeaseError: The table is being loaded or truncated, or was dropped.
    """
    refuse_held(table, entry, own_holds)
    state = entry.state_without_hold
    if entry.hold is None or state is TableState.TRUNCATING:
        raise CatalogLeaseError(
            "the table is not open for guarded writes",
            table=table,
            state=(state or entry.state).value,
            fix=HOW_TO_FINISH.get(state or entry.state, "read the catalog again"),
        )


def refuse_moving(table: str, entry: CatalogEntry | None) -> None:
    """Raise an error if rows of the table are being moved to or from another table.

    Raises:
        ConflictError: They are.
    """
    if entry is not None and entry.move is not None and entry.move.is_running:
        raise ConflictError(
            "the rows of the table are being moved",
            table=table,
            other_table=entry.move.other_table,
            phase=entry.move.phase.name,
            fix="finish the move first, by the command that began it: 'hbase-orm current' names it",
        )


def held_error(table: str, hold: TableHold) -> TableHeldError:
    """Return the error for a write of a table that another program holds by `hold`."""
    since = datetime.fromtimestamp(hold.since_ms / 1000, UTC)
    return TableHeldError(
        "another program uses the table exclusively",
        table=table,
        holder=hold.holder,
        since=since.isoformat(timespec="seconds"),
        fix="wait until it has finished; if it ended without releasing the table, run it again, or "
        "run 'hbase-orm tables release'",
    )
