"""Reindexes rows side by side, under the current catalog entry."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from hbase_orm.binding.table_writer import LEASE_RENEWALS
from hbase_orm.errors import (
    CatalogLeaseError,
    ClockError,
    CorruptRowError,
    HBaseORMError,
    RowKeyError,
    RowNotFoundError,
    UniqueViolationError,
    ValidationError,
)
from hbase_orm.index.entries.targets import RowChange
from hbase_orm.index.protocol.row_change import write_row
from hbase_orm.index_admin.lease import TableLease
from hbase_orm.ops import Protocol, run_all

GROUP_ROWS: Final = 200
"""Rows reindexed side by side; a lease usually lasts for so few."""

_MISFITS: Final = (ValidationError, RowKeyError, CorruptRowError)

Failures = dict[bytes, HBaseORMError | None]
"""How the writes of rows failed, by row key; None for those that did not."""


class RowReindexer:
    """Puts all index entries of rows again and renews their guards; used by one thread."""

    def __init__(self, lease: TableLease) -> None:
        """Prepare to reindex rows of the lease's table; nothing is sent."""
        self.lease = lease

    def reindex(
        self, keys: Sequence[bytes], rejected: dict[bytes, str] | None = None
    ) -> Protocol[None]:
        """Reindex rows; those that are gone are left out.

        Args:
            keys: Their row keys.
            rejected: Gets the rows that fit no entry, have a unique value of another row, or are
                far ahead of the clock, and why; None lets the first of them raise its error.

        Raises:
            ConflictError: Writes do not keep the index that it is done for.
            SchemaError: Writes keep indexes that the model does not declare in the same way.
            HBaseORMError: A row failed; the others were reindexed.
        """
        for start in range(0, len(keys), GROUP_ROWS):
            yield from self._reindex_group(keys[start : start + GROUP_ROWS], rejected)

    def _reindex_group(
        self, keys: Sequence[bytes], rejected: dict[bytes, str] | None
    ) -> Protocol[None]:
        """Reindex as many rows as one lease lasts for; it is renewed while that helps."""
        renewals_left = LEASE_RENEWALS
        while keys:
            target, context = yield from self.lease.permitted()
            writes = [write_row(target, RowChange(key, kind="reindex"), context) for key in keys]
            errors = yield from run_all([_error_of(write) for write in writes])
            failures: Failures = dict(zip(keys, errors, strict=True))
            if rejected is None:
                _refuse_misfits(target.table, failures)
            else:
                failures = _without_rejected(failures, rejected)
            late = [key for key, error in failures.items() if _is_late(error, renewals_left)]
            renewals_left -= len(late) == len(keys)
            keys = late
            if late:
                self.lease.forget()


def _error_of(write: Protocol[Any]) -> Protocol[HBaseORMError | None]:
    """Return a write's error, or None, so that one failure does not stop the others."""
    try:
        yield from write
    except HBaseORMError as error:
        return error
    return None


def _refuse_misfits(table: str, failures: Failures) -> None:
    """Refuse to continue if an index cannot store entries of some rows.

    Raises:
        ValidationError: There are some; the others were reindexed.
    """
    misfits = {key: error for key, error in failures.items() if isinstance(error, _MISFITS)}
    if not misfits:
        return
    first = next(iter(misfits.values()))
    raise ValidationError(
        "some rows have values that do not fit the index",
        table=table,
        index=first.index,
        rows=list(misfits),
        first=str(first),
        fix="change these rows or delete them, or drop the index; then start the operation again",
    ) from first


def _without_rejected(failures: Failures, rejected: dict[bytes, str]) -> Failures:
    """Note the rows that cannot be reindexed as they are, and return the others."""
    others: Failures = {}
    for key, error in failures.items():
        if isinstance(error, (*_MISFITS, ClockError, UniqueViolationError)):
            rejected[key] = str(error)
        else:
            others[key] = error
    return others


def _is_late(error: HBaseORMError | None, renewals_left: int) -> bool:
    """Return whether a row must be reindexed again under what the catalog says now.

    Raises:
        HBaseORMError: It failed for another reason.
    """
    if isinstance(error, CatalogLeaseError) and renewals_left:
        return True
    if error is not None and not isinstance(error, RowNotFoundError):
        raise error
    return False
