"""Records of tables that no program may use, because a migration moves their rows.

The row key in such a record begins with a part that no class declares: the reason. So every class
contradicts the record, whichever version of the library its program has. The row key of the rows
follows, and the table is opened again by taking the reason away.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from hbase_orm.record.declaration import Declaration, RecordedRows
from hbase_orm.record.specifications import Spec

_BEING_MOVED: Final = "being moved to "
_MOVED: Final = "moved to "
_FILLED: Final = "filled from "


def being_moved_to(table: str) -> str:
    """Return the reason of an old table while its rows are copied to another table."""
    return f"{_BEING_MOVED}{table}"


def moved_to(table: str) -> str:
    """Return the reason of an old table whose rows are in another table now."""
    return f"{_MOVED}{table}"


def filled_from(table: str) -> str:
    """Return the reason of a new table that does not have all rows of the old table yet."""
    return f"{_FILLED}{table}"


def closed(declaration: Declaration, why: str) -> Declaration:
    """Return a declaration that every class contradicts: its row key says why.

    The reason of a closed declaration is replaced.
    """

    def edit(rows: RecordedRows) -> RecordedRows:
        return replace(rows, key=({"derived": why, "codec": "raw"}, *rows.key))

    opened = reopened(declaration)
    return replace(opened, rows=tuple(map(edit, opened.rows)))


def closed_why(declaration: Declaration) -> str:
    """Return why a table is closed; empty if it is not."""
    return next(filter(None, map(_reason, declaration.rows)), "")


def reopened(declaration: Declaration) -> Declaration:
    """Return a closed declaration as it was before; one that is not closed as it is."""

    def edit(rows: RecordedRows) -> RecordedRows:
        return replace(rows, key=rows.key[1:]) if _reason(rows) else rows

    return replace(declaration, rows=tuple(map(edit, declaration.rows)))


def _reason(rows: RecordedRows) -> str:
    first: Spec = next(iter(rows.key), {})
    text = str(first.get("derived", ""))
    return text if text.startswith((_BEING_MOVED, _MOVED, _FILLED)) else ""


def how_to_go_on(why: str) -> str:
    """Return what to do about a table that is closed for a reason."""
    if why.startswith(_MOVED):
        return f"use the model whose table is {why.removeprefix(_MOVED)}"
    if why.startswith(_FILLED):
        return (
            "wait until the migration that fills the table has ended: 'hbase-orm current'; if it "
            "was interrupted, run it again"
        )
    return (
        f"wait until the migration has ended, then use the model whose table is "
        f"{why.removeprefix(_BEING_MOVED)}; if it was interrupted ('hbase-orm current'), run it "
        "again, or give it up by the command of the other direction"
    )
