"""The page: one file that loads nothing, with a title, axes, units and a legend for each plot."""

from __future__ import annotations

import re
import shutil
import subprocess
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from hbase_orm import Select, select
from hbase_orm.advise.lab import lab
from hbase_orm.advise.lab.pages.page import page
from tests.support.lab_designs import WORKLOAD, PageFirst, Salted, TimeFirst

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
VOID = {"meta", "link", "br"}


def of_user(model: Any, row: Any) -> Select[Any]:
    return select(model).where(model.user == row.user).allow_full_scan()


def odd_name(model: Any) -> Select[Any]:
    return select(model).where(model.score == 1).allow_full_scan()


@cache
def shown_page() -> str:
    statements: dict[str, Any] = {"of_user": of_user, "a<b>&\"'": odd_name}
    result = lab(
        *(TimeFirst, Salted, PageFirst),
        rows=4_000_000,
        sample=5000,
        workload=WORKLOAD,
        region_bytes=60 * 2**20,
        statements=statements,
    )
    return page(result)


class Checker(HTMLParser):
    """Checks that every element is closed, and collects attributes and figures."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.figures: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += [(name, value or "") for name, value in attrs]
        if tag == "figure":
            self.figures.append("")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, _: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "figure" in self.open:
            self.figures[-1] += f" {data}"


@pytest.fixture(scope="module")
def checked() -> Checker:
    checker = Checker()
    checker.feed(shown_page())
    checker.close()
    return checker


def test_every_element_is_closed(checked: Checker) -> None:
    assert checked.open == []


def test_nothing_is_loaded_from_elsewhere(checked: Checker) -> None:
    links = [value for name, value in checked.attributes if name in {"src", "href", "xlink:href"}]

    assert links == ["data:,"]
    assert "url(" not in shown_page()
    assert "<script" not in shown_page()


def test_names_are_escaped() -> None:
    assert "a&lt;b&gt;&amp;" in shown_page()
    assert "a<b>" not in shown_page()


def test_every_figure_has_a_unit_on_its_axes_and_a_legend(checked: Checker) -> None:
    assert len(checked.figures) == 2 + 4 * 3  # statements; three plots for each table
    for figure in checked.figures:
        assert re.search(r"%|rows, logarithmic", figure), figure
        assert re.search(r"time since the start|in the order of row keys|logarithmic", figure)
        assert re.search(r"no writes|no rows read|if all were equal|rows wanted", figure)
    assert shown_page().count('class="legend"') == len(checked.figures)


def test_every_drawing_says_what_it_shows(checked: Checker) -> None:
    labels = [value for name, value in checked.attributes if name == "aria-label"]

    assert len(labels) == len(checked.figures) + 1
    assert all(labels)


def test_splits_are_lines() -> None:
    in_legends = shown_page().count("a split, from its time on")

    assert in_legends
    assert shown_page().count('<path class="split"') > in_legends


def test_the_page_is_for_light_dark_and_paper() -> None:
    assert "prefers-color-scheme: dark" in shown_page()
    assert "@media print" in shown_page()
    assert 'name="viewport"' in shown_page()


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")
@pytest.mark.parametrize("scheme", [0, 1], ids=["dark", "light"])
@pytest.mark.parametrize("width", [360, 800, 1280])
def test_chromium_opens_the_page_without_an_error(tmp_path: Path, width: int, scheme: int) -> None:
    opened, shot = tmp_path / "lab.html", tmp_path / "lab.png"
    opened.write_text(shown_page(), encoding="utf-8")

    log = browse(opened, shot, width, scheme)

    assert shot.stat().st_size > 10_000
    assert "CONSOLE" not in log


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")
def test_an_error_of_a_page_is_noticed(tmp_path: Path) -> None:
    opened = tmp_path / "lab.html"
    wrong = shown_page().replace("</main>", '<img src="http://127.0.0.1:9/x.png" alt=""></main>')
    opened.write_text(wrong, encoding="utf-8")

    assert "CONSOLE" in browse(opened, tmp_path / "lab.png", 800, 1)


def browse(opened: Path, shot: Path, width: int, scheme: int) -> str:
    """Open a page, and return what Chromium logs."""
    assert CHROMIUM is not None
    done = subprocess.run(
        [
            *(CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"),
            f"--blink-settings=preferredColorScheme={scheme}",
            f"--window-size={width},3000",
            f"--user-data-dir={shot.parent / 'profile'}",
            f"--screenshot={shot}",
            *("--enable-logging=stderr", opened.as_uri()),
        ],
        capture_output=True,
        text=True,
        check=True,
        timeout=100,
    )
    return done.stderr
