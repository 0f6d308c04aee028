"""The reference has every public name, error, URL option and command, and nothing that is gone."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import click
import pytest

import hbase_orm
from hbase_orm.binding.url import OPTION_NAMES, parse_url
from hbase_orm.cli.main import cli
from hbase_orm.errors import ConfigurationError, HBaseORMError

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "docs" / "reference"
PUBLIC_MODULES = [
    "hbase_orm",
    "hbase_orm.advise",
    "hbase_orm.advise.estimating",
    "hbase_orm.advise.lab",
    "hbase_orm.codecs",
    "hbase_orm.errors",
    "hbase_orm.migrate",
    "hbase_orm.server",
    "hbase_orm.testing",
    "hbase_orm.validators",
]
INTERNAL = {
    "hbase_orm.advise.lab.pages.page",
    "hbase_orm.index.catalog.entry",
    "hbase_orm.migrate.operations.operation",
    "hbase_orm.migrate.operations.rows.steps",
    "hbase_orm.record.snapshots",
}
"""Modules of which some page or example imports a name that is not for every program."""


def resolved(identifier: str) -> object:
    """Return what a dotted name stands for; a module comes before a function of its name."""
    parts = identifier.split(".")
    for end in range(len(parts), 0, -1):
        if _is_module(parts[:end]):
            thing: object = importlib.import_module(".".join(parts[:end]))
            for name in parts[end:]:
                thing = getattr(thing, name)
            return thing
    raise AssertionError(identifier)


def _is_module(parts: list[str]) -> bool:
    try:
        return importlib.util.find_spec(".".join(parts)) is not None
    except ModuleNotFoundError:
        return False


@pytest.fixture(scope="module")
def documented() -> Mapping[str, object]:
    """Return what the pages document, by its dotted name."""
    text = "\n".join(page.read_text(encoding="utf-8") for page in REFERENCE.glob("*.md"))
    return {name: resolved(name) for name in re.findall(r"^::: (\S+)$", text, re.MULTILINE)}


def is_documented(documented: Mapping[str, object], module: str, name: str) -> bool:
    """Return whether a name is documented by itself, or by the page of its whole module."""
    thing = getattr(resolved_module(module), name)
    if isinstance(thing, ModuleType):
        return any(
            each == thing.__name__ or each.startswith(f"{thing.__name__}.") for each in documented
        )
    by_itself = any(
        each.rpartition(".")[2] == name and other is thing for each, other in documented.items()
    )
    return by_itself or isinstance(documented.get(module), ModuleType)


def resolved_module(name: str) -> ModuleType:
    return importlib.import_module(name)


@pytest.mark.parametrize("module", PUBLIC_MODULES)
def test_every_public_name_is_in_the_reference(
    documented: Mapping[str, object], module: str
) -> None:
    names: list[str] = resolved_module(module).__all__
    own = [name for name in names if name not in {"cut", "shown"}]  # texts of errors, not errors

    assert [name for name in own if not is_documented(documented, module, name)] == []


def imported_names() -> Iterator[tuple[str, str]]:
    """Yield the names that pages and examples import from the library, after their modules."""
    pages = [*(ROOT / "docs").rglob("*.md"), ROOT / "README.md", ROOT / "examples" / "README.md"]
    texts = [each.read_text(encoding="utf-8") for each in pages]
    texts += [each.read_text(encoding="utf-8") for each in (ROOT / "examples").rglob("*.py")]
    pattern = r"^(?:>>> )? *from (hbase_orm[\w.]*) import (\([^)]*\)|[^\n(]+)"
    for text in texts:
        for module, names in re.findall(pattern, text, re.MULTILINE):
            for name in re.findall(r"\w+", re.sub(r" as \w+|#.*", "", names)):
                yield module, name


def test_what_pages_and_examples_import_is_in_the_reference(
    documented: Mapping[str, object],
) -> None:
    imported = {*imported_names()}
    public = {each for each in imported if each[0] not in INTERNAL}

    assert len(public) > 60
    assert sorted(each for each in public if not is_documented(documented, *each)) == []
    assert {module for module, _ in imported - public} == INTERNAL


def error_classes() -> set[type[HBaseORMError]]:
    """Return every error class of the library, imported or not."""
    for module in pkgutil.walk_packages(hbase_orm.__path__, "hbase_orm."):
        spec = importlib.util.find_spec(module.name)
        source = Path(spec.origin) if spec and spec.origin else None
        if (
            source
            and source.suffix == ".py"
            and re.search(r"^class \w+Error\(", source.read_text("utf-8"), re.MULTILINE)
        ):
            importlib.import_module(module.name)
    found: set[type[HBaseORMError]] = set()
    waiting = [HBaseORMError]
    while waiting:
        kind = waiting.pop()
        found.add(kind)
        waiting += kind.__subclasses__()
    return {kind for kind in found if kind.__module__.startswith("hbase_orm.")}


def test_every_error_is_in_the_reference_with_what_to_do(documented: Mapping[str, object]) -> None:
    kinds = {kind for kind in error_classes() if not kind.__name__.startswith("_")}
    things = [*documented.values()]

    assert len(kinds) > 70
    assert sorted(kind.__name__ for kind in kinds if kind not in things) == []
    assert [
        kind.__name__
        for kind in kinds - {HBaseORMError}
        if "What to do: " not in (vars(kind).get("__doc__") or "")
    ] == []


@pytest.fixture(scope="module")
def script() -> ModuleType:
    path = ROOT / "docs" / "website" / "reference_pages.py"
    spec = importlib.util.spec_from_file_location("reference_pages", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["url-options.md", "commands.md"])
def test_pages_made_of_the_code_are_current(script: Any, name: str) -> None:
    assert (REFERENCE / name).read_text(encoding="utf-8") == script.pages()[name], "make reference"


def test_every_url_option_is_documented_and_accepted() -> None:
    page = (REFERENCE / "url-options.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| (\S.*?) \| (\S.*) \|$", page, re.MULTILINE)

    assert [name for name, _, _ in rows] == [*OPTION_NAMES]
    assert all(len(meaning) > 10 for _, _, meaning in rows)
    for name, _, _ in rows:
        with pytest.raises(ConfigurationError) as refusal:
            parse_url(f"hbase://h?{name}=~")
        assert refusal.value.text != "the URL option is not known"


def commands(command: click.Command, path: str) -> Iterator[tuple[str, click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            yield from commands(inner, f"{path} {name}")


def test_every_command_and_option_is_documented() -> None:
    page = (REFERENCE / "commands.md").read_text(encoding="utf-8")
    sections = dict(re.findall(r"^## (hbase-orm.*)\n((?:(?!## ).*\n)*)", page, re.MULTILINE))

    for path, command in commands(cli, "hbase-orm"):
        shared = {"--json", "--debug", "--help", "-h"}
        options = {name for each in command.params for name in each.opts if name[0] == "-"}
        assert (command.help or "").split("\n")[0].split(".")[0][:20] in sections[path]
        assert [each for each in options - shared if each not in sections[path]] == [], path
    assert sections.keys() == {path for path, _ in commands(cli, "hbase-orm")}


def test_the_reference_names_nothing_twice() -> None:
    text = "\n".join(page.read_text(encoding="utf-8") for page in REFERENCE.glob("*.md"))
    names = re.findall(r"^::: (\S+)$", text, re.MULTILINE)

    assert sorted({name for name in names if names.count(name) > 1}) == []
