"""Makes the plan of a statement: a pure function, without I/O.

The conditions give each field a list of values or a range. For the row key and for every index, the
planner takes the leading parts whose values are known, and one range after them. The alternatives
of an OR are planned separately, and their ranges are joined. Three limits make a read wider; the
client then checks the conditions:

- An OR that would make more than 64 alternatives is not split.
- More than 1000 combinations of known values are replaced by wider ranges.
- More than 1000 values of a field are replaced by the range from the first to the last value.

Complete row keys are read by gets. So are complete keys of a unique index. In other cases, the
planner chooses the row key or index with the most leading parts known from conditions. In a tie, a
range after these parts decides. After that, the row key wins, then the index declared first.
`using` overrides this choice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from hbase_orm.ops import KeyRange, longest_row_key_bytes
from hbase_orm.query.conditions.bounds import (
    Alternative,
    NothingMatchesError,
    alternatives_of,
    bounds_of,
    bounds_of_each,
)
from hbase_orm.query.planning.candidates import (
    Candidate,
    bucket_before,
    candidates_by_index,
    in_buckets,
    is_covered,
)
from hbase_orm.query.planning.constants import constant_names
from hbase_orm.query.planning.key_ranges import KeyAccess, united
from hbase_orm.query.planning.key_search import NO_NUMBERS, Numbers, Search
from hbase_orm.query.planning.pushdown import push_down
from hbase_orm.query.planning.refusals import refused, unbounded
from hbase_orm.query.planning.shapes import Shapes
from hbase_orm.query.plans.index_plan import IndexPlan
from hbase_orm.query.plans.plans import (
    EmptyPlan,
    GetPlan,
    Plan,
    SaltedScanPlan,
    ScanPlan,
    TablesPlan,
)
from hbase_orm.query.statements.clauses import AnyIndex
from hbase_orm.query.statements.selection import check_selection, fetched, loaded_by, steps_after
from hbase_orm.query.statements.statement import Select
from hbase_orm.schema import (
    Condition,
    IndexSchema,
    InValues,
    Not,
    Or,
    TableSchema,
    check_conditions,
    codec_of,
    fields_of,
    record_types_of,
)

# A fetch of so many rows keeps a scanner busy without holding more than about a megabyte.
DEFAULT_CACHING_ROWS = 1000
# So many entries are looked up by one multi-get: more gained nothing in measurements.
LOOKUP_ROWS = 100

_NO_KEY: Final = "no row key has these values"


def plan(
    statement: Select[Any],
    schema: TableSchema,
    numbers: Numbers = NO_NUMBERS,
    tables: Sequence[datetime] | None = None,
    shapes: Shapes | None = None,
) -> Plan:
    """Return the plan of a statement: what will be sent to HBase for it.

    Args:
        statement: The statement.
        schema: The table.
        numbers: The known numbers of the names in `names_in(statement, schema)`.
        tables: The starts of the periods that have a table, for a statement that reads all tables.
        shapes: The kept plans of this table, by the shape of statements. The new plan may be added.

    Raises:
        QueryError: A condition does not fit the model, or no scan gives the order.
        UnboundedScanError: The whole table would be read, and the statement does not allow a full
            scan.
    """
    cached = None if shapes is None else shapes.find(statement)
    if cached is not None:
        return cached
    chosen = _plan(statement, schema, numbers, tables, shapes)
    if not schema.layout.lookups:
        return chosen
    names = sorted(names_in(statement, schema))
    resolved = tuple((*name, numbers.get(name)) for name in names)
    is_unknown = any(number is None for _, _, number in resolved)
    if isinstance(chosen, EmptyPlan) and chosen.reason == _NO_KEY and is_unknown:
        chosen = replace(
            chosen, reason="a name of the condition has no number, so no row has this name"
        )
    return replace(chosen, resolved=resolved)


def _plan(
    statement: Select[Any],
    schema: TableSchema,
    numbers: Numbers,
    tables: Sequence[datetime] | None,
    shapes: Shapes | None,
) -> Plan:
    check_conditions(schema, statement.conditions)
    check_selection(schema, statement)
    for order in statement.orders:
        codec_of(schema, order.field)
    try:
        alternatives = alternatives_of(schema, statement.conditions)
        candidates = _candidates(statement, schema, alternatives, numbers, tables)
    except NothingMatchesError as error:
        return _empty(statement, schema, str(error))
    chosen, reverse = _choose(statement, schema, candidates)
    if not chosen.access.narrows and not statement.full_scan_allowed:
        raise unbounded(statement, schema, chosen, candidates)
    chosen = replace(
        chosen,
        fetch=fetched(statement, schema, [each.bounds for each in alternatives], chosen.index),
    )
    if chosen.index is not None:
        made = _index_plan(statement, schema, chosen, chosen.index, reverse=reverse)
    else:
        made = _key_plan(statement, schema, chosen, reverse=reverse)
    if shapes is not None:
        shapes.keep(statement, made, chosen)
    return made


def names_in(statement: Select[Any], schema: TableSchema) -> frozenset[tuple[str, str]]:
    """Return the (dictionary table, name) pairs whose numbers the planner needs.

    Raises:
        QueryError: As for `plan`.
    """
    if not schema.layout.lookups:
        return frozenset()
    check_conditions(schema, statement.conditions)
    try:
        alternatives = bounds_of_each(schema, statement.conditions)
    except NothingMatchesError:
        return frozenset()
    return frozenset(
        (lookup.dictionary, name)
        for lookup in schema.layout.lookups
        for bounds in alternatives
        if lookup.field in bounds
        for name in bounds[lookup.field].equals or ()
    )


def _candidates(
    statement: Select[Any],
    schema: TableSchema,
    alternatives: Sequence[Alternative],
    numbers: Numbers,
    tables: Sequence[datetime] | None,
) -> list[Candidate]:
    layout = schema.layout
    whole = Alternative(statement.conditions, bounds_of(schema, statement.conditions))
    access = united(
        [
            Search(layout, alternative.bounds, numbers, tables).access()
            for alternative in alternatives
        ],
        are_whole_keys=True,
    )
    if access is None:  # too many ranges: use only bounds that hold in every alternative
        alternatives = [whole]
        access = Search(layout, whole.bounds, numbers, tables).access()
    constants = constant_names(layout.behind, [each.bounds for each in alternatives])
    by_key = Candidate(None, layout, layout.behind, access.with_constants(constants))
    if statement.index is None:
        return [by_key]
    by_index = candidates_by_index(statement, schema, alternatives, whole)
    return [by_key, *by_index] if isinstance(statement.index, AnyIndex) else by_index


def _choose(
    statement: Select[Any], schema: TableSchema, candidates: Sequence[Candidate]
) -> tuple[Candidate, bool]:
    fitting = [
        (candidate, reverse)
        for candidate in candidates
        if (reverse := candidate.scan_direction(statement)) is not None
    ]
    if not fitting:
        raise refused(statement, schema, candidates)
    # max() returns the first of equals: the row key, then the indexes in the declared order.
    return max(fitting, key=lambda pair: pair[0].rank)


def _empty(statement: Select[Any], schema: TableSchema, reason: str) -> EmptyPlan:
    return EmptyPlan(
        schema=schema,
        conditions=(),
        limit=statement.read_limit,
        order="none",
        reason=reason,
        after=steps_after(statement),
    )


def _common(
    statement: Select[Any],
    schema: TableSchema,
    chosen: Candidate,
    *,
    reverse: bool,
    is_filtered: bool = False,
) -> dict[str, Any]:
    return {
        "schema": schema,
        "conditions": statement.conditions,
        "limit": statement.read_limit,
        "order": chosen.order_text(reverse=reverse),
        "columns": chosen.fetch.columns,
        "reads": chosen.fetch.text(is_filtered=is_filtered),
        "after": steps_after(statement),
        "entries": statement.entries,
        "loaded": loaded_by(statement, schema),
    }


def _caching(
    statement: Select[Any], chosen: Candidate, most: int, checked: Sequence[Condition]
) -> int:
    """Return the number of rows to fetch in one call: the statement's, or at most `most`.

    `checked` has the conditions that the client checks.
    """
    if statement.caching_rows is not None:
        return statement.caching_rows
    limit = statement.read_limit
    if limit is None:
        return most
    narrowing = chosen.access.run + chosen.access.has_range
    in_ranges = {name for part in chosen.parts[:narrowing] for name in part.fields}
    named = {name for condition in checked for name in fields_of(condition)}
    # Conditions that only the client checks drop rows: for a limit of 1, one row per call is slow.
    is_plain = not any(isinstance(condition, (Or, Not)) for condition in checked)
    # A range from the first to the last of a long list also has rows with values between them.
    behind = {name for part in chosen.parts[chosen.access.run : narrowing] for name in part.fields}
    lists = {condition.field.name for condition in checked if isinstance(condition, InValues)}
    is_exact = is_plain and named <= in_ranges and not lists & behind
    wanted = limit if is_exact else max(limit, LOOKUP_ROWS)
    return min(wanted, most)


def _key_plan(
    statement: Select[Any], schema: TableSchema, chosen: Candidate, *, reverse: bool
) -> Plan:
    period = schema.layout.table_period
    if period is None:
        return _table_plan(statement, schema, chosen, chosen.access, reverse=reverse)
    by_time = [order.descending for order in statement.orders if order.field.name == period.field]
    falls = by_time[0] if by_time else reverse
    starts = {path.start for path in chosen.access.paths if path.start is not None}
    plans = []
    for start in sorted(starts, reverse=falls):
        named = replace(schema, table=period.unit.name_of(schema.table, start))
        inner = _table_plan(statement, named, chosen, chosen.access.within(start), reverse=reverse)
        if not isinstance(inner, EmptyPlan):
            plans.append((start, inner))
    if not plans:
        return _empty(statement, schema, "no table can hold a matching row")
    order = chosen.order_text(reverse=reverse)
    if chosen.is_placed:
        order = f"{period.unit.name} of {period.field} {'desc' if falls else 'asc'}, {order}"
    common = _common(statement, schema, chosen, reverse=reverse)
    common |= {"order": order, "reads": plans[0][1].reads}
    return TablesPlan(**common, plans=tuple(plans), falls=falls)


def _table_plan(
    statement: Select[Any],
    schema: TableSchema,
    chosen: Candidate,
    access: KeyAccess,
    *,
    reverse: bool,
) -> Plan:
    if not access.paths:
        return _empty(statement, schema, _NO_KEY)
    if access.is_complete:
        whole = sorted({(path.rest, path.spread) for path in access.paths}, reverse=reverse)
        keys = [
            spread + rest for rest, spread in whole if _is_storable(schema.table, spread + rest)
        ]
        if not keys:
            return _empty(statement, schema, "no row key of this length is stored")
        common = _common(statement, schema, chosen, reverse=reverse)
        common["columns"] = chosen.fetch.got or chosen.fetch.columns
        return GetPlan(**common, keys=tuple(keys), families=chosen.fetch.families)
    streams = [
        _directed(schema.table, ranges, reverse=reverse)
        for ranges in access.ranges_by_spread().values()
        if ranges
    ]
    if not streams:
        return _empty(statement, schema, "the ranges of the key are empty")
    return _scan_plan(statement, schema, chosen, streams, reverse=reverse)


def _scan_plan(
    statement: Select[Any],
    schema: TableSchema,
    chosen: Candidate,
    streams: list[tuple[KeyRange, ...]],
    *,
    reverse: bool,
) -> Plan:
    read = chosen.fetch.columns or None
    pushed = push_down(schema, statement.conditions, reverse=reverse, columns=read)
    if pushed.is_empty:
        return _empty(statement, schema, "no stored value fulfils the conditions")
    # The conditions on rows come first: a filter that leaves cells out would hide cells from them.
    sent = chosen.fetch.filter if pushed.filter is None else pushed.filter
    is_filtered = pushed.filter is None
    common = _common(statement, schema, chosen, reverse=reverse, is_filtered=is_filtered) | {
        "reverse": reverse,
        "caching_rows": _caching(statement, chosen, DEFAULT_CACHING_ROWS, pushed.remaining),
        "most_rows": 0 if statement.caching_rows else DEFAULT_CACHING_ROWS,
        "filter": None if sent is None else bytes(sent),
        "unconditional": None if chosen.fetch.filter is None else bytes(chosen.fetch.filter),
        "mask": None if chosen.fetch.mask is None else bytes(chosen.fetch.mask),
    }
    if len(streams) == 1:
        return ScanPlan(**common, ranges=streams[0])
    spread = schema.layout.spread
    return SaltedScanPlan(
        **common,
        buckets=tuple(streams),
        skipped_bytes=0 if spread is None else spread.codec.width_bytes or 0,
    )


def _is_storable(table: str, key: bytes) -> bool:
    return 0 < len(key) <= longest_row_key_bytes(table)


def _index_plan(
    statement: Select[Any],
    schema: TableSchema,
    chosen: Candidate,
    index: IndexSchema,
    *,
    reverse: bool,
) -> Plan:
    by_spread = [ranges for ranges in chosen.access.ranges_by_spread().values() if ranges]
    whole = by_spread[0] if by_spread else []
    if not whole:
        return _empty(statement, schema, "the ranges of the index are empty")
    keys: tuple[bytes, ...] = ()
    if index.unique and chosen.access.is_complete:
        keys = tuple(sorted({path.rest for path in chosen.access.paths}, reverse=reverse))
    buckets = in_buckets(index, whole) if index.salt else ()
    common = _common(statement, schema, chosen, reverse=reverse)
    common["columns"] = chosen.fetch.got or chosen.fetch.columns
    # If the model has an anchor, a row without it does not exist: no second read is needed.
    may_hide = any(each.anchor is None for each in record_types_of(schema))
    return IndexPlan(
        **common,
        index=index,
        families=chosen.fetch.families if may_hide else (),
        keys=tuple(bucket_before(index, key) for key in keys),
        ranges=() if keys or index.salt else _directed(index.table, whole, reverse=reverse),
        buckets=() if keys else tuple(_directed(index.table, b, reverse=reverse) for b in buckets),
        within=tuple(whole) if index.is_multi_valued else (),
        is_covered=is_covered(statement, schema, index),
        reverse=reverse,
        caching_rows=_caching(statement, chosen, LOOKUP_ROWS, statement.conditions),
        most_rows=0 if statement.caching_rows else LOOKUP_ROWS,
    )


def _directed(table: str, ranges: Sequence[KeyRange], *, reverse: bool) -> tuple[KeyRange, ...]:
    # A start that is too long for a region lookup is cut; the client drops the few additional rows.
    longest = longest_row_key_bytes(table)
    cut = [KeyRange(key_range.start[:longest], key_range.stop) for key_range in ranges]
    return tuple(reversed(cut) if reverse else cut)
