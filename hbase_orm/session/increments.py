"""Which counters of a row an increment changes, and by how much."""

from __future__ import annotations

from collections.abc import Sequence

from hbase_orm.errors import QueryError
from hbase_orm.model import Counter
from hbase_orm.schema import AddAmount
from hbase_orm.session.binding import BoundModel


def amounts_by_column(bound: BoundModel, increments: Sequence[AddAmount]) -> dict[bytes, int]:
    """Return the amounts by column, in the order they are given.

    Raises:
        QueryError: Nothing to add, a counter named twice, or a field that is no counter.
    """
    columns = [_counter_column(bound, increment) for increment in increments]
    if not columns or len(set(columns)) < len(columns):
        raise QueryError(
            "name each counter to increment once",
            model=bound.schema.model_name,
            fix="write session.increment(M, M.hits.by(1), ...)",
        )
    return dict(zip(columns, (each.amount for each in increments), strict=True))


def _counter_column(bound: BoundModel, increment: AddAmount) -> bytes:
    if not isinstance(increment, AddAmount):
        raise QueryError("this is no increment", got=repr(increment), fix="write M.hits.by(1)")
    field = increment.field
    if not bound.schema.has_field(field) or not isinstance(field, Counter):
        raise QueryError(
            "the field is no counter of the model",
            field=repr(field),
            model=bound.schema.model_name,
            fix="increment the model's own counters: M.hits.by(1)",
        )
    return bound.schema.column_by_name[field.name].column
