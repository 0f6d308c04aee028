"""Statements: what a user selects, as an immutable value. Nothing is planned or sent here."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final, Generic, Literal, Self, TypeVar, overload

from hbase_orm.errors import QueryError
from hbase_orm.model import Dynamic, Model, RelatedExpr
from hbase_orm.model.hints import field_of, model_in
from hbase_orm.query.conditions.versions import TimeRange, between, until
from hbase_orm.query.statements.aggregates import Aggregate
from hbase_orm.query.statements.argument_checks import (
    check_corrupt_rule,
    check_groups,
    check_level,
    list_limits,
    not_an_index,
    orders_of,
    positive,
)
from hbase_orm.query.statements.clauses import (
    ANY_INDEX,
    AnyIndex,
    OnCorrupt,
    Selection,
    Sort,
    as_written,
)
from hbase_orm.query.statements.slices import slice_of
from hbase_orm.schema import (
    Condition,
    DynamicExpr,
    EntryRange,
    Expr,
    Index,
    NoColumn,
    Order,
    conjuncts,
    depth_of,
)

T = TypeVar("T")
T1 = TypeVar("T1")
T2 = TypeVar("T2")
T3 = TypeVar("T3")
T4 = TypeVar("T4")
K = TypeVar("K")
V = TypeVar("V")
M = TypeVar("M", bound=Model)

MAX_CACHING_ROWS: Final = 100_000
"""The most rows of a fetch: a gateway allocates memory for all of them before it reads one."""

MAX_DEPTH: Final = 40
"""The deepest nesting of conditions: Python cannot compile a check with deeper brackets."""


@dataclass(frozen=True, slots=True, eq=False)
class Select(Generic[T]):
    """A statement that selects rows of one model. Every method returns a new statement.

    Attributes:
        model: The model whose rows are selected.
        conditions: The conditions, which must all be true.
        orders: The order of the rows; empty means any order.
        row_limit: The largest number of rows, or None.
        index: The index to use, None to use only the row key, or ANY_INDEX.
        full_scan_allowed: Whether the statement may read the whole table.
        caching_rows: The rows that a scanner fetches in each call; None lets the library choose.
        related: The related fields to load with the rows.
        related_limits: For related lists the largest number of objects, by the field's name.
        entries: The range of dynamic columns to read of each row, or None for whole rows.
        selection: The selected values; None selects objects.
        groups: The fields that define groups of rows; empty means one group of all rows.
        sort: The order of a sort in memory, or None.
        times: The timestamps of the versions that are read; None means the newest versions.
        is_timeline: Whether replicas of regions may answer, with older rows.
        corrupt_rule: What is done with rows that do not decode; None means the engine's rule.
    """

    model: type[Model]
    conditions: tuple[Condition, ...] = ()
    orders: tuple[Order, ...] = ()
    row_limit: int | None = None
    index: Index | AnyIndex | None = ANY_INDEX
    full_scan_allowed: bool = False
    caching_rows: int | None = None
    related: tuple[RelatedExpr[Any], ...] = ()
    related_limits: tuple[tuple[str, int], ...] = ()
    entries: EntryRange | None = None
    selection: Selection | None = None
    groups: tuple[Expr[Any], ...] = ()
    sort: Sort | None = None
    times: TimeRange | None = None
    is_timeline: bool = False
    corrupt_rule: OnCorrupt | None = None

    def __repr__(self) -> str:
        """Return the statement as it is written in a program."""
        return as_written(self)

    @property
    def items(self) -> tuple[Expr[Any], ...]:
        """The selected fields and aggregates."""
        return () if self.selection is None else self.selection.items

    @property
    def is_aggregated(self) -> bool:
        """Whether each result is computed from a group of rows."""
        return bool(self.groups) or any(isinstance(item, Aggregate) for item in self.items)

    @property
    def read_limit(self) -> int | None:
        """The most rows to read. None means all rows: without a limit, for groups and for sorts."""
        return None if self.is_aggregated or self.sort is not None else self.row_limit

    @property
    def shape(self) -> Hashable | None:
        """The part of the statement that decides its plan, without the compared values.

        The shape is None if the statement selects values, groups rows, reads ranges of dynamic
        columns, loads related objects, reads the past or sorts in memory.
        """
        if self.selection is not None or self.related or self.entries is not None:
            return None
        if self.groups or self.sort is not None or self.times is not None:
            return None
        return (
            tuple([condition.shape for condition in self.conditions]),
            tuple([(order.field.name, order.descending) for order in self.orders]),
            self.row_limit,
            id(self.index),
            self.full_scan_allowed,
            self.caching_rows,
            self.is_timeline,
        )

    def where(self, *conditions: Condition) -> Self:
        """Return the statement with more conditions; all conditions must be true.

        Raises:
            QueryError: An argument is not a condition, or is nested more than `MAX_DEPTH` deep.
        """
        flat = self.conditions
        for condition in conditions:
            if isinstance(condition, NoColumn):
                raise condition.not_compared()
            if not isinstance(condition, Condition):
                raise QueryError(
                    "the argument is not a condition",
                    got=condition,
                    fix="compare a field; combine with & | ~ instead of and, or, not",
                )
            if depth_of(condition) > MAX_DEPTH:
                raise QueryError(
                    "the condition is nested too deep",
                    depth=depth_of(condition),
                    most=MAX_DEPTH,
                    fix="use fewer brackets, as in a | b | c, or in_() with a list",
                )
            flat += conjuncts(condition)
        return replace(self, conditions=flat)

    def order_by(self, *orders: Order | Expr[Any]) -> Self:
        """Return the statement with an order of its rows. A scan must be able to give the order.

        Raises:
            QueryError: An argument is neither an order nor a field, which means ascending.
        """
        return replace(self, orders=orders_of(self.model.__schema__, orders))

    def sort_in_memory(self, *orders: Order | Expr[Any], max_rows: int) -> Self:
        """Return the statement with its rows sorted in memory, after all rows are read.

        None sorts before every value, and NaN after all numbers. `desc()` reverses the order. Rows
        with equal values keep their order. A limit is applied to the sorted rows.

        Args:
            orders: One or more orders; a field means ascending.
            max_rows: The most rows that may match. The read raises QueryError if more rows match.

        Raises:
            QueryError: An argument is no order and no field, there is no order, or `max_rows` is
                not positive.
        """
        if not orders:
            raise QueryError(
                "sort_in_memory() needs an order", fix=f"write {field_of(self.model.__schema__)}"
            )
        most = positive("sort_in_memory", max_rows)
        return replace(self, sort=Sort(orders_of(self.model.__schema__, orders), most))

    def group_by(self, *fields: Expr[Any]) -> Self:
        """Return the statement with one result for each group of rows with equal `fields`.

        A group may also be named by a function: `func.day(M.at)`. The fields must be the first of
        the key that is read. Fields compared by `==` may be left out. A limit counts groups.

        Raises:
            QueryError: An argument is not a field.
        """
        check_groups(self.model.__schema__, fields)
        return replace(self, groups=fields)

    def limit(self, n: int, /) -> Self:
        """Return the statement with at most `n` rows or groups.

        Raises:
            QueryError: `n` is not a positive integer.
        """
        return replace(self, row_limit=positive("limit", n))

    def using(self, index: Index | None, /) -> Self:
        """Return the statement that is read through an index, or by the row key if `index` is None.

        Raises:
            QueryError: The argument is not an index.
        """
        if index is not None and not isinstance(index, Index):
            raise not_an_index(self.model.__schema__, index)
        return replace(self, index=index)

    def load_related(self, *fields: RelatedExpr[Any], limit: int | None = None) -> Self:
        """Return the statement that also loads related objects: one multi-get per page and field.

        A related list is read by a statement for each object, in the order of the related rows.

        Args:
            fields: The related fields.
            limit: The most objects of each related list; None means all.

        Raises:
            QueryError: An argument is no related field of the model, or a limit is for no list.
        """
        limits = dict(self.related_limits) | list_limits(self.model, fields, limit)
        related = tuple(dict.fromkeys((*self.related, *fields)))
        return replace(self, related=related, related_limits=tuple(limits.items()))

    def columns_between(
        self, field: DynamicExpr[K, V], start: K, stop: K, /, *, limit: int | None = None
    ) -> Self:
        """Return the statement that reads only a range of each row's dynamic columns.

        Only these dynamic columns and the declared columns are loaded. Each row needs its own
        scanner, so read few rows in this way. Rows without a column in the range are returned too.
        The objects are not attached to the session: to write a changed object, `add` it. The row
        keeps its dynamic columns outside of the range.

        Args:
            field: The field of dynamic columns.
            start: The first name, included.
            stop: The end of the range, excluded.
            limit: The most dynamic columns to read of a row: the first ones in stored order.

        Raises:
            QueryError: The model has no such field of dynamic columns, or its stored names do not
                sort like names. Or an end has another type, or the limit is not positive.
        """
        entries = EntryRange(field, start, stop, limit)
        if not isinstance(field, DynamicExpr):
            raise QueryError(
                "the argument is not a field of dynamic columns",
                got=repr(field),
                fix=f"write .columns_between({field_of(self.model.__schema__, Dynamic)}, ...)",
            )
        slice_of(self.model.__schema__, entries)
        if limit is not None:
            positive("columns_between", limit)
        return replace(self, entries=entries)

    def as_of(self, at: datetime, /) -> Self:
        """Return the statement that reads the rows as they were at a time.

        Only cells with timestamps up to `at` are read. A family keeps overwritten values only with
        `versions` above 1, and deleted cells only with `keep_deleted_cells`. Cells whose TTL has
        ended by now are missing. Indexes are not used. The objects are not attached to the session:
        `add` writes them as new objects.

        Raises:
            QueryError: The argument is not a datetime with a time zone.
        """
        return replace(self, times=until(at))

    def between_timestamps(self, start: datetime, stop: datetime, /) -> Self:
        """Return the statement that reads only cells with timestamps from `start` to before `stop`.

        The statement needs a Thrift2 gateway. As with `as_of`, indexes are not used, and the
        objects are not attached to the session.

        Raises:
            QueryError: An argument is not a datetime with a time zone, or the range is empty.
        """
        return replace(self, times=between(start, stop))

    def consistency(self, level: Literal["strong", "timeline"], /) -> Self:
        """Return the statement with a level of consistency; without this call, it is "strong".

        A strong read returns what was written last. In a timeline read, a replica of a region may
        answer if the region does not answer soon: `Table(..., region_replication=2)`. Its rows may
        be older, and rows may be missing. `Stream.stale`, `Page.stale` and `is_stale(obj)` show
        that. Timeline reads need a Thrift2 gateway and use no indexes. Their objects are not
        attached to the session.

        Raises:
            QueryError: `level` is neither "strong" nor "timeline".
        """
        check_level(level)
        return replace(self, is_timeline=level == "timeline")

    def on_corrupt(self, rule: OnCorrupt, /) -> Self:
        """Return the statement with a rule for rows that do not decode.

        With "raise", which is the default, the read raises CorruptRowError when it comes to such
        a row. With "skip" the row is left out; one log line per statement has the number of these
        rows and the first error. A function is called with the error: if it returns, the row is
        left out, and an exception that it raises ends the read. A limit does not count such rows.
        `Stream.corrupt_rows`, `Page.corrupt_rows` and `Engine.corrupt_rows` count them.

        A row is corrupt if its row key or a cell that is read does not decode, or if it lacks the
        cell of a required field that is selected.

        Raises:
            QueryError: The argument is neither "raise" nor "skip" nor a function.
        """
        check_corrupt_rule(rule)
        return replace(self, corrupt_rule=rule)

    def allow_full_scan(self) -> Self:
        """Return the statement with permission to read the whole table."""
        return replace(self, full_scan_allowed=True)

    def caching(self, rows: int, /) -> Self:
        """Return the statement that fetches `rows` rows in each scanner call.

        Raises:
            QueryError: `rows` is not an integer from 1 to `MAX_CACHING_ROWS`.
        """
        return replace(self, caching_rows=positive("caching", rows, most=MAX_CACHING_ROWS))


@overload
def select(model: type[M], /) -> Select[M]: ...
@overload
def select(a: Expr[T1], /) -> Select[T1]: ...
@overload
def select(a: Expr[T1], b: Expr[T2], /) -> Select[tuple[T1, T2]]: ...
@overload
def select(a: Expr[T1], b: Expr[T2], c: Expr[T3], /) -> Select[tuple[T1, T2, T3]]: ...
@overload
def select(
    a: Expr[T1], b: Expr[T2], c: Expr[T3], d: Expr[T4], /
) -> Select[tuple[T1, T2, T3, T4]]: ...
@overload
def select(
    a: Expr[Any], b: Expr[Any], c: Expr[Any], d: Expr[Any], /, *more: Expr[Any]
) -> Select[tuple[Any, ...]]: ...
def select(*what: Any) -> Select[Any]:
    """Return a statement for a model's objects, or for values of its fields.

    Args:
        what: A model selects objects, one field selects its values, and several fields or
            aggregates select tuples.

    Raises:
        QueryError: The arguments are neither a model nor fields, or the model is abstract.
    """
    if len(what) == 1 and isinstance(what[0], type) and issubclass(what[0], Model):
        return Select(_concrete(what[0]))
    for item in what:
        if isinstance(item, NoColumn):
            raise item.not_compared()
    if what and all(isinstance(item, Expr) for item in what):
        selection = Selection(what, is_bare=len(what) == 1)
        return Select(_concrete(_owner(what)), selection=selection)
    raise QueryError(
        "select() takes one model, or fields of one model",
        got=", ".join(map(repr, what)),
        fix=f"write select({model_in(what[0] if what else None)}), or select() with its fields",
    )


def _owner(items: tuple[Expr[Any], ...]) -> Any:
    """Return the model of the fields. Fields of a base and its subclass give the subclass."""
    owners = [item.owner for item in items if item.owner is not None]
    if not owners:
        raise QueryError(
            "the statement names no model",
            got=", ".join(map(repr, items)),
            fix="name a key field: func.count(Model.FIELD), or write session.count(select(Model))",
        )
    return max(owners, key=lambda owner: len(owner.__mro__))


def _concrete(model: Any) -> Any:
    if not hasattr(model, "__schema__"):
        raise QueryError("an abstract model has no table", model=model.__name__)
    return model
