"""The map of techniques: every line has its place, and every place is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hbase_orm.advise import RULES
from hbase_orm.cli.main import TOPICS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/techniques.md").read_text(encoding="utf-8")
LINES = [
    tuple(cell.strip() for cell in line.strip("|").split("|"))
    for line in PAGE.splitlines()
    if re.match(r"\| [a-z]+-\d\d \|", line)
]
RUN = "\n".join(
    path.read_text(encoding="utf-8") for path in (ROOT / "tests/examples").glob("test_*.py")
)


def anchors(path: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    heads = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    plain = (head.replace("`", "").lower().replace(" ", "-") for head in heads)
    return {re.sub(r"[^\w-]", "", head) for head in plain}


def test_ids_are_numbered_without_gaps_in_each_part() -> None:
    numbers: dict[str, list[int]] = {}
    for name, _, _ in LINES:
        part, _, number = name.partition("-")
        numbers.setdefault(part, []).append(int(number))

    assert len(numbers) == PAGE.count("\n## ") == 9
    assert all(each == list(range(1, len(each) + 1)) for each in numbers.values())
    assert len(LINES) == 102
    assert len({text for _, text, _ in LINES}) == len(LINES)


@pytest.mark.parametrize("line", LINES, ids=lambda line: line[0])
def test_a_technique_names_places_that_are_there(line: tuple[str, str, str]) -> None:
    _, _, where = line
    links, names = re.findall(r"\]\(([^)]+)\)", where), re.findall(r"`([^`]+)`", where)

    assert links or names
    for link in links:
        file, _, anchor = link.partition("#")
        path = (ROOT / "docs" / file).resolve()
        assert path.is_file(), link
        if anchor:
            assert anchor in anchors(path), link
        if path.suffix == ".py":
            assert f"stage.play({path.stem})" in RUN, link
    for name in names:
        command = name.removeprefix("hbase-orm ").split()[0]
        assert name in RULES or (name.startswith("hbase-orm ") and command in TOPICS), name


def test_every_rule_and_every_example_carries_out_a_technique() -> None:
    own = {"silence-unused", "salt-few-values", "statement-fan-out"}  # of this library's own words
    programs = {path.name for path in (ROOT / "examples").glob("*.py")}
    others = {"__init__.py", "program.py", "rekey_script.py"}

    assert {name for name in RULES if f"`{name}`" not in PAGE} == own
    assert {name for name in programs - others if f"examples/{name}" not in PAGE} == set()
