"""The examples of the page on writing run as they are written."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import hbase_orm
from hbase_orm import Family, Key, Mapped, Model, codecs, column, connect, key, select

PAGE = (Path(__file__).parents[2] / "docs" / "writing.md").read_text(encoding="utf-8")
START = datetime(2024, 1, 1, tzinfo=UTC)


class Reading(Model, table="readings"):
    d = Family()
    host: Key[str] = key()
    at: Key[datetime] = key(codecs.millis())
    value: Mapped[float] = column(d)


def example_of(heading: str) -> str:
    """Return the first program below a heading."""
    below = PAGE.partition(f"\n## {heading}\n")[2]
    found = re.search(r"```python\n(.*?)```", below, re.DOTALL)
    assert found is not None
    return found[1]


def test_many_rows(capsys: pytest.CaptureFixture[str]) -> None:
    source = [("web", START + n * timedelta(seconds=1), n / 2) for n in range(2_500)]
    names: dict[str, Any] = {name: getattr(hbase_orm, name) for name in hbase_orm.__all__}

    with connect("memory://") as engine:
        engine.create_tables(Reading)
        exec(
            example_of("Many rows"),
            {**names, "Reading": Reading, "engine": engine, "source": source},
        )
        with engine.session() as session:
            counted = session.count(select(Reading).allow_full_scan())

    assert counted == 2_500
    assert capsys.readouterr().out == "1,000 rows\n2,000 rows\n2,500 rows\n"
