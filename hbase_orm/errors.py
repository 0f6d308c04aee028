"""The classes of all errors that this library raises, in one tree.

An error's text is static, and its details are attributes. `str()` appends the details and `fix`,
the sentence that names the remedy. The class shows what a caller may do about a failed request:

- `RetryableError`: send it again.
- `ConnectionLostError`: find out whether it was applied.
- `RejectedError`: never send it again.

This module imports nothing of the library.
"""

from __future__ import annotations

from typing import Any, Final

_SHOWN_CHARACTERS: Final = 500


def cut(text: str) -> str:
    """Return a text for display; a long text is cut, and its length is appended."""
    if len(text) <= _SHOWN_CHARACTERS:
        return text
    return f"{text[:_SHOWN_CHARACTERS]}… {len(text)} characters in all"


def shown(value: Any) -> str:
    """Return the `repr` of a value, cut if it is long; never raise, whatever the value is."""
    if isinstance(value, (bytes, bytearray, str)) and len(value) > _SHOWN_CHARACTERS:
        unit = "characters" if isinstance(value, str) else "bytes"
        beginning = _shown_plainly(value[:_SHOWN_CHARACTERS])[:_SHOWN_CHARACTERS]
        return f"{beginning}… {len(value)} {unit} in all"
    return cut(_shown_plainly(value))


def _shown_plainly(value: Any) -> str:
    try:
        return repr(value)
    except Exception as error:  # noqa: BLE001 - deep nesting, long numbers, a class's own mistakes
        return f"<{type(value).__name__} that cannot be shown: {type(error).__name__}>"


class HBaseORMError(Exception):
    """The root of all errors of this library.

    Attributes:
        text: What is wrong; the same text for every occurrence.
        fix: What the caller can do about the error; empty if there is no general remedy.
        details: The details of this occurrence, by name. Each detail is also an attribute of the
            error.
    """

    text: str
    fix: str
    details: dict[str, Any]

    def __init__(self, text: str, /, *, fix: str = "", **details: Any) -> None:
        """Store the static `text`, the `fix` and the `details` of this occurrence."""
        super().__init__(text)
        self.text = text
        self.fix = fix
        self.details = details

    def __getattr__(self, name: str) -> Any:
        """Return the detail called `name`."""
        details = self.__dict__.get("details", {})
        if name in details:
            return details[name]
        message = f"{type(self).__name__!r} has no attribute or detail {name!r}"
        raise AttributeError(message)

    def __str__(self) -> str:
        """Return one line: the text, the details in brackets, and the fix; long details are cut."""
        details = " ".join(f"{name}={shown(value)}" for name, value in self.details.items())
        parts = [self.text]
        if details:
            parts.append(f" [{details}]")
        if self.fix:
            parts.append(f"; {self.fix}")
        return "".join(parts)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle with text, fix and details, so that worker processes can raise it."""
        return _rebuild, (type(self), self.text, self.fix, self.details)


def _rebuild(
    kind: type[HBaseORMError], text: str, fix: str, details: dict[str, Any]
) -> HBaseORMError:
    return kind(text, fix=fix, **details)


class SchemaError(HBaseORMError):
    """A declaration is wrong, or the tables or the catalog in HBase do not match it."""


class SchemaDriftError(SchemaError):
    """A model contradicts the record of its table: it would misread or hide rows.

    Attributes:
        model: The name of the model.
        table: The table.
        differences: What differs, as lines: what the record says, and what the model declares.
    """


class RecordError(SchemaError):
    """A table's record is damaged or from a newer version of hbase_orm, so the table is not used.

    Attributes:
        table: The table.
        place: The place of the damage in the record; exists only if the record is damaged.
        version: The version of the record's encoding; exists only if it is a newer version.
    """


class DeclarationError(SchemaError):
    """A table's record lacks what is needed to make a model from it; `missing` can be supplied."""


class DataLossError(HBaseORMError):
    """An alteration of tables would lose data, by its `changes`; so nothing was altered."""


class RowKeyError(HBaseORMError, ValueError):
    """A key field is missing, unknown or does not fit, or the row key is empty or too long."""


class UnnamedKeyError(RowKeyError, TypeError):
    """Key fields were given by position; they are given by name."""


class CodecError(HBaseORMError, ValueError):
    """A value does not fit its codec."""


class ValidationError(HBaseORMError, ValueError):
    """A value does not fit its field or option, or an object cannot be used in this session."""


class CorruptRowError(HBaseORMError):
    """Stored bytes do not decode as the model declares.

    Attributes:
        table: The table.
        row: The row key. Missing if it is unknown which row it is.
        column: The column of the cell. Missing if the row key itself does not decode.
        value: The bytes of the cell. Missing if the row key itself does not decode.
    """


class MissingCellError(CorruptRowError):
    """A required column has no cell in the row that was read."""


class NotLoadedError(HBaseORMError):
    """The object was read without this field; access to an attribute never reads from HBase."""


class ConfigurationError(HBaseORMError, ValueError):
    """A URL, an option or an argument is wrong, or a closed session is used."""


class ModelImportError(ConfigurationError):
    """A module that should declare models does not exist, or its import failed.

    Attributes:
        module: The name of the module.
        missing: The name of the missing module; only if a module is missing.
        at: The file and line where the import failed; only if known.
        error: The class and text of the error that the module raised; only if its code raised one.
    """


class QueryError(HBaseORMError):
    """A statement cannot be planned, or a method cannot use its arguments."""


class UnboundedScanError(QueryError):
    """The statement would read the whole table, but does not call `.allow_full_scan()`."""


class PageTokenError(QueryError):
    """A page token is not valid, or does not belong to the statement."""


class RowNotFoundError(HBaseORMError):
    """One row was expected, but no row exists."""


class MultipleRowsError(HBaseORMError):
    """One row was expected, but several exist."""


class StreamInterruptedError(HBaseORMError):
    """A stream was used after an exception had ended it: the remaining rows were not read."""


class ConflictError(HBaseORMError):
    """Another writer changed the row first: load it again, and decide whether to write again."""


class DuplicateRowError(ConflictError):
    """The row to insert exists already."""


class UniqueViolationError(ConflictError):
    """Another row owns the unique value."""


class RowMovedError(ConflictError):
    """The row was handed over to another table and cannot change in this one any more."""


class VersionConflictError(ConflictError):
    """The row changed since the object was loaded.

    Attributes:
        loaded_version: The version that the object has.
        stored_version: The version that the row has; 0 if the row does not exist.
    """


class ClockError(HBaseORMError):
    """A row has timestamps so far in the future that some client's clock must be wrong."""


class CatalogLeaseError(HBaseORMError):
    """This process may no longer write guarded rows: it last read the catalog too long ago."""


class TableHeldError(CatalogLeaseError):
    """Another program uses the table exclusively, so nothing was written.

    Attributes:
        table: The table.
        holder: The name of that program, and the purpose for which it uses the table.
        since: The time when it began to use the table exclusively, in ISO 8601.
    """


class CounterOverflowError(HBaseORMError):
    """A counter overflowed 64 bits and wrapped around; the increment was applied.

    Attributes:
        values: The new value of each counter in the increment, in the order of the call.
    """


class GatewayError(HBaseORMError):
    """A request to HBase failed."""


class RetryableError(GatewayError):
    """The request was not applied; the same request may be sent again."""


class RegionUnavailableError(RetryableError):
    """The region is moving, splitting or not assigned."""


class ServerBusyError(RetryableError):
    """The server or the connection pool has no room for the request now."""


class ConnectionLostError(GatewayError):
    """The connection broke or timed out: for a write, the outcome is unknown."""


class ScannerExpiredError(GatewayError):
    """The scanner is closed or expired; open a new scanner after the last key that was read."""


class RejectedError(GatewayError):
    """HBase refuses the request; sending the same request again will not help."""


class AccessDeniedError(RejectedError):
    """The user of the Thrift gateway lacks the permission for the request."""


class TableNotFoundError(RejectedError):
    """The table does not exist."""


class TableExistsError(RejectedError):
    """The table exists already."""


class TableDisabledError(RejectedError):
    """The table is disabled."""


class FamilyNotFoundError(RejectedError):
    """The table has no such column family."""


class CompressionMissingError(RejectedError):
    """The server does not have the compression codec that a column family uses."""


class NamespaceNotFoundError(RejectedError):
    """The namespace does not exist."""


class NamespaceExistsError(RejectedError):
    """The namespace exists already."""


class FeatureMissingError(RejectedError):
    """The gateway does not support the request; `fix` advises what to use instead."""


class FlushError(HBaseORMError):
    """Some writes of a flush failed, or their outcome is unknown.

    Attributes:
        written: Rows that HBase acknowledged, as (table, row key). In errors of a bulk writer and
            of `delete_where`, only the number of these rows.
        not_written: Rows that were certainly not written, as (table, row key, reason).
        unknown: Rows whose outcome is unknown: the connection broke before the answer, or a batch
            failed for some of its rows. Flushing again is safe.
    """

    def __str__(self) -> str:
        """Return the text, the number of rows by outcome, and the first failure."""
        counts = {name: len(self.details.get(name, ())) for name in ("not_written", "unknown")}
        written = self.details.get("written", ())
        counts["written"] = written if isinstance(written, int) else len(written)
        counted = " ".join(f"{name}={count}" for name, count in counts.items())
        failed = [*self.details.get("not_written", ()), *self.details.get("unknown", ())]
        first = f" first={_first(failed[0])}" if failed else ""
        return f"{self.text} [{counted}{first}]" + (f"; {self.fix}" if self.fix else "")


class FlushConflictError(FlushError, VersionConflictError):
    """A flush did not write all rows: other programs changed some of them after they were loaded.

    Attributes:
        table: The table of the first changed row.
        row: The row key of the first changed row.
        loaded_version: The version that the row's object has.
        stored_version: The version that the row has; 0 if the row does not exist.
    """


class FlushSchemaError(FlushError, SchemaError):
    """A flush did not write rows because the model and its table differ, e.g. in their indexes.

    Attributes:
        table: The table of the first failed row; exists only if indexes or row keys differ.
    """


def _first(failed: tuple[str, bytes, object]) -> str:
    table, row, reason = failed
    return f"{table} {shown(row)}: {type(reason).__name__}: {_text_of(reason)}"


def _text_of(reason: object) -> str:
    try:
        return str(reason)
    except Exception as error:  # noqa: BLE001 - a program's own error, from a hook
        return f"cannot be shown: {type(error).__name__}"


class MigrationError(HBaseORMError):
    """A revision of a schema migration cannot be loaded, ordered or run."""


class ServerError(HBaseORMError):
    """An operation of the embedded server failed."""


class ServerNotRunningError(ServerError):
    """No embedded server runs with this data directory."""


class PortInUseError(ServerError):
    """Another process uses the port."""


class JavaNotFoundError(ServerError):
    """No Java was found."""


class JavaUnsuitableError(ServerError):
    """No Java on this machine has a suitable version."""


class MavenNotFoundError(ServerError):
    """Maven is missing, or could not resolve the jars."""


class DiskFullError(ServerError):
    """The disk has no room for the server's data or jars."""


class ServerDiedError(ServerError):
    """The server's process ended, during its start or later."""
