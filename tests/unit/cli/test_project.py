"""The section `[tool.hbase-orm]` of pyproject.toml."""

from __future__ import annotations

from pathlib import Path

import pytest

from hbase_orm.cli.project import Project, find_project
from hbase_orm.errors import ConfigurationError, ModelImportError

URL = "hbase://127.0.0.1:9090?thrift2=127.0.0.1:9091"


def write(folder: Path, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "pyproject.toml"
    path.write_text(text)
    return path


def test_the_section_has_models_and_a_url(tmp_path: Path) -> None:
    text = f'[tool.hbase-orm]\nmodels = ["shop.models", "shop.audit:Event"]\nurl = "{URL}"\n'
    path = write(tmp_path, text)

    project = find_project(tmp_path)

    assert project == Project(path, ("shop.models", "shop.audit:Event"), URL)
    assert project.folder == tmp_path
    assert project.checked_url() == URL


def test_the_nearest_file_with_the_section_counts(tmp_path: Path) -> None:
    outer = write(tmp_path, '[tool.hbase-orm]\nmodels = ["outer"]\n')
    write(tmp_path / "a", "[tool.ruff]\n")
    inner = write(tmp_path / "a" / "b" / "c", "[tool.hbase-orm]\n")

    of_outer, of_inner = find_project(tmp_path / "a" / "b"), find_project(inner.parent)

    assert of_outer == Project(outer, ("outer",))
    assert of_inner == Project(inner)
    assert of_inner.checked_url() is None


@pytest.mark.parametrize("text", ["", "tool = 3", '[project]\nname = "shop"\n', "[tool.black]\n"])
def test_a_file_without_the_section_is_passed_over(tmp_path: Path, text: str) -> None:
    write(tmp_path, text)
    (tmp_path / "folder" / "pyproject.toml").mkdir(parents=True)

    assert find_project(tmp_path / "folder") is None


@pytest.mark.parametrize(
    ("text", "key", "said", "fix"),
    [
        ('model = ["a"]', "model", "has no such key", "the keys are: models, url, migrations"),
        ('models = "shop"', "models", "must be a list", "write models = "),
        ("models = []", "models", "must be a list", "write models = "),
        ("models = [3]", "models", "must be a list", "write models = "),
        ('models = ["a", "b/c.py"]', "models", "neither of the form", "write models = "),
        ("url = 3", "url", "must be a text", "write url = "),
        ('url = ""', "url", "must be a text", "write url = "),
        ('url = ["hbase://u:s3cret@h"]', "url", "must be a text", "write url = "),
        (
            'urls = "hbase://u:s3cret@h"',
            "urls",
            "has no such key",
            "the keys are: models, url, migrations",
        ),
    ],
)
def test_a_wrong_key_is_refused_with_the_file_and_the_key(
    tmp_path: Path, text: str, key: str, said: str, fix: str
) -> None:
    path = write(tmp_path, f"[tool.hbase-orm]\n{text}\n")

    with pytest.raises(ConfigurationError, match=said) as caught:
        find_project(tmp_path)

    assert (caught.value.file, caught.value.key) == (str(path), key)
    assert caught.value.fix.startswith(fix)
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'[tool.hbase-orm]\nmodels = ["a"\nurl="hbase://u:s3cret@h"', "not valid TOML"),
        (b'[tool.hbase-orm]\nurl="\xff"', "not valid TOML"),
        (b'[tool]\nhbase-orm = "hbase://u:s3cret@h"', "must be a table"),
        (b'[tool.hbase_orm]\nmodels = ["a"]', "the section has another name"),
    ],
)
def test_a_wrong_file_is_refused_by_its_name(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "pyproject.toml"
    path.write_bytes(content)

    with pytest.raises(ConfigurationError, match=said) as caught:
        find_project(tmp_path)

    assert caught.value.file == str(path)
    assert "s3cret" not in str(caught.value)


def test_a_file_that_cannot_be_read_is_refused_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)

    with pytest.raises(ConfigurationError, match="cannot be read") as caught:
        find_project(tmp_path)

    assert caught.value.file == str(tmp_path / "pyproject.toml")
    assert caught.value.error == "Permission denied"


@pytest.mark.parametrize(
    ("url", "said"),
    [("hbase://u:s3cret@h", "holds a user or password"), ("hbse://h", "scheme is not known")],
)
def test_a_wrong_url_is_refused_when_it_is_needed(tmp_path: Path, url: str, said: str) -> None:
    path = write(tmp_path, f'[tool.hbase-orm]\nurl = "{url}"\n')
    project = find_project(tmp_path)
    assert project is not None

    with pytest.raises(ConfigurationError, match=said) as caught:
        project.checked_url()

    assert (caught.value.file, caught.value.key) == (str(path), "url")
    assert "s3cret" not in str(caught.value) + repr(project)


def test_an_error_keeps_its_class_and_details_when_its_setting_is_named(tmp_path: Path) -> None:
    error = ModelImportError("no module", module="shop", fix="correct it")

    located = Project(tmp_path / "pyproject.toml").located(error, "models")

    assert type(located) is ModelImportError
    assert (located.module, located.key, located.fix) == ("shop", "models", "correct it")
