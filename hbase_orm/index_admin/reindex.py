"""Reindexes rows in parallel, for the indexes that the current catalog entry maintains."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from hbase_orm.binding.table_writer import LEASE_RENEWALS
from hbase_orm.errors import (
    CatalogLeaseError,
    ClockError,
    CorruptRowError,
    HBaseORMError,
    RowKeyError,
    RowNotFoundError,
    TableNotFoundError,
    UniqueViolationError,
    ValidationError,
)
from hbase_orm.index.entries.targets import RowBefore, RowChange
from hbase_orm.index.protocol.row_change import write_row
from hbase_orm.index_admin.lease import TableLease
from hbase_orm.ops import Protocol, run_all

GROUP_ROWS: Final = 200
"""The number of rows that are reindexed in parallel: few enough for one lease, usually."""

_MISFITS: Final = (ValidationError, RowKeyError, CorruptRowError)

_NOTHING: Final[Mapping[bytes, RowBefore | None]] = MappingProxyType({})

Failures = dict[bytes, HBaseORMError | None]
"""The errors of the writes of rows, by row key; None for a write that did not fail."""


class RowReindexer:
    """Puts all index entries of rows again and renews the rows' guards; used by one thread only."""

    def __init__(self, lease: TableLease) -> None:
        """Prepare to reindex rows of the lease's table; nothing is sent."""
        self.lease = lease

    def reindex(
        self,
        keys: Sequence[bytes],
        rejected: dict[bytes, str] | None = None,
        as_read: Mapping[bytes, RowBefore | None] = _NOTHING,
    ) -> Protocol[None]:
        """Reindex rows; skip rows that do not exist any more.

        Args:
            keys: The row keys.
            rejected: A dict to which the rows that cannot be reindexed are added, with their
                errors. For example, a value does not fit the index, or another row has the same
                unique value. If `rejected` is None, an error is raised instead.
            as_read: Rows that were read before, with their guards and all data cells. Other rows
                are read first.

        Raises:
            ConflictError: Writes do not maintain the index that the work is for.
            SchemaError: Writes maintain indexes that the model does not declare in the same way.
            HBaseORMError: A row failed; the other rows of its group were reindexed.
        """
        for start in range(0, len(keys), GROUP_ROWS):
            yield from self._reindex_group(keys[start : start + GROUP_ROWS], rejected, as_read)

    def _reindex_group(
        self,
        keys: Sequence[bytes],
        rejected: dict[bytes, str] | None,
        as_read: Mapping[bytes, RowBefore | None],
    ) -> Protocol[None]:
        """Reindex rows in parallel; repeat writes whose lease expired, under a new lease.

        If no row can be written even after several renewals of the lease, an error is raised.
        """
        renewals_left = LEASE_RENEWALS
        while keys:
            target, context = yield from self.lease.permitted()
            writes = [
                write_row(target, RowChange(key, kind="reindex"), context, as_read=as_read.get(key))
                for key in keys
            ]
            errors = yield from run_all([_error_of(write) for write in writes])
            failures: Failures = dict(zip(keys, errors, strict=True))
            if rejected is None:
                _refuse_misfits(target.table, failures)
            else:
                failures = _without_rejected(failures, rejected)
            late = [key for key, error in failures.items() if _is_late(error, renewals_left)]
            renewals_left -= len(late) == len(keys)
            keys, as_read = late, _NOTHING
            if late:
                self.lease.forget()


def _error_of(write: Protocol[Any]) -> Protocol[HBaseORMError | None]:
    """Run a write; return its error, or None if it succeeded."""
    try:
        yield from write
    except HBaseORMError as error:
        return error
    return None


def _refuse_misfits(table: str, failures: Failures) -> None:
    """Raise an error that names the rows with values that do not fit an index, if there are any.

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
    """Record in `rejected` the rows that cannot be reindexed; return `failures` without them."""
    others: Failures = {}
    for key, error in failures.items():
        if isinstance(error, (*_MISFITS, ClockError, UniqueViolationError)):
            rejected[key] = str(error)
        else:
            others[key] = error
    return others


def _is_late(error: HBaseORMError | None, renewals_left: int) -> bool:
    """Return whether a row must be reindexed again under a new lease.

    Its lease has expired, or the index table is missing: then the new lease shows whether the index
    was dropped. The errors None and RowNotFoundError mean that nothing is left to do.

    Raises:
        HBaseORMError: `error` has another reason, or the lease may not be renewed again.
    """
    if isinstance(error, (CatalogLeaseError, TableNotFoundError)) and renewals_left:
        return True
    if error is not None and not isinstance(error, RowNotFoundError):
        raise error
    return False
