"""The table of pairs in the page on row keys; `python -m` this module writes it there."""

from __future__ import annotations

import sys
from pathlib import Path

from hbase_orm.errors import SchemaError
from tests.support.key_components import KINDS, Keys, Kind, pair_of

PAGE = Path(__file__).parents[2] / "docs" / "row-keys.md"
BEGIN, END = "<!-- pairs -->\n", "<!-- end of pairs -->\n"


def _mark(keys: Keys) -> str:
    first, second, *_ = keys.layout.parts
    if keys.behind:
        return "+"
    return "o" if first.is_ordered and second.is_ordered else "~"


def _rows() -> tuple[list[str], dict[str, str]]:
    """Return the table's rows, and the letter of each reason for a refusal."""
    letters: dict[str, str] = {}
    rows = []
    for number, first in enumerate(KINDS, 1):
        marks = [_cell(first, second, letters) for second in KINDS]
        rows.append(f"{number:2} {first.name:32}{' '.join(marks)}")
    return rows, letters


def _cell(first: Kind, second: Kind, letters: dict[str, str]) -> str:
    try:
        return _mark(pair_of(first, second))
    except SchemaError as error:
        why = f" ({error.details['reason']})" if "reason" in error.details else ""
        reason = f"{error.text}{why}: {error.fix}"
        return letters.setdefault(reason, chr(ord("A") + len(letters)))


def page() -> str:
    """Return the table with its legend, as the page has it."""
    rows, letters = _rows()
    cells = "".join(row[35:] for row in rows)
    built = sum(cells.count(mark) for mark in "o~+")
    numbers = [f"{number:2}" for number in range(1, len(KINDS) + 1)]
    pairs = len(KINDS) ** 2
    lines = [
        f"{len(KINDS)} kinds make {pairs} ordered pairs: {built} built, {pairs - built} refused.",
        "",
        "```text",
        *(f"{'':35}{' '.join(number[digit] for number in numbers)}".rstrip() for digit in (0, 1)),
        *rows,
        "```",
        "",
        *(f"- `{letter}`: {reason}" for reason, letter in letters.items()),
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write the table into the page."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n{page()}\n{END}{after}", encoding="utf-8")
    sys.stdout.write(page())


if __name__ == "__main__":
    main()
