"""The gateway over HBase's Thrift2 interface, with all features.

The interface definition is `hbase2.thrift`, with only the calls that are used here. Scans are
better done over `thrift1`, because Thrift2's answers are a third larger and slower to decode.
"""

from __future__ import annotations

import struct
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
from hbase_orm.gateway.thrift.decoding.row_answers import DecodedResult, read_results
from hbase_orm.gateway.thrift.encoding.put_stamped_rows import put_multiple_arguments
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
from hbase_orm.gateway.thrift.wire import HBASE2, CheckedClient, Line, unsendable
from hbase_orm.ops import (
    Append,
    CheckAndMutate,
    Delete,
    FirstRows,
    GetRows,
    GetVersions,
    GetVersionsOfRows,
    Increment,
    MutateRow,
    MutateRows,
    Operation,
    Put,
    PutRows,
    PutStampedRows,
    ReadFirstRows,
    Row,
    RowMutation,
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
# HBase compares the other way round: `expected operator stored`.
_OPERATORS = {
    "==": HBASE2.CompareOperator.EQUAL,
    "!=": HBASE2.CompareOperator.NOT_EQUAL,
    "<": HBASE2.CompareOperator.GREATER,
    "<=": HBASE2.CompareOperator.GREATER_OR_EQUAL,
    ">": HBASE2.CompareOperator.LESS,
    ">=": HBASE2.CompareOperator.LESS_OR_EQUAL,
}
_LONG = struct.Struct(">q")
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
            Append: _append,
            CheckAndMutate: _check_and_mutate,
            GetRows: _get_rows,
            GetVersions: _get_versions,
            GetVersionsOfRows: _get_versions_of_rows,
            Increment: _increment,
            MutateRow: _mutate_row,
            MutateRows: _mutate_rows,
            PutRows: _put_rows,
            PutStampedRows: _put_stamped_rows,
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
    return [_column_ref(column) for column in whole_families(tuple(columns))] or None


def _column_ref(column: bytes, timestamp_ms: int | None = None) -> Any:
    family, colon, qualifier = column.partition(b":")
    return HBASE2.ColumnRef(
        family=family, qualifier=qualifier if colon else None, timestamp=timestamp_ms
    )


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
    return FirstRows(kept, is_all=is_end or is_past)


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


# --- writes ---------------------------------------------------------------------------------------


def _mutate_row(client: Any, operation: MutateRow) -> None:
    _send_mutation(client, table_bytes(operation), operation.mutation)


def _send_mutation(client: Any, table: bytes, mutation: RowMutation) -> None:
    """Change one row atomically, by the simplest call that is sufficient.

    If the table is missing or disabled, the calls for a single put or delete fail immediately.
    But the Thrift server retries the call for several puts and deletes for minutes.
    """
    removals = _delete_requests(mutation)
    if not removals:
        client.put(table, _put_request(mutation))
    elif len(removals) == 1 and not mutation.puts:
        client.deleteSingle(table, removals[0])
    else:
        client.mutateRow(table, _row_changes(mutation))


def _check_and_mutate(client: Any, operation: CheckAndMutate) -> bool:
    column = _column_ref(operation.column)
    is_applied: bool = client.checkAndMutate(
        table_bytes(operation),
        operation.mutation.row,
        column.family,
        column.qualifier,
        _OPERATORS[operation.operator],
        # Empty means absent; None crashes the server.
        operation.expected,
        _row_changes(operation.mutation),
    )
    return is_applied


def _mutate_rows(client: Any, operation: MutateRows) -> None:
    table = table_bytes(operation)
    # Rows may change in any order, but mutations of one row keep their order: both lists keep it.
    puts: list[Any] = []
    deletes: list[Any] = []
    for mutation in operation.mutations:
        removals = _delete_requests(mutation)
        if len(operation.mutations) == 1 or len(removals) > 1:
            # In a batch, a row with two delete requests would not change atomically.
            _send_mutation(client, table, mutation)
        elif removals:
            deletes += removals
        else:
            puts.append(_put_request(mutation))
    if puts:
        client.putMultiple(table, puts)
    if deletes:
        client.deleteMultiple(table, deletes)


def _put_rows(client: Any, operation: PutRows) -> None:
    _mutate_rows(client, operation.as_mutations())


def _put_stamped_rows(client: Any, operation: PutStampedRows) -> None:
    # A single row is put by the call for one row. For a missing or disabled table, the call for
    # several never answers.
    if sum(len(group.rows) for group in operation.groups) < 2 or not client.line.is_binary:  # noqa: PLR2004 - many
        _mutate_rows(client, operation.as_mutations())
        return
    try:
        arguments = put_multiple_arguments(operation)
    except (TypeError, struct.error) as exc:
        raise unsendable("putMultiple") from exc
    client.call_encoded("putMultiple", arguments)


def _row_changes(mutation: RowMutation) -> Any:
    changes = [HBASE2.RowChange(remove=each) for each in _delete_requests(mutation)]
    if mutation.puts:
        changes.append(HBASE2.RowChange(put=_put_request(mutation)))
    return HBASE2.RowChanges(row=mutation.row, changes=changes)


def _put_request(mutation: RowMutation) -> Any:
    attributes = None if mutation.ttl_ms is None else {b"_ttl": _LONG.pack(mutation.ttl_ms)}
    values = [_column_value(put) for put in mutation.puts]
    return HBASE2.PutRequest(row=mutation.row, values=values, attributes=attributes)


def _column_value(put: Put) -> Any:
    family, _, qualifier = put.column.partition(b":")
    return HBASE2.ColumnValue(
        family=family, qualifier=qualifier, value=put.value, timestamp=put.timestamp_ms
    )


def _delete_requests(mutation: RowMutation) -> list[Any]:
    """Return up to two delete requests: one for columns, and one for whole families."""
    columns = [each for each in mutation.deletes if b":" in each.column]
    families = [each for each in mutation.deletes if b":" not in each.column]
    kinds = HBASE2.DeleteType
    return [
        _delete_request(mutation.row, deletes, kind)
        for deletes, kind in ((columns, kinds.COLUMNS), (families, kinds.FAMILY))
        if deletes
    ]


def _delete_request(row: bytes, deletes: Sequence[Delete], kind: int) -> Any:
    # The timestamp counts only on the columns: the request's own is ignored when there are any.
    columns = [_column_ref(delete.column, delete.timestamp_ms) for delete in deletes]
    return HBASE2.DeleteRequest(row=row, columns=columns, kind=kind)


def _increment(client: Any, operation: Increment) -> dict[bytes, int]:
    amounts = [_column_amount(column, amount) for column, amount in operation.amounts.items()]
    request = HBASE2.IncrementRequest(row=operation.row, columns=amounts)
    result = client.increment(table_bytes(operation), request)
    return {value.column: _number(value) for value in result.values}


def _number(value: DecodedValue) -> int:
    if len(value.value) != _LONG.size:
        message = f"a counter of {len(value.value)} bytes"
        raise GarbledAnswerError(message)
    number: int = _LONG.unpack(value.value)[0]
    return number


def _column_amount(column: bytes, amount: int) -> Any:
    family, _, qualifier = column.partition(b":")
    return HBASE2.ColumnAmount(family=family, qualifier=qualifier, amount=amount)


def _append(client: Any, operation: Append) -> dict[bytes, bytes]:
    values = [_column_value(Put(column, value)) for column, value in operation.values.items()]
    request = HBASE2.AppendRequest(row=operation.row, values=values)
    result = client.append(table_bytes(operation), request)
    return {value.column: value.value for value in result.values}
