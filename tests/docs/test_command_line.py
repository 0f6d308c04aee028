"""The commands on rows in the page on the command line answer as it shows."""

from __future__ import annotations

import io
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from hbase_orm import connect
from hbase_orm.cli import main

PAGE = (Path(__file__).parents[2] / "docs" / "command-line.md").read_text(encoding="utf-8")


def section(heading: str) -> str:
    return PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


ROWS = section("Rows: `get`, `scan`, `count`, `put` and `delete`")


def blocks(language: str, text: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


def answers(text: str) -> Iterator[tuple[str, str]]:
    """Yield each command of the console blocks of a text, with its answer."""
    for block in blocks("console", text):
        yield from re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE)


@pytest.fixture
def _shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Work in a project with the model of the page, and with its table in memory."""
    url = f"memory://page-{uuid4().hex}"
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "__init__.py").touch()
    (tmp_path / "shop" / "models.py").write_text(blocks("python", ROWS)[0])
    (tmp_path / "pyproject.toml").write_text(
        f'[tool.hbase-orm]\nmodels = ["shop.models"]\nurl = "{url}"\n'
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delenv("HBASE_ORM_URL", raising=False)
    with connect(url):
        assert main.run(["tables", "create"]) == 0
        yield
    for name in ("shop", "shop.models"):
        sys.modules.pop(name, None)


def without_times(text: str) -> str:
    return re.sub(r"timestamp=\d+", "timestamp=", text)


@pytest.mark.usefixtures("_shop")
def test_the_commands_on_rows_answer_as_the_page_shows(
    capsys: pytest.CaptureFixture[str],
) -> None:
    capsys.readouterr()
    shown: list[tuple[str, str]] = []
    for command, _ in answers(ROWS):
        main.run(shlex.split(command)[1:])
        printed = capsys.readouterr()
        shown.append((command, without_times(printed.err + printed.out)))

    assert len(shown) > 12
    assert shown == [(command, without_times(answer)) for command, answer in answers(ROWS)]


@pytest.mark.usefixtures("_shop")
def test_the_console_answers_as_the_page_shows(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ((command, answer),) = answers(section("`hbase-orm shell`"))
    banner, _, typed = answer.partition("\n\n")
    main.run(["put", "customer=7", "at=2026-01-31"])
    capsys.readouterr()
    lines = re.findall(r"^>>> (.*\n)", typed, re.MULTILINE)
    monkeypatch.setattr("sys.stdin", io.StringIO("".join(lines)))

    main.run([*shlex.split(command)[1:], "--plain"])

    printed = capsys.readouterr()
    assert printed.err.strip().splitlines()[1:] == banner.splitlines()[1:]
    assert typed.splitlines()[-1] in printed.out
    assert "not sent" not in printed.err


@pytest.mark.usefixtures("_shop")
@pytest.mark.parametrize("row_format", re.findall(r"^\| `(\w+)` \|", ROWS, re.MULTILINE))
def test_the_formats_of_the_page_are_those_of_the_commands(row_format: str) -> None:
    assert main.run(["scan", "--limit", "1", "--format", row_format]) == 0
