"""Aggregates: values that a statement computes from its rows, group by group, in constant memory.

A group ends when a grouped value changes. The planner makes sure that the rows of a group are read
one after another. Up to 1000 rows are held and aggregated at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, getcontext
from ipaddress import IPv4Address, IPv6Address
from types import MappingProxyType
from typing import Any, Final, Literal, TypeVar
from uuid import UUID

from hbase_orm.codecs import Codec
from hbase_orm.errors import QueryError
from hbase_orm.schema import Expr, NoColumn

T = TypeVar("T")

Function = Literal["count", "sum", "avg", "min", "max"]

CHUNK_ROWS: Final = 1000
"""The most rows of a group that are held in memory until they are aggregated."""

SUMMED_TYPES: Final[Mapping[type, Any]] = MappingProxyType(
    {int: 0, float: 0.0, Decimal: Decimal(0), timedelta: timedelta(0)}
)
"""The types whose values can be added, each with the sum of no values."""

EXACT_DIGITS: Final = 20_000
"""The digits to which decimals are added for an average.

More than the longest decimals have, but so few that far apart exponents cannot fill the memory.
"""

_EXACT: Final = Context(prec=EXACT_DIGITS, Emin=MIN_EMIN, Emax=MAX_EMAX)

SORTED_TYPES: Final = (
    *(int, float, Decimal, str, bytes, bool, datetime, date, time, timedelta),
    *(UUID, IPv4Address, IPv6Address),
)
"""The types whose values have an order: min(), max() and sorts in memory accept only these."""


class Aggregate(Expr[T]):
    """A value computed from many rows, such as `func.sum(Reading.value)`.

    Attributes:
        function: The name of the function: count, sum, avg, min or max.
        field: The field whose values are aggregated; values that are None are skipped. If `field`
            itself is None, rows are counted.
    """

    def __init__(self, function: Function, field: Expr[Any] | None) -> None:
        """Store the function and the field.

        Raises:
            QueryError: The argument is not a field.
        """
        if isinstance(field, NoColumn):
            raise field.not_compared()
        if field is not None and (not isinstance(field, Expr) or isinstance(field, Aggregate)):
            raise QueryError(
                "the argument of an aggregate must be a model's field",
                function=function,
                got=repr(field),
                fix=f"write func.{function}() with a field of the model",
            )
        self.function: Function = function
        self.field = field
        if field is not None:
            self.owner = field.owner

    def __repr__(self) -> str:
        """Return the expression as it is written in a program."""
        return f"{self.function}({'' if self.field is None else repr(self.field)})"


Fold = Callable[[Any, Sequence[Any]], Any]
"""A function from the state of a group, and further values of the group, to its new state."""


@dataclass(frozen=True, slots=True)
class _Folding:
    """The way in which one selected item of a group is computed.

    Attributes:
        fold: Takes values into the state; None if the item is not an aggregate.
        start: The state of a group without values.
        place: The position of the item's field in a row; None for a count of rows.
        finish: Makes the result of the state; None if the state is the result.
    """

    fold: Fold | None = None
    start: Any = None
    place: int | None = None
    finish: Callable[[Any], Any] | None = None


def _count(state: int, values: Sequence[Any]) -> int:
    return state + len(values)


def _sum(state: Any, values: Sequence[Any]) -> Any:
    return sum(values, state)


def _min(state: Any, values: Sequence[Any]) -> Any:
    return min(values if state is None else (state, *values))


def _max(state: Any, values: Sequence[Any]) -> Any:
    return max(values if state is None else (state, *values))


def _add(state: tuple[Any, int], values: Sequence[Any]) -> tuple[Any, int]:
    total, count = state
    if isinstance(total, Decimal):
        for value in values:
            total = _EXACT.add(total, value)
    else:
        total = sum(values, total)
    return total, count + len(values)


def _average(state: tuple[Any, int]) -> Any:
    """Return the average of the values in a state, rounded once; None if there are no values.

    Raises:
        QueryError: The average of integers is too large for a float.
    """
    total, count = state
    if not count:
        return None
    if isinstance(total, Decimal):
        context = getcontext().copy()  # with its precision and rounding, for any exponent
        context.Emin, context.Emax = MIN_EMIN, MAX_EMAX
        return context.divide(total, count)
    try:
        return total / count
    except OverflowError as error:
        raise QueryError(
            "the average is too large for a float",
            fix="select func.sum() and func.count() of the field, and divide in Python",
        ) from error


_FOLDS: Final[Mapping[Function, Fold]] = MappingProxyType(
    {"count": _count, "sum": _sum, "avg": _add, "min": _min, "max": _max}
)


def check_type(aggregate: Aggregate[Any], codec: Codec[Any]) -> None:
    """Raise an error if an aggregate does not exist for a field's type.

    Raises:
        QueryError: The field's values cannot be added, or have no order.
    """
    kind = codec.python_type
    if aggregate.function in {"sum", "avg"} and kind not in SUMMED_TYPES:
        raise _misfit(aggregate, kind, "sum() and avg() take int, float, Decimal and timedelta")
    if aggregate.function in {"min", "max"} and not issubclass(kind, SORTED_TYPES):
        raise _misfit(aggregate, kind, "min() and max() take numbers, text, bytes and times")


def _misfit(aggregate: Aggregate[Any], kind: type, fix: str) -> QueryError:
    return QueryError(
        "the aggregate does not exist for values of this type",
        aggregate=repr(aggregate),
        type=kind.__name__,
        fix=fix,
    )


class Grouping:
    """Aggregates the values of rows, group by group."""

    def __init__(
        self,
        items: Sequence[Expr[Any]],
        groups: Sequence[Expr[Any]],
        names: Sequence[str],
        types: Mapping[str, type],
    ) -> None:
        """Prepare the aggregation.

        Args:
            items: The selected aggregates and grouped fields.
            groups: The fields that define the groups; empty means one group of all rows.
            names: The names of the fields in each row's tuple of values, in order.
            types: The type of each field's values.
        """
        self._places = [names.index(each.name) for each in groups]
        self._folds = [_folding(item, names, types) for item in items]
        # How a result is put together: a folded value, or a value of the group's key.
        self._keys = [
            None if isinstance(item, Aggregate) else names.index(item.name) for item in items
        ]

    def results(self, rows: Iterable[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
        """Yield the selected values of each group, in the order of the rows.

        Without groups, there is one result, even if there are no rows.
        """
        states = self._start()
        held: list[tuple[Any, ...]] = []
        last: tuple[Any, ...] | None = None
        places = self._places
        for row in rows:
            if places and last is not None and any(row[n] != last[n] for n in places):
                self._fold(states, held)
                yield self._result(states, last)
                states, held = self._start(), []
            elif len(held) == CHUNK_ROWS:
                self._fold(states, held)
                held = []
            held.append(row)
            last = row
        if last is not None or not places:
            self._fold(states, held)
            yield self._result(states, last or ())

    def _start(self) -> list[Any]:
        return [each.start for each in self._folds]

    def _fold(self, states: list[Any], held: Sequence[tuple[Any, ...]]) -> None:
        for number, each in enumerate(self._folds):
            values: Sequence[Any] = held
            if each.place is not None:
                place = each.place
                values = [row[place] for row in held if row[place] is not None]
            if values and each.fold is not None:
                states[number] = each.fold(states[number], values)

    def _result(self, states: Sequence[Any], row: tuple[Any, ...]) -> tuple[Any, ...]:
        ended = [
            state if each.finish is None else each.finish(state)
            for each, state in zip(self._folds, states, strict=True)
        ]
        pairs = zip(ended, self._keys, strict=True)
        return tuple(result if place is None else row[place] for result, place in pairs)


def _folding(item: Expr[Any], names: Sequence[str], types: Mapping[str, type]) -> _Folding:
    if not isinstance(item, Aggregate):
        return _Folding()
    fold = _FOLDS[item.function]
    if item.field is None:
        return _Folding(fold, 0)
    place, zero = names.index(item.field.name), SUMMED_TYPES.get(types[item.field.name], 0)
    match item.function:
        case "count":
            return _Folding(fold, 0, place)
        case "sum":
            return _Folding(fold, zero, place)
        case "avg":
            return _Folding(fold, (zero, 0), place, _average)
        case _:
            return _Folding(fold, None, place)
