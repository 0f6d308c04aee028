"""The errors of operations: the table, or its record, is not what the revision says."""

from __future__ import annotations

from typing import Any

from hbase_orm.errors import MigrationError


class RecordMismatchError(MigrationError):
    """The record of a table is neither what it was before the operation nor what it is after it."""


class NeedsExclusiveUseError(MigrationError):
    """The operation changes what stored bytes mean; it needs the table for itself."""


class RefusedRowsError(MigrationError):
    """Rows do not fit the operation; the table was not changed."""


class TargetExistsError(MigrationError):
    """A table that the operation makes exists already."""


class UnsupportedOperationError(MigrationError):
    """The operation cannot be carried out on such a table, or by such a gateway."""


def mismatch(table: str, subject: str, recorded: Any, expected: Any) -> RecordMismatchError:
    """Return the error of a record that is not what a revision says.

    Args:
        table: The table.
        subject: What differs, such as "column d:v".
        recorded: What the record says.
        expected: What the operation needs.
    """
    return RecordMismatchError(
        "the record of the table is not what the revision says",
        table=table,
        subject=subject,
        recorded=recorded,
        expected=expected,
        fix="look at the table with 'hbase-orm tables describe'; correct the revision, or stamp "
        "the revision that the table has",
    )


def unsupported(reason: str, fix: str, **details: Any) -> UnsupportedOperationError:
    """Return the error of an operation that is impossible here."""
    return UnsupportedOperationError(
        "the operation is not possible on this table", reason=reason, **details, fix=fix
    )


def needs_exclusive(operation: str, table: str, reason: str) -> NeedsExclusiveUseError:
    """Return the error of an operation that was to run beside other programs."""
    return NeedsExclusiveUseError(
        "the operation needs the exclusive use of the table",
        operation=operation,
        table=table,
        reason=reason,
        fix="stop all programs that write the table and run the upgrade with --exclusive; or move "
        "the rows to another table with RekeyTable",
    )
