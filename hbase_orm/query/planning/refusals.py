"""The errors for statements that cannot be planned, with advice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hbase_orm.errors import QueryError, UnboundedScanError
from hbase_orm.query.planning.advice import (
    compares_different_fields,
    narrowing_index,
    ordering_index,
)
from hbase_orm.query.planning.candidates import Candidate
from hbase_orm.query.statements.statement import Select
from hbase_orm.rowkey import Part
from hbase_orm.rowkey.derivations import PeriodOf
from hbase_orm.schema import TableSchema, fields_of


def refused(
    statement: Select[Any], schema: TableSchema, candidates: Sequence[Candidate]
) -> QueryError:
    """Return the error for an order that no scan gives, or for rows not read group by group."""
    if all(each.order_direction(statement.orders) is None for each in candidates):
        return _unordered(statement, schema, candidates)
    return QueryError(
        "the statement would not read the rows of a group one after another",
        groups=[repr(group) for group in statement.groups],
        key=[part.name for part in schema.layout.parts],
        fix="group by the first fields of the row key, not counting those compared by ==; or read "
        "through an index that begins with the grouped fields, by using(); or group the rows of "
        "session.stream in Python",
    )


def _unordered(
    statement: Select[Any], schema: TableSchema, candidates: Sequence[Candidate]
) -> QueryError:
    """Return the error for an order that no scan gives."""
    own = "the key fields in the order of the key, where those compared by == may be left out"
    period = schema.layout.table_period
    if period is None:
        index = None if statement.is_timeline else ordering_index(statement, schema)
        advice = f"order by {own}" + (f", or {index}" if index else "")
    elif candidates[0].is_placed:
        advice = f"rows are read table by table: order by {period.field} first, then by {own}"
    else:
        advice = f"order by {own}"
    return QueryError(
        "no scan can return the rows in this order",
        order=[repr(order) for order in statement.orders],
        key=[part.name for part in schema.layout.parts],
        fix=f"{advice}; or sort the rows in memory: .sort_in_memory(..., max_rows=...)",
    )


def unbounded(
    statement: Select[Any],
    schema: TableSchema,
    chosen: Candidate,
    candidates: Sequence[Candidate],
) -> UnboundedScanError:
    """Return the error for a statement that would read the whole table, with advice."""
    compared = sorted({name for c in statement.conditions for name in fields_of(c)})
    advice = _advice(chosen.parts[0], compared)
    index = narrowing_index(statement, schema)
    if compares_different_fields(statement, schema):
        advice = (
            "run one statement for each alternative, because the alternatives compare different "
            "fields"
        )
    elif any(each.access.narrows for each in candidates):
        advice += f", or {_in_another_order(statement, schema)}"
    elif index is not None and statement.is_timeline:
        advice += f', or read through {index} without .consistency("timeline")'
    elif index is not None and statement.index is None and schema.indexes:
        advice += f", or leave out .using(None), or declare {index}"
    elif index is not None:
        advice += f", or declare {index}"
    return UnboundedScanError(
        "the statement would read the whole table",
        model=schema.model_name,
        compared=compared,
        fix=f"{advice}; or add .allow_full_scan()",
    )


def _in_another_order(statement: Select[Any], schema: TableSchema) -> str:
    """Return the advice to leave out the order or the groups, so that an index narrows the read."""
    index = ordering_index(statement, schema) if statement.orders else None
    leave = "leave out the order" if statement.orders else "leave out the groups"
    declare = "" if index is None else f", or {index}"
    return f"{leave}, which the index that narrows the read does not give{declare}"


def _advice(first: Part, compared: Sequence[str]) -> str:
    """Return the advice on which comparison of the key's first part would narrow the scan."""
    fields = " and ".join(first.fields)
    if not fields:
        return "compare the key"
    if first.derivation is not None and not isinstance(first.derivation, PeriodOf):
        return f"compare {fields} by == or in_(): the key begins with {first.name}"
    if set(first.fields) <= set(compared):
        return f"compare {fields} by ==, in_() or a range that leaves some values out"
    return f"compare {fields}, the first part of the key"
