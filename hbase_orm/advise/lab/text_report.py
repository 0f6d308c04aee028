"""A result of the lab as text: the load, the designs, the statements, the verdict."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import Final

from hbase_orm.advise.lab.lab_results import DesignResult, LabResult, TableResult
from hbase_orm.advise.lab.statement_costs import StatementCost
from hbase_orm.advise.lab.verdicts import duration_text, number_text, percent_text
from hbase_orm.advise.sizes import bytes_text, count_text

WIDTH: Final = 100
"""The width of a line of sentences."""

DESIGN_HEAD: Final = (
    "design",
    "table",
    "regions",
    "never filled",
    "splits",
    "max/mean",
    "Gini",
    "busiest region",
    "busiest second",
)
"""The columns of the table of designs."""

COST_HEAD: Final = (
    "statement",
    "design",
    "plan",
    "scanners",
    "gets",
    "rows read",
    "rows fetched",
    "rows wanted",
    "read per row wanted",
)
"""The columns of the table of statements."""


def report_lines(result: LabResult) -> Iterator[str]:
    """Yield the lines of a result."""
    yield from textwrap.wrap(load_text(result), WIDTH)
    yield ""
    yield from _aligned(DESIGN_HEAD, [design_row(*each) for each in result.tables()])
    if result.has_statements:
        yield ""
        yield from _aligned(COST_HEAD, [cost_row(cost) for cost in costs_of(result)])
    remarks = list(remarks_of(result))
    if remarks:
        yield ""
    for remark in remarks:
        yield from textwrap.wrap(f"note: {remark}", WIDTH)
    yield ""
    yield from textwrap.wrap(str(result.verdict), WIDTH)


def load_text(result: LabResult) -> str:
    """Return the load in a sentence or two."""
    shape = result.shape
    if shape is None or result.workload is None:
        return f"The regions of {result.source}; {count_text(result.sampled)} rows were counted."
    text = (
        f"{counted_text(shape.rows, 'row')}, {number_text(shape.rate_per_s)} a second for "
        f"{duration_text(shape.seconds)}. Workload {result.workload.name}: "
        f"{result.workload.summary}."
    )
    if result.sampled < shape.rows:
        text += f" The keys of {count_text(result.sampled)} of the rows were computed."
    return text


def design_row(design: DesignResult, table: TableResult) -> tuple[str, ...]:
    """Return a table of a design as texts, one for each of `DESIGN_HEAD`."""
    busiest, skew = table.busiest, table.skew
    regions = str(table.regions_at_first)
    if len(table.regions) != table.regions_at_first:
        regions += f" to {len(table.regions)}"
    return (
        design.label,
        f"index {table.index}" if table.index else "rows",
        regions,
        str(len(table.never_filled)),
        str(len(table.splits)),
        f"{skew.max_over_mean:.2f}",
        f"{skew.gini:.2f}",
        "-" if busiest is None else f"{percent_text(busiest.share)} of writes",
        "-" if busiest is None else counted_text(busiest.writes_in_second, "write"),
    )


def costs_of(result: LabResult) -> Iterator[StatementCost]:
    """Yield the costs, statement by statement."""
    for name in result.statements:
        for design in result.designs:
            yield from (cost for cost in design.costs if cost.statement == name)


def cost_row(cost: StatementCost) -> tuple[str, ...]:
    """Return a cost as texts, one for each of `COST_HEAD`."""
    kind = f"{cost.kind}, whole table" if cost.is_full_scan else cost.kind
    return (
        cost.statement,
        cost.design,
        f"{kind}, refused" if cost.is_refused else kind,
        number_text(cost.scanners),
        number_text(cost.gets),
        number_text(cost.scanned),
        number_text(cost.fetched),
        number_text(cost.wanted),
        f"{cost.read_for_each:,.1f}",
    )


def remarks_of(result: LabResult) -> Iterator[str]:
    """Yield what is assumed of each table, in sentences."""
    for design, table in result.tables():
        name = f"{design.label}, index {table.index}" if table.index else design.label
        for remark in table.remarks:
            yield f"{name}: {remark}"
    refused = {cost.statement for cost in costs_of(result) if cost.is_refused}
    for statement in sorted(refused):
        yield f"{statement} is refused where it reads a whole table, unless it allows a full scan"


def counted_text(number: float, noun: str) -> str:
    """Return a number of things as text, such as `1 write` or `2.5 writes`."""
    return f"{number_text(number)} {noun}{'' if number == 1 else 's'}"


def size_text(size_bytes: float) -> str:
    """Return a size as text."""
    return bytes_text(round(size_bytes))


def _aligned(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    texts = [tuple(head), *map(tuple, rows)]
    widths = [max(len(row[column]) for row in texts) for column in range(len(head))]
    for row in texts:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
