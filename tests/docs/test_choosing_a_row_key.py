"""The guide's figures and pictures are what the lab makes of the guide's own declarations."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "choosing-a-row-key.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def script() -> ModuleType:
    path = DOCS / "pictures" / "draw_row_keys.py"
    spec = importlib.util.spec_from_file_location("draw_row_keys", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def models(script: Any) -> dict[str, Any]:
    declared: dict[str, Any] = script.declared_models(PAGE)
    return declared


@pytest.fixture(scope="module")
def results(script: Any, models: dict[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = script.results_of(models)
    return made


def numbers(table: str) -> list[float]:
    return [float(each) for each in re.findall(r"\d+(?:\.\d+)?", table)]


def test_the_figures_of_the_page_are_those_of_its_declarations(
    script: Any, models: dict[str, Any], results: dict[str, Any]
) -> None:
    for name, table in script.figures_of(models, results).items():
        mark = re.search(rf"<!-- figures: {name} -->\n(.*?)<!-- end -->", PAGE, re.DOTALL)
        assert mark is not None
        assert re.sub(r"[\d.]+", "#", mark[1].strip()) == re.sub(r"[\d.]+", "#", table)
        assert numbers(mark[1]) == pytest.approx(numbers(table), rel=0.05)


def test_every_picture_is_drawn_by_the_script_and_stands_in_the_page(
    script: Any, results: dict[str, Any]
) -> None:
    named = {*re.findall(r"!\[[^\]]+\]\(pictures/row-key-([\w-]+)\.svg\)", PAGE)}
    files = {path.stem.removeprefix("row-key-") for path in DOCS.glob("pictures/row-key-*.svg")}

    assert named == files == {*script.PICTURES.values()}
    for name, result in results.items():
        stored = DOCS / "pictures" / f"row-key-{script.PICTURES[name]}.svg"
        texts = [
            re.findall("<text[^>]*>([^<]+)", text)
            for text in (stored.read_text(), script.picture(result))
        ]
        assert texts[0] == texts[1]
        assert "time since the start" in texts[0]


def test_every_section_has_its_program_and_every_link_its_target() -> None:
    sections = PAGE.split("\n## ")[2:-1]
    programs = [re.findall(r"\.\./examples/(\w+\.py)", section) for section in sections]

    assert len(sections) == 12
    assert all(programs)
    assert all((DOCS.parent / "examples" / name).is_file() for each in programs for name in each)
    anchors = {
        re.sub(r"[^\w-]", "", line.lower().replace(" ", "-"))
        for line in re.findall("^## (.*)$", PAGE, re.MULTILINE)
    }
    assert {*re.findall(r"\]\(#([\w-]+)\)", PAGE)} <= anchors
