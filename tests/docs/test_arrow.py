"""The program of the page on Arrow prints what the page shows, and its table names what is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hbase_orm import codecs
from hbase_orm.reading.columnar.arrow_types import DECIMAL_DIGITS, DECIMAL_SCALE, arrow_type
from hbase_orm.reading.columnar.record_batches import MOST_BATCH_BYTES
from hbase_orm.session.arrow_reads import BATCH_ROWS

PAGE = (Path(__file__).parents[2] / "docs" / "arrow.md").read_text(encoding="utf-8")


def test_the_program_prints_what_the_page_shows(capsys: pytest.CaptureFixture[str]) -> None:
    program = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)[0]
    (shown,) = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)

    code = compile(program, "arrow.md", "exec", dont_inherit=True)
    exec(code, {"__name__": "arrow_page"})

    assert capsys.readouterr().out == shown


def test_the_numbers_of_the_page_are_those_of_the_library() -> None:
    assert f"{BATCH_ROWS:,} if it is not given" in PAGE
    assert f"{MOST_BATCH_BYTES >> 20} MiB of rows" in PAGE
    assert f"decimal128({DECIMAL_DIGITS}, {DECIMAL_SCALE})" in PAGE
    assert f"more than {DECIMAL_SCALE} digits after the point" in PAGE


@pytest.mark.parametrize("name", ["uint8", "bytes.float32", "seconds", "date", "timedelta", "uuid"])
def test_types_of_codecs_are_in_the_table(name: str) -> None:
    kind = arrow_type(codecs.get(name))

    assert kind is not None
    assert re.search(rf"`{str(kind.type).split('[')[0].split('(')[0]}", PAGE)
