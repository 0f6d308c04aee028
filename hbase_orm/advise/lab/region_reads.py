"""Which regions are read by statements while a load is written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from hbase_orm.advise.lab.plan_reads import TableRead
from hbase_orm.advise.lab.region_growth import Cells, RegionHistory
from hbase_orm.advise.lab.statement_costs import StatementReads


def reads_by_region(
    history: RegionHistory, table: int, statements: Sequence[StatementReads]
) -> Cells:
    """Return the rows that are read in a second, by cell of time and region.

    Args:
        history: The regions.
        table: The place of their table among those of the design.
        statements: The statements. One with the values of a row is run once the row is written.
    """
    every = np.zeros_like(history.writes)
    for statement in statements:
        every += _of_statement(history, table, statement)
    # A region that is split later serves the reads of all its keys.
    for cell, owners in enumerate(history.owners):
        every[cell] = np.bincount(owners, weights=every[cell])[owners]
    return every


def _of_statement(history: RegionHistory, table: int, statement: StatementReads) -> Cells:
    cells, regions = history.writes.shape
    read, running = np.zeros((cells, regions)), np.zeros(cells)
    for at_s, reads in statement.runs:
        first = min(cells - 1, int(at_s / history.cell_s))
        running[first:] += 1
        for each in _of_table(reads, table):
            read[first:] += _stored(history, each)[first:] * each.share
    return read / np.maximum(running, 1)[:, None] * statement.per_s * history.table.scale


def _of_table(reads: Sequence[TableRead], table: int) -> Iterator[TableRead]:
    return (each for each in reads if each.table == table)


def _stored(history: RegionHistory, read: TableRead) -> Cells:
    """Return how many sampled rows of the spans are stored, by cell of time and region."""
    table = history.table
    cells, regions = history.writes.shape
    spans = [table.new_in(span) for span in read.spans]
    writes = np.concatenate(spans) if spans else np.empty(0, dtype=np.int64)
    at = np.minimum((table.written_at_s[writes] / history.cell_s).astype(np.int64), cells - 1)
    owners = np.searchsorted(history.bounds, table.places[writes], side="right")
    counts = np.bincount(at * regions + owners, minlength=cells * regions)
    return np.cumsum(counts.reshape(cells, regions).astype(np.float64), axis=0)
