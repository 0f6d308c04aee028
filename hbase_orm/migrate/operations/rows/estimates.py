"""Counts or estimates the rows of tables, for plans."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from hbase_orm.errors import RejectedError
from hbase_orm.index.catalog.entry import BuildRange
from hbase_orm.index.catalog.index_steps import ranges_of
from hbase_orm.index_admin.pace import fraction_of
from hbase_orm.migrate.operations.migrated_table import MigratedTable
from hbase_orm.migrate.operations.operation import Estimate
from hbase_orm.ops import (
    KeyRange,
    ListRegions,
    Protocol,
    RenewTimeLimit,
    Scan,
    ask,
    first_rows,
    run_all,
)

COUNTED_ROWS: Final = 100_000
"""How many rows of each range are counted; the rest is estimated by the density of their keys."""

_PAGE_ROWS: Final = 5000
_KEYS_ONLY: Final = b"FirstKeyOnlyFilter() AND KeyOnlyFilter()"


def estimated_rows(table: MigratedTable, names: Sequence[str]) -> int:
    """Return about how many rows tables have; exactly if no range has more than `COUNTED_ROWS`."""
    return sum(table.run(_rows_of(table, name)) for name in names)


def _rows_of(table: MigratedTable, name: str) -> Protocol[int]:
    try:
        ranges = ranges_of((yield from ask(ListRegions(name))))
    except RejectedError:
        return 0
    counts = yield from run_all([_rows_of_range(table, name, each) for each in ranges])
    return sum(counts)


def _rows_of_range(table: MigratedTable, name: str, each: BuildRange) -> Protocol[int]:
    """Count the rows of a range; estimate those behind the counted ones."""
    left, count = KeyRange(each.start, each.stop or None), 0
    retries = table.runtime.guard_context.retries
    while count < COUNTED_ROWS and not left.is_empty:
        yield from ask(RenewTimeLimit())
        scan = Scan(name, left, filter=_KEYS_ONLY, caching_rows=_PAGE_ROWS)
        page = yield from first_rows(scan, retries)
        if not page:
            return count
        count += len(page)
        left = KeyRange(page[-1].key + b"\x00", left.stop)
    last = yield from first_rows(Scan(name, left, reverse=True, caching_rows=1), retries)
    if not last:
        return count
    whole = BuildRange(each.start, last[0].key + b"\x00", left.start)
    return round(count / max(fraction_of(whole), count / _MOST_ROWS))


_MOST_ROWS: Final = 1_000_000_000
"""The largest estimate: the keys of a range may be far from evenly spread."""


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
