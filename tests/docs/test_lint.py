"""The page on the lint lists every rule, and its programs run as they are written."""

from __future__ import annotations

import re
import sys
from datetime import date, datetime
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import hbase_orm
from hbase_orm import Family, Key, Mapped, Model, codecs, column, connect, key, select
from hbase_orm.advise import RULES, lint
from hbase_orm.cli import main

PAGE = (Path(__file__).parents[2] / "docs" / "lint.md").read_text(encoding="utf-8")


class LogLine(Model, table="log_lines"):
    d = Family()
    at: Key[datetime] = key(codecs.micros())
    host: Key[str] = key()
    note: Mapped[str] = column(d, "n")


def programs(heading: str) -> list[str]:
    section = PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return re.findall(r"```python\n(.*?)```", section, re.DOTALL)


def test_the_page_lists_every_rule_with_its_level_and_what_it_looks_for() -> None:
    listed = re.findall(r"^\| `([a-z-]+)` \| (warning|note) \| (.*) \|$", PAGE, re.MULTILINE)

    assert listed == [(rule.id, rule.level, rule.summary) for rule in RULES.values()]


def test_the_reasons_on_the_page_silence_what_they_name(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("shop_reports")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    names: dict[str, Any] = module.__dict__
    names.update({name: getattr(hbase_orm, name) for name in hbase_orm.__all__})
    exec("from datetime import date, datetime\nfrom typing import ClassVar", names)
    (program,) = programs("Silencing a rule")

    exec(compile(program, "<docs>", "exec", dont_inherit=True), names)

    advice = lint(names["Report"])
    assert date in names.values()
    assert [each.rule for each in advice] == ["key-monotone", "index-monotone"]
    assert {each.silenced for each in advice} == {"a dozen rows a day"}


def test_the_statements_on_the_page_are_judged(capsys: pytest.CaptureFixture[str]) -> None:
    given, watched = programs("Statements")[0].split("\n\nwith watching")

    with connect("memory://") as engine:
        engine.create_tables(LogLine)

        def run_the_tests() -> None:
            with engine.session() as session:
                session.all(select(LogLine).where(LogLine.note == "x").allow_full_scan())

        names = {
            "Order": LogLine,
            "select": select,
            "engine": engine,
            "run_the_tests": run_the_tests,
        }
        exec(given, names)
        exec(f"with watching{watched}", names)

    assert "warning statement-full-scan" in capsys.readouterr().out


def test_the_answer_on_the_page_is_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    shown = re.findall(r"```console\n\$ hbase-orm lint shop.models\n(.*?)```", PAGE, re.DOTALL)[0]

    main.run(["lint", f"{__name__}:LogLine"])

    answered = capsys.readouterr().out.replace(__name__, "shop.models")
    advice = shown.rpartition("\n\n")[0]
    assert advice.split() == answered.rpartition("\n\n")[0].split()
