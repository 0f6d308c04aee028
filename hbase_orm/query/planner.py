"""From a statement to a plan: pure, no I/O, the same answer every time.

The rule. Conditions that all must hold give each field equal values or a range. Of the row key and
of every index the planner takes the leading run of parts that are known exactly, then one range.
Whole row keys are gets. Otherwise the access with the longer run wins, at equal runs one with a
range after it, at equal rank the row key, then the index declared first. `using` overrides it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hbase_orm.errors import QueryError, UnboundedScanError
from hbase_orm.ops import KeyRange, longest_row_key_bytes
from hbase_orm.query.bounds import (
    Bounds,
    NothingMatchesError,
    bounds_of,
    check_conditions,
    codec_of,
)
from hbase_orm.query.plans import EmptyPlan, GetPlan, IndexPlan, Plan, SaltedScanPlan, ScanPlan
from hbase_orm.query.ranges import KeyAccess, access_by, salt_buckets
from hbase_orm.query.statement import AnyIndex, Select
from hbase_orm.rowkey import FieldPart
from hbase_orm.schema import Index, IndexSchema, Order, TableSchema, fields_of

# A fetch of so many rows keeps a scanner busy without holding more than about a megabyte.
DEFAULT_CACHING_ROWS = 1000
# So many entries are looked up by one multi-get: more gained nothing in measurements.
LOOKUP_ROWS = 100


@dataclass(frozen=True, slots=True)
class _Candidate:
    """One way to read the rows: the row key, or an index with the row key behind it."""

    index: IndexSchema | None
    parts: tuple[FieldPart, ...]
    access: KeyAccess

    def direction(self, orders: Sequence[Order]) -> bool | None:
        """Return whether the scan runs in reverse to give `orders`; None if it cannot give them."""
        known = {part.name for part in self.parts[: self.access.single_run]}
        following = list(self.parts[self.access.single_run :])
        reverse: bool | None = None
        for order in orders:
            if order.field.name in known:
                continue
            part = following.pop(0) if following else None
            if part is None or part.name != order.field.name or not part.is_ordered:
                return None
            backwards = order.descending is not part.is_descending
            if reverse is not None and backwards is not reverse:
                return None
            reverse = backwards
        return bool(reverse)


def plan(statement: Select[Any], schema: TableSchema) -> Plan:
    """Return what will be sent for `statement` to the table that `schema` describes.

    Raises:
        QueryError: A condition is on a foreign field or of a wrong type, or the order cannot be
            had from a scan.
        UnboundedScanError: The whole table would be read and the statement does not allow it.
    """
    check_conditions(schema, statement.conditions)
    for order in statement.orders:
        codec_of(schema, order.field)
    try:
        bounds = bounds_of(schema, statement.conditions)
    except NothingMatchesError as error:
        return _empty(statement, schema, str(error))
    chosen, reverse = _choose(statement, schema, _candidates(statement, schema, bounds))
    if not chosen.access.narrows and not statement.full_scan_allowed:
        raise _unbounded(statement, schema, chosen)
    if chosen.index is not None:
        return _index_plan(statement, schema, chosen, chosen.index, reverse=reverse)
    return _key_plan(statement, schema, chosen, bounds, reverse=reverse)


def _candidates(
    statement: Select[Any], schema: TableSchema, bounds: Mapping[str, Bounds]
) -> list[_Candidate]:
    parts = schema.layout.parts
    by_key = _Candidate(None, parts, access_by(parts, bounds))
    if statement.index is None:
        return [by_key]
    # Behind a salt byte, entries of equal values are in no order of the key's parts.
    behind = () if schema.layout.salt is not None else parts
    by_index = [
        _Candidate(index, (*index.layout.parts, *behind), access_by(index.layout.parts, bounds))
        for index in schema.indexes
        if _covers_all_rows(schema, index, bounds)
    ]
    if isinstance(statement.index, AnyIndex):
        return [by_key, *(found for found in by_index if found.access.narrows)]
    return [_named(statement, schema, statement.index, by_index)]


def _covers_all_rows(schema: TableSchema, index: IndexSchema, bounds: Mapping[str, Bounds]) -> bool:
    """Say whether every row that can match has an entry: rows with a None have none."""
    nullable = {column.name for column in schema.columns if column.nullable}
    return all(
        part.name not in nullable or bounds.get(part.name, Bounds()).excludes_none
        for part in index.layout.parts
    )


def _named(
    statement: Select[Any], schema: TableSchema, index: Index, usable: Sequence[_Candidate]
) -> _Candidate:
    if getattr(statement.model, index.name, None) is not index:
        raise QueryError("the model has no such index", index=repr(index), model=schema.model_name)
    for candidate in usable:
        if candidate.index is not None and candidate.index.name == index.name:
            return candidate
    raise QueryError(
        "the index has no entry for rows where an indexed field is None",
        index=index.name,
        fix="add conditions that exclude None on every indexed field that is nullable",
    )


def _choose(
    statement: Select[Any], schema: TableSchema, candidates: Sequence[_Candidate]
) -> tuple[_Candidate, bool]:
    fitting = [
        (candidate, reverse)
        for candidate in candidates
        if (reverse := candidate.direction(statement.orders)) is not None
    ]
    if not fitting:
        raise QueryError(
            "no scan gives this order",
            order=[repr(order) for order in statement.orders],
            key=[part.name for part in schema.layout.parts],
            fix="order by the key fields that follow those compared by ==, or declare an index",
        )
    # max() keeps the first of equals: the row key, then the indexes as they are declared.
    return max(fitting, key=lambda found: _rank(*found))


def _rank(candidate: _Candidate, reverse: bool) -> tuple[bool, int, bool]:  # noqa: ARG001, FBT001 - pairs
    complete, run, has_range = candidate.access.rank
    # A whole index prefix is no whole row key: only the row key can be got.
    return complete and candidate.index is None, run, has_range


def _empty(statement: Select[Any], schema: TableSchema, reason: str) -> EmptyPlan:
    return EmptyPlan(
        schema=schema,
        conditions=(),
        limit=statement.row_limit,
        order="none",
        reason=reason,
    )


def _common(statement: Select[Any], schema: TableSchema, order: str) -> dict[str, Any]:
    return {
        "schema": schema,
        "conditions": statement.conditions,
        "limit": statement.row_limit,
        "order": order,
    }


def _caching(statement: Select[Any], chosen: _Candidate, most: int) -> int:
    if statement.caching_rows is not None:
        return statement.caching_rows
    if statement.row_limit is None:
        return most
    narrowing = chosen.access.run + (chosen.access.within is not None)
    in_ranges = {part.name for part in chosen.parts[:narrowing]}
    named = {name for condition in statement.conditions for name in fields_of(condition)}
    # What only the client checks drops rows: one row a call would then be slow for a limit of 1.
    wanted = statement.row_limit if named <= in_ranges else max(statement.row_limit, LOOKUP_ROWS)
    return min(wanted, most)


def _key_plan(
    statement: Select[Any],
    schema: TableSchema,
    chosen: _Candidate,
    bounds: Mapping[str, Bounds],
    *,
    reverse: bool,
) -> Plan:
    layout = schema.layout
    common = _common(statement, schema, _order_text(chosen, reverse=reverse))
    access = chosen.access
    salts = [(b"", list(access.prefixes))]
    if layout.salt is not None:
        salts = salt_buckets(layout.salt, layout.parts, access, bounds)
    if access.is_complete:
        unsalted = sorted((prefix, salt) for salt, prefixes in salts for prefix in prefixes)
        keys = [
            salt + prefix for prefix, salt in unsalted if _is_storable(schema.table, salt + prefix)
        ]
        if not keys:
            return _empty(statement, schema, "no row key of this length is stored")
        return GetPlan(**common, keys=tuple(reversed(keys) if reverse else keys))
    streams = [
        _directed(schema.table, access.ranges(salt, prefixes), reverse=reverse)
        for salt, prefixes in salts
    ]
    streams = [ranges for ranges in streams if ranges]
    if not streams:
        return _empty(statement, schema, "the ranges of the key are empty")
    caching_rows = _caching(statement, chosen, DEFAULT_CACHING_ROWS)
    if len(streams) == 1:
        return ScanPlan(
            **common,
            ranges=streams[0],
            reverse=reverse,
            caching_rows=caching_rows,
        )
    return SaltedScanPlan(
        **common,
        buckets=tuple(streams),
        reverse=reverse,
        caching_rows=caching_rows,
    )


def _is_storable(table: str, key: bytes) -> bool:
    return 0 < len(key) <= longest_row_key_bytes(table)


def _index_plan(
    statement: Select[Any],
    schema: TableSchema,
    chosen: _Candidate,
    index: IndexSchema,
    *,
    reverse: bool,
) -> Plan:
    ranges = _directed(index.table, chosen.access.ranges(), reverse=reverse)
    if not ranges:
        return _empty(statement, schema, "the ranges of the index are empty")
    return IndexPlan(
        **_common(statement, schema, _order_text(chosen, reverse=reverse)),
        index=index,
        ranges=ranges,
        reverse=reverse,
        caching_rows=_caching(statement, chosen, LOOKUP_ROWS),
    )


def _directed(table: str, ranges: list[KeyRange], *, reverse: bool) -> tuple[KeyRange, ...]:
    # A start that no region lookup takes is cut: the few rows more are dropped by the client.
    longest = longest_row_key_bytes(table)
    cut = [KeyRange(key_range.start[:longest], key_range.stop) for key_range in ranges]
    return tuple(reversed(cut) if reverse else cut)


def _order_text(chosen: _Candidate, *, reverse: bool) -> str:
    shown = []
    for part in chosen.parts[chosen.access.single_run :]:
        if not part.is_ordered:
            shown.append(f"{part.name} by its bytes")
            break
        shown.append(f"{part.name} {'desc' if part.is_descending is not reverse else 'asc'}")
    return ", ".join(dict.fromkeys(shown)) or "at most one row"


def _unbounded(
    statement: Select[Any], schema: TableSchema, chosen: _Candidate
) -> UnboundedScanError:
    compared = sorted({name for c in statement.conditions for name in fields_of(c)})
    first = chosen.parts[0].name
    advice = f"compare {first}, the first part of the key"
    columns = [name for name in compared if name in {column.name for column in schema.columns}]
    if columns:
        advice += f", or declare Index({', '.join(columns)})"
    return UnboundedScanError(
        "the statement would read the whole table",
        model=schema.model_name,
        compared=compared,
        fix=f"{advice}; or say .allow_full_scan()",
    )
