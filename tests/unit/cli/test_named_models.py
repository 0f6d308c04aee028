"""Models by the names that users write on the command line."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hbase_orm.cli.named_models import labels, named_models, search_first
from hbase_orm.cli.project import Project
from hbase_orm.errors import ConfigurationError

_MODELS = """
from hbase_orm import Family, Key, Mapped, Model, RecordType, codecs, column, key, rowkey

class Dated(Model, abstract=True):
    day: Key[str] = key(codecs.text())

class Order(Dated, table="orders"):
    d = Family()
    __rowkey__ = rowkey(Dated.day)

class Event(Model, table="events"):
    d = Family()
    name: Key[str] = key()
    __rowkey__ = rowkey(name, RecordType())

class Login(Event, record_type="L"):
    host: Mapped[str] = column(Event.d)

class Outer:
    class Inner(Dated, table="inner"):
        d = Family()
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return the current directory, in which there are modules."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "cli_try_plain.py").write_text("class Plain: pass\nnumber = 1\n")
    (tmp_path / "cli_try_models.py").write_text(_MODELS)
    (tmp_path / "cli_try_needs.py").write_text("import cli_try_missing_dependency\n")
    (tmp_path / "cli_try_raises.py").write_text("raise RuntimeError('no\\nconfig')\n")
    yield tmp_path
    for name in [name for name in sys.modules if name.startswith("cli_try_")]:
        del sys.modules[name]


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("cli_try/plain.py", "neither of the form MODULE nor MODULE:CLASS"),
        (":Order", "neither of the form MODULE nor MODULE:CLASS"),
        ("cli_try_plain:", "neither of the form MODULE nor MODULE:CLASS"),
        ("cli_try_nowhere:Order", "no module of this name [module='cli_try_nowhere'"),
        ("cli_try_nowhere", "no module of this name [module='cli_try_nowhere'"),
        ("cli_try_plain.deeper:Order", "no module of this name [module='cli_try_plain.deeper'"),
        ("cli_try_needs:Order", "missing='cli_try_missing_dependency'"),
        ("cli_try_raises:Order", "error='RuntimeError: no"),
        ("cli_try_plain:Order", "no such name [module='cli_try_plain' name='Order']; it has no"),
        ("cli_try_plain:Plain", "not a model with a table"),
        ("cli_try_plain:number", "not a model with a table"),
        ("cli_try_plain", "declares no model"),
        (
            "cli_try_models:Dated",
            "table [module='cli_try_models' name='Dated']; its models are: Or",
        ),
        ("hbase_orm:Order", "'hbase-orm tables show hbase_orm' lists those of its submodules"),
        ("hbase_orm.model.base:Model", "not a model with a table"),
    ],
)
def test_a_model_that_cannot_be_had_is_refused_with_the_reason(name: str, said: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        named_models([name])

    assert said in str(caught.value)


def test_a_module_that_is_not_there_is_reported_with_the_folder_that_was_searched(
    here: Path,
) -> None:
    with pytest.raises(ConfigurationError) as caught:
        named_models(["cli_try_nowhere"])

    assert caught.value.searched_first == str(here)
    assert "run the command in the folder" in caught.value.fix


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("names", "classes"),
    [
        (["cli_try_models:Order"], ["Order"]),
        (["cli_try_models:Outer.Inner"], ["Inner"]),
        (["cli_try_models"], ["Order", "Event", "Inner"]),
        (["cli_try_models", "cli_try_models:Order"], ["Order", "Event", "Inner"]),
        (["cli_try_models:Login", "cli_try_models"], ["Login", "Order", "Event", "Inner"]),
    ],
)
def test_models_are_imported_each_once(names: list[str], classes: list[str]) -> None:
    assert [model.__name__ for model in named_models(names)] == classes


def test_folders_are_searched_first_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", ["/own", "/lib"])
    project = Project(tmp_path / "pyproject.toml")

    search_first(None, project)
    search_first(Path("/here"), project)
    search_first(Path("/lib"), None)
    search_first(None, None)

    assert sys.path == ["/here", str(tmp_path), "/own", "/lib"]


def test_a_record_type_is_left_out_if_another_module_gives_its_base(here: Path) -> None:
    kinds = "from cli_try_models import Event\nclass Logout(Event, record_type='O'): pass\n"
    (here / "cli_try_kinds.py").write_text(kinds)

    both = named_models(["cli_try_kinds", "cli_try_models"])

    assert [model.__name__ for model in named_models(["cli_try_kinds"])] == ["Logout"]
    assert [model.__name__ for model in both] == ["Order", "Event", "Inner"]


@pytest.mark.usefixtures("here")
def test_models_of_one_class_name_are_distinguished_by_their_modules(here: Path) -> None:
    (here / "cli_try_others.py").write_text(_MODELS)

    named = labels(named_models(["cli_try_models", "cli_try_others:Order"]))

    assert [*named.values()] == ["cli_try_models:Order", "Event", "Inner", "cli_try_others:Order"]
