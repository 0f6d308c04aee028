"""Converts conditions to the comparison of one cell that HBase makes before a write."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from hbase_orm.codecs import Codec
from hbase_orm.errors import CodecError, QueryError
from hbase_orm.model.hints import field_of
from hbase_orm.query.planning.pushdown import ways_of
from hbase_orm.schema import (
    ColumnSchema,
    Comparison,
    Condition,
    FunctionExpr,
    Operator,
    TableSchema,
    check_conditions,
    conjuncts,
    stored_column,
)

_GUARDED = "declare a version column, revision: Version = version(), which allows any conditions"


class CellTest(NamedTuple):
    """A comparison of one cell: `stored operator expected`. `== b""` tests that it is absent."""

    column: bytes
    operator: Operator
    expected: bytes


def check_flat(schema: TableSchema, conditions: Sequence[Condition]) -> tuple[Condition, ...]:
    """Check the conditions of a write, and return them as a flat list without nested ANDs.

    Raises:
        QueryError: There is no condition. Or an argument is not a condition, compares a field of
            another model, or compares with a value of a wrong type.
    """
    for condition in conditions:
        if not isinstance(condition, Condition):
            raise QueryError(
                "the argument is not a condition",
                got=repr(condition),
                fix=f"compare a field, as in {field_of(schema)} == value",
            )
    flat = tuple(part for condition in conditions for part in conjuncts(condition))
    if not flat:
        raise QueryError(
            "a conditional write needs a condition",
            model=schema.model_name,
            fix="give a condition, or use add and delete",
        )
    check_conditions(schema, flat)
    return flat


def holds_for_absent_row(conditions: Sequence[Condition]) -> bool:
    """Return whether all conditions are true for an absent row.

    Only `is_null()` is true for an absent row.
    """
    return all(
        isinstance(each, Comparison) and each.operator == "==" and each.value is None
        for each in conditions
    )


def cell_test(schema: TableSchema, conditions: Sequence[Condition]) -> CellTest:
    """Return the comparison by which HBase decides a conditional write of a plain row.

    Args:
        schema: The schema of the model.
        conditions: The result of `check_flat`.

    Raises:
        QueryError: HBase cannot decide the conditions by one comparison of one cell.
    """
    only = conditions[0]
    if len(conditions) > 1 or not isinstance(only, Comparison):
        raise _refused(
            "HBase can compare only one column of a row with one value", schema, conditions
        )
    column = _column(schema, only)
    if only.value is None:
        return _null_test(schema, column, only)
    if only.operator == "!=":
        if column.nullable:
            raise _refused(
                "HBase's != is false for a missing cell, but None differs from the value",
                schema,
                (only,),
            )
        equal = Comparison(only.field, "==", only.value)
        operator, data = _bytes_test(schema, column, equal)
        return CellTest(column.column, "!=", data)
    if column in schema.numbers and _fits_zero(only):
        raise _refused(
            "a counter without a cell counts as 0, but HBase's comparison with a missing cell is "
            "false",
            schema,
            (only,),
        )
    operator, data = _bytes_test(schema, column, only)
    return CellTest(column.column, operator, data)


def _column(schema: TableSchema, condition: Comparison) -> ColumnSchema:
    if isinstance(condition.field, FunctionExpr):
        raise _refused(
            "HBase compares the stored value, not a function of it", schema, (condition,)
        )
    column = stored_column(schema, condition.field)
    if column is None or column.name in schema.layout.names:
        raise QueryError(
            "a conditional write cannot compare a key field, which only names the row",
            model=schema.model_name,
            condition=repr(condition),
            fix="compare a column",
        )
    return column


def _null_test(schema: TableSchema, column: ColumnSchema, condition: Comparison) -> CellTest:
    if condition.operator not in {"==", "!="}:
        raise _refused("nothing is less or greater than None", schema, (condition,))
    if may_be_empty(column.codec):
        raise _refused(
            "HBase's check treats an empty cell like an absent one", schema, (condition,)
        )
    if condition.operator == "==":
        return CellTest(column.column, "==", b"")
    return CellTest(column.column, ">=", b"\x00")  # true for every cell that is not empty


def may_be_empty(codec: Codec[Any]) -> bool:
    """Return whether the codec encodes some value, other than None, as empty bytes."""
    if codec.width_bytes is not None or codec.empty_is_null:
        return False
    try:
        codec.decode(b"")
    except CodecError:
        return False
    return True


def _fits_zero(condition: Comparison) -> bool:
    zero = 0
    match condition.operator:
        case "==":
            return bool(zero == condition.value)
        case "<":
            return bool(zero < condition.value)
        case "<=":
            return bool(zero <= condition.value)
        case ">":
            return bool(zero > condition.value)
    return bool(zero >= condition.value)


def _bytes_test(
    schema: TableSchema, column: ColumnSchema, condition: Comparison
) -> tuple[Operator, bytes]:
    ways, is_exact = ways_of(column.codec, condition)
    if not is_exact or len(ways) != 1 or len(ways[0]) != 1:
        raise _refused("the bytes of the column do not decide the condition", schema, (condition,))
    test = ways[0][0]
    if not test.operand:
        raise _refused(
            "HBase treats a comparison with empty bytes as a test that the cell is absent",
            schema,
            (condition,),
        )
    return "==" if test.symbol == "=" else test.symbol, test.operand


def _refused(reason: str, schema: TableSchema, conditions: Sequence[Condition]) -> QueryError:
    return QueryError(
        reason,
        model=schema.model_name,
        conditions=[repr(condition) for condition in conditions],
        fix=_GUARDED,
    )
