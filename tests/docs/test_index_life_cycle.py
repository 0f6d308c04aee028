"""The examples of the page on the life of an index run as they are written, one after the other."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hbase_orm import connect
from hbase_orm.index.upkeep.compare import Finding
from hbase_orm.index_admin.verify import Verification
from tests.support.shop_processes import OldOrder, Order

PAGE = (Path(__file__).parents[2] / "docs" / "index-life-cycle.md").read_text(encoding="utf-8")


def test_the_programs_of_the_page_run(capsys: pytest.CaptureFixture[str]) -> None:
    programs = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    with connect("memory://") as engine:
        engine.create_tables(OldOrder)
        with engine.session() as session:
            session.add(OldOrder(number=1, customer="c1", state="new"))
        for program in programs:
            exec(compile(program, "<docs>", "exec"), {"engine": engine, "Order": Order})

    shown = capsys.readouterr().out.splitlines()
    assert len(programs) == 4
    assert shown[-2:] == ["IndexState.READABLE", "0 0 0"]


def test_the_page_names_every_counter() -> None:
    counters = Verification("x").counters()["rows"].keys()

    assert counters == {"SCANNED", *(kind.name for kind in Finding)}
    assert [name for name in counters if f"`{name}`" not in PAGE] == []
