"""The results of statements that select values or aggregates instead of objects.

Values are read directly from the rows. Groups are aggregated while the rows are read. A sort holds
all rows in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import itemgetter
from typing import Any

from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.errors import QueryError
from hbase_orm.model.mapping.projection import check_present, reader_of, required
from hbase_orm.ops import Row
from hbase_orm.query import (
    Grouping,
    Select,
    Sort,
    codec_of,
    compile_match,
    fields_given,
    fields_read,
    named_values_of,
)
from hbase_orm.schema import FUNCTIONS, ColumnSchema, EntryExpr, FunctionExpr, Order

Values = tuple[Any, ...]


class ValueReader:
    """Reads from each row the values that a statement needs."""

    def __init__(self, bound: BoundModel, stmt: Select[Any]) -> None:
        """Prepare to read values from a model's rows."""
        self.fields = fields_read(stmt)
        self.names = [field.name for field in self.fields]
        self._bound = bound
        self._selected = {field.name for field in fields_given(stmt)}
        self._check = compile_match(bound.schema, stmt.conditions, self.names)
        self._required: dict[Any, list[tuple[int, ColumnSchema]]] = {}

    def rows(self, pages: Iterable[Sequence[Row]]) -> Iterator[tuple[Row, Values]]:
        """Yield the rows that exist and fulfil every condition, each with its values.

        Raises:
            MissingCellError: A row lacks the cell of a required field that is selected.
            CorruptRowError: A row does not decode.
        """
        bound, check = self._bound, self._check
        exists, shows_every_row = bound.exists, bound.shows_every_row
        read = self._read_any if bound.kinds is not None else self._reader()
        may_lack = bound.kinds is not None or bool(self._wanted(bound.model))
        for page in pages:
            for row in page:
                if not (shows_every_row or exists(row)):
                    continue
                values = read(row)
                if check is not None and not check(values):
                    continue
                if may_lack and None in values:
                    self._check_present(row, values)
                yield row, values

    def _reader(self) -> Callable[[Row], Values]:
        bound = self._bound
        model: Any = bound.model
        read = reader_of(model, self.fields)
        if bound.context is None and bound.tables.is_only:
            return read
        return lambda row: read(row, bound.with_table_of_row(row).context)

    def _read_any(self, row: Row) -> Values:
        """Read the values of a row whose model is one of a base model's record types."""
        bound = self._bound
        assert bound.kinds is not None
        model: Any = bound.kinds(row.key)
        return reader_of(model, self.fields)(row, bound.with_table_of_row(row).context)

    def _check_present(self, row: Row, values: Values) -> None:
        model = self._bound.model if self._bound.kinds is None else self._bound.kinds(row.key)
        check_present(model.__schema__, self._wanted(model), row, values)

    def _wanted(self, model: Any) -> list[tuple[int, ColumnSchema]]:
        """Return the selected columns that are required, each with its place in the values."""
        wanted = self._required.get(model)
        if wanted is None:
            every = required(model.__schema__, self.names)
            wanted = [(place, column) for place, column in every if column.name in self._selected]
            self._required[model] = wanted
        return wanted


def given_by(stmt: Select[Any], names: Sequence[str]) -> Callable[[Values], Any] | None:
    """Return a function from a row's values to its result; None if the values are the result."""
    places = [names.index(item.name) for item in stmt.items]
    if stmt.selection is not None and stmt.selection.is_bare:
        return itemgetter(places[0])
    if not places:
        return None  # nothing is selected: the rows are only counted
    named = named_values_of(stmt.items)
    if places == list(range(len(names))):
        return named
    chosen = itemgetter(*places)
    return lambda values: named(chosen(values))


def selected_values(
    pages: Iterable[Sequence[Row]], bound: BoundModel, stmt: Select[Any]
) -> Iterator[tuple[Row, Any]]:
    """Yield the rows that exist and fulfil every condition, each with its selected values."""
    reader = ValueReader(bound, stmt)
    give = given_by(stmt, reader.names)
    rows = reader.rows(pages)
    return rows if give is None else ((row, give(values)) for row, values in rows)


def values_only(
    pages: Iterable[Sequence[Row]], bound: BoundModel, stmt: Select[Any]
) -> Iterator[Any]:
    """Yield the selected values of the rows that exist and fulfil every condition."""
    reader = ValueReader(bound, stmt)
    give = given_by(stmt, reader.names)
    values = map(itemgetter(1), reader.rows(pages))  # without a step of Python for each row
    return values if give is None else map(give, values)


def aggregated(
    pages: Iterable[Sequence[Row]],
    bound: BoundModel,
    stmt: Select[Any],
    kept: Callable[[Iterable[Any]], Iterator[Any]],
) -> Iterator[Any]:
    """Yield the result of each group, in the order of the rows.

    The values of the matching rows pass through `kept` before they are aggregated.
    """
    reader = ValueReader(bound, stmt)
    kinds = {field.name: codec_of(bound.schema, field).python_type for field in reader.fields}
    functions = {of.name: of for of in stmt.groups if isinstance(of, FunctionExpr)}
    grouping = Grouping(stmt.items, stmt.groups, [*reader.names, *functions], kinds)
    rows = kept(values for _, values in reader.rows(pages))
    if functions:
        rows = _with_functions(rows, reader.names, [*functions.values()])
    results = grouping.results(rows)
    if stmt.selection is not None and stmt.selection.is_bare:
        return (result for (result,) in results)
    return map(named_values_of(stmt.items), results)


def _with_functions(
    rows: Iterable[Values], names: Sequence[str], functions: Sequence[FunctionExpr[Any]]
) -> Iterator[Values]:
    """Yield the values of each row, followed by the results of `functions` for this row."""
    applied = [(FUNCTIONS[each.function].of, names.index(each.of.name)) for each in functions]
    for values in rows:
        yield (*values, *[function(values[place]) for function, place in applied])


def in_order(pairs: Iterable[tuple[Values, Any]], sort: Sort) -> Iterator[Any]:
    """Yield the results in the order of `sort`. Each pair has the sort values and the result.

    Raises:
        QueryError: There are more results than the sort's `max_rows`; nothing was yielded.
    """
    held = HeldRows(sort)
    held.take(pairs)
    yield from held.in_order()


class HeldRows:
    """The results that are held in memory to be sorted, each with the values it is sorted by."""

    def __init__(self, sort: Sort) -> None:
        """Start without results."""
        self._sort = sort
        self._held: list[tuple[Values, Any]] = []

    def take(self, pairs: Iterable[tuple[Values, Any]]) -> None:
        """Add results, each with its sort values.

        Raises:
            QueryError: There are more results than the sort's `max_rows`.
        """
        for pair in pairs:
            if len(self._held) == self._sort.max_rows:
                raise QueryError(
                    "more rows match than max_rows= allows to sort in memory",
                    max_rows=self._sort.max_rows,
                    fix="add conditions, or raise max_rows; limit() is applied to the sorted rows",
                )
            self._held.append(pair)

    def in_order(self) -> Iterator[Any]:
        """Return the results in the order of the sort."""
        for place, order in reversed([*enumerate(self._sort.orders)]):
            self._held.sort(key=_rank_at(place), reverse=order.descending)
        return (result for _, result in self._held)


def _rank_at(place: int) -> Callable[[tuple[Values, Any]], Any]:
    def rank(pair: tuple[Values, Any]) -> tuple[bool, bool, Any]:
        value = pair[0][place]
        # Only NaN differs from itself; nothing is less or greater.
        return value is not None, value != value, value  # noqa: PLR0124  # so is NaN alone

    return rank


def sorted_values(
    pages: Iterable[Sequence[Row]], bound: BoundModel, stmt: Select[Any], sort: Sort
) -> Iterator[tuple[Values, Any]]:
    """Yield a pair for each matching row: its sort values and its selected values."""
    reader = ValueReader(bound, stmt)
    give = given_by(stmt, reader.names)
    places = [reader.names.index(order.field.name) for order in sort.orders]
    return (
        (tuple([values[place] for place in places]), values if give is None else give(values))
        for _, values in reader.rows(pages)
    )


def sort_values(obj: Any, bound: BoundModel, orders: Sequence[Order]) -> Values:
    """Return the sort values of an object; a missing value is None, or 0 for a counter."""
    numbers = {column.name for column in bound.schema.numbers}
    values = obj.__dict__
    values_by_order = []
    for field in (order.field for order in orders):
        if isinstance(field, EntryExpr):
            values_by_order.append(values[field.of.name].get(field.key))
        else:
            values_by_order.append(values.get(field.name, 0 if field.name in numbers else None))
    return tuple(values_by_order)
