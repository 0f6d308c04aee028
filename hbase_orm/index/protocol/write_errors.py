"""The errors of guarded writes: what is known of the row afterwards."""

from __future__ import annotations

from collections.abc import Collection

from hbase_orm.errors import ConnectionLostError, RetryableError
from hbase_orm.index.entries.targets import GuardedTable, RowChange
from hbase_orm.index.protocol.attempt import Attempt


def denied(attempt: Attempt) -> ConnectionLostError:
    """Return the error of an attempt that HBase refused although the row has the guard."""
    return ConnectionLostError(
        "HBase refused a change although its condition is true", row=attempt.row
    )


def not_written(target: GuardedTable, change: RowChange) -> RetryableError:
    """Return the error of a write whose change of the row was certainly not sent."""
    return RetryableError(
        "the row was not written: the connection broke before the change was sent",
        table=target.table,
        row=change.row,
        fix="write it again",
    )


def unknown_outcome(
    target: GuardedTable, change: RowChange, in_doubt: Collection[bytes]
) -> ConnectionLostError:
    """Return the error of a write that may have been applied, by the nonces of its attempts."""
    return ConnectionLostError(
        "the outcome of the write is unknown",
        table=target.table,
        row=change.row,
        nonces=tuple(in_doubt),
        fix="read the row again, and decide whether to repeat the write",
    )
