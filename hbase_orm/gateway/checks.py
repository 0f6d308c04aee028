"""Checks that refuse requests that HBase does not accept, before anything is sent.

Without these checks, a client's mistake may have one of these results in a Thrift gateway:

- The error is only "Internal error processing …".
- A column without a colon is silently dropped.
- The call blocks, because an attribute has the wrong width.

Every gateway calls `check_request` first. So all gateways refuse the same requests with the same
errors.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from itertools import chain
from typing import Any, cast

from hbase_orm.errors import RejectedError
from hbase_orm.ops import (
    MAX_CELL_BYTES,
    MAX_ROW_KEY_BYTES,
    Append,
    CheckAndMutate,
    Delete,
    FetchRows,
    GetRows,
    GetVersions,
    GetVersionsOfRows,
    Increment,
    MutateRow,
    MutateRows,
    OpenScanner,
    Operation,
    Put,
    PutRows,
    PutStampedRows,
    ReadFirstRows,
    RowMutation,
    Scan,
    Sleep,
    StampedRows,
    Together,
)

# KeyValue: 4 + 4 bytes of lengths, 2 + 1 of row and family length, 8 of timestamp, 1 of type; and 4
# for the length of the KeyValue itself, which the region server counts too.
CELL_OVERHEAD_BYTES = 24

# Filters whose answer for one row depends on rows before it.
_ENDS_SCANS = re.compile(rb"\b(?:WHILE|PageFilter)\b")
_QUOTED = re.compile(rb"'(?:[^']|'')*'")

MAX_LONG = 2**63 - 1
MIN_LONG = -(2**63)


def check_request(operation: Operation[Any]) -> None:
    """Raise an error for a request that HBase would refuse, ignore or block on.

    `Together` and `Sleep` are refused too, because HBase has no such requests. The driver sends the
    parts of a `Together`, and waits for a `Sleep`.

    Raises:
        RejectedError: HBase does not allow the request. For example, a row key or cell is too long,
            or a `MutateRows` has puts and deletes of the same row.
    """
    check = _CHECKS.get(type(operation))
    if check is not None:
        check(operation)


def _check_row_key(key: bytes) -> None:
    if not key:
        raise RejectedError("a row key is empty", fix="give the row key at least one byte")
    if len(key) > MAX_ROW_KEY_BYTES:
        raise RejectedError(
            "a row key is longer than HBase stores",
            length_bytes=len(key),
            limit_bytes=MAX_ROW_KEY_BYTES,
            starts_with=key[:16],
            fix="shorten the row key",
        )


def _check_column(column: bytes) -> None:
    if column.find(b":") < 1:
        raise RejectedError(
            "a column is not written as family:qualifier",
            column=column,
            fix="write b'family:qualifier'; b'family:' is the empty qualifier",
        )


def _check_selection(columns: Iterable[bytes]) -> None:
    for column in columns:
        if not column or column.startswith(b":"):
            raise RejectedError(
                "a column has no family",
                column=column,
                fix="write b'family:qualifier', or b'family' for all its columns",
            )


def _check_timestamp(timestamp_ms: int | None) -> None:
    if timestamp_ms is not None and not 0 <= timestamp_ms <= MAX_LONG:
        raise RejectedError(
            "a timestamp is out of range",
            timestamp_ms=timestamp_ms,
            fix="use 0 to 2^63-1 milliseconds; with 2^63-1 the server sets the time",
        )


def _check_cell(row: bytes, column: bytes, value: bytes) -> None:
    size = CELL_OVERHEAD_BYTES + len(row) + len(column) - 1 + len(value)
    if size > MAX_CELL_BYTES:
        raise RejectedError(
            "a cell is larger than the largest cell that HBase stores",
            row=row[:16],
            column=column,
            size_bytes=size,
            limit_bytes=MAX_CELL_BYTES,
            fix="split the value over several columns or rows",
        )


def _check_mutation(mutation: RowMutation) -> None:
    _check_row_key(mutation.row)
    if not (mutation.puts or mutation.deletes):
        raise RejectedError(
            "a row mutation changes nothing", row=mutation.row, fix="give it a put or a delete"
        )
    most_bytes = MAX_CELL_BYTES - CELL_OVERHEAD_BYTES - len(mutation.row)
    for put in mutation.puts:
        # Nearly every cell passes this quick test; `_check_put` finds what is wrong with a cell.
        if len(put.column) + len(put.value) > most_bytes or put.column.find(b":") < 1:
            _check_put(mutation.row, put)
        if put.timestamp_ms is not None:
            _check_timestamp(put.timestamp_ms)
    for delete in mutation.deletes:
        _check_delete(delete)
    if mutation.deletes:
        _check_families_once(mutation)
    ttl_ms = mutation.ttl_ms
    if ttl_ms is not None and not 1 <= ttl_ms <= MAX_LONG:
        raise RejectedError(
            "a cell's time to live is out of range", ttl_ms=ttl_ms, fix="use 1 ms or more"
        )


def _check_families_once(mutation: RowMutation) -> None:
    families = [delete.column for delete in mutation.deletes if b":" not in delete.column]
    if len(set(families)) < len(families):
        # Delete.addFamily replaces an earlier delete of the family, even one of a higher timestamp.
        raise RejectedError(
            "a row mutation deletes a family twice",
            row=mutation.row,
            families=families,
            fix="delete the family once, at the higher timestamp",
        )


def _check_put(row: bytes, put: Put) -> None:
    _check_column(put.column)
    _check_cell(row, put.column, put.value)


def _check_delete(delete: Delete) -> None:
    _check_selection((delete.column,))
    _check_timestamp(delete.timestamp_ms)


def _check_get_rows(operation: GetRows) -> None:
    for key in operation.keys:
        _check_row_key(key)
    _check_selection(operation.columns)
    _check_timestamp(operation.before_ms)
    _check_timestamp(operation.from_ms)


def _check_get_versions(operation: GetVersions) -> None:
    _check_row_key(operation.key)
    _check_selection(operation.columns)
    if operation.max_versions < 1:
        raise RejectedError(
            "the number of versions is not positive",
            max_versions=operation.max_versions,
            fix="ask for 1 version or more",
        )
    if operation.raw and any(b":" in column for column in operation.columns):
        raise RejectedError(
            "a read that shows tombstones (raw) cannot name single columns",
            columns=operation.columns,
            fix="name whole families, or leave the columns out",
        )


def _check_get_versions_of_rows(operation: GetVersionsOfRows) -> None:
    for key in operation.keys:
        _check_get_versions(operation.of(key))


def _check_first_rows(operation: ReadFirstRows | OpenScanner) -> None:
    _check_scan(operation.scan)
    _check_count(operation.count if isinstance(operation, ReadFirstRows) else operation.wanted_rows)


def _check_scan(scan: Scan) -> None:
    _check_selection(scan.columns)
    _check_timestamp(scan.before_ms)
    _check_timestamp(scan.from_ms)
    if scan.caching_rows < 1:
        raise RejectedError(
            "a scan's caching is not positive", caching_rows=scan.caching_rows, fix="use 1 or more"
        )
    text = scan.filter or b""
    if (
        scan.reverse
        and scan.key_range.stop is not None
        and _ENDS_SCANS.search(without_quoted(text))
    ):
        raise RejectedError(
            "in a reverse scan HBase also reads the row above the range, and this filter "
            "would count it",
            filter=scan.filter,
            fix="leave the upper end of the range open, or limit and check on the client",
        )


def without_quoted(text: bytes) -> bytes:
    """Return a filter's text without its quoted parts."""
    return _QUOTED.sub(b"", text)


def _check_fetch(operation: FetchRows) -> None:
    _check_count(operation.count)


def _check_count(count: int | None) -> None:
    if count is not None and count < 1:
        raise RejectedError(
            "the number of rows to fetch is not positive",
            count=count,
            fix="fetch 1 row or more: an empty answer means the end",
        )


def _check_mutate_rows(operation: MutateRows) -> None:
    put_rows = set[bytes]()
    deleted_rows = set[bytes]()
    for mutation in operation.mutations:
        _check_mutation(mutation)
        if mutation.puts:
            put_rows.add(mutation.row)
        if mutation.deletes:
            deleted_rows.add(mutation.row)
    mixed = put_rows & deleted_rows
    if mixed:
        raise RejectedError(
            "a batch has both puts and deletes of one row",
            row=min(mixed),
            fix="use MutateRow, or send the deletes first and the puts in a later batch",
        )


def _check_put_rows(operation: PutRows) -> None:
    for column in operation.columns:
        _check_column(column)
    if len(set(operation.columns)) < len(operation.columns):
        raise RejectedError(
            "a column is named twice", columns=operation.columns, fix="name each column once"
        )
    _check_timestamp(operation.timestamp_ms)
    width = 1 + len(operation.columns)
    if any(len(row) != width for row in operation.rows):
        raise RejectedError(
            "a row does not have exactly one value for each column",
            columns=operation.columns,
            fix="give each row its key and one value for each column; None means no cell",
        )
    if not _is_surely_fine(operation):
        _check_mutate_rows(operation.as_mutations())


def _is_surely_fine(operation: PutRows) -> bool:
    """Return whether a quick check shows that all rows are valid.

    False means that each row must be checked.
    """
    rows = operation.rows
    lengths = [len(row[0]) for row in rows if row[0]]
    if not rows or len(lengths) < len(rows) or max(lengths) > MAX_ROW_KEY_BYTES:
        return False
    if any(row.count(None) == len(operation.columns) for row in rows):
        return False
    names_bytes = max(map(len, operation.columns))
    contents_bytes = sum(map(len, filter(None, chain.from_iterable(rows))))
    return contents_bytes + names_bytes + CELL_OVERHEAD_BYTES <= MAX_CELL_BYTES


def _check_put_stamped_rows(operation: PutStampedRows) -> None:
    for group in operation.groups:
        width = len(group.columns)
        if (
            len(group.rows) != len(group.stamps)
            or not {*map(len, group.rows)} <= {width + 1}
            or not {*map(len, group.stamps)} <= {width}
        ):
            raise RejectedError(
                "a row does not have exactly one value and one timestamp for each column",
                columns=group.columns,
                fix="give each row its key, and for each column one value and one timestamp",
            )
        if not _are_surely_fine(group):
            for mutation in group.mutations():
                _check_mutation(mutation)


def _are_surely_fine(group: StampedRows) -> bool:
    """Return whether a quick check shows that all rows are valid.

    False means that each row must be checked.
    """
    if not group.rows or not group.columns or any(c.find(b":") < 1 for c in group.columns):
        return False
    lengths = [len(row[0]) for row in group.rows]
    stamps = [*chain.from_iterable(group.stamps)]
    names_bytes = max(map(len, group.columns))
    contents_bytes = sum(map(len, chain.from_iterable(group.rows)))
    return (
        min(lengths) > 0
        and max(lengths) <= MAX_ROW_KEY_BYTES
        and min(stamps) >= 0
        and max(stamps) <= MAX_LONG
        and contents_bytes + names_bytes + CELL_OVERHEAD_BYTES <= MAX_CELL_BYTES
    )


def _check_conditional(operation: CheckAndMutate) -> None:
    _check_column(operation.column)
    _check_mutation(operation.mutation)
    if not operation.expected and operation.operator != "==":
        raise RejectedError(
            "empty bytes mean that the cell is absent, and only == can compare with them",
            column=operation.column,
            operator=operation.operator,
            fix="compare with ==, or with at least one byte",
        )


def _check_amounts(operation: Increment) -> None:
    _check_row_key(operation.row)
    _refuse_no_columns(operation.amounts)
    for column, amount in operation.amounts.items():
        _check_column(column)
        if not MIN_LONG <= amount <= MAX_LONG:
            raise RejectedError(
                "an amount does not fit 64 bits", column=column, amount=amount, fix="add less"
            )


def _check_values(operation: Append) -> None:
    _check_row_key(operation.row)
    _refuse_no_columns(operation.values)
    for column, value in operation.values.items():
        _check_column(column)
        _check_cell(operation.row, column, value)


def _refuse_no_columns(columns: Iterable[bytes]) -> None:
    if not any(True for _ in columns):
        raise RejectedError("the request names no column", fix="name at least one column")


def _refuse_driver_request(operation: Operation[Any]) -> None:
    raise RejectedError(
        "the driver handles this request, not a gateway",
        request=type(operation).__name__,
        fix="run the protocol with hbase_orm.gateway.drive",
    )


_CHECKS: dict[type, Callable[[Any], None]] = {
    Append: _check_values,
    CheckAndMutate: _check_conditional,
    FetchRows: _check_fetch,
    GetRows: _check_get_rows,
    GetVersions: _check_get_versions,
    GetVersionsOfRows: _check_get_versions_of_rows,
    Increment: _check_amounts,
    MutateRow: lambda operation: _check_mutation(cast("MutateRow", operation).mutation),
    MutateRows: _check_mutate_rows,
    OpenScanner: _check_first_rows,
    PutRows: _check_put_rows,
    PutStampedRows: _check_put_stamped_rows,
    ReadFirstRows: _check_first_rows,
    Sleep: _refuse_driver_request,
    Together: _refuse_driver_request,
}
