"""How the writes of a flush or of a bulk writer ended: the one place where that is recorded."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from hbase_orm.errors import (
    ConnectionLostError,
    FlushConflictError,
    FlushError,
    GatewayError,
    HBaseORMError,
    NamespaceNotFoundError,
    TableDisabledError,
    TableNotFoundError,
    VersionConflictError,
)
from hbase_orm.writing.row_write import RowWrite

# HBase answers these before it looks at any row of the request.
_WHOLE_REQUEST_REJECTED: Final = (TableNotFoundError, TableDisabledError, NamespaceNotFoundError)

Failure = tuple[RowWrite, Exception]


@dataclass(frozen=True, slots=True)
class FlushReport:
    """What a flush did.

    Attributes:
        written: How many rows were acknowledged.
    """

    written: int = 0


@dataclass(slots=True)
class FlushOutcome:
    """How writes ended.

    Attributes:
        written: Acknowledged. A bulk writer keeps only the number.
        not_written: Certainly not written, with the reason.
        unknown: Sent and not answered, or ended by an error that is none of this library's.
        settled: How many of those acknowledged the session has noted.
    """

    written: list[RowWrite] = field(default_factory=list)
    not_written: list[Failure] = field(default_factory=list)
    unknown: list[Failure] = field(default_factory=list)
    settled: int = 0

    @property
    def failures(self) -> list[Failure]:
        """What was not acknowledged."""
        return [*self.not_written, *self.unknown]

    @property
    def has_failures(self) -> bool:
        """Whether something was not acknowledged."""
        return bool(self.not_written or self.unknown)

    @property
    def unexpected(self) -> Exception | None:
        """The first error that is none of this library's."""
        errors = (error for _, error in self.unknown)
        return next((error for error in errors if not isinstance(error, HBaseORMError)), None)

    def record_not_written(self, writes: Iterable[RowWrite], error: Exception) -> None:
        """Enter writes that were not sent."""
        self.not_written += [(write, error) for write in writes]

    def record_unknown(self, writes: Iterable[RowWrite], error: Exception) -> None:
        """Enter writes of which nobody knows whether they were made."""
        self.unknown += [(write, error) for write in writes]

    def record_failure(
        self, writes: Sequence[RowWrite], error: HBaseORMError, *, is_begun: bool = False
    ) -> None:
        """Enter the writes of a request that failed: not written, or unknown.

        A request of several rows is not atomic: when it fails for one row, the others may be
        written or not. Neither is a write of two requests of which the first was answered. What is
        no error of the gateway comes before a request is sent.

        Args:
            writes: All writes of the request.
            error: What it failed with.
            is_begun: Whether an earlier request of the same writes was answered.
        """
        is_rejected = isinstance(error, _WHOLE_REQUEST_REJECTED)
        is_whole = len(writes) == 1 or is_rejected or not isinstance(error, GatewayError)
        if is_whole and not is_begun and not isinstance(error, ConnectionLostError):
            self.record_not_written(writes, error)
        else:
            self.record_unknown(writes, error)

    def add(self, other: FlushOutcome) -> None:
        """Add the outcomes of further writes."""
        self.written += other.written
        self.add_failures(other)

    def add_failures(self, other: FlushOutcome) -> None:
        """Add the failures among further writes."""
        self.not_written += other.not_written
        self.unknown += other.unknown

    def raise_first(self) -> None:
        """Raise what the first write failed with, if one did."""
        for _, error in self.failures:
            raise error

    def rows(self, *, written: object) -> dict[str, object]:
        """Return the attributes of a `FlushError`: each failed row with table, key and error."""
        return {
            "written": written,
            "not_written": _rows_of(self.not_written),
            "unknown": _rows_of(self.unknown),
        }

    def flush_error(self) -> FlushError:
        """Return the error of a flush whose rows were not all written."""
        rows = self.rows(written=[write.row_id for write in self.written])
        for _, error in self.not_written:
            if isinstance(error, VersionConflictError):
                return FlushConflictError(
                    "not all rows were written: some were changed since they were loaded",
                    **{**error.details, **rows},
                    fix="refresh or expunge the objects in conflict, and flush again: rows that "
                    "were written are not sent twice",
                )
        return FlushError(
            "not all rows were written",
            **rows,
            fix="correct the cause and flush again: rows that were written are not sent twice",
        )


def _rows_of(failures: Iterable[Failure]) -> list[tuple[str, bytes, Any]]:
    return [(*write.row_id, error) for write, error in failures]
