"""Increments of the counters of one row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from hbase_orm.binding.bound_model import BoundModel
from hbase_orm.binding.table_writer import TableWriter
from hbase_orm.errors import CounterOverflowError, QueryError
from hbase_orm.model import Counter
from hbase_orm.model.hints import field_of
from hbase_orm.ops import Increment, Protocol
from hbase_orm.reading.by_key import key_to_change
from hbase_orm.schema import AddAmount

_END: Final = 1 << 63


def amounts_by_column(bound: BoundModel, increments: Sequence[AddAmount]) -> dict[bytes, int]:
    """Return the amounts by column, in the order of the arguments.

    Raises:
        QueryError: There is no amount, a counter is named twice, an amount does not fit 64 bits, or
            a field is not a counter.
    """
    columns = [_counter_column(bound, increment) for increment in increments]
    if not columns or len(set(columns)) < len(columns):
        raise QueryError(
            "an increment must name one counter or more, each once",
            model=bound.schema.model_name,
            fix=f"write session.increment({bound.schema.model_name}, "
            f"{field_of(bound.schema, Counter)}.by(1), ...)",
        )
    return dict(zip(columns, (each.amount for each in increments), strict=True))


def increment_counters(
    bound: BoundModel, key: Mapping[str, Any], amounts: Mapping[bytes, int], writer: TableWriter
) -> Protocol[list[int]]:
    """Increment counters of the row with these key fields; return the new values.

    The request is never sent twice: after `ConnectionLostError` the outcome is unknown.

    Raises:
        CounterOverflowError: A counter overflowed 64 bits; all amounts were added.
    """
    row_id = bound.schema.table, (yield from key_to_change(bound, key))
    yield from writer.clock.wait_out_tombstone_tie([row_id])
    try:
        values = yield from writer.increment(bound, Increment(*row_id, amounts))
    finally:
        writer.clock.note_increment(row_id)
    return checked_values(bound, row_id[1], amounts, values)


def checked_values(
    bound: BoundModel, row: bytes, amounts: Mapping[bytes, int], values: Mapping[bytes, int]
) -> list[int]:
    """Return the new values of counters, in the order of their amounts.

    Raises:
        CounterOverflowError: A counter overflowed 64 bits; all amounts were added.
    """
    new_values = [values[column] for column in amounts]
    for column, amount in amounts.items():
        # HBase adds modulo 2**64: the value before the increment must have fitted 64 bits.
        if not -_END <= values[column] - amount < _END:
            raise CounterOverflowError(
                "the amounts were added, but a counter overflowed 64 bits and changed its sign",
                model=bound.schema.model_name,
                table=bound.schema.table,
                row=row,
                column=column,
                amount=amount,
                values=new_values,
                fix="to undo the increment, increment the counter by "
                f"{-amount if amount > -_END else amount}",
            )
    return new_values


def _counter_column(bound: BoundModel, increment: AddAmount) -> bytes:
    if not isinstance(increment, AddAmount):
        raise QueryError(
            "the argument is not an increment",
            got=repr(increment),
            fix=f"write {field_of(bound.schema, Counter)}.by(1)",
        )
    field = increment.field
    if not bound.schema.has_field(field) or not isinstance(field, Counter):
        raise QueryError(
            "the field is not a counter of this model",
            field=repr(field),
            model=bound.schema.model_name,
            fix=f"increment the model's own counters: {field_of(bound.schema, Counter)}.by(1)",
        )
    field.by(increment.amount)  # refuses what does not fit
    return bound.schema.column_by_name[field.name].column
