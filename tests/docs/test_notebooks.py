"""The page on interpreters and notebooks shows what is printed."""

from __future__ import annotations

import doctest
import sys
from pathlib import Path
from types import ModuleType

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "notebooks.md").read_text(encoding="utf-8")


def test_the_page_shows_what_is_printed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    module = ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", module)
    page = doctest.DocTestParser().get_doctest(PAGE, module.__dict__, "notebooks.md", None, 0)

    results = doctest.DocTestRunner().run(page)

    assert results.failed == 0, capsys.readouterr().out
    assert results.attempted > 25
