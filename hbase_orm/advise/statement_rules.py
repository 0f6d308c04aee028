"""Rules about statements: full scans, conditions that an index would bound, costly fan-outs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from hbase_orm.advise.remarks import Remark, StatementRule, StatementTarget, listed
from hbase_orm.advise.sizes import count_text
from hbase_orm.errors import UnboundedScanError
from hbase_orm.query import Plan, SaltedScanPlan, ScanPlan, plan
from hbase_orm.query.conditions.bounds import Bounds, NothingMatchesError, bounds_of_each
from hbase_orm.query.planning.advice import narrowing_index
from hbase_orm.query.plans.plans import TablesPlan
from hbase_orm.rowkey.derivations import SaltOf

_FEW_ROWS: Final = 1000


def _full_scan(target: StatementTarget) -> Iterator[Remark]:
    statement, schema = target.statement, target.schema
    if target.plan is not None:
        if not statement.full_scan_allowed or not _is_scan(target.plan):
            return
        try:
            plan(replace(statement, full_scan_allowed=False), schema)
        except UnboundedScanError:
            pass
        else:
            return  # the permission is not needed
    if statement.row_limit is not None and not statement.conditions:
        return  # the first rows of the table are a range
    index, regions = narrowing_index(statement, schema), len(schema.split_keys) + 1
    yield Remark(
        target.text,
        "the statement reads the whole table"
        + ("" if target.plan is not None else ", and is refused"),
        f"{count_text(target.rows)} rows are read in {regions} region{'s' if regions > 1 else ''}, "
        "for each answer",
        f"declare {index}"
        if index
        else f"compare the beginning of the row key: {schema.layout.behind[0].name}",
    )


def _is_scan(chosen: Plan) -> bool:
    return isinstance(chosen, (ScanPlan, SaltedScanPlan, TablesPlan))


def _filters(target: StatementTarget) -> Iterator[Remark]:
    statement, schema, chosen = target.statement, target.schema, target.plan
    if not isinstance(chosen, (ScanPlan, SaltedScanPlan)) or statement.full_scan_allowed:
        return
    equal = _equal_fields(target)
    first = schema.layout.behind[0]
    if not first.fields or set(first.fields) <= equal:
        return  # the range has the rows of one beginning: a filter within it is cheap
    columns = [column.name for column in schema.columns if column.name in equal]
    index = narrowing_index(statement, schema)
    if not columns or index is None or statement.index is None:
        return
    yield Remark(
        target.text,
        f"the statement reads a range of {listed(first.fields)}, and compares {listed(columns)} "
        "with each of its rows",
        f"of {count_text(target.rows)} rows the whole range is read, whatever {listed(columns)} "
        "is: HBase's filter only leaves rows out of the answer",
        f"declare {index}",
    )


def _fan_out(target: StatementTarget) -> Iterator[Remark]:
    statement, schema, chosen = target.statement, target.schema, target.plan
    spread = schema.layout.spread
    limit = statement.row_limit
    if not isinstance(chosen, SaltedScanPlan) or spread is None or limit is None:
        return
    if limit > _FEW_ROWS or not isinstance(spread.derivation, SaltOf):
        return
    equal = _equal_fields(target)
    run = []
    for part in schema.layout.behind:
        if part.derivation is not None or part.name not in equal:
            break
        run.append(part.name)
    if not run:
        return
    buckets = len(chosen.buckets)
    of = f"of=[{', '.join(run)}]" if len(run) > 1 else f"of={run[0]}"
    rest = ", ".join(part.name for part in schema.layout.behind)
    yield Remark(
        target.text,
        f"the statement knows {listed(run)}, but not the bucket, which is computed of more",
        f"{buckets} scanners for at most {limit} rows, and up to {count_text(buckets * limit)} "
        "rows read for them; with the bucket known, 1 scanner",
        f"__rowkey__ = rowkey(Salt({len(spread.derivation.numbers)}, {of}), {rest}), if no single "
        f"{run[0]} has a large share of the writes",
    )


def _equal_fields(target: StatementTarget) -> set[str]:
    """Return the fields that every alternative of the conditions compares with listed values."""
    try:
        alternatives = bounds_of_each(target.schema, target.statement.conditions)
    except NothingMatchesError:
        return set()
    equal = [{name for name, each in known.items() if _is_equal(each)} for known in alternatives]
    return set.intersection(*equal) if equal else set()


def _is_equal(bounds: Bounds) -> bool:
    return bounds.equals is not None and bounds.excludes_none


STATEMENT_RULES: Final = (
    StatementRule(
        "statement-full-scan",
        "warning",
        "a statement reads a whole table",
        "HBase has no index but the row key and the indexes that are declared",
        "HBase Reference Guide, Secondary Indexes and Alternate Query Paths; docs/queries.md",
        _full_scan,
    ),
    StatementRule(
        "statement-filters",
        "warning",
        "a statement filters by a column what an index would bound",
        "a filter is applied to each row that was read",
        "HBase Reference Guide, Secondary Indexes: Filter Query; docs/indexes.md",
        _filters,
    ),
    StatementRule(
        "statement-fan-out",
        "warning",
        "a statement asks every salt bucket for few rows",
        "each bucket is a scanner of its own, and fetches rows for the merge",
        "HBase Reference Guide, Rowkey Design: Salting; docs/row-keys.md",
        _fan_out,
    ),
)
"""The rules of this module."""
