"""The programs on the page on tests run, and its tables have everything that there is."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any, get_args

from hbase_orm.testing import Faults, Word, plugin

PAGE = (Path(__file__).parents[2] / "docs" / "testing.md").read_text(encoding="utf-8")
PROGRAMS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def test_the_programs_run_one_after_another() -> None:
    names: dict[str, Any] = {"__name__": "testing_page"}
    of_pytest = [each for each in PROGRAMS if "def " in each]

    for program in PROGRAMS:
        tree = ast.parse(program)
        if program not in of_pytest:
            exec(compile(tree, "testing.md", "exec", dont_inherit=True), names)

    assert len(of_pytest) == 2
    assert len(PROGRAMS) - len(of_pytest) == 5


def test_every_fixture_fault_and_word_is_named() -> None:
    fixtures = {name for name in vars(plugin) if name.startswith(("hbase", "table_"))}
    faults = {name for name in vars(Faults) if name[0] != "_"} - {
        "check",
        "close",
        "execute",
        "execute_within",
        "features",
        "timeout_s",
    }
    named = {*re.findall(r"`(\w+)[`(]", PAGE)}

    assert faults <= named
    assert fixtures <= named | {"hbase_models"}
    assert {*get_args(Word)} <= named
