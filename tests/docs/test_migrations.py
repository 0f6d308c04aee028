"""The examples of the page on migrations run as they are written, and its commands exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hbase_orm import migrate
from hbase_orm.cli.main import TOPICS
from hbase_orm.errors import MigrationError

PAGE = (Path(__file__).parents[2] / "docs" / "migrations.md").read_text(encoding="utf-8")


def test_the_revision_and_the_program_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    revision, program = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    folder = tmp_path / "migrations"
    folder.mkdir()
    (folder / "3f2a_give_readings_a_unit.py").write_text(revision)
    (folder / "3f2a.json").write_text('{"before": {}, "after": {}}')
    monkeypatch.chdir(tmp_path)

    exec(compile(program, "<docs>", "exec"), {})

    assert capsys.readouterr().out.splitlines() == [
        "['run fill']",
        "filled",
        "('3f2a',)",
        "emptied",
    ]


def test_the_commands_of_the_page_exist() -> None:
    shown = set(re.findall(r"hbase-orm (\w+)", PAGE))

    assert shown <= TOPICS.keys()
    assert {"init", "revision", "upgrade", "merge", "check", "stamp", "current", "heads"} <= shown


def test_the_page_lists_every_error() -> None:
    errors = {
        name
        for name in migrate.__all__
        if isinstance(each := getattr(migrate, name), type) and issubclass(each, MigrationError)
    }

    assert errors - set(re.findall(r"^\| `(\w+)`", PAGE, re.MULTILINE)) == {"MigrationStoppedError"}
