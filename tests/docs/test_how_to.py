"""The programs of the how-to pages run, one after another, and print what the pages show.

They run in memory, but for the pages about connections and processes, which run on HBase.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

from hbase_orm import Engine

FOLDER = Path(__file__).parents[2] / "docs" / "how-to"
PAGES = sorted(page.stem for page in FOLDER.glob("*.md") if page.stem != "index")
ON_HBASE = {"deploy", "processes"}
BLOCK = re.compile(r"```python\n(.*?)```\n(?:\n```text\n(.*?)```\n)?", re.DOTALL)
URL = re.compile(r"hbase://127\.0\.0\.1:9090(/[^?\"]*)?\?thrift2=127\.0\.0\.1:9091([^\"]*)")

Run = Callable[[str, Callable[[re.Match[str]], str]], list[str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Run]:
    """Return a function that runs a page's programs with other URLs, and returns its mistakes."""
    module = ModuleType("how_to_page")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    engines: dict[int, Engine] = {}  # also those whose names got other values

    def run_page(name: str, url_for: Callable[[re.Match[str]], str]) -> list[str]:
        page = (FOLDER / f"{name}.md").read_text(encoding="utf-8")
        mistakes = []
        for program, shown in BLOCK.findall(page):
            code = compile(URL.sub(url_for, program), f"{name}.md", "exec", dont_inherit=True)
            exec(code, vars(module))
            values = vars(module).values()
            engines.update({id(value): value for value in values if isinstance(value, Engine)})
            printed = capsys.readouterr().out
            if shown and printed != shown.lstrip("\n"):
                mistakes.append(f"{program}\nprinted {printed!r}, the page shows {shown!r}")
        assert BLOCK.search(page), "no programs"
        return mistakes

    yield run_page
    for engine in engines.values():
        engine.close()


@pytest.mark.filterwarnings("ignore:Using .httpx. with")  # either client of requests will do
@pytest.mark.parametrize("name", [name for name in PAGES if name not in ON_HBASE])
def test_a_page_runs_in_memory_and_prints_what_it_shows(run: Run, name: str) -> None:
    assert run(name, lambda url: f"memory://{url[1] or ''}") == []


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("name", sorted(ON_HBASE))
def test_a_page_runs_on_hbase_and_prints_what_it_shows(run: Run, name: str, hbase_url: str) -> None:
    assert run(name, lambda url: f"{hbase_url}{url[2]}") == []


def test_what_stands_beside_other_clients_works(run: Run) -> None:
    page = (FOLDER / "coming-from.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| .*? \| `([^`]+)`[^|`]*\|$", page, re.MULTILINE)
    expressions = [each.replace("\\|", "|") for each in rows if not each.startswith("hbase-orm")]
    assert run("coming-from", lambda _: "memory://") == []
    names = vars(sys.modules["how_to_page"])

    for expression in expressions:
        eval(URL.sub("memory://", expression), names)

    assert len(expressions) > 40


def test_what_stands_beside_the_shell_is_a_command() -> None:
    page = (FOLDER / "coming-from.md").read_text(encoding="utf-8")
    commands = (FOLDER.parent / "reference" / "commands.md").read_text(encoding="utf-8")
    named = re.findall(r"\| `(hbase-orm \w+(?: [a-z]+(?=[ `]))?)", page)

    assert len(named) == 14
    assert [each for each in named if f"\n## {each}\n" not in commands] == []


def test_the_program_of_the_front_page_runs(capsys: pytest.CaptureFixture[str]) -> None:
    page = (FOLDER.parent / "index.md").read_text(encoding="utf-8")
    programs = [program for program, _ in BLOCK.findall(page)]

    for program in programs:
        exec(compile(URL.sub("memory://", program), "index.md", "exec", dont_inherit=True), {})

    assert len(programs) == 1
    assert len(programs[0].splitlines()) <= 25
    assert capsys.readouterr().out.startswith("[Reading(host='web-1', at=")
