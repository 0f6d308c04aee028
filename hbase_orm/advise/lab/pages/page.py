"""`page`: a result of the lab as one HTML file that loads nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import Final

from hbase_orm.advise.lab.lab_results import DesignResult, LabResult, TableResult
from hbase_orm.advise.lab.pages.bar_charts import cost_chart, distribution
from hbase_orm.advise.lab.pages.heat_maps import heat_map
from hbase_orm.advise.lab.pages.style import STYLE
from hbase_orm.advise.lab.text_report import (
    COST_HEAD,
    DESIGN_HEAD,
    cost_row,
    costs_of,
    design_row,
    load_text,
    remarks_of,
)

_POLICY: Final = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"

_WORDS: Final = (
    ("never filled", "regions that have no row at the end of the load"),
    ("max/mean", "the rows of the largest region, divided by the mean of all; 1 is even"),
    ("Gini", "0 if all regions have equally many rows, nearly 1 if one region has all"),
    (
        "busiest region",
        (
            "the largest part of the table's writes that one region takes at any time; a region is "
            "on one server, so this limits what the table can take"
        ),
    ),
    ("busiest second", "the most writes of one region in one second"),
    ("rows read", "the rows, or index entries, that regions read for one run of the statement"),
    ("rows fetched", "the rows of the table that are sent to the client"),
    ("rows wanted", "the rows that match, up to the limit"),
)


def page(result: LabResult) -> str:
    """Return the HTML of a page about a result."""
    return "\n".join(_lines(result)) + "\n"


def _lines(result: LabResult) -> Iterator[str]:
    names = ", ".join(design.label for design in result.designs)
    title = f"Regions of {names}" if result.source else f"Hotspot lab: {names}"
    yield "<!DOCTYPE html>"
    yield '<html lang="en"><head><meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f'<title>{escape(title)}</title><link rel="icon" href="data:,">'
    yield f"<style>{STYLE}</style></head><body><main>"
    yield f"<h1>{escape(title)}</h1>"
    yield f'<p class="soft">{escape(load_text(result))}</p>'
    sentences = "".join(f"<p>{escape(each)}</p>" for each in result.verdict.sentences)
    yield f'<section class="verdict" aria-label="Verdict">{sentences}</section>'
    yield "<h2>Designs side by side</h2>"
    rows = [(design.label, design_row(design, table)) for design, table in result.tables()]
    yield _table(DESIGN_HEAD, rows, result.verdict.better)
    yield from _statements(result)
    for design in result.designs:
        yield from _design(design)
    yield from _explanations(result)
    yield "</main></body></html>"


def _statements(result: LabResult) -> Iterator[str]:
    if not result.has_statements:
        return
    yield "<h2>What statements cost</h2><div class='plots'>"
    for name in result.statements:
        yield cost_chart(name, [cost for cost in costs_of(result) if cost.statement == name])
    yield "</div><h3>In numbers, for one run on average</h3>"
    rows = [(cost.design, cost_row(cost)) for cost in costs_of(result)]
    yield _table(COST_HEAD, rows, result.verdict.better)


def _design(design: DesignResult) -> Iterator[str]:
    yield f"<h2>{escape(design.label)}</h2>"
    yield f'<p class="soft"><code>{escape(design.model)}</code></p>'
    for table in design.tables:
        what = f"Index {table.index}" if table.index else "Rows"
        yield f"<h3>{escape(what)}, table <code>{escape(table.name)}</code></h3>"
        yield '<div class="plots">'
        yield from _plots(table)
        yield "</div>"


def _plots(table: TableResult) -> Iterator[str]:
    if table.writes.any():
        yield heat_map(table, table.writes, "Writes of each region, % of the table's", "writes")
    if table.reads.any():
        title = "Rows read in each region, % of the table's"
        yield heat_map(table, table.reads, title, "rows read")
    yield distribution(table, "Rows of each region at the end, %")


def _explanations(result: LabResult) -> Iterator[str]:
    remarks = "".join(f"<li>{escape(remark)}</li>" for remark in remarks_of(result))
    if remarks:
        yield f"<h2>Notes</h2><ul>{remarks}</ul>"
    shown = {*DESIGN_HEAD, *(COST_HEAD if result.has_statements else ())}
    words = [(word, meaning) for word, meaning in _WORDS if word in shown]
    items = "".join(f"<li><b>{escape(w)}</b>: {escape(m)}</li>" for w, m in words)
    yield f"<h2>Words</h2><ul>{items}</ul>"


def _table(head: Sequence[str], rows: Sequence[tuple[str, Sequence[str]]], better: str) -> str:
    cells = "".join(f"<th>{escape(name)}</th>" for name in head)
    lines = [f"<tr>{cells}</tr>"]
    for design, row in rows:
        kind = ' class="better"' if design == better else ""
        cells = "".join(f"<td>{escape(text)}</td>" for text in row)
        lines.append(f"<tr{kind}>{cells}</tr>")
    return f'<div class="scroll"><table>{"".join(lines)}</table></div>'
