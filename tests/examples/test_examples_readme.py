"""What the pages on the examples name is there."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

import hbase_orm
from hbase_orm.errors import HBaseORMError

ROOT = Path(__file__).parents[2]
README = (ROOT / "examples/README.md").read_text(encoding="utf-8")
TUNING = (ROOT / "docs/server-tuning.md").read_text(encoding="utf-8")
PROGRAMS = sorted(
    path for path in (ROOT / "examples").glob("*.py") if path.stem not in {"__init__", "program"}
)
MOST_LINES = 150


def test_every_file_that_is_named_is_there() -> None:
    programs = re.findall(r"`(\w+\.py)`", README)
    tests = re.findall(r"`(tests/\S+\.py)`", README)

    assert len(tests) >= 10
    for name in programs:
        assert (ROOT / "examples" / name).is_file(), name
    for name in tests:
        assert (ROOT / name).is_file(), name


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_every_program_is_listed_short_and_run_by_a_test(program: Path) -> None:
    lines = program.read_text(encoding="utf-8").splitlines()
    tested = [path.read_text(encoding="utf-8") for path in Path(__file__).parent.glob("test_*.py")]

    assert f"| `{program.name}` |" in README
    assert len(lines) <= MOST_LINES
    assert any(f"stage.play({program.stem})" in text for text in tested)


def test_a_program_imports_nothing_but_public_names() -> None:
    public = {"", ".errors", ".migrate", *(f".rowkey.{m}" for m in ("reach", "split_algorithms"))}

    for program in PROGRAMS:
        text = program.read_text(encoding="utf-8")
        imported = re.findall(r"^from hbase_orm(\S*) import", text, re.MULTILINE)
        assert set(imported) <= public, program.name


def test_what_server_tuning_declares_is_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    page = ModuleType("server_tuning_page")
    monkeypatch.setitem(sys.modules, page.__name__, page)
    addresses: list[str] = []
    vars(page).update({name: getattr(hbase_orm, name) for name in hbase_orm.__all__})
    vars(page)["connect"] = addresses.append

    for block in re.findall(r"```python\n(.*?)```", TUNING, re.DOTALL):
        exec(block, vars(page))

    assert [family.compression for family in page.Reading.__schema__.families] == ["GZ"]
    with pytest.raises(HBaseORMError, match="no gateway accepts connections"):
        hbase_orm.connect(re.sub(r"10\.0\.0\.5:\d+", "127.0.0.1:1", addresses[0]))
