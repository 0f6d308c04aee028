"""Translates errors of Thrift and sockets to this library's errors, by one table.

Thrift's own field `canRetry` is wrong for wrapped errors and absent in older interfaces. So the
server's text is searched for the names of Java classes, most specific first. The text of a Thrift1
error is a whole stack trace: all of it is searched, and its first line is shown.
"""

from __future__ import annotations

import re
from collections.abc import Set as AbstractSet
from typing import Any

from thriftpy2.thrift import TApplicationException, TException
from thriftpy2.transport import TTransportException

from hbase_orm.errors import (
    AccessDeniedError,
    CompressionMissingError,
    ConnectionLostError,
    FamilyNotFoundError,
    FeatureMissingError,
    GatewayError,
    NamespaceExistsError,
    NamespaceNotFoundError,
    RegionUnavailableError,
    RejectedError,
    RetryableError,
    ScannerExpiredError,
    ServerBusyError,
    TableDisabledError,
    TableExistsError,
    TableNotFoundError,
)
from hbase_orm.gateway.thrift.decoding.incoming import GarbledAnswerError
from hbase_orm.gateway.thrift.wire import OUT_OF_STEP
from hbase_orm.ops import Operation

WIRE_ERRORS: tuple[type[Exception], ...] = (TException, OSError, EOFError, GarbledAnswerError)
"""The classes of the errors that a Thrift call may raise, besides this library's own errors."""

# Enough for a Java message with its class name; stack traces run to hundreds of lines.
SHOWN_CHARACTERS = 300

_Kind = type[GatewayError]
_Entry = tuple[_Kind, str, str]

FAULTS: dict[str, _Entry] = {
    # --- what the request names ---
    "TableNotFoundException": (TableNotFoundError, "the table does not exist", "create the table"),
    "TableExistsException": (TableExistsError, "the table exists already", ""),
    "TableNotEnabledException": (TableDisabledError, "the table is disabled", "enable the table"),
    "TableNotDisabledException": (
        RejectedError,
        "the table is not disabled",
        "disable the table first",
    ),
    "NoSuchColumnFamilyException": (
        FamilyNotFoundError,
        "the table has no such column family",
        "add the family to the table, or correct its name",
    ),
    "InvalidFamilyOperationException": (
        RejectedError,
        "HBase refuses this change of the column family",
        "",
    ),
    "NamespaceNotFoundException": (
        NamespaceNotFoundError,
        "the namespace does not exist",
        "create the namespace",
    ),
    "NamespaceExistException": (NamespaceExistsError, "the namespace exists already", ""),
    "ConstraintException": (
        RejectedError,
        "HBase's constraints forbid this",
        "drop the namespace's tables first",
    ),
    # --- scanners ---
    "UnknownScannerException": (ScannerExpiredError, "the scanner is closed or expired", ""),
    "ScannerResetException": (ScannerExpiredError, "the scanner was reset", ""),
    "OutOfOrderScannerNextException": (ScannerExpiredError, "the scanner is out of step", ""),
    "LeaseException": (ScannerExpiredError, "the scanner's lease ran out", ""),
    # --- never right, however often sent ---
    "AccessDeniedException": (
        AccessDeniedError,
        "access is denied",
        "ask HBase's administrator for the permission, for the user of the Thrift gateway",
    ),
    "FailedSanityCheckException": (RejectedError, "HBase's sanity check refuses the cells", ""),
    "InvalidTableNameException": (RejectedError, "the table's name is invalid", ""),
    "UnsupportedOperationException": (RejectedError, "HBase does not support this", ""),
    # --- no room now ---
    "RegionTooBusyException": (ServerBusyError, "the region is too busy", ""),
    "CallQueueTooBigException": (ServerBusyError, "the server's queue is full", ""),
    "ServerTooBusyException": (ServerBusyError, "the server is too busy", ""),
    "RpcThrottlingException": (ServerBusyError, "a quota delays the request", ""),
    "ThrottlingException": (ServerBusyError, "a quota delays the request", ""),
    # --- sent by the gateway, and never answered to it: may have been applied ---
    "CallTimeoutException": (ConnectionLostError, "the gateway's own call timed out", ""),
    "SocketTimeoutException": (ConnectionLostError, "the gateway's own call timed out", ""),
    "ConnectionClosedException": (ConnectionLostError, "the gateway's own connection broke", ""),
    "ConnectionClosingException": (ConnectionLostError, "the gateway's own connection broke", ""),
    # --- not there now ---
    "NotServingRegionException": (RegionUnavailableError, "the region is not served now", ""),
    "RegionMovedException": (RegionUnavailableError, "the region has moved", ""),
    "RegionOpeningException": (RegionUnavailableError, "the region is opening", ""),
    "RegionOfflineException": (RegionUnavailableError, "the region is offline", ""),
    "NoServerForRegionException": (RegionUnavailableError, "no server has the region", ""),
    "RegionServerStoppedException": (RegionUnavailableError, "the region server stops", ""),
    "RegionServerAbortedException": (RegionUnavailableError, "the region server aborted", ""),
    "ServerNotRunningYetException": (RegionUnavailableError, "the server is starting", ""),
    "MasterNotRunningException": (RegionUnavailableError, "HBase's master is not running", ""),
    "PleaseHoldException": (RegionUnavailableError, "HBase's master is starting", ""),
    "FailedServerException": (RegionUnavailableError, "the region server does not answer", ""),
    # --- wrappers: only when nothing above is named ---
    "DoNotRetryIOException": (RejectedError, "HBase refuses the request", ""),
    "IllegalArgumentException": (RejectedError, "HBase refuses an argument", ""),
    "RetriesExhaustedWithDetailsException": (
        RegionUnavailableError,
        "the gateway gave up after its retries",
        "",
    ),
    "RetriesExhaustedException": (
        RegionUnavailableError,
        "the gateway gave up after its retries",
        "",
    ),
}
"""For each Java class name: this library's error class, and the text and fix of the error.

If a message has several names that count (see `_by_class_name`), the first entry in the order of
this table is used.
"""

# Messages of HBase that name no class.
_PHRASES: tuple[tuple[str, _Entry], ...] = (
    ("state=ENABLED", FAULTS["TableNotDisabledException"]),
    ("Field is not a long", (RejectedError, "the cell is not a counter", "")),
    ("table does not exist", FAULTS["TableNotFoundException"]),
    ("scanner ID is invalid", (ScannerExpiredError, "the scanner is closed or expired", "")),
    ("Invalid scanner Id", (ScannerExpiredError, "the scanner is closed or expired", "")),
)

_NO_COMPRESSION: _Entry = (
    CompressionMissingError,
    "the server does not have the codec of a family's compression",
    "install the codec on all servers, or choose another compression: every server has GZ",
)
# HBase's own check of a codec. The first request gets the text of what Java could not load, and
# each later one "Compression algorithm '...' previously failed test".
_COMPRESSION_CHECKS = (
    "TableDescriptorChecker.checkCompression(",
    "CompressionTest.testCompression(",
)
_COMPRESSION_PHRASE = "Compression algorithm '"

_CLASS_NAME = re.compile(r"\b[A-Z]\w*Exception\b")
_FAILED_ACTIONS = re.compile(r"Failed \d+ actions?: (\S+): \d+ times?")


def translate(exc: BaseException, operation: Operation[Any] | None = None) -> GatewayError:
    """Return the error of this library for an error of a Thrift call.

    Args:
        exc: The error of the Thrift call, one of `WIRE_ERRORS`.
        operation: The request, for the details of the error.

    Returns:
        The error, to be raised `from exc`. It is a ConnectionLostError if the connection broke, or
        if the answer belongs to another request.
    """
    details = _details(operation)
    if isinstance(exc, TApplicationException):
        return _application_fault(exc, details)
    if isinstance(exc, TTransportException) or not isinstance(exc, TException):
        return _lost(exc, details)
    if not hasattr(exc, "message"):
        return _lost(exc, details)
    return _server_fault(exc, details)


def message_text(exc: BaseException) -> str:
    """Return the message of a Thrift exception as text; never calls `str` on the exception.

    `__str__` of such an exception may return bytes, and then `str` raises a TypeError.
    """
    message = getattr(exc, "message", None)
    if isinstance(message, bytes):
        return message.decode("utf-8", "replace")
    return message if isinstance(message, str) else ""


def _server_fault(exc: BaseException, details: dict[str, Any]) -> GatewayError:
    message = message_text(exc)
    entry = (
        _by_table_name(message, details.get("table"))
        or _by_compression(message)
        or _by_phrase(message)
        or _by_class_name(message)
        or _by_thrift_type(exc)
    )
    kind, text, fix = entry
    return kind(text, **details, server_message=_first_line(message), fix=fix)


def _by_compression(message: str) -> _Entry | None:
    """Return the entry for a codec that HBase could not load, or None."""
    is_refused = any(check in message for check in _COMPRESSION_CHECKS)
    is_refused = is_refused or _COMPRESSION_PHRASE in _first_line(message)
    return _NO_COMPRESSION if is_refused else None


def _by_phrase(message: str) -> _Entry | None:
    head = _first_line(message)
    return next((entry for phrase, entry in _PHRASES if phrase in head), None)


def _by_class_name(message: str) -> _Entry | None:
    """Return the entry of `FAULTS` for the Java classes in a message; None if there is none.

    The entry is chosen in these steps:

    1. Use the names in the first line, without the names of wrappers.
    2. If `FAULTS` has none of these names, use all names in the message.
    3. If the entry is a RetryableError, look in the message for an error after which the outcome is
       unknown. If there is one, return its entry instead.
    """
    names = set(_CLASS_NAME.findall(message))
    heads = set(_CLASS_NAME.findall(message.partition("\n")[0])) - _WRAPPERS
    entry = _first_of(heads) or _first_of(names)
    if entry is not None and issubclass(entry[0], RetryableError):
        # An earlier attempt of the gateway may have been applied, before the last one was refused.
        return _first_of(names & _UNANSWERED) or entry
    return entry


def _first_of(names: AbstractSet[str]) -> _Entry | None:
    return next((entry for name, entry in FAULTS.items() if name in names), None)


_UNANSWERED = frozenset(
    name for name, (kind, _, _) in FAULTS.items() if kind is ConnectionLostError
)


_WRAPPERS = frozenset(
    {
        "DoNotRetryIOException",
        "IllegalArgumentException",
        "RetriesExhaustedException",
        "RetriesExhaustedWithDetailsException",
    }
)


def _by_thrift_type(exc: BaseException) -> _Entry:
    if type(exc).__name__ == "AlreadyExists":
        return FAULTS["TableExistsException"]
    return (RejectedError, "HBase refuses the request", "")


def _by_table_name(message: str, table: str | None) -> _Entry | None:
    """Return the entry for a message that names the table but no Java class, else None.

    For a missing table, the answer to a batch is "Failed 1 action: <table>: 1 time", and other
    answers of Thrift2 are only "<table>". For a disabled table, Thrift2 answers "<table> is
    disabled.".
    """
    failed = _FAILED_ACTIONS.search(message)
    named = failed.group(1) if failed else _first_line(message)
    if table is not None and named == table:
        return FAULTS["TableNotFoundException"]
    if table is not None and named == f"{table} is disabled.":
        return FAULTS["TableNotEnabledException"]
    return None


def is_internal(exc: BaseException) -> bool:
    """Return whether the gateway failed in its own code, and so named no exception of HBase."""
    kind = exc.type if isinstance(exc, TApplicationException) else None
    return bool(kind == TApplicationException.INTERNAL_ERROR)


def _application_fault(exc: TApplicationException, details: dict[str, Any]) -> GatewayError:
    message = message_text(exc)
    if exc.type in OUT_OF_STEP or "Missing result" in message:
        return _lost(exc, details)
    if exc.type == TApplicationException.UNKNOWN_METHOD:
        return FeatureMissingError(
            "the gateway does not know this call",
            **details,
            server_message=_first_line(message),
            fix="use a newer HBase, or check that the port is the right Thrift gateway's",
        )
    return RejectedError(
        "the gateway reported an internal error for this request",
        **details,
        server_message=_first_line(message),
        fix="check the filter, the columns and the table name; the gateway's log has the reason",
    )


def _lost(exc: BaseException, details: dict[str, Any]) -> ConnectionLostError:
    is_late = isinstance(exc, TimeoutError)
    reason = _first_line(message_text(exc)) or (
        "" if isinstance(exc, TException) else str(exc).partition("\n")[0]
    )
    return ConnectionLostError(
        "the gateway did not answer in time" if is_late else "the connection broke",
        **details,
        reason=f"{type(exc).__name__}: {reason}",
        fix="a write may have been applied: read it back before sending it again",
    )


def _first_line(message: str) -> str:
    return message.strip().partition("\n")[0][:SHOWN_CHARACTERS]


def _details(operation: Operation[Any] | None) -> dict[str, Any]:
    if operation is None:
        return {}
    details: dict[str, Any] = {"operation": type(operation).__name__}
    scan = getattr(operation, "scan", None)
    table = getattr(operation, "table", None) or getattr(scan, "table", None)
    if table is not None:
        details["table"] = table
    mutation = getattr(operation, "mutation", None)
    row = getattr(operation, "row", None) or getattr(mutation, "row", None)
    if row is not None:
        details["row"] = row
    return details
