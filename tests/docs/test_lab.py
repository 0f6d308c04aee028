"""The page on the lab: its designs give the answer that it shows, its workload is one."""

from __future__ import annotations

import re
import sys
from datetime import datetime, timedelta
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import hbase_orm
from hbase_orm.advise.lab import WORKLOADS, read_workload
from hbase_orm.cli.main import run

PAGE = (Path(__file__).parents[2] / "docs" / "lab.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)


def without_numbers(text: str) -> str:
    return " ".join(re.sub(r"[\d.,]+", "N", text).split())


@pytest.fixture
def designs(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    module = ModuleType("shop_designs")
    names: dict[str, Any] = module.__dict__
    names.update({name: getattr(hbase_orm, name) for name in hbase_orm.__all__})
    names.update(datetime=datetime, timedelta=timedelta)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(compile(blocks("python")[0], "<docs>", "exec", dont_inherit=True), names)
    return module


def test_the_designs_give_the_answer_on_the_page(
    designs: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    _, _, shown = blocks("console")[0].partition("\n")
    name = designs.__name__
    models = [f"{name}:{model}" for model in ("TimeFirst", "HostFirst", "SaltedHost")]

    run(["lab", *models, "--workload", "zipf", "--statement", f"{name}:newest_of_host"])

    assert without_numbers(capsys.readouterr().out) == without_numbers(shown)


def test_the_program_on_the_page_writes_a_page(
    designs: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names = {**vars(designs), "Path": Path}
    program = blocks("python")[1].replace("rate_per_s=5000", "rate_per_s=1")

    exec(compile(program, "<docs>", "exec", dont_inherit=True), names)

    assert (tmp_path / "lab.html").read_text().startswith("<!DOCTYPE html>")


def test_the_workload_on_the_page_is_one(tmp_path: Path) -> None:
    path = tmp_path / "load.toml"
    path.write_text(blocks("toml")[0])

    assert set(read_workload(path).fields) == {"host", "at", "state"}


def test_the_page_lists_every_workload() -> None:
    listed = re.findall(r"^\| `([a-z-]+)` \| ", PAGE, re.MULTILINE)

    assert WORKLOADS.keys() <= set(listed)
