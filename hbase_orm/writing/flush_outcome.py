"""The outcome of each write in a flush or in a bulk writer."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from hbase_orm.errors import (
    ConnectionLostError,
    FlushConflictError,
    FlushError,
    FlushSchemaError,
    GatewayError,
    HBaseORMError,
    NamespaceNotFoundError,
    SchemaError,
    TableDisabledError,
    TableNotFoundError,
    VersionConflictError,
)
from hbase_orm.writing.row_write import RowWrite

# HBase raises these before it writes any row of the request.
_WHOLE_REQUEST_REJECTED: Final = (TableNotFoundError, TableDisabledError, NamespaceNotFoundError)

Failure = tuple[RowWrite, Exception]


@dataclass(frozen=True, slots=True)
class FlushReport:
    """The result of a flush.

    Attributes:
        written: The number of acknowledged rows.
    """

    written: int = 0


@dataclass(slots=True)
class FlushOutcome:
    """The outcomes of writes.

    Attributes:
        written: The acknowledged writes; a bulk writer keeps only their number.
        not_written: The writes that were certainly not made, each with its error.
        unknown: The writes whose outcome is unknown, each with its error. They were sent but not
            answered, or an unexpected error ended them.
        settled: The number of acknowledged writes that the session has applied to its objects.
    """

    written: list[RowWrite] = field(default_factory=list)
    not_written: list[Failure] = field(default_factory=list)
    unknown: list[Failure] = field(default_factory=list)
    settled: int = 0

    @property
    def failures(self) -> list[Failure]:
        """The writes that were not acknowledged, with their errors."""
        return [*self.not_written, *self.unknown]

    @property
    def has_failures(self) -> bool:
        """Whether some write was not acknowledged."""
        return bool(self.not_written or self.unknown)

    @property
    def unexpected(self) -> Exception | None:
        """The first error in `unknown` that is no error of this library; None if there is none."""
        errors = (error for _, error in self.unknown)
        return next((error for error in errors if not isinstance(error, HBaseORMError)), None)

    def record_not_written(self, writes: Iterable[RowWrite], error: Exception) -> None:
        """Record writes that certainly were not made, with the error that prevented them."""
        self.not_written += [(write, error) for write in writes]

    def record_unknown(self, writes: Iterable[RowWrite], error: Exception) -> None:
        """Record writes whose outcome is unknown."""
        self.unknown += [(write, error) for write in writes]

    def record_failure(
        self, writes: Sequence[RowWrite], error: HBaseORMError, *, is_begun: bool = False
    ) -> None:
        """Record the writes of a failed request, as not written or as unknown.

        If a request with several rows fails, some of its rows may be written. If a write needs two
        requests and only the first was answered, its outcome is unknown. Errors that are not
        `GatewayError` are raised before a request is sent.

        Args:
            writes: The writes of the request.
            error: The error of the request.
            is_begun: Whether an earlier request of the same writes was answered.
        """
        is_rejected = isinstance(error, _WHOLE_REQUEST_REJECTED)
        is_whole = len(writes) == 1 or is_rejected or not isinstance(error, GatewayError)
        if is_whole and not is_begun and not isinstance(error, ConnectionLostError):
            self.record_not_written(writes, error)
        else:
            self.record_unknown(writes, error)

    def add(self, other: FlushOutcome) -> None:
        """Add the outcomes of other writes."""
        self.written += other.written
        self.add_failures(other)

    def add_failures(self, other: FlushOutcome) -> None:
        """Add the failures of other writes."""
        self.not_written += other.not_written
        self.unknown += other.unknown

    def raise_first(self) -> None:
        """Raise the error of the first failed write, if there is one."""
        for _, error in self.failures:
            raise error

    def rows(self, *, written: object) -> dict[str, object]:
        """Return the attributes of a `FlushError`: the rows by outcome.

        Args:
            written: The value for the attribute `written`: the written rows, or their number.
        """
        return {
            "written": written,
            "not_written": _rows_of(self.not_written),
            "unknown": _rows_of(self.unknown),
        }

    def flush_error(self) -> FlushError:
        """Return the error of a flush that did not write all rows."""
        rows = self.rows(written=[write.row_id for write in self.written])
        for _, error in self.not_written:
            if isinstance(error, VersionConflictError):
                return FlushConflictError(
                    "not all rows were written: some were changed since they were loaded",
                    **{**error.details, **rows},
                    fix="refresh or expunge the objects in conflict, and flush again: rows that "
                    "were written are not sent twice",
                )
        return self.error(
            "not all rows were written",
            written=rows["written"],
            again="flush again: rows that were written are not sent twice",
        )

    def error(self, text: str, *, written: object, again: str) -> FlushError:
        """Return the error of writes that failed; a `FlushSchemaError` if a model does not fit.

        Args:
            text: What failed.
            written: As for `rows`.
            again: What to do when the cause is corrected.
        """
        rows = self.rows(written=written)
        for _, error in self.failures:
            if isinstance(error, SchemaError):
                return FlushSchemaError(
                    f"{text}: the model and its table do not fit together",
                    **{**error.details, **rows},
                    fix=f"{error.fix}; then {again}",
                )
        return FlushError(text, **rows, fix=f"correct the cause and {again}")


def _rows_of(failures: Iterable[Failure]) -> list[tuple[str, bytes, Any]]:
    return [(*write.row_id, error) for write, error in failures]
