"""The program on the page on indexes runs, and its tables name what there is."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

from hbase_orm import Index
from hbase_orm.schema import FUNCTIONS

PAGE = (Path(__file__).parents[2] / "docs" / "indexes.md").read_text(encoding="utf-8")


def test_the_programs_run_and_print_a_plan_without_look_ups(
    capsys: pytest.CaptureFixture[str],
) -> None:
    programs = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)

    for program in programs:
        exec(
            compile(program, "indexes.md", "exec", dont_inherit=True), {"__name__": "indexes_page"}
        )

    assert len(programs) == 2
    assert "answer from verified entries" in capsys.readouterr().out


def test_every_function_has_its_row() -> None:
    assert re.findall(r"^\| `func\.(\w+)\(", PAGE, re.MULTILINE) == [*FUNCTIONS]


def test_every_option_has_its_row() -> None:
    options = inspect.signature(Index).parameters.keys() - {"components"}

    assert {*re.findall(r"^\| `(\w+)=", PAGE, re.MULTILINE)} == {*options}
