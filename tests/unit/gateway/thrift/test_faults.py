"""Thrift failures become this library's errors, by the server's words."""

from __future__ import annotations

from typing import Any

import pytest
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
    ScannerExpiredError,
    ServerBusyError,
    TableDisabledError,
    TableExistsError,
    TableNotFoundError,
)
from hbase_orm.gateway.thrift.faults import FAULTS, translate
from hbase_orm.gateway.thrift.wire import HBASE1, HBASE2
from hbase_orm.ops import (
    CheckAndMutate,
    CreateTable,
    FamilyDescriptor,
    GetRows,
    MutateRow,
    MutateRows,
    OpenScanner,
    Put,
    RowMutation,
    Scan,
    TableDescriptor,
)

_GET = GetRows("t", (b"r",))
_PACKAGE = "org.apache.hadoop.hbase."
_STACK = "\n\tat org.apache.hadoop.hbase.client.HTable.get(HTable.java:1)\n"
_EXHAUSTED = f"{_PACKAGE}client.RetriesExhaustedException: Failed after attempts=4, exceptions:\n"

# What HBase 2.6.1 said, shortened.
_THRIFT1 = [
    (f"{_PACKAGE}TableNotFoundException: t{_STACK}", TableNotFoundError),
    ("java.io.IOException: table does not exist", TableNotFoundError),
    (f"{_PACKAGE}TableNotEnabledException: t is disabled.{_STACK}", TableDisabledError),
    (f"{_PACKAGE}TableNotDisabledException: t{_STACK}", RejectedError),
    (
        f"{_PACKAGE}regionserver.NoSuchColumnFamilyException: Column family x does not exist",
        FamilyNotFoundError,
    ),
    (
        (
            f"{_PACKAGE}client.RetriesExhaustedWithDetailsException: Failed 1 action: "
            f"{_PACKAGE}regionserver.NoSuchColumnFamilyException: Column family x does not exist"
        ),
        FamilyNotFoundError,
    ),
    (
        (
            f"{_PACKAGE}client.RetriesExhaustedWithDetailsException: Failed 2 actions: t: 2 times, "
            "servers with issues: null"
        ),
        TableNotFoundError,
    ),
    (f"{_PACKAGE}NamespaceNotFoundException: ns", NamespaceNotFoundError),
    (
        (
            f"{_PACKAGE}DoNotRetryIOException: {_PACKAGE}DoNotRetryIOException: "
            "Field is not a long, it's 3 bytes wide"
        ),
        RejectedError,
    ),
    (
        (
            f"{_PACKAGE}client.RetriesExhaustedWithDetailsException: Failed 2 actions: "
            "NotServingRegionException: 2 times, servers with issues: localhost"
        ),
        RegionUnavailableError,
    ),
    (
        f"{_EXHAUSTED}2026, {_PACKAGE}NotServingRegionException: r is closing",
        RegionUnavailableError,
    ),
    (f"{_EXHAUSTED}2026, {_PACKAGE}RegionTooBusyException: memstore", ServerBusyError),
    (f"{_EXHAUSTED}2026, {_PACKAGE}ipc.CallTimeoutException: 60000 ms", ConnectionLostError),
    (f"{_EXHAUSTED}2026, {_PACKAGE}security.AccessDeniedException: no", AccessDeniedError),
    (_EXHAUSTED + "nothing that we know", RegionUnavailableError),
    (f"{_PACKAGE}UnknownScannerException: Unknown scanner '7'", ScannerExpiredError),
    ("java.io.IOException: something new", RejectedError),
]

_THRIFT2 = [
    ("t", TableNotFoundError),
    ("t is disabled.", TableDisabledError),
    ("tableName=t, state=ENABLED", RejectedError),
    (f"{_PACKAGE}TableExistsException: t", TableExistsError),
    (f"{_PACKAGE}NamespaceExistException: ns", NamespaceExistsError),
    (f"{_PACKAGE}constraint.ConstraintException: not empty", RejectedError),
    ("Failed 1 action: t: 1 time, servers with issues: null", TableNotFoundError),
    ("Failed 1 action: NotServingRegionException: 1 time, ", RegionUnavailableError),
]


@pytest.mark.parametrize(("message", "kind"), _THRIFT1)
def test_the_stack_trace_of_thrift1_becomes_the_error_its_class_names_say(
    message: str, kind: type[GatewayError]
) -> None:
    error = translate(HBASE1.IOError(message=message.encode()), _GET)

    assert type(error) is kind


@pytest.mark.parametrize(("message", "kind"), _THRIFT2)
def test_the_root_text_of_thrift2_becomes_the_error_it_means(
    message: str, kind: type[GatewayError]
) -> None:
    error = translate(HBASE2.ServerFault(message=message.encode()), _GET)

    assert type(error) is kind


def test_a_table_that_has_the_name_of_another_failure_is_not_missing() -> None:
    error = translate(HBASE2.ServerFault(message=b"other"), GetRows("t", (b"r",)))

    assert type(error) is RejectedError


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (HBASE1.IllegalArgument(message=b"scanner ID is invalid"), ScannerExpiredError),
        (HBASE2.IllegalArgumentFault(message=b"Invalid scanner Id"), ScannerExpiredError),
        (HBASE1.IllegalArgument(message=b"Row length is 0"), RejectedError),
        (HBASE1.AlreadyExists(message=b"table name already in use"), TableExistsError),
    ],
)
def test_the_other_declared_exceptions(fault: TException, kind: type[GatewayError]) -> None:
    assert type(translate(fault, _GET)) is kind


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        (TApplicationException.MISSING_RESULT, ConnectionLostError),
        (TApplicationException.BAD_SEQUENCE_ID, ConnectionLostError),
        (TApplicationException.WRONG_METHOD_NAME, ConnectionLostError),
        (TApplicationException.INVALID_MESSAGE_TYPE, ConnectionLostError),
        (TApplicationException.UNKNOWN_METHOD, FeatureMissingError),
        (TApplicationException.INTERNAL_ERROR, RejectedError),
    ],
)
def test_an_application_exception_is_judged_by_its_type(
    kind: int, error: type[GatewayError]
) -> None:
    assert type(translate(TApplicationException(kind, "Internal error"), _GET)) is error


@pytest.mark.parametrize(
    "exc",
    [
        TTransportException(TTransportException.END_OF_FILE, "TSocket read 0 bytes"),
        BrokenPipeError("broken pipe"),
        TimeoutError("timed out"),
        EOFError(),
        TException(),
    ],
)
def test_whatever_breaks_the_wire_is_a_lost_connection(exc: Exception) -> None:
    assert type(translate(exc, _GET)) is ConnectionLostError


def test_a_message_of_bytes_is_never_turned_into_text_by_str() -> None:
    # thriftpy2 hands the bytes on, and then str() of the exception raises TypeError.
    exc = TApplicationException(TApplicationException.INTERNAL_ERROR, b"Internal error \xff")  # type: ignore[arg-type] # what really comes

    error = translate(exc, _GET)

    assert error.server_message == "Internal error \ufffd"


def test_only_the_first_line_is_shown_and_all_of_it_is_searched() -> None:
    error = translate(
        HBASE1.IOError(message=f"{_EXHAUSTED}{_STACK}{_PACKAGE}RegionMovedException: r".encode())
    )

    assert type(error) is RegionUnavailableError
    assert error.text == "the region has moved"
    assert "\n" not in str(error)


def test_the_first_line_wins_over_the_rest_of_the_trace() -> None:
    message = (
        f"{_PACKAGE}NotServingRegionException: r{_STACK}Caused by: {_PACKAGE}TableNotFoundException"
    )

    assert type(translate(HBASE1.IOError(message=message.encode()))) is RegionUnavailableError


@pytest.mark.parametrize(
    ("operation", "details"),
    [
        (GetRows("t", (b"r",)), {"operation": "GetRows", "table": "t"}),
        (OpenScanner(Scan("t")), {"operation": "OpenScanner", "table": "t"}),
        (
            MutateRow("t", RowMutation(b"r", (Put(b"d:a", b""),))),
            {"operation": "MutateRow", "table": "t", "row": b"r"},
        ),
        (
            CheckAndMutate("t", b"d:a", b"", RowMutation(b"r", (Put(b"d:a", b""),))),
            {"operation": "CheckAndMutate", "table": "t", "row": b"r"},
        ),
        (MutateRows("t", ()), {"operation": "MutateRows", "table": "t"}),
    ],
)
def test_the_error_names_request_table_and_row(
    operation: GetRows, details: dict[str, object]
) -> None:
    error = translate(TimeoutError("timed out"), operation)

    assert {name: error.details[name] for name in details} == details


def test_a_refusal_after_a_try_that_was_not_answered_leaves_the_outcome_unknown() -> None:
    message = (
        f"{_PACKAGE}client.RetriesExhaustedWithDetailsException: Failed 1 action: "
        f"NotServingRegionException: 1 time{_STACK}Caused by: {_PACKAGE}ipc.CallTimeoutException"
    )

    assert type(translate(HBASE1.IOError(message=message.encode()))) is ConnectionLostError


def test_a_wrapper_is_looked_at_only_when_nothing_more_specific_is_named() -> None:
    names = list(FAULTS)

    first_wrapper = names.index("DoNotRetryIOException")

    assert set(names[first_wrapper:]) == {
        "DoNotRetryIOException",
        "IllegalArgumentException",
        "RetriesExhaustedException",
        "RetriesExhaustedWithDetailsException",
    }


_CHECKED = (
    f"\n\tat {_PACKAGE}util.TableDescriptorChecker.checkCompression(TableDescriptorChecker.java:1)"
)
_DO_NOT_RETRY = f"{_PACKAGE}DoNotRetryIOException: "


@pytest.mark.parametrize(
    "message",
    [
        f"{_DO_NOT_RETRY}{_DO_NOT_RETRY}java.lang.NoClassDefFoundError: net/jpountz{_CHECKED}",
        f"{_DO_NOT_RETRY}java.lang.RuntimeException: native zStandard not available{_CHECKED}",
        f"{_DO_NOT_RETRY}Compression algorithm 'lz4' previously failed test.",
    ],
)
@pytest.mark.parametrize("fault", [HBASE1.IOError, HBASE2.ServerFault])
def test_a_codec_that_the_server_could_not_load_is_named(fault: Any, message: str) -> None:
    wanted = TableDescriptor("t", (FamilyDescriptor(b"d", compression="LZ4"),))

    error = translate(fault(message=message), CreateTable(wanted))

    assert type(error) is CompressionMissingError
    assert "GZ" in error.fix
