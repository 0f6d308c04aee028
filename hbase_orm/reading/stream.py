"""Streams: iterators over the results of a statement, which hold scanners and can be closed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from itertools import islice
from operator import itemgetter
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.binding.dictionaries import Numbers
from hbase_orm.binding.table_moves.periods_with_rows import look_ups_in_moves
from hbase_orm.binding.table_writer import TableWriter
from hbase_orm.binding.usable_indexes import by_readable_index, while_usable
from hbase_orm.errors import CorruptRowError, StreamInterruptedError
from hbase_orm.execute import CorruptRows, Emit, Note, Rows, Staleness, get_of, rows_of, through
from hbase_orm.ops import GetRows, Protocol, RenewTimeLimit, Row, StaleRow, ask
from hbase_orm.query import (
    GetPlan,
    IndexPlan,
    Plan,
    Select,
    fields_read,
    loaded_by,
    plan,
)
from hbase_orm.reading.past import by_row_key
from hbase_orm.reading.repair_on_read import Repairs
from hbase_orm.reading.results import (
    aggregated,
    in_order,
    selected_values,
    sort_values,
    sorted_values,
    values_only,
)
from hbase_orm.reading.timeline import without_indexes
from hbase_orm.reading.wide_rows import ReadObserver, leave_out_others, rows_with_entries
from hbase_orm.schema import NO_FIELDS

T = TypeVar("T")

Watch = Callable[[Iterable[Any]], Iterator[Any]]
"""A function that yields the items of its argument, and may count them."""


class Stream(Iterator[T], Generic[T]):
    """Yields results one by one, until everything is read; raises the errors of the reads.

    Closing a stream, or reading it to its end, releases the server's scanners. If a program drops a
    stream without closing it, the engine's next read closes it. After an error, or after
    an exception such as Ctrl-C, the next call raises `StreamInterruptedError`. A normal end would
    mean that everything was read.
    """

    def __init__(
        self,
        items: Iterator[Any],
        close: Callable[[], None],
        staleness: Staleness | None = None,
        *,
        of: Select[Any] | None = None,
        corrupt: CorruptRows | None = None,
    ) -> None:
        """Make a stream of `items`.

        Args:
            items: The results.
            close: A function that releases the scanners.
            staleness: Records whether a replica answered; None if no replica can answer.
            of: The statement, which the `repr` shows.
            corrupt: Counts the rows that are left out; None if no row can be left out.
        """
        self._of = of
        self._corrupt = corrupt
        self._is_closed = False
        self._items = items
        self._close = close
        self._staleness = staleness
        self._is_under_way = False

    def __repr__(self) -> str:
        """Return the statement, and whether the stream is open, closed or interrupted."""
        state = "interrupted" if self._is_under_way else "closed" if self._is_closed else "open"
        return f"Stream({'' if self._of is None else f'{self._of!r}, '}{state})"

    @property
    def stale(self) -> bool:
        """Whether a replica answered so far: results may be outdated, and others missing.

        Only statements with `.consistency("timeline")` read from replicas. The results are read
        some at a time, so the value is final at the end of the stream.
        """
        return self._staleness is not None and self._staleness.is_stale

    @property
    def corrupt_rows(self) -> int:
        """How many rows were left out so far because they do not decode; see `on_corrupt`.

        The results are read some at a time, so the value is final at the end of the stream.
        """
        return 0 if self._corrupt is None else self._corrupt.count

    def __next__(self) -> T:
        """Return the next result.

        Raises:
            StreamInterruptedError: An earlier call raised an exception: run the statement again.
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
        """Close the stream."""
        self.close()

    def close(self) -> None:
        """Release the server's scanners; the next call of `next` raises StopIteration."""
        self._items = iter(())
        self._is_closed = True
        self._is_under_way = False
        self._close()


def planned(stmt: Select[Any], bound: BoundModel, writer: TableWriter) -> Protocol[Plan]:
    """Return the plan of a statement.

    Planning may send requests:

    - It looks up names that the row key stores as numbers.
    - It lists the tables of a model with a table for each period. While rows of an old table move
      to them, it also looks for the periods of these rows.
    - Once per lease time, it reads the catalog to learn which indexes may be used.
    """
    if stmt.times is not None:
        stmt = by_row_key(stmt)
    if stmt.is_timeline:
        stmt = without_indexes(stmt)
    numbers: Numbers = {}
    starts: list[datetime] | None = None
    if bound.needs_look_ups:
        look_ups = look_ups_in_moves(bound, stmt, writer.moves, writer.guard_context)
        numbers, starts = yield from look_ups
        yield from ask(RenewTimeLimit())
    chosen = plan(stmt, bound.schema, numbers, starts, bound.shapes)
    if isinstance(chosen, IndexPlan):
        chosen = yield from by_readable_index(
            stmt,
            chosen,
            lambda schema, shapes: plan(stmt, schema, numbers, starts, shapes),
            bound,
            writer.catalog,
        )
    if stmt.times is None and not stmt.is_timeline:
        return chosen
    as_selected = partial(replace, times=stmt.times, is_timeline=stmt.is_timeline)
    return as_selected(chosen.in_each_table(as_selected))


def only_get(chosen: Plan, bound: BoundModel) -> GetRows | None:
    """Return the request that reads all rows of a plan; None if the plan is more than one get."""
    if not isinstance(chosen, GetPlan) or chosen.families or chosen.entries is not None:
        return None
    if chosen.is_timeline or bound.keys.names is not None or not bound.schema.storage.has_own_rows:
        return None
    for key in chosen.keys:
        bound.keys.checked(key)
    return get_of(chosen)


@dataclass(frozen=True, slots=True)
class PlannedRead:
    """The read of a plan's rows, and the repair of index entries after it.

    Attributes:
        rows: A generator that makes the requests and emits the rows.
        after: A function to call after the read. It returns the protocol that repairs index
            entries, or None if there are no entries to repair. The attribute is None if the read
            collects no entries.
        staleness: Records whether a replica answered; None if no replica can answer.
    """

    rows: Rows
    after: Callable[[], Protocol[None] | None] | None = None
    staleness: Staleness | None = None

    def after_report(self, corrupt: CorruptRows) -> Callable[[], Protocol[None] | None]:
        """Return a function like `after` that first reports the rows that were left out."""

        def after() -> Protocol[None] | None:
            corrupt.report()
            return None if self.after is None else self.after()

        return after


def read_of(
    stmt: Select[Any],
    chosen: Plan,
    bound: BoundModel,
    writer: TableWriter,
    corrupt: CorruptRows,
    *,
    observer: ReadObserver | None = None,
    note: Note | None = None,
) -> PlannedRead:
    """Return the read of a plan's rows, with the repair of index entries that follows it.

    Args:
        stmt: The statement.
        chosen: The plan of the statement.
        bound: The bound model of the statement.
        writer: The table writer, by which index entries are repaired; it has the cached catalog.
        corrupt: Decides about rows that do not decode, when the rows are taken.
        observer: An object that sees the rows before a range of their dynamic columns is read.
        note: A function that is called with the stale and unverified index entries. If it is None
            and the engine repairs on read, the entries are repaired after the read.
    """
    corrupt.holds_marks = (
        isinstance(chosen, IndexPlan)
        or chosen.entries is not None
        or not bound.schema.storage.has_own_rows
    )
    rows = _rows(stmt, chosen, bound, observer or ReadObserver())
    if stmt.is_timeline:
        staleness = Staleness()
        return PlannedRead(staleness.watch(rows), staleness=staleness)
    if not isinstance(chosen, IndexPlan):
        return PlannedRead(rows)
    repairs = None
    is_kept = chosen.index.maintained == "always"
    if note is None and writer.repairs_on_read and bound.repairs and is_kept:
        repairs = Repairs(chosen.index, bound, writer)
        note = repairs.note
    rows = while_usable(rows, chosen, bound, writer.catalog, note)
    return PlannedRead(rows, None if repairs is None else repairs.after_read)


def _rows(stmt: Select[Any], chosen: Plan, bound: BoundModel, observer: ReadObserver) -> Rows:
    """Read the rows of a plan, and look up the names whose numbers are in their keys."""
    for key in chosen.keys if isinstance(chosen, GetPlan) else ():
        bound.keys.checked(key)
    if chosen.entries is not None:
        return rows_with_entries(chosen, chosen.entries, bound, observer)
    rows = rows_of(chosen, bound.guarded)
    fields = None if stmt.selection is None else [field.name for field in fields_read(stmt)]
    names = bound.keys.names
    if names is None or not names.are_in(fields):
        return rows
    return through(rows, partial(_with_names, bound))


def _with_names(bound: BoundModel, emit: Emit) -> Rows:
    names = yield from bound.load_names(emit.rows)
    yield emit
    del names  # held until the rows have been used


def selected(
    pages: Iterator[Sequence[Row]],
    bound: BoundModel,
    stmt: Select[Any],
    corrupt: CorruptRows,
    kept: Watch = iter,
) -> Iterator[Any]:
    """Yield the results of the rows that exist and fulfil every condition.

    Args:
        pages: The pages of rows that were read.
        bound: The bound model of the rows.
        stmt: The statement.
        corrupt: Decides about rows that do not decode.
        kept: A function through which the matching rows pass before they are grouped or sorted.
    """
    return islice(_results(pages, bound, stmt, corrupt, kept), stmt.row_limit)


def _results(
    pages: Iterator[Sequence[Row]],
    bound: BoundModel,
    stmt: Select[Any],
    corrupt: CorruptRows,
    kept: Watch,
) -> Iterator[Any]:
    if stmt.is_aggregated:
        return aggregated(pages, bound, stmt, corrupt, kept)
    if stmt.sort is None:
        if stmt.selection is not None:
            return values_only(pages, bound, stmt, corrupt)
        return map(itemgetter(1), matching_rows(pages, bound, stmt, corrupt))
    if stmt.selection is not None:
        return in_order(kept(sorted_values(pages, bound, stmt, corrupt)), stmt.sort)
    orders = stmt.sort.orders
    objects = (obj for _, obj in matching_rows(pages, bound, stmt, corrupt))
    return in_order(kept((sort_values(obj, bound, orders), obj) for obj in objects), stmt.sort)


def matching_rows(
    pages: Iterator[Sequence[Row]], bound: BoundModel, stmt: Select[Any], corrupt: CorruptRows
) -> Iterator[tuple[Row, Any]]:
    """Yield the rows that exist and fulfil every condition, each with its object or its values.

    Raises:
        CorruptRowError: A row does not decode, and `corrupt` does not leave it out.
    """
    return (_objects if stmt.selection is None else selected_values)(pages, bound, stmt, corrupt)


def _objects(
    pages: Iterator[Sequence[Row]], bound: BoundModel, stmt: Select[Any], corrupt: CorruptRows
) -> Iterator[tuple[Row, Any]]:
    # A row with a range of its entries was checked before, when it still had its other cells.
    conditions = stmt.conditions if stmt.entries is None else ()
    check = bound.matches.of(conditions)
    loaded = loaded_by(stmt, bound.schema) if bound.defers else NO_FIELDS
    is_usual = stmt.entries is None and stmt.times is None and not stmt.is_timeline
    hydrate, exists, shows_every_row = bound.hydrator(loaded), bound.exists, bound.shows_every_row
    table = bound.schema.table
    for page in pages:
        for row in corrupt.decodable(page, table):
            if not (shows_every_row or exists(row)):
                continue
            try:
                obj = hydrate(row)
            except CorruptRowError as error:
                own = bound.with_table_of_row(row)
                if corrupt.leaves_out(error, own.schema.table, row.key):
                    continue
                raise
            if check is not None and not check(obj.__dict__):
                continue
            if not is_usual:
                _note_read(stmt, row, obj)
            yield row, obj


def _note_read(stmt: Select[Any], row: Row, obj: Any) -> None:
    """Note in an object how it was read: in part, from the past, or from a replica."""
    if stmt.entries is not None:
        leave_out_others(stmt.entries, obj)
    if stmt.times is not None:
        obj.__state__.row = None  # changes are not compared with past cells
    if isinstance(row, StaleRow):
        obj.__state__.is_stale = True
