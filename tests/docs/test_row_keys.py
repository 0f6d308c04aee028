from __future__ import annotations

import doctest
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "row-keys.md"


def test_the_examples_of_the_page_give_what_it_says() -> None:
    failures, examples = doctest.testfile(str(PAGE), module_relative=False, encoding="utf-8")

    assert failures == 0
    assert examples >= 60
