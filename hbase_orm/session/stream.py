"""What a statement finds, one by one: an iterator that holds scanners open and can be closed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from operator import itemgetter
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from hbase_orm.errors import StreamInterruptedError
from hbase_orm.execute import Note, rows_of, stream
from hbase_orm.ops import ListTables, Row
from hbase_orm.query import (
    GetPlan,
    IndexPlan,
    Plan,
    Select,
    compile_check,
    loaded_by,
    names_in,
    plan,
)
from hbase_orm.session.binding import BoundModel
from hbase_orm.session.catalogued import answerer, by_readable_index
from hbase_orm.session.past import by_row_key, in_times
from hbase_orm.session.repairs import is_repaired, repaired
from hbase_orm.session.runtime import Runtime
from hbase_orm.session.slices import Looked, leave_out_others, sliced
from hbase_orm.session.unclosed import Reading, RowPages
from hbase_orm.session.values import aggregated, in_order, sort_values, sorted_values, values_found

T = TypeVar("T")

Watch = Callable[[Iterable[Any]], Iterator[Any]]
"""Passes things on, and may look at them."""


class Stream(Iterator[T], Generic[T]):
    """Yields results one by one; ends when everything was read, raises what a read raises.

    Closing it releases the server's scanners; so does reading it to its end. One that is dropped
    instead is closed by the engine's next read. After an error, or an exception from outside as of
    Ctrl-C or a time limit, it gives nothing more: asked again it raises `StreamInterruptedError`,
    for an end would look as though everything had been read.
    """

    def __init__(self, items: Iterator[Any], close: Callable[[], None]) -> None:
        """Yield `items`; `close` releases what they hold open."""
        self._items = items
        self._close = close
        self._is_under_way = False

    def __next__(self) -> T:
        """Return the next result.

        Raises:
            StreamInterruptedError: An earlier call ended by an exception: read again.
        """
        if self._is_under_way:
            raise StreamInterruptedError(
                "an exception ended this stream before everything was read",
                fix="run the statement again",
            )
        # Reset by what ends well: an exception may come from outside between any two steps.
        self._is_under_way = True
        try:
            item: T = next(self._items)
        except StopIteration:
            self.close()
            raise
        except BaseException:
            self._close()
            raise
        self._is_under_way = False
        return item

    def __enter__(self) -> Self:
        """Return the stream."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> None:
        """Close it."""
        self.close()

    def close(self) -> None:
        """Release the server's scanners; further reading ends at once."""
        self._items = iter(())
        self._is_under_way = False
        self._close()


def planned(stmt: Select[Any], bound: BoundModel, runtime: Runtime) -> Plan:
    """Return the plan of a statement.

    Sends nothing, but to look up names that have a number in their stead, the tables of a
    statement that reads all of them, and, once a lease, whether an index may be used.
    """
    schema = bound.schema
    stmt = by_row_key(stmt)
    numbers = bound.names.find(names_in(stmt, schema)) if schema.layout.lookups else {}
    period = schema.layout.table_period
    existing = None
    if period is not None and stmt.full_scan_allowed:
        tables = runtime.execute(ListTables())
        starts = (period.unit.start_of(schema.table, table) for table in tables)
        existing = [start for start in starts if start is not None]
    chosen = plan(stmt, schema, numbers, existing, bound.shapes)
    if isinstance(chosen, IndexPlan):
        chosen = by_readable_index(
            stmt,
            chosen,
            lambda schema, shapes: plan(stmt, schema, numbers, existing, shapes),
            bound,
            runtime,
        )
    return chosen if stmt.times is None else replace(chosen, times=stmt.times)


def rows_in_pages(
    chosen: Plan,
    bound: BoundModel,
    runtime: Runtime,
    looked: Looked | None = None,
    note: Note | None = None,
) -> RowPages:
    """Return what reads the rows of a plan, page by page; close it to release open scanners.

    Closes what earlier reads dropped.

    Args:
        chosen: The plan.
        bound: Its model.
        runtime: Where requests go.
        looked: Sees the rows that are found before a range of their entries is read.
        note: Sees index entries that no row has; without it they are repaired once the rows are
            read, if the engine does so.
    """
    runtime.unclosed.close_dropped()
    return runtime.unclosed.handle(_reading(chosen, bound, runtime, looked, note))


def _reading(
    chosen: Plan,
    bound: BoundModel,
    runtime: Runtime,
    looked: Looked | None = None,
    note: Note | None = None,
) -> Reading:
    if chosen.times is not None:
        newest = replace(chosen, times=None)
        return in_times(
            chosen.times, runtime, lambda past: _reading(newest, bound, past, looked, note)
        )
    for key in chosen.keys if isinstance(chosen, GetPlan) else ():
        bound.checked_key(key)
    if chosen.entries is not None:
        return sliced(chosen, chosen.entries, bound, runtime, looked or Looked())
    if isinstance(chosen, IndexPlan) and note is None and is_repaired(chosen.index, runtime):
        return repaired(chosen, bound, runtime)
    answer = answerer(chosen, bound, runtime)
    return stream(rows_of(chosen, bound.guarded), answer, runtime.each, note)


def selected(
    pages: Iterator[Sequence[Row]], bound: BoundModel, stmt: Select[Any], kept: Watch = iter
) -> Iterator[Any]:
    """Yield what the statement gives of the rows that exist and fulfil every condition.

    Args:
        pages: The rows that were read.
        bound: Their model.
        stmt: The statement.
        kept: Sees the rows that fulfil every condition on their way into groups or a sort.
    """
    return islice(_results(pages, bound, stmt, kept), stmt.row_limit)


def _results(
    pages: Iterator[Sequence[Row]], bound: BoundModel, stmt: Select[Any], kept: Watch
) -> Iterator[Any]:
    if stmt.is_aggregated:
        return aggregated(pages, bound, stmt, kept)
    if stmt.sort is None:
        return map(itemgetter(1), found(pages, bound, stmt))
    if stmt.selection is not None:
        return in_order(kept(sorted_values(pages, bound, stmt, stmt.sort)), stmt.sort)
    orders = stmt.sort.orders
    objects = (obj for _, obj in found(pages, bound, stmt))
    return in_order(kept((sort_values(obj, bound, orders), obj) for obj in objects), stmt.sort)


def found(
    pages: Iterator[Sequence[Row]], bound: BoundModel, stmt: Select[Any]
) -> Iterator[tuple[Row, Any]]:
    """Yield the rows that exist and fulfil every condition, each with its object or its values."""
    return (_objects if stmt.selection is None else values_found)(pages, bound, stmt)


def _objects(
    pages: Iterator[Sequence[Row]], bound: BoundModel, stmt: Select[Any]
) -> Iterator[tuple[Row, Any]]:
    # Of a row that comes with a range of its entries, more was read when it was checked.
    conditions = stmt.conditions if stmt.entries is None else ()
    check = compile_check(bound.schema, conditions)
    loaded = loaded_by(stmt, bound.schema)
    for page in pages:
        bound.load_names(page)
        for row in page:
            if not bound.exists(row):
                continue
            obj = bound.of_row(row).hydrate(row, loaded)
            if check is not None and not check(obj.__dict__):
                continue
            if stmt.entries is not None:
                leave_out_others(stmt.entries, obj)
            if stmt.times is not None:
                obj._row = None  # noqa: SLF001 - what was is nothing to compare changes with
            yield row, obj
