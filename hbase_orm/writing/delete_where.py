"""Deletes the rows that a statement selects, batch by batch, in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any, Final

from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.binding.table_writer import TableWriter
from hbase_orm.errors import CorruptRowError, FlushError, QueryError
from hbase_orm.execute import CorruptRowCount, CorruptRows, Pages, Reading, Rows
from hbase_orm.model import Model
from hbase_orm.ops import Nested, ask
from hbase_orm.query import Select
from hbase_orm.reading.stream import matching_rows
from hbase_orm.writing.flush_outcome import FlushOutcome
from hbase_orm.writing.row_write import RowWrite
from hbase_orm.writing.send import BATCH_ROWS, send_writes

MOST_CORRUPT: Final = 1000
"""The largest number of rows that one deletion reports because they do not decode."""


def delete_rows(
    rows: Rows,
    stmt: Select[Any],
    bound: BoundModel,
    writer: TableWriter,
    *,
    bound_to: Callable[[Model], BoundModel],
    note: Callable[[RowWrite], None],
    corrupt: CorruptRows,
    undeleted: FlushOutcome,
) -> Reading[int]:
    """Delete the rows that a statement selects; return the number of deleted rows.

    Args:
        rows: The rows that the statement's plan reads.
        stmt: The statement.
        bound: The bound model of the statement.
        writer: The object that writes the tables.
        bound_to: A function that returns the bound model of an object, with the table of its row.
        note: A function that is called with each deleted row.
        corrupt: Decides about rows that do not decode, which are not deleted.
        undeleted: The corrupt rows that count as failures; see `corrupt_rows_of`.

    Raises:
        FlushError: Some rows were not deleted, or their outcome is unknown. The error for the rows
            in `undeleted` is raised at the end.
        CorruptRowError: A row does not decode, and `corrupt` does not leave it out.
    """
    deleted = 0
    with closing(Pages(rows)) as pages:
        deletes = _Deletes(pages, stmt, bound, bound_to, corrupt)
        while batch := (yield from deletes.next_batch()):
            sending = send_writes(batch, writer, FlushOutcome())
            outcome = yield from ask(Nested(sending))
            for write in outcome.written:
                note(write)
            deleted += len(outcome.written)
            if outcome.has_failures:
                outcome.add_failures(undeleted)
                raise _error(deleted, outcome) from outcome.unexpected
    if undeleted.has_failures:
        raise _error(deleted, undeleted)
    return deleted


def corrupt_rows_of(
    stmt: Select[Any], bound: BoundModel, count: CorruptRowCount
) -> tuple[CorruptRows, FlushOutcome]:
    """Return what decides about corrupt rows in a deletion, and the outcome of those that fail it.

    Only the statement's own rule allows a deletion to pass over corrupt rows in silence. Without
    such a rule, the first `MOST_CORRUPT` of them are recorded as not deleted.
    """
    undeleted, rule, model = FlushOutcome(), stmt.corrupt_rule, bound.schema.model_name
    if rule is not None and rule != "raise":
        return count.of(rule, model), undeleted

    def record(error: CorruptRowError) -> None:
        if len(undeleted.not_written) < MOST_CORRUPT:
            key = error.details.get("row", error.details.get("entry", b""))
            write = RowWrite(bound.in_table(error.details["table"]), None, key, "delete")
            undeleted.record_not_written((write,), error)

    return CorruptRows(record, model), undeleted


class _Deletes:
    """Creates the deletes of the rows that a statement selects, one batch at a time."""

    def __init__(
        self,
        pages: Pages,
        stmt: Select[Any],
        bound: BoundModel,
        bound_to: Callable[[Model], BoundModel],
        corrupt: CorruptRows,
    ) -> None:
        self._pages = pages
        self._stmt = stmt
        self._bound = bound
        self._bound_to = bound_to
        self._corrupt = corrupt
        self._left = stmt.row_limit
        self._objects: Iterator[Any] = iter(())

    def next_batch(self) -> Reading[list[RowWrite]]:
        """Return the deletes of the next batch; an empty list at the end."""
        batch: list[RowWrite] = []
        while len(batch) < BATCH_ROWS and self._left != 0:
            obj = next(self._objects, None)
            if obj is not None:
                batch.append(_delete_of(self._bound_to(obj), obj))
                self._left = None if self._left is None else self._left - 1
                continue
            page = yield from self._pages.next()
            if page is None:
                self._left = 0  # the read has ended
                break
            matching = matching_rows(iter((page,)), self._bound, self._stmt, self._corrupt)
            self._objects = (obj for _, obj in matching)
        return batch


def refuse_extras(stmt: Select[Any]) -> None:
    """Raise an error for a statement that does not just select whole rows.

    Raises:
        QueryError: The statement selects fields, single dynamic columns or groups, reads the past
            or from replicas, sorts in memory, or loads related rows.
    """
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
    if stmt.is_timeline:
        raise QueryError(
            "delete_where() cannot select rows by the outdated state that replicas may return",
            got="timeline",
            fix='leave .consistency("timeline") out',
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


def _error(deleted: int, outcome: FlushOutcome) -> FlushError:
    return outcome.error(
        "not all rows were deleted",
        written=deleted,
        again="delete again: rows that are already deleted are skipped",
    )
