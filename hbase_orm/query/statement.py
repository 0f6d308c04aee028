"""Statements: what a user asks, as an immutable value. Nothing is planned or sent here."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Final, Generic, Self, TypeVar

from hbase_orm.errors import QueryError
from hbase_orm.model import Model, RelatedExpr
from hbase_orm.query.slices import slice_of
from hbase_orm.schema import Condition, DynamicExpr, EntryRange, Index, Order, conjuncts

T = TypeVar("T")
K = TypeVar("K")
V = TypeVar("V")
M = TypeVar("M", bound=Model)


@dataclass(frozen=True, slots=True)
class AnyIndex:
    """The planner chooses between the row key and the indexes."""


ANY_INDEX: Final = AnyIndex()


@dataclass(frozen=True, slots=True, eq=False)
class Select(Generic[T]):
    """A question to one model's table. Every method returns a new statement.

    Attributes:
        model: The class whose rows are asked for.
        conditions: All of them must hold.
        orders: The asked order; empty takes the plan's own.
        row_limit: At most so many rows, or None.
        index: An index, None for the row key only, or ANY_INDEX.
        full_scan_allowed: Whether reading the whole table is accepted.
        caching_rows: Rows a scanner fetches at once; None lets the library choose.
        related: Related fields to load with the rows.
        entries: The range of dynamic columns to read of each row, or None for whole rows.
    """

    model: type[Model]
    conditions: tuple[Condition, ...] = ()
    orders: tuple[Order, ...] = ()
    row_limit: int | None = None
    index: Index | AnyIndex | None = ANY_INDEX
    full_scan_allowed: bool = False
    caching_rows: int | None = None
    related: tuple[RelatedExpr[Any], ...] = ()
    entries: EntryRange | None = None

    def where(self, *conditions: Condition) -> Self:
        """Return the statement with more conditions, all of which must hold.

        Raises:
            QueryError: Something is no condition: a bare field, a bool from `and` or `in`.
        """
        for condition in conditions:
            if not isinstance(condition, Condition):
                raise QueryError(
                    "this is no condition",
                    got=condition,
                    fix="compare a field; combine with & | ~ instead of and, or, not",
                )
        flat = tuple(part for condition in conditions for part in conjuncts(condition))
        return replace(self, conditions=self.conditions + flat)

    def order_by(self, *orders: Order) -> Self:
        """Return the statement with an order of values; it must be one that a scan gives.

        Raises:
            QueryError: Something is no order, such as a bare field.
        """
        for order in orders:
            if not isinstance(order, Order):
                raise QueryError(
                    "this is no order", got=repr(order), fix="write Reading.at.desc() or .asc()"
                )
        return replace(self, orders=orders)

    def limit(self, n: int, /) -> Self:
        """Return the statement for at most `n` rows.

        Raises:
            QueryError: `n` is not a positive integer.
        """
        return replace(self, row_limit=_positive("limit", n))

    def using(self, index: Index | None, /) -> Self:
        """Return the statement read through one index, or with None through the row key.

        Raises:
            QueryError: Not an index of the model.
        """
        if index is not None and not isinstance(index, Index):
            raise QueryError("this is no index", got=repr(index), fix="write .using(M.by_unit)")
        return replace(self, index=index)

    def load_related(self, *fields: RelatedExpr[Any]) -> Self:
        """Return the statement that loads related objects too: one multi-get a page of rows.

        Raises:
            QueryError: Not a related field of the model.
        """
        for field in fields:
            if not isinstance(field, RelatedExpr) or (
                getattr(self.model, field.name, None) is not field
            ):
                raise QueryError(
                    "this is no related field of the model",
                    got=repr(field),
                    model=self.model.__name__,
                    fix="declare customer: Related[Customer] = related(...) and write "
                    ".load_related(Order.customer)",
                )
        return replace(self, related=tuple(dict.fromkeys((*self.related, *fields))))

    def columns_between(
        self, field: DynamicExpr[K, V], start: K, stop: K, /, *, limit: int | None = None
    ) -> Self:
        """Return the statement that reads a range of each row's dynamic columns, not all of them.

        Of a wide row only these entries travel, and the declared columns; other dynamic columns
        are not loaded. Each row costs a scanner of its own: read few rows so. A row without an
        entry in the range counts too. The objects are plain, as streamed ones: `add` one that you
        change, and the flush leaves the entries that were not read alone.

        Args:
            field: The field of dynamic columns.
            start: The first name, included.
            stop: The name behind the last, excluded.
            limit: At most so many entries of a row: the first as they are stored, which for names
                that are stored descending are the last.

        Raises:
            QueryError: Not a field of dynamic columns of the model; an end of another type; names
                that do not sort as they are stored; or a limit that is not positive.
        """
        asked = EntryRange(field, start, stop, limit)
        if not isinstance(field, DynamicExpr):
            raise QueryError(
                "this is no field of dynamic columns",
                got=repr(field),
                fix="write .columns_between(M.tags, 'a', 'f')",
            )
        slice_of(self.model.__schema__, asked)
        if limit is not None:
            _positive("columns_between", limit)
        return replace(self, entries=asked)

    def allow_full_scan(self) -> Self:
        """Return the statement that may read the whole table."""
        return replace(self, full_scan_allowed=True)

    def caching(self, rows: int, /) -> Self:
        """Return the statement that fetches `rows` rows by one scanner call.

        Raises:
            QueryError: `rows` is not a positive integer.
        """
        return replace(self, caching_rows=_positive("caching", rows))


def _positive(name: str, value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise QueryError(
            "the number must be a positive integer",
            method=name,
            got=value,
            fix="leave it out for no bound",
        )
    return value


def select(model: type[M], /) -> Select[M]:
    """Return a statement for a model's objects.

    Raises:
        QueryError: Not a model, or an abstract one.
    """
    if not isinstance(model, type) or not issubclass(model, Model):
        raise QueryError("select takes a model", got=repr(model), fix="write select(Reading)")
    if not hasattr(model, "__schema__"):
        raise QueryError("an abstract model has no table", model=model.__name__)
    return Select(model)
