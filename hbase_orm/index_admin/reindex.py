"""Reindexes rows in parallel, by the current catalog entry."""

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
    """Puts all index entries of rows again and renews their guards; used by one thread only."""

    def __init__(self, lease: TableLease) -> None:
        """Prepare to reindex rows of the lease's table; nothing is sent."""
        self.lease = lease

    def reindex(
        self, keys: Sequence[bytes], rejected: dict[bytes, str] | None = None
    ) -> Protocol[None]:
        """Reindex rows; skip rows that do not exist any more.

        Args:
            keys: The row keys.
            rejected: A dict that receives the rows that cannot be reindexed, with their errors: a
                value does not fit the index, another row has the same unique value, or the
                timestamps are far in the future. With None the first of these errors is raised.

        Raises:
            ConflictError: Writes do not maintain the index that the work is for.
            SchemaError: Writes keep indexes that the model does not declare in the same way.
            HBaseORMError: A row failed; the others were reindexed.
        """
        for start in range(0, len(keys), GROUP_ROWS):
            yield from self._reindex_group(keys[start : start + GROUP_ROWS], rejected)

    def _reindex_group(
        self, keys: Sequence[bytes], rejected: dict[bytes, str] | None
    ) -> Protocol[None]:
        """Reindex as many rows as one lease allows; the lease is renewed if possible."""
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
    """Run a write and return its error or None, so that one failure does not stop other writes."""
    try:
        yield from write
    except HBaseORMError as error:
        return error
    return None


def _refuse_misfits(table: str, failures: Failures) -> None:
    """Refuse to continue if an index cannot store entries of some rows.

    Raises:
        ValidationError: Some rows do not fit the index; all other rows were reindexed.
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
        fix="change these rows or delete them, or drop the index; then start again",
    ) from first


def _without_rejected(failures: Failures, rejected: dict[bytes, str]) -> Failures:
    """Record the rows that cannot be reindexed, and return the others."""
    others: Failures = {}
    for key, error in failures.items():
        if isinstance(error, (*_MISFITS, ClockError, UniqueViolationError)):
            rejected[key] = str(error)
        else:
            others[key] = error
    return others


def _is_late(error: HBaseORMError | None, renewals_left: int) -> bool:
    """Return whether a row must be reindexed again by the current catalog entry.

    Raises:
        HBaseORMError: The write failed for another reason.
    """
    if isinstance(error, CatalogLeaseError) and renewals_left:
        return True
    if error is not None and not isinstance(error, RowNotFoundError):
        raise error
    return False
