"""The gateway over HBase's Thrift1 interface: reads and plain writes, through happybase.

Every connection is a happybase `Connection`. Its client is replaced by one that checks all answers
(`wire`). Thrift1 has no atomic mix of puts and deletes, and no conditional mutation. It administers
tables only partly. `thrift2` supports all of these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain
from typing import Any

import happybase

from hbase_orm.gateway.base import Feature
from hbase_orm.gateway.thrift.answer_sizes import (
    FIRST_ROWS,
    MOST_ROWS,
    Kind,
    Portion,
    caching_results,
    portions,
)
from hbase_orm.gateway.thrift.decoding.answers import LIST, STRUCT, Many, check_count
from hbase_orm.gateway.thrift.decoding.incoming import GarbledAnswerError
from hbase_orm.gateway.thrift.decoding.row_answers import read_rows, usual_rows
from hbase_orm.gateway.thrift.encoding.get_row import get_row_call
from hbase_orm.gateway.thrift.encoding.put_rows import put_rows_call
from hbase_orm.gateway.thrift.gateway import (
    Call,
    ThriftGateway,
    needs_thrift2,
    table_bytes,
    whole_families,
)
from hbase_orm.gateway.thrift.handshake import ThriftConnection
from hbase_orm.gateway.thrift.pool import Address
from hbase_orm.gateway.thrift.scan_bounds import ScanBounds
from hbase_orm.gateway.thrift.thrift1_admin import ADMIN_CALLS
from hbase_orm.gateway.thrift.wire import HBASE1, CheckedClient, Line, unsendable
from hbase_orm.ops import (
    Append,
    CheckAndMutate,
    GetRows,
    GetVersions,
    Increment,
    MutateRow,
    MutateRows,
    OpenScanner,
    Operation,
    PutRows,
    Row,
    RowMutation,
    Scan,
    StoredVersion,
)

_TTL_BYTES = 8


class _RowsAnswer:
    """The struct into which the answer to every call that returns rows is decoded."""

    __slots__ = ("ia", "io", "success")
    thrift_spec = {  # noqa: RUF012  # the name and place where thriftpy2 looks
        **HBASE1.Hbase.scannerGetList_result.thrift_spec,
        0: (LIST, "success", (STRUCT, Many(read_rows)), False),
    }

    def __init__(self) -> None:
        self.success = self.io = self.ia = None


_ROW_CALLS: Mapping[str, Callable[[], Any]] = dict.fromkeys(
    (
        "getRow",
        "getRowTs",
        "getRowWithColumns",
        "getRowWithColumnsTs",
        "getRows",
        "getRowsTs",
        "getRowsWithColumns",
        "getRowsWithColumnsTs",
        "scannerGetList",
    ),
    _RowsAnswer,
)


class Thrift1Gateway(ThriftGateway):
    """Reads and plain writes over Thrift1.

    Requests have these limits:

    - A `MutateRow`, and each row of a `MutateRows`, has either puts or deletes. The changes of one
      row all have the same timestamp; rows of a `MutateRows` may have different ones.
    - A `CheckAndMutate` has a comparison for equality, and one put without timestamp and TTL.
    - An `Increment` has one column.
    - A `CreateTable` has no split keys, and only options that Thrift1 knows.
    - `GetVersions` reads column by column, so its answer is not a snapshot of the row.
    - No read has `from_ms`, `is_timeline` or `raw`.
    """

    _INTERFACE = 1

    @property
    def features(self) -> frozenset[Feature]:
        """No features beyond reads and plain writes."""
        return frozenset()

    @contextmanager
    def raw(self) -> Iterator[Any]:
        """Return a context manager with a separate happybase `Connection`, which it closes at exit.

        Its client checks sequence ids, and each of its calls has the time limit `timeout_s`. The
        connection is not part of the pool, so an unfinished scan on it disturbs no other request.
        Its calls raise happybase's errors.

        Raises:
            RetryableError: No gateway accepts connections.
        """
        with self.pool.use_apart(self._clock() + self.timeout_s) as connection:
            connection.line.timeout_s = self.timeout_s
            yield connection.owner

    @staticmethod
    def _pooled(line: Line, address: Address) -> ThriftConnection:
        """Return a connection for the pool; its `owner` is a happybase connection over `line`."""
        connection = happybase.Connection(address.host, address.port, autoconnect=False)
        connection.transport = line.transport
        connection.client = CheckedClient(line, HBASE1.Hbase)
        return ThriftConnection(
            line, CheckedClient(line, HBASE1.Hbase, _ROW_CALLS), owner=connection
        )

    def _table_of_calls(self) -> Mapping[type[Operation[Any]], Call]:
        return {
            **ADMIN_CALLS,
            Append: _append,
            CheckAndMutate: _check_and_put,
            GetRows: _get_rows,
            GetVersions: _get_versions,
            Increment: _increment,
            MutateRow: _mutate_row,
            MutateRows: _mutate_rows,
            PutRows: _put_rows,
        }

    def _send_open(
        self, client: Any, scan: Scan, bounds: ScanBounds, batch_cells: int | None
    ) -> int:
        if scan.from_ms:
            raise needs_thrift2("a read from a timestamp on", OpenScanner(scan))
        if scan.is_timeline:
            raise needs_thrift2("a timeline read", OpenScanner(scan))
        wanted = HBASE1.TScan(
            startRow=bounds.start_row,
            stopRow=bounds.stop_row,
            timestamp=scan.before_ms,
            columns=whole_families(scan.columns) or None,
            caching=caching_results(scan, batch_cells),
            filterString=scan.filter,
            batchSize=batch_cells,
            reversed=True if bounds.is_reverse else None,
        )
        number: int = client.scannerOpenWithScan(scan.table.encode(), wanted, {})
        return number

    def _send_fetch(self, client: Any, scanner: int, count: int) -> list[Row]:
        rows: list[Row] = client.scannerGetList(scanner, count)
        return rows

    def _send_close(self, client: Any, scanner: int) -> None:
        client.scannerClose(scanner)


# --- reads ----------------------------------------------------------------------------------------


def _get_rows(client: Any, operation: GetRows) -> list[Row | None]:
    if operation.from_ms:
        raise needs_thrift2("a read from a timestamp on", operation)
    if operation.is_timeline:
        raise needs_thrift2("a timeline read", operation)
    if len(operation.keys) == 1 and operation.before_ms is None and client.line.is_binary:
        return [_get_row(client, operation)]
    columns = whole_families(operation.columns)
    by_key: dict[bytes, Row] = {}
    portion = Portion(client.sizes, _kind_of(operation), first=FIRST_ROWS, most=MOST_ROWS)
    for keys in portions(operation.keys, portion):
        # A single key uses the call for one row. For a disabled table, the call for several never
        # answers.
        wanted = keys[0] if len(keys) == 1 else keys
        name = "getRow" if len(keys) == 1 else "getRows"
        read = _reader(client, name, columns, operation.before_ms)
        rows = read(table_bytes(operation), wanted)
        portion.note(len(rows), client.answer_bytes)
        if not {row.key for row in rows} <= set(keys):
            message = "a row that was not requested"
            raise GarbledAnswerError(message)
        by_key.update((row.key, row) for row in rows)
    return [by_key.get(key) for key in operation.keys]


def _get_row(client: Any, operation: GetRows) -> Row | None:
    """Return the row of the only key, by a request of which only the key is encoded each time."""
    (key,) = operation.keys
    try:
        method, arguments = get_row_call(operation.table, key, operation.columns)
    except TypeError as exc:
        raise unsendable("getRow") from exc
    rows: list[Row] = client.call_encoded(method, arguments, usual=usual_rows)
    if not rows:
        return None
    if len(rows) > 1 or rows[0].key != key:
        message = "a row that was not requested"
        raise GarbledAnswerError(message)
    client.sizes.note(_kind_of(operation), client.answer_bytes)
    return rows[0]


def _kind_of(operation: GetRows) -> Kind:
    """Return the kind of a read by key, under which the sizes of rows are known."""
    return ("get", operation.table, operation.columns)


def _reader(
    client: Any, name: str, columns: list[bytes], before_ms: int | None
) -> Callable[[bytes, bytes | list[bytes]], list[Row]]:
    """Return a function that reads one or several rows of a table.

    Its arguments are the name of the table, and a row key or a list of row keys.

    Args:
        client: The client that makes the call.
        name: The Thrift1 method, `getRow` or `getRows`. Its variant for the given `columns` and
            `before_ms` is chosen here.
        columns: The columns and families to read; empty for whole rows.
        before_ms: The upper end of the time range, excluded; None for no end.
    """
    arguments: list[Any] = []
    if columns:
        name += "WithColumns"
        arguments.append(columns)
    if before_ms is not None:
        # HBase excludes this bound as well: a cell at this timestamp is not returned.
        name += "Ts"
        arguments.append(before_ms)
    send = getattr(client, name)
    return lambda table, wanted: send(table, wanted, *arguments, {})


def _get_versions(client: Any, operation: GetVersions) -> tuple[StoredVersion, ...]:
    if operation.raw:
        raise needs_thrift2("a read that shows tombstones", operation)
    table = table_bytes(operation)
    columns = whole_families(operation.columns)
    if not columns or any(b":" not in column for column in columns):
        rows = _reader(client, "getRow", columns, None)(table, operation.key)
        columns = sorted(chain.from_iterable(row.cells for row in rows))
    return tuple(
        StoredVersion(column, cell.timestamp, "put", cell.value)
        for column in sorted(columns)
        for cell in client.getVer(table, operation.key, column, operation.max_versions, {})
    )


# --- writes ---------------------------------------------------------------------------------------


def _mutate_row(client: Any, operation: MutateRow) -> None:
    mutation = operation.mutation
    if mutation.puts and mutation.deletes:
        raise needs_thrift2("a row mutation with both puts and deletes", operation)
    _send_mutation(client, table_bytes(operation), mutation, _single_timestamp(mutation, operation))


def _check_and_put(client: Any, operation: CheckAndMutate) -> bool:
    mutation = operation.mutation
    (put, *more) = mutation.puts or (None,)
    is_plain = put is not None and put.timestamp_ms is None and mutation.ttl_ms is None
    if not is_plain or more or mutation.deletes or operation.operator != "==":
        raise needs_thrift2(
            "a conditional change other than one plain put after ==",
            operation,
        )
    (change,) = _thrift_mutations(mutation)
    applied: bool = client.checkAndPut(
        table_bytes(operation), mutation.row, operation.column, operation.expected, change, {}
    )
    return applied


def _mutate_rows(client: Any, operation: MutateRows) -> None:
    table = table_bytes(operation)
    # One call has one timestamp and one TTL for all its rows; calls go in the order in which
    # their timestamps first appear.
    groups: dict[tuple[int | None, int | None], list[RowMutation]] = {}
    for mutation in operation.mutations:
        timestamp_ms = _single_timestamp(mutation, operation)
        groups.setdefault((timestamp_ms, mutation.ttl_ms), []).append(mutation)
    for (timestamp_ms, ttl_ms), mutations in groups.items():
        if len(mutations) == 1:
            # Fails at once on a missing or disabled table, where the call for many hangs.
            _send_mutation(client, table, mutations[0], timestamp_ms)
            continue
        batch = [
            HBASE1.BatchMutation(row=mutation.row, mutations=_thrift_mutations(mutation))
            for mutation in mutations
        ]
        if timestamp_ms is None:
            client.mutateRows(table, batch, _attributes(ttl_ms))
        else:
            client.mutateRowsTs(table, batch, timestamp_ms, _attributes(ttl_ms))


def _put_rows(client: Any, operation: PutRows) -> None:
    # A single row is put by the call for one row. For a missing or disabled table, the call for
    # several never answers.
    if len(operation.rows) < 2 or not client.line.is_binary:  # noqa: PLR2004 - many
        _mutate_rows(client, operation.as_mutations())
        return
    try:
        method, arguments = put_rows_call(operation)
    except TypeError as exc:
        raise unsendable("mutateRows") from exc
    client.call_encoded(method, arguments)


def _send_mutation(
    client: Any, table: bytes, mutation: RowMutation, timestamp_ms: int | None
) -> None:
    changes, attributes = _thrift_mutations(mutation), _attributes(mutation.ttl_ms)
    if timestamp_ms is None:
        client.mutateRow(table, mutation.row, changes, attributes)
    else:
        client.mutateRowTs(table, mutation.row, changes, timestamp_ms, attributes)


def _thrift_mutations(mutation: RowMutation) -> list[Any]:
    puts = [HBASE1.Mutation(column=put.column, value=put.value) for put in mutation.puts]
    return puts or [
        HBASE1.Mutation(isDelete=True, column=delete.column) for delete in mutation.deletes
    ]


def _single_timestamp(mutation: RowMutation, operation: Operation[Any]) -> int | None:
    stamps = [put.timestamp_ms for put in mutation.puts]
    stamps += [delete.timestamp_ms for delete in mutation.deletes]
    if stamps.count(stamps[0]) < len(stamps):
        raise needs_thrift2("a row mutation with several timestamps", operation)
    return stamps[0]


def _attributes(ttl_ms: int | None) -> dict[bytes, bytes]:
    # Any other width than 8 bytes would make the server retry for minutes.
    return {} if ttl_ms is None else {b"_ttl": ttl_ms.to_bytes(_TTL_BYTES, "big")}


def _increment(client: Any, operation: Increment) -> dict[bytes, int]:
    if len(operation.amounts) > 1:
        raise needs_thrift2("an increment of several columns", operation)
    return {
        column: client.atomicIncrement(table_bytes(operation), operation.row, column, amount)
        for column, amount in operation.amounts.items()
    }


def _append(client: Any, operation: Append) -> dict[bytes, bytes]:
    # The answer names no columns; it comes in the order of the cells in the row.
    columns = sorted(operation.values, key=lambda column: column.partition(b":"))
    request = HBASE1.TAppend(
        table=table_bytes(operation),
        row=operation.row,
        columns=columns,
        values=[operation.values[column] for column in columns],
    )
    cells = client.append(request)
    check_count(cells, len(columns))
    return {column: cell.value for column, cell in zip(columns, cells, strict=True)}
