"""Estimates the number of rows of tables from their first rows, for plans."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from hbase_orm.errors import RejectedError
from hbase_orm.index.catalog.entry import BuildRange
from hbase_orm.index.catalog.index_steps import ranges_of
from hbase_orm.index.upkeep.table_pages import scan_page
from hbase_orm.index_admin.pace import fraction_of
from hbase_orm.migrate.operations.migrated_table import MigratedTable
from hbase_orm.migrate.operations.operation import Estimate
from hbase_orm.ops import KeyRange, ListRegions, Protocol, ask, run_all

SAMPLED_ROWS: Final = 200
"""How many rows of each region are read for an estimate."""


def estimated_rows(table: MigratedTable, names: Sequence[str]) -> int:
    """Return about how many rows tables have, from the density of the first keys of each region."""
    return sum(table.run(_rows_of(table, name)) for name in names)


def _rows_of(table: MigratedTable, name: str) -> Protocol[int]:
    try:
        ranges = ranges_of((yield from ask(ListRegions(name))))
    except RejectedError:
        return 0
    counts = yield from run_all([_rows_of_range(table, name, each) for each in ranges])
    return sum(counts)


def _rows_of_range(table: MigratedTable, name: str, each: BuildRange) -> Protocol[int]:
    context = table.runtime.guard_context
    within = KeyRange(each.start, each.stop or None)
    rows = yield from scan_page(name, (), within, SAMPLED_ROWS, context)
    if len(rows) < SAMPLED_ROWS:
        return len(rows)
    span = replace(each, start=rows[0].key, next=rows[-1].key)
    return max(len(rows), round(len(rows) / max(fraction_of(span), 1e-9)))


def rows_estimate(
    table: MigratedTable,
    names: Sequence[str],
    *,
    requests_per_row: float,
    passes: int = 1,
    irreversible: str = "",
    waits_s: float = 0.0,
) -> Estimate:
    """Return the estimate of an operation on all rows of tables.

    Args:
        table: The table of the migration.
        names: The names of the tables.
        requests_per_row: About how many requests a row costs.
        passes: How often the rows are read.
        irreversible: What cannot be undone.
        waits_s: The time of waits.
    """
    rows = estimated_rows(table, names)
    rate = table.migration.options.rows_per_second
    return Estimate(
        tuple(names),
        rows,
        round(rows * requests_per_row) + passes * len(names),
        None if rate is None else passes * rows / rate + waits_s,
        irreversible,
        waits_s,
    )
