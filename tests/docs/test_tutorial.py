"""The tutorial's steps, one after another in an empty folder, work and print what the page shows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from hbase_orm.testing import drop_store
from tests.support.tutorial_page import PAGE, ROOT, blocks

ELSEWHERE = ("pip ", "export ", "hbase-orm server ", "HBASE_ORM_TEST_URL=$HBASE_ORM_URL ")
"""Commands for the reader's machine: test_installed_tutorial.py has one of those."""


class Reader:
    """Somebody who follows the page in an empty folder."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder = folder
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        self.environment = {
            **os.environ,
            "HBASE_ORM_URL": url,
            "PATH": path,
            "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)]),
        }
        self.namespace = urlsplit(url).path.strip("/")
        self.commands: list[str] = []

    def seen(self, printed: str) -> str:
        """Return what a program printed as it would be without a namespace for this test."""
        return printed.replace(f"{self.namespace}:", "") if self.namespace else printed

    def command(self, line: str) -> str:
        """Run a command of the page, which must succeed; return what it prints."""
        done = subprocess.run(
            line,
            shell=True,
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=100,
        )
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
        self.commands.append(done.stdout)
        return done.stdout


def follow(
    reader: Reader, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(reader.folder)
    monkeypatch.syspath_prepend(str(reader.folder))
    monkeypatch.setenv("HBASE_ORM_URL", reader.environment["HBASE_ORM_URL"])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)  # files change within one second
    for block in blocks():
        for name in ("app", "readings"):
            monkeypatch.delitem(sys.modules, name, raising=False)
        if block.kind == "console":
            printed = "".join(
                reader.command(line) for line in block.commands if not line.startswith(ELSEWHERE)
            )
            assert not block.shown or reader.seen(printed) == block.shown, block.text
        elif block.file:
            (reader.folder / block.file).write_text(block.text, encoding="utf-8")
        else:
            code = compile(block.text, "tutorial.md", "exec", dont_inherit=True)
            exec(code, {"__name__": "tutorial"})
            assert reader.seen(capsys.readouterr().out) == block.shown, block.text
    for name in ("app", "readings"):
        sys.modules.pop(name, None)


def test_every_step_works_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    reader = Reader(tmp_path, "memory://tutorial")
    try:
        follow(reader, monkeypatch, capsys)
    finally:
        drop_store("tutorial")

    assert len(reader.commands) == 3
    assert "2 passed" in reader.commands[-1]


@pytest.mark.hbase
def test_every_step_works_on_hbase(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    hbase_url: str,
) -> None:
    reader = Reader(tmp_path, hbase_url)

    follow(reader, monkeypatch, capsys)

    assert len(reader.commands) == 3


def test_the_tutorial_has_ten_steps() -> None:
    assert re.findall(r"^## (\d+)\.", PAGE, re.MULTILINE) == [str(n) for n in range(1, 11)]
