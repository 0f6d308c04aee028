"""Deletes the rows that a statement selects, batch by batch, in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from itertools import islice
from typing import Any, Final

from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.binding.runtime import Runtime
from hbase_orm.errors import CorruptRowError, FlushError, MissingCellError, QueryError
from hbase_orm.model import Model
from hbase_orm.ops import Row
from hbase_orm.query import Select
from hbase_orm.reading.stream import matching_rows, planned, rows_in_pages
from hbase_orm.writing.flush_outcome import FlushOutcome
from hbase_orm.writing.row_write import RowWrite
from hbase_orm.writing.send import BATCH_ROWS, send_writes

MOST_CORRUPT: Final = 1000
"""Rows that do not decode of which a deletion remembers which they are."""


def delete_rows(
    stmt: Select[Any],
    bound: BoundModel,
    runtime: Runtime,
    bound_to: Callable[[Model], BoundModel],
    note: Callable[[RowWrite], None],
) -> int:
    """Delete what a statement selects and return how many rows that were.

    Args:
        stmt: The statement.
        bound: Its model.
        runtime: What sends.
        bound_to: Gives the model of an object, with the table of its row.
        note: Called with each row that was deleted.

    Raises:
        QueryError: The statement asks for more than whole rows.
        UnboundedScanError: It would read the whole table and does not allow it.
        FlushError: Some rows were not deleted, or their outcome is unknown. Those that do not
            decode are left, and named once all others are deleted.
    """
    _refuse_extras(stmt)
    pages = rows_in_pages(stmt, planned(stmt, bound, runtime), bound, runtime)
    deleted, corrupt = 0, FlushOutcome()
    with closing(pages):
        objects = islice(_decoded(pages, bound, stmt, corrupt), stmt.row_limit)
        for batch in _batches(_delete_of(bound_to(obj), obj) for obj in objects):
            outcome = runtime.run(send_writes(batch, runtime.writer, FlushOutcome()))
            for write in outcome.written:
                note(write)
            deleted += len(outcome.written)
            if outcome.has_failures:
                outcome.add_failures(corrupt)
                raise _error(deleted, outcome) from outcome.unexpected
    if corrupt.has_failures:
        raise _error(deleted, corrupt)
    return deleted


def _decoded(
    pages: Iterator[Sequence[Row]], bound: BoundModel, stmt: Select[Any], corrupt: FlushOutcome
) -> Iterator[Any]:
    """Yield what a statement selects, and note the rows that do not decode, the first of them."""
    for page in pages:
        try:
            objects = [obj for _, obj in matching_rows(iter((page,)), bound, stmt)]
        except (CorruptRowError, MissingCellError):
            objects = [obj for row in page for obj in _decoded_row(row, bound, stmt, corrupt)]
        yield from objects


def _decoded_row(
    row: Row, bound: BoundModel, stmt: Select[Any], corrupt: FlushOutcome
) -> list[Any]:
    try:
        return [obj for _, obj in matching_rows(iter(((row,),)), bound, stmt)]
    except (CorruptRowError, MissingCellError) as error:
        if len(corrupt.not_written) < MOST_CORRUPT:
            write = RowWrite(bound.with_table_of_row(row), None, row.key, "delete")
            corrupt.record_not_written((write,), error)
        return []


def _refuse_extras(stmt: Select[Any]) -> None:
    if stmt.entries is not None:
        raise QueryError(
            "only whole rows can be deleted",
            got=repr(stmt.entries),
            fix="leave .columns_between() out; to delete entries, delete them from an object "
            "and flush",
        )
    if stmt.selection is not None or stmt.groups:
        raise QueryError(
            "only whole rows can be deleted",
            got=[repr(field) for field in (*stmt.items, *stmt.groups)],
            fix=f"write select({stmt.model.__name__})",
        )
    if stmt.times is not None:
        raise QueryError(
            "delete_where() cannot select rows by their state in the past",
            got=repr(stmt.times),
            fix="leave .as_of() and .between_timestamps() out",
        )
    if stmt.sort is not None:
        raise QueryError(
            "delete_where() cannot sort: rows are deleted in the order in which they are read",
            got=[repr(order) for order in stmt.sort.orders],
            fix="leave .sort_in_memory() out, or delete the objects that session.all returns",
        )
    if stmt.related:
        raise QueryError(
            "only whole rows can be deleted",
            got=[repr(field) for field in stmt.related],
            fix="leave .load_related() out: related rows are not deleted",
        )


def _delete_of(bound: BoundModel, obj: Model) -> RowWrite:
    row = obj.__state__.row
    if row is None:
        raise AssertionError(obj)  # it was just read
    return RowWrite(bound, None, row.key, "delete")


def _batches(writes: Iterator[RowWrite]) -> Iterator[list[RowWrite]]:
    while batch := list(islice(writes, BATCH_ROWS)):
        yield batch


def _error(deleted: int, outcome: FlushOutcome) -> FlushError:
    return FlushError(
        "not all rows were deleted",
        **outcome.rows(written=deleted),
        fix="correct the cause and delete again: rows that are already deleted are skipped",
    )
