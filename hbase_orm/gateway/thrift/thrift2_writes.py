"""The writes of the gateway over Thrift2: which call each request takes, and its arguments."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

from hbase_orm.gateway.thrift.decoding.decoded import DecodedValue
from hbase_orm.gateway.thrift.decoding.flag_answers import usual_flag
from hbase_orm.gateway.thrift.decoding.incoming import GarbledAnswerError
from hbase_orm.gateway.thrift.encoding.check_and_mutate import check_and_mutate_arguments
from hbase_orm.gateway.thrift.encoding.put_stamped_rows import put_multiple_arguments
from hbase_orm.gateway.thrift.gateway import table_bytes
from hbase_orm.gateway.thrift.wire import HBASE2, unsendable
from hbase_orm.ops import (
    Append,
    CheckAndMutate,
    Delete,
    Increment,
    MutateRow,
    MutateRows,
    Put,
    PutRows,
    PutStampedRows,
    RowMutation,
)

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


def column_ref(column: bytes, timestamp_ms: int | None = None) -> Any:
    """Return a column, or a whole family, as Thrift2 names it."""
    family, colon, qualifier = column.partition(b":")
    return HBASE2.ColumnRef(
        family=family, qualifier=qualifier if colon else None, timestamp=timestamp_ms
    )


def mutate_row(client: Any, operation: MutateRow) -> None:
    """Change one row by `MutateRow`."""
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


def check_and_mutate(client: Any, operation: CheckAndMutate) -> bool:
    """Return whether a `CheckAndMutate` changed its row."""
    is_applied: bool
    if client.line.is_binary:
        try:
            arguments = check_and_mutate_arguments(operation, _OPERATORS[operation.operator])
        except (TypeError, struct.error) as exc:
            raise unsendable("checkAndMutate") from exc
        is_applied = client.call_encoded("checkAndMutate", arguments, usual=usual_flag)
        return is_applied
    column = column_ref(operation.column)
    is_applied = client.checkAndMutate(
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


def mutate_rows(client: Any, operation: MutateRows) -> None:
    """Change rows by `MutateRows`."""
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


def put_rows(client: Any, operation: PutRows) -> None:
    """Put the rows of a `PutRows`."""
    mutate_rows(client, operation.as_mutations())


def put_stamped_rows(client: Any, operation: PutStampedRows) -> None:
    """Put the rows of a `PutStampedRows`."""
    # A single row is put by the call for one row. For a missing or disabled table, the call for
    # several never answers.
    if sum(len(group.rows) for group in operation.groups) < 2 or not client.line.is_binary:  # noqa: PLR2004 - many
        mutate_rows(client, operation.as_mutations())
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
    columns = [column_ref(delete.column, delete.timestamp_ms) for delete in deletes]
    return HBASE2.DeleteRequest(row=row, columns=columns, kind=kind)


def increment(client: Any, operation: Increment) -> dict[bytes, int]:
    """Return the new numbers of an `Increment`, by column."""
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


def append(client: Any, operation: Append) -> dict[bytes, bytes]:
    """Return the new values of an `Append`, by column."""
    values = [_column_value(Put(column, value)) for column, value in operation.values.items()]
    request = HBASE2.AppendRequest(row=operation.row, values=values)
    result = client.append(table_bytes(operation), request)
    return {value.column: value.value for value in result.values}
