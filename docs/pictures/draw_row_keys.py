"""Draws the pictures of docs/choosing-a-row-key.md and fills in its figures.

    python docs/pictures/draw_row_keys.py           # what `make pictures` runs

The models that the page declares are loaded by the hotspot lab. A picture is an SVG file for light
and dark pages; the figures are tables between marks in the page.
"""  # noqa: INP001  # a program, not a package

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from hbase_orm import Model, Select, select
from hbase_orm.advise.estimating import estimate
from hbase_orm.advise.lab import LabResult, TableResult, lab
from hbase_orm.advise.lab.load.value_kinds import FieldValues
from hbase_orm.advise.lab.load.workloads import ZIPF
from hbase_orm.advise.lab.pages.heat_maps import LEVELS, heat_map
from hbase_orm.advise.lab.pages.marks import WIDTH, square, text_at
from hbase_orm.advise.lab.pages.style import STYLE
from hbase_orm.advise.lab.statement_costs import StatementCost
from hbase_orm.advise.sizes import bytes_text

FOLDER: Final = Path(__file__).parent
PAGE: Final = FOLDER.parent / "choosing-a-row-key.md"

_WORKLOAD: Final = replace(
    ZIPF,
    fields={
        "page": FieldValues("zipf", distinct=100, text="page-{}"),
        "user": FieldValues(distinct=3_000),
    },
)
_DAY_S: Final = 86_400.0
_YEAR_S: Final = 365 * _DAY_S
_SAMPLE: Final = 12_000
_LEGEND: Final = 42
_STEP: Final = 54
_MARGIN: Final = 24  # for the longest labels of regions

PICTURES: Final = {
    "TimeFirst": "time-first",
    "Salted": "salt",
    "RandomFirst": "random-prefix",
    "HashFirst": "hash-prefix",
    "ReversedUser": "number-backwards",
    "NewestFirst": "time-backwards",
    "TimeBucket": "bucket",
    "ByMonth": "month-partitions",
    "ByDay": "table-a-day",
}
"""The name of each design's picture."""


# --- questions ------------------------------------------------------------------------------------


def one_row(model: Any, row: Any) -> Select[Any]:
    """One visit by all fields of its key."""
    named = (model.user == row.user, model.at == row.at, model.page == row.page)
    return select(model).where(*named).allow_full_scan()


def of_a_user(model: Any, row: Any) -> Select[Any]:
    """The visits of a user."""
    return select(model).where(model.user == row.user).allow_full_scan()


def newest_of_a_user(model: Any, row: Any) -> Select[Any]:
    """The ten newest visits of a user."""
    newest = of_a_user(model, row).order_by(model.at.desc())
    return newest.limit(10)


def five_minutes(model: Any, row: Any) -> Select[Any]:
    """The visits of all users within five minutes."""
    end = row.at + timedelta(minutes=5)
    return select(model).where(model.at >= row.at, model.at < end).allow_full_scan()


QUESTIONS: Final[dict[str, Callable[[Any, Any], Select[Any]]]] = {
    "one visit": one_row,
    "a user's visits": of_a_user,
    "five minutes": five_minutes,
}
"""The questions by their names."""


# --- the page -------------------------------------------------------------------------------------


def declared_models(text: str) -> dict[str, Any]:
    """Return the models that the programs of the page declare, by name."""
    page = ModuleType("choosing_a_row_key")  # where annotations are looked up
    names, sys.modules[page.__name__] = vars(page), page
    for program in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
        exec(compile(program, PAGE.name, "exec", dont_inherit=True), names)  # noqa: S102  # our page
    return {
        name: each
        for name, each in names.items()
        if isinstance(each, type) and issubclass(each, Model) and name not in {"Model", "Visit"}
    }


def filled_in(text: str, figures: dict[str, str]) -> str:
    """Return the text of the page with its tables of figures."""
    for name, table in figures.items():
        marks = re.compile(rf"(<!-- figures: {name} -->\n).*?(<!-- end -->)", re.DOTALL)
        text, count = marks.subn(rf"\g<1>\n{table}\n\n\g<2>", text)
        if count != 1:
            message = f"the page has {count} marks for the figures {name!r}"
            raise ValueError(message)
    return text


def results_of(models: dict[str, Any]) -> dict[str, LabResult]:
    """Return the lab's result for each design that has a picture."""
    results: dict[str, LabResult] = {}
    for name in PICTURES:
        size: dict[str, Any] = {"rows": 3_600_000, "seconds": 3_600.0, "regions": 8}
        if name == "ByMonth":
            size = {"rows": 3_650_000, "seconds": _YEAR_S, "regions": 120}
        if name == "ByDay":
            size = {"rows": 500_000, "seconds": 5 * _DAY_S, "regions": 1}
        results[name] = lab(
            models[name], workload=_WORKLOAD, statements=QUESTIONS, sample=_SAMPLE, **size
        )
    return results


def figures_of(models: dict[str, Any], results: dict[str, LabResult]) -> dict[str, str]:
    """Return the page's tables by their names."""
    return {
        "designs": _designs_table(results),
        "statements": _statements_table(results),
        "keys": _keys_table(models),
    }


def _designs_table(results: dict[str, LabResult]) -> str:
    rows = []
    for name, result in results.items():
        if name in {"ByMonth", "ByDay"}:
            continue
        costs = {cost.statement: cost for cost in result.designs[0].costs}
        rows.append(
            [
                _link(name),
                _busiest(result.designs[0].tables[0]),
                *(_scans(costs[each]) for each in QUESTIONS),
            ]
        )
    return _markdown(["design", "busiest region", *QUESTIONS], rows)


def _statements_table(results: dict[str, LabResult]) -> str:
    rows = []
    for question in QUESTIONS:
        costs = {
            name: next(cost for cost in result.designs[0].costs if cost.statement == question)
            for name, result in results.items()
        }
        good = [name for name, cost in costs.items() if _is_good(cost)]
        fair = [name for name, cost in costs.items() if _is_fair(cost)]
        bad = [name for name in costs if name not in good and name not in fair]
        rows.append(
            [question, *(", ".join(map(_link, each)) or "none" for each in (good, fair, bad))]
        )
    return _markdown(["question", "one range or get", "some ranges", "a full scan"], rows)


def _keys_table(models: dict[str, Any]) -> str:
    rows = []
    for name in ("Padded", "Separated", "Coded"):
        pages = {"page": lambda n: f"page-{n % 100}"}
        result = estimate(models[name], rows=1e9, sample=None, sample_rows=2_000, values=pages)
        (family,) = result.tables[0].families
        key = family.key_bytes / family.cells
        rows.append([_link(name), f"{key:.0f} bytes", bytes_text(round(result.file_bytes))])
    return _markdown(["design", "a row key", "store files, without compression"], rows)


def _busiest(table: TableResult) -> str:
    totals = table.writes.sum(axis=1, keepdims=True)
    shares = table.writes.sum(axis=0) / totals.sum()
    return f"{100 * float(shares.max()):.0f} %"


def _scans(cost: StatementCost) -> str:
    if cost.is_full_scan:
        return "refused"
    reads = f"{cost.gets:.0f} get" if cost.gets else f"{cost.scanners:.0f} scan"
    number = cost.gets or cost.scanners
    return f"{reads}{'' if number == 1 else 's'} / {cost.read_for_each:.1f}"


def _is_good(cost: StatementCost) -> bool:
    return not cost.is_full_scan and cost.gets + cost.scanners <= 1


def _is_fair(cost: StatementCost) -> bool:
    return not cost.is_full_scan and cost.gets + cost.scanners > 1


_TITLES: Final = {
    "TimeFirst": "time in front",
    "Salted": "salt",
    "RandomFirst": "random prefix",
    "HashFirst": "hash of a field in front",
    "ReversedUser": "number backwards",
    "NewestFirst": "time backwards",
    "TimeBucket": "bucket of the time",
    "ByMonth": "month partitions",
    "ByDay": "a table a day",
    "Padded": "fixed width",
    "Separated": "separator",
    "Coded": "codes",
}


def _link(name: str) -> str:
    title = _TITLES[name]
    return f"[{title}](#{title.replace(' ', '-')})"


def _markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


# --- pictures -------------------------------------------------------------------------------------


def picture(result: LabResult) -> str:
    """Return the heat map of a design's writes as an SVG file of its own."""
    (table,) = (each for each in result.designs[0].tables if not each.index)
    drawn = re.search(
        r"<svg viewBox=\"0 0 \d+ (\d+)\".*?</svg>", heat_map(table, table.writes, "", "writes")
    )
    assert drawn is not None
    height = int(drawn[1])
    inner = drawn[0][drawn[0].index(">") + 1 : -len("</svg>")]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" '
        f'viewBox="-{_MARGIN} 0 {WIDTH + _MARGIN} {height + _LEGEND}">'
        f"<style>{_style()}</style>{inner}{_legend(height)}</svg>\n"
    )


def _style() -> str:
    """Return the rules of the page's style sheet that a drawing needs."""
    colours = STYLE[: STYLE.index("@media print")]
    rules = [
        each
        for each in STYLE.splitlines()
        if each.startswith((".l0", ".l4", "svg text {", "svg .axis", "svg .split"))
    ]
    return colours.replace(":root", "svg") + "\n".join(rules).replace("svg text", "text").replace(
        "svg .", "."
    )


def _legend(top: int) -> str:
    texts = ["none", *(f"{end:.0%}" for end in LEVELS), "more"]
    parts = [text_at(0, top + 14, "part of all writes at that time, up to:")]
    for level, text in enumerate(texts):
        x = level * _STEP + 2
        parts.append(f'<g transform="translate({x} {top + 20})">{square(f"l{level}")}</g>')
        parts.append(text_at(x + 17, top + 31, text))
    return "".join(parts)


def main() -> None:
    """Draw all pictures and fill in all figures."""
    text = PAGE.read_text(encoding="utf-8")
    models = declared_models(text)
    results = results_of(models)
    for name, result in results.items():
        path = FOLDER / f"row-key-{PICTURES[name]}.svg"
        path.write_text(picture(result), encoding="utf-8")
        print(f"drew {path.name}")  # noqa: T201  # a program
    PAGE.write_text(filled_in(text, figures_of(models, results)), encoding="utf-8")
    print(f"filled in {PAGE.name}")  # noqa: T201  # a program


if __name__ == "__main__":
    main()
