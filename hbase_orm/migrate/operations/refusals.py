"""The errors of operations: the table, or its record, is not what the revision says."""

from __future__ import annotations

from typing import Any

from hbase_orm.errors import MigrationError


class RecordMismatchError(MigrationError):
    """The record of a table is neither what it was before the operation nor what it is after it.

    What to do: correct the revision, or bring the record to what it expects: `hbase-orm tables
    check` shows it. The table was not changed.
    """


class NeedsExclusiveUseError(MigrationError):
    """The operation changes what stored bytes mean; it needs the table for itself.

    What to do: end the programs that use the table, and run the revision with `--exclusive`.
    The table was not changed.
    """


class RefusedRowsError(MigrationError):
    """Rows do not fit the operation; the table was not changed.

    What to do: change or delete these rows, and run the revision again.
    """


class TargetExistsError(MigrationError):
    """A table that the operation makes exists already.

    What to do: drop that table if nothing needs it, or choose another name in the revision.
    """


class UnsupportedOperationError(MigrationError):
    """The operation cannot be carried out on such a table, or by such a gateway.

    What to do: do what `fix` says, such as naming a Thrift2 gateway in the URL; or write the
    step as a `RunPython`.
    """


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
