"""From a statement to a plan: pure, no I/O, the same answer every time.

The rule. Conditions that all must hold give each field equal values or a range. Of the row key and
of every index the planner takes the leading run of parts that are known exactly, then one range.
Whole row keys are gets. Otherwise the access with the longer run wins, at equal runs one with a
range after it, at equal rank the row key, then the index declared first. `using` overrides it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from hbase_orm.errors import QueryError, UnboundedScanError
from hbase_orm.ops import KeyRange, longest_row_key_bytes
from hbase_orm.query.access import NO_NUMBERS, KeyAccess, Numbers, Search
from hbase_orm.query.bounds import (
    Bounds,
    NothingMatchesError,
    bounds_of,
    check_conditions,
    codec_of,
)
from hbase_orm.query.plans import (
    EmptyPlan,
    GetPlan,
    IndexPlan,
    Plan,
    SaltedScanPlan,
    ScanPlan,
    TablesPlan,
)
from hbase_orm.query.statement import AnyIndex, Select
from hbase_orm.rowkey import KeyLayout, Part
from hbase_orm.rowkey.derivations import OffsetOf, PeriodOf
from hbase_orm.schema import Index, IndexSchema, Order, TableSchema, fields_of

# A fetch of so many rows keeps a scanner busy without holding more than about a megabyte.
DEFAULT_CACHING_ROWS = 1000
# So many entries are looked up by one multi-get: more gained nothing in measurements.
LOOKUP_ROWS = 100


@dataclass(frozen=True, slots=True)
class _Candidate:
    """One way to read the rows: the row key, or an index with the row key behind it."""

    index: IndexSchema | None
    layout: KeyLayout
    parts: tuple[Part, ...]
    access: KeyAccess

    @property
    def following(self) -> list[Part]:
        """The parts that decide the order of the rows: those that are not the same in all."""
        return [part for part in self.parts if part.name not in self.access.constant]

    @property
    def is_placed(self) -> bool:
        """Whether the rows come table by table."""
        return len({path.start for path in self.access.paths}) > 1

    def direction(self, orders: Sequence[Order]) -> bool | None:
        """Return whether the scan runs in reverse to give `orders`; None if it cannot give them."""
        following = self.following
        deciding = [order for order in orders if order.field.name not in self.access.constant]
        period = self.layout.table_period
        first = deciding[0].field.name if deciding and self.is_placed else None
        if first is not None and period is not None and first != period.field:
            return None
        reverse: bool | None = None
        for order in deciding:
            ascending = self._take(following, order.field.name)
            if ascending is None:
                return None
            backwards = order.descending is ascending
            if reverse is not None and backwards is not reverse:
                return None
            reverse = backwards
        return bool(reverse)

    def _take(self, following: list[Part], name: str) -> bool | None:
        """Take the parts that sort by a field off the front; return whether they ascend."""
        first = following.pop(0) if following else None
        if first is None or name not in first.fields or not first.is_ordered:
            return None
        if isinstance(first.derivation, PeriodOf):
            second = following.pop(0) if following else None
            fits = second is not None and second.is_ordered and _tells_time(second, name)
            if second is None or not fits or second.is_descending is not first.is_descending:
                return None
        elif isinstance(first.derivation, OffsetOf):
            if not self._is_within_period(first):
                return None
        elif first.derivation is not None:
            return None
        return not first.is_descending

    def _is_within_period(self, offset: Part) -> bool:
        joining = self.layout.joining(offset.fields[0])
        if joining is None or joining[0] is None:
            return joining is not None  # rows come table by table
        return joining[0].name in self.access.constant


def _tells_time(part: Part, name: str) -> bool:
    is_time = part.derivation is None or isinstance(part.derivation, OffsetOf)
    return is_time and part.fields == (name,)


def plan(
    statement: Select[Any],
    schema: TableSchema,
    numbers: Numbers = NO_NUMBERS,
    tables: Sequence[datetime] | None = None,
) -> Plan:
    """Return what will be sent for `statement` to the table that `schema` describes.

    Args:
        statement: What is asked.
        schema: The table.
        numbers: The numbers of the names in `names_in(statement, schema)`, as far as known.
        tables: The periods that have a table, for a statement that reads all of them.

    Raises:
        QueryError: A condition is on a foreign field or of a wrong type, or the order cannot be
            had from a scan.
        UnboundedScanError: The whole table would be read and the statement does not allow it.
    """
    chosen = _plan(statement, schema, numbers, tables)
    if not schema.layout.lookups:
        return chosen
    names = sorted(names_in(statement, schema))
    return replace(chosen, resolved=tuple((*name, numbers.get(name)) for name in names))


def _plan(
    statement: Select[Any],
    schema: TableSchema,
    numbers: Numbers,
    tables: Sequence[datetime] | None,
) -> Plan:
    check_conditions(schema, statement.conditions)
    for order in statement.orders:
        codec_of(schema, order.field)
    try:
        bounds = bounds_of(schema, statement.conditions)
    except NothingMatchesError as error:
        return _empty(statement, schema, str(error))
    candidates = _candidates(statement, schema, bounds, numbers, tables)
    chosen, reverse = _choose(statement, schema, candidates)
    if not chosen.access.narrows and not statement.full_scan_allowed:
        raise _unbounded(statement, schema, chosen)
    if chosen.index is not None:
        return _index_plan(statement, schema, chosen, chosen.index, reverse=reverse)
    return _key_plan(statement, schema, chosen, reverse=reverse)


def names_in(statement: Select[Any], schema: TableSchema) -> frozenset[tuple[str, str]]:
    """Return the names, each after its dictionary's table, whose numbers planning needs.

    Raises:
        QueryError: As for `plan`.
    """
    if not schema.layout.lookups:
        return frozenset()
    check_conditions(schema, statement.conditions)
    try:
        bounds = bounds_of(schema, statement.conditions)
    except NothingMatchesError:
        return frozenset()
    return frozenset(
        (lookup.dictionary, name)
        for lookup in schema.layout.lookups
        if lookup.field in bounds
        for name in bounds[lookup.field].equals or ()
    )


def _candidates(
    statement: Select[Any],
    schema: TableSchema,
    bounds: Mapping[str, Bounds],
    numbers: Numbers,
    tables: Sequence[datetime] | None,
) -> list[_Candidate]:
    layout = schema.layout
    access = Search(layout, bounds, numbers, tables).access()
    by_key = _Candidate(None, layout, layout.behind, access)
    if statement.index is None:
        return [by_key]
    # Behind a part that spreads keys, entries of equal values are in no order of the key's parts.
    behind = () if layout.spread is not None else layout.parts
    by_index = [
        _Candidate(
            index,
            index.layout,
            (*index.layout.parts, *behind),
            Search(index.layout, bounds).access(),
        )
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
    narrowing = chosen.access.run + chosen.access.has_range
    in_ranges = {name for part in chosen.parts[:narrowing] for name in part.fields}
    named = {name for condition in statement.conditions for name in fields_of(condition)}
    # What only the client checks drops rows: one row a call would then be slow for a limit of 1.
    wanted = statement.row_limit if named <= in_ranges else max(statement.row_limit, LOOKUP_ROWS)
    return min(wanted, most)


def _key_plan(
    statement: Select[Any], schema: TableSchema, chosen: _Candidate, *, reverse: bool
) -> Plan:
    period = schema.layout.table_period
    if period is None:
        return _table_plan(statement, schema, chosen, chosen.access, reverse=reverse)
    by_time = [order.descending for order in statement.orders if order.field.name == period.field]
    starts = {path.start for path in chosen.access.paths if path.start is not None}
    plans = []
    for start in sorted(starts, reverse=by_time[0] if by_time else reverse):
        named = replace(schema, table=period.unit.name_of(schema.table, start))
        inner = _table_plan(statement, named, chosen, chosen.access.within(start), reverse=reverse)
        if not isinstance(inner, EmptyPlan):
            plans.append((start, inner))
    if not plans:
        return _empty(statement, schema, "no table can hold such a row")
    order = _order_text(chosen, reverse=reverse)
    return TablesPlan(**_common(statement, schema, order), plans=tuple(plans))


def _table_plan(
    statement: Select[Any],
    schema: TableSchema,
    chosen: _Candidate,
    access: KeyAccess,
    *,
    reverse: bool,
) -> Plan:
    common = _common(statement, schema, _order_text(chosen, reverse=reverse))
    if not access.paths:
        return _empty(statement, schema, "no row key has these values")
    if access.is_complete:
        whole = sorted({(path.rest, path.spread) for path in access.paths}, reverse=reverse)
        keys = [
            spread + rest for rest, spread in whole if _is_storable(schema.table, spread + rest)
        ]
        if not keys:
            return _empty(statement, schema, "no row key of this length is stored")
        return GetPlan(**common, keys=tuple(keys))
    streams = [
        _directed(schema.table, ranges, reverse=reverse)
        for ranges in access.ranges_by_spread().values()
        if ranges
    ]
    if not streams:
        return _empty(statement, schema, "the ranges of the key are empty")
    caching_rows = _caching(statement, chosen, DEFAULT_CACHING_ROWS)
    if len(streams) == 1:
        return ScanPlan(**common, ranges=streams[0], reverse=reverse, caching_rows=caching_rows)
    spread = schema.layout.spread
    return SaltedScanPlan(
        **common,
        buckets=tuple(streams),
        reverse=reverse,
        caching_rows=caching_rows,
        skipped_bytes=0 if spread is None else spread.codec.width_bytes or 0,
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
    found = [ranges for ranges in chosen.access.ranges_by_spread().values() if ranges]
    ranges = _directed(index.table, found[0] if found else [], reverse=reverse)
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
    for part in chosen.following:
        if not part.is_ordered or (part.derivation is not None and part.derivation.gives_bytes):
            shown.append(f"{part.name} by its bytes")
            break
        shown.append(f"{part.name} {'desc' if part.is_descending is not reverse else 'asc'}")
    if not shown and len(chosen.access.paths) > 1:
        return "by the row key"
    return ", ".join(dict.fromkeys(shown)) or "at most one row"


def _unbounded(
    statement: Select[Any], schema: TableSchema, chosen: _Candidate
) -> UnboundedScanError:
    compared = sorted({name for c in statement.conditions for name in fields_of(c)})
    first = chosen.parts[0]
    advice = f"compare {' and '.join(first.fields) or 'the key'}, the first part of the key"
    columns = [name for name in compared if name in {column.name for column in schema.columns}]
    if columns:
        advice += f", or declare Index({', '.join(columns)})"
    return UnboundedScanError(
        "the statement would read the whole table",
        model=schema.model_name,
        compared=compared,
        fix=f"{advice}; or say .allow_full_scan()",
    )
