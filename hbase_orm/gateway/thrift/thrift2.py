"""The gateway over HBase's Thrift2 interface, with all features.

The interface definition is `hbase2.thrift`, with only the calls that are used here. Scans are
better done over `thrift1`, because Thrift2's answers are a third larger and slower to decode.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

from hbase_orm.gateway.base import Feature
from hbase_orm.gateway.checks import MAX_LONG
from hbase_orm.gateway.thrift.answer_sizes import (
    FIRST_ROWS,
    MOST_ROWS,
    Pieces,
    Portion,
    caching_results,
    portions,
)
from hbase_orm.gateway.thrift.decoding.answers import LIST, STRUCT, Many, check_count
from hbase_orm.gateway.thrift.decoding.decoded import DecodedValue
from hbase_orm.gateway.thrift.decoding.incoming import GarbledAnswerError
from hbase_orm.gateway.thrift.decoding.result_answers import DecodedResult, read_results
from hbase_orm.gateway.thrift.gateway import (
    Call,
    ThriftGateway,
    table_bytes,
    whole_families,
)
from hbase_orm.gateway.thrift.handshake import ThriftConnection
from hbase_orm.gateway.thrift.pool import Address
from hbase_orm.gateway.thrift.scan_bounds import ScanBounds, server_bounds
from hbase_orm.gateway.thrift.thrift2_admin import ADMIN_CALLS
from hbase_orm.gateway.thrift.thrift2_writes import (
    append,
    check_and_mutate,
    column_ref,
    increment,
    mutate_row,
    mutate_rows,
    put_rows,
    put_stamped_rows,
)
from hbase_orm.gateway.thrift.wire import HBASE2, CheckedClient, Line
from hbase_orm.ops import (
    Append,
    CheckAndMutate,
    FirstRows,
    GetRows,
    GetVersions,
    GetVersionsOfRows,
    Increment,
    MutateRow,
    MutateRows,
    Operation,
    PutRows,
    PutStampedRows,
    ReadFirstRows,
    Row,
    Scan,
    StoredVersion,
)

_Kind = Literal["put", "delete", "delete_column", "delete_family", "delete_family_version"]

# KeyValue.Type codes, as a raw read shows them; a plain read shows none.
_KINDS: dict[int, _Kind] = {
    4: "put",
    8: "delete",
    10: "delete_family_version",
    12: "delete_column",
    14: "delete_family",
}
_RAW_ATTRIBUTES = {b"_raw_": b"\xff"}


def _answer_type(method: str, success: tuple[Any, ...]) -> Callable[[], Any]:
    """Return a class for the answer to a method; `success` is the Thrift type of the result."""
    declared = getattr(HBASE2.HBase2, f"{method}_result")
    specification = {**declared.thrift_spec, 0: (success[0], "success", success[1], False)}
    return type(f"{method}_answer", (declared,), {"thrift_spec": specification})


_ONE = (STRUCT, DecodedResult)
_MANY = (LIST, _ONE)
_ROWS = (LIST, (STRUCT, Many(read_results)))
_ANSWERS: Mapping[str, Callable[[], Any]] = {
    "append": _answer_type("append", _ONE),
    "get": _answer_type("get", _ONE),
    "getMultiple": _answer_type("getMultiple", _MANY),
    "getScannerResults": _answer_type("getScannerResults", _ROWS),
    "getScannerRows": _answer_type("getScannerRows", _ROWS),
    "increment": _answer_type("increment", _ONE),
}


class Thrift2Gateway(ThriftGateway):
    """Executes all requests over Thrift2."""

    _INTERFACE = 2

    @property
    def features(self) -> frozenset[Feature]:
        """All features."""
        return frozenset(Feature)

    @staticmethod
    def _pooled(line: Line, _address: Address) -> ThriftConnection:
        return ThriftConnection(line, CheckedClient(line, HBASE2.HBase2, _ANSWERS))

    def _table_of_calls(self) -> Mapping[type[Operation[Any]], Call]:
        return {
            **ADMIN_CALLS,
            Append: append,
            CheckAndMutate: check_and_mutate,
            GetRows: _get_rows,
            GetVersions: _get_versions,
            GetVersionsOfRows: _get_versions_of_rows,
            Increment: increment,
            MutateRow: mutate_row,
            MutateRows: mutate_rows,
            PutRows: put_rows,
            PutStampedRows: put_stamped_rows,
            ReadFirstRows: _read_first_rows,
        }

    def _send_open(
        self, client: Any, scan: Scan, bounds: ScanBounds, batch_cells: int | None
    ) -> int:
        caching = caching_results(scan, batch_cells)
        wanted = _scan_request(scan, bounds, batch_cells, caching)
        number: int = client.openScanner(scan.table.encode(), wanted)
        return number

    def _send_fetch(self, client: Any, scanner: int, count: int) -> list[Row]:
        rows: list[Row] = client.getScannerRows(scanner, count)
        return rows

    def _send_close(self, client: Any, scanner: int) -> None:
        client.closeScanner(scanner)


# --- reads ----------------------------------------------------------------------------------------


def _column_refs(columns: Iterable[bytes]) -> list[Any] | None:
    return [column_ref(column) for column in whole_families(tuple(columns))] or None


def _time_range(from_ms: int, before_ms: int | None) -> Any:
    if before_ms is None and not from_ms:
        return None
    return HBASE2.TimeRange(from_ms=from_ms, until_ms=MAX_LONG if before_ms is None else before_ms)


def _consistency(read: GetRows | Scan) -> int | None:
    consistency: int | None = HBASE2.Consistency.TIMELINE if read.is_timeline else None
    return consistency


def _scan_request(scan: Scan, bounds: ScanBounds, batch_cells: int | None, caching: int) -> Any:
    return HBASE2.ScanRequest(
        start_row=bounds.start_row,
        stop_row=bounds.stop_row,
        columns=_column_refs(scan.columns),
        caching=caching,
        time_range=_time_range(scan.from_ms, scan.before_ms),
        filter=scan.filter,
        batch_cells=batch_cells,
        reversed=True if bounds.is_reverse else None,
        consistency=_consistency(scan),
    )


def _read_first_rows(client: Any, operation: ReadFirstRows) -> FirstRows:
    scan = operation.scan
    if scan.key_range.is_empty:
        return FirstRows([], is_all=True)
    bounds = server_bounds(scan.key_range, is_reverse=scan.reverse)
    pieces = Pieces(scan, client.sizes)
    count = pieces.next_count(operation.count)
    request = _scan_request(scan, bounds, pieces.batch_cells, count)
    results = client.getScannerResults(scan.table.encode(), request, count)
    if len(results) > count:
        message = f"{len(results)} results where {count} were requested"
        raise GarbledAnswerError(message)
    pieces.portion.note(len(results), client.answer_bytes)
    is_end = len(results) < count
    rows = pieces.join(results)
    if is_end and results:
        rows += pieces.join([])  # the last row was kept back, because it could go on
    kept, is_past = bounds.select(rows)
    # Rows that are cut into fewer pieces than those before them are more than were requested.
    first = kept[: operation.count]
    return FirstRows(first, is_all=(is_end or is_past) and len(first) == len(kept))


def _get_rows(client: Any, operation: GetRows) -> list[Row | None]:
    table = table_bytes(operation)
    columns, time_range, consistency = (
        _column_refs(operation.columns),
        _time_range(operation.from_ms, operation.before_ms),
        _consistency(operation),
    )
    by_key: dict[bytes, Row | None] = {}
    kind = ("get", operation.table, operation.columns)
    portion = Portion(client.sizes, kind, first=FIRST_ROWS, most=MOST_ROWS)
    for keys in portions(operation.keys, portion):
        requests = [
            HBASE2.GetRequest(
                row=key, columns=columns, time_range=time_range, consistency=consistency
            )
            for key in keys
        ]
        # A single key uses the call for one row. For a disabled table, the call for several never
        # answers.
        results = (
            [client.get(table, requests[0])]
            if len(requests) == 1
            else client.getMultiple(table, requests)
        )
        portion.note(len(results), client.answer_bytes)
        by_key.update((key, result.row(key)) for key, result in _by_key(keys, results))
    return [by_key[key] for key in operation.keys]


def _get_versions(client: Any, operation: GetVersions) -> tuple[StoredVersion, ...]:
    results = [client.get(table_bytes(operation), _versions_request(operation))]
    ((_, result),) = _by_key([operation.key], results)
    return tuple(_version(value) for value in result.values)


def _get_versions_of_rows(
    client: Any, operation: GetVersionsOfRows
) -> list[tuple[StoredVersion, ...]]:
    table = table_bytes(operation)
    by_key: dict[bytes, tuple[StoredVersion, ...]] = {}
    kind = ("versions", operation.table, operation.columns, operation.max_versions)
    portion = Portion(client.sizes, kind, first=FIRST_ROWS, most=MOST_ROWS)
    for keys in portions(operation.keys, portion):
        if len(keys) == 1:  # as in `_get_rows`
            by_key[keys[0]] = _get_versions(client, operation.of(keys[0]))
            continue
        requests = [_versions_request(operation.of(key)) for key in keys]
        results = client.getMultiple(table, requests)
        portion.note(len(results), client.answer_bytes)
        for key, result in _by_key(keys, results):
            by_key[key] = tuple(_version(value) for value in result.values)
    return [by_key[key] for key in operation.keys]


def _by_key(
    keys: Sequence[bytes], results: Sequence[DecodedResult]
) -> Iterator[tuple[bytes, DecodedResult]]:
    """Yield each key with its result, which is empty for an absent row."""
    check_count(results, len(keys))
    for key, result in zip(keys, results, strict=True):
        if result.key != key and (result.key or result.values):
            message = "a row that was not requested"
            raise GarbledAnswerError(message)
        yield key, result


def _versions_request(operation: GetVersions) -> Any:
    return HBASE2.GetRequest(
        row=operation.key,
        columns=_column_refs(operation.columns),
        max_versions=operation.max_versions,
        attributes=_RAW_ATTRIBUTES if operation.raw else None,
    )


def _version(value: DecodedValue) -> StoredVersion:
    # A family's tombstone is stored, and shown, under the empty qualifier.
    kind = _KINDS.get(value.kind)
    if kind is None:
        message = f"a cell of the kind {value.kind}"
        raise GarbledAnswerError(message)
    return StoredVersion(value.column, value.timestamp_ms, kind, value.value)
