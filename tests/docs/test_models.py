"""The programs on the page on models run, and the page's tables name what there is."""

from __future__ import annotations

import re
from pathlib import Path

from hbase_orm import validators
from hbase_orm.model.fields.hooks import HOOKS

PAGE = (Path(__file__).parents[2] / "docs" / "models.md").read_text()


def test_the_programs_run() -> None:
    programs: list[str] = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)

    assert len(programs) == 4
    for program in programs:
        exec(compile(program, "models.md", "exec", dont_inherit=True), {"__name__": "models_page"})


def test_every_validator_has_its_row() -> None:
    rows = " ".join(line for line in PAGE.splitlines() if line.startswith("| `"))

    assert {name for name in validators.__all__ if f"`{name}(" in rows} == {*validators.__all__}


def test_every_hook_has_its_row() -> None:
    assert re.findall(r"^\| `(\w+)\(self\)`", PAGE, re.MULTILINE) == [*HOOKS]
