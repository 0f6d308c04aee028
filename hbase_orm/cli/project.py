"""Reads the section `[tool.hbase-orm]` of pyproject.toml: a project's models, URL and migrations.

Errors name the file and the key, but repeat no value of the section except the names of models: a
URL may contain a password by mistake.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from hbase_orm.binding.url import parse_url
from hbase_orm.errors import ConfigurationError

SECTION: Final = "[tool.hbase-orm]"
_FILE: Final = "pyproject.toml"
_NAME: Final = "hbase-orm"
_KEYS: Final = ("models", "url", "migrations")
_MODELS_FIX: Final = 'write models = ["shop.models", "shop.audit:Event"]'
_MIGRATIONS: Final = "migrations"
_MIGRATIONS_FIX: Final = 'write migrations = "migrations"'
_URL_FIX: Final = 'write url = "hbase://127.0.0.1:9090?thrift2=127.0.0.1:9091"'
MODEL_NAME: Final = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*(:[^\W\d]\w*(\.[^\W\d]\w*)*)?")
"""The forms `module`, `module:Class` and `module:Outer.Inner`, with dots in the module's name."""


@dataclass(frozen=True, slots=True)
class Project:
    """The settings of a project.

    Attributes:
        path: The pyproject.toml.
        models: The names of models in the section, such as `shop.models` or `shop.audit:Event`;
            empty if the section has no such key.
        url: The URL, which may be wrong; None if the section has no such key.
        migrations: The folder of the revisions, relative to that of the pyproject.toml.
    """

    path: Path
    models: tuple[str, ...] = ()
    url: str | None = field(default=None, repr=False)
    migrations: str = _MIGRATIONS

    @property
    def folder(self) -> Path:
        """The folder of the pyproject.toml, from which the models are imported."""
        return self.path.parent

    def checked_url(self) -> str | None:
        """Return the URL; None if the section has none.

        Raises:
            ConfigurationError: The URL is wrong.
        """
        if self.url is not None:
            try:
                parse_url(self.url)
            except ConfigurationError as error:
                raise self.located(error, "url") from error
        return self.url

    def located(self, error: ConfigurationError, key: str) -> ConfigurationError:
        """Return the same error with the file and the key of the setting that caused it."""
        where = {"file": str(self.path), "key": key}
        return type(error)(error.text, **where | error.details, fix=error.fix)


def find_project(folder: Path) -> Project | None:
    """Return the settings in the pyproject.toml of a folder or of the nearest parent.

    A pyproject.toml without the section is skipped. Return None if no folder up to the root has a
    pyproject.toml with the section.

    Args:
        folder: An absolute path.

    Raises:
        ConfigurationError: A pyproject.toml cannot be read, or the section is wrong.
    """
    for each in (folder, *folder.parents):
        path = each / _FILE
        section = _section(path)
        if section is not None:
            return _project(path, section)
    return None


def _section(path: Path) -> Mapping[str, Any] | None:
    """Return the section of a file; None if there is no file, or no section in it.

    Raises:
        ConfigurationError: The file is not TOML, or cannot be read.
    """
    try:
        with path.open("rb") as file:
            content = tomllib.load(file)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        return None
    except OSError as error:
        raise ConfigurationError(
            "the file cannot be read", file=str(path), error=error.strerror
        ) from error
    except ValueError as error:  # neither TOML nor UTF-8
        raise ConfigurationError(
            "the file is not valid TOML", file=str(path), error=str(error)
        ) from error
    tools = content.get("tool")
    if not isinstance(tools, dict):
        return None
    if "hbase_orm" in tools:
        raise _wrong(path, "the section has another name", "hbase_orm", f"write {SECTION}")
    section = tools.get(_NAME)
    if section is not None and not isinstance(section, dict):
        fix = f"write {SECTION}, and below it models = [...] and url = ..."
        raise _wrong(path, "the key must be a table", f"tool.{_NAME}", fix)
    return section


def _project(path: Path, section: Mapping[str, Any]) -> Project:
    """Return the settings of a section.

    Raises:
        ConfigurationError: A key is unknown, or its value has another type.
    """
    for key in section:
        if key not in _KEYS:
            text = f"{SECTION} has no such key"
            raise _wrong(path, text, key, f"the keys are: {', '.join(_KEYS)}")
    models, url = section.get("models"), section.get("url")
    if models is not None and not (
        isinstance(models, list) and models and all(isinstance(each, str) for each in models)
    ):
        raise _wrong(path, "the key must be a list of names of models", "models", _MODELS_FIX)
    for place, each in enumerate(models or (), 1):
        if not MODEL_NAME.fullmatch(each):
            raise ConfigurationError(
                "the name is neither of the form module nor module:Class",
                file=str(path),
                key="models",
                place=place,
                fix=_MODELS_FIX,
            )
    if url is not None and not (isinstance(url, str) and url):
        raise _wrong(path, "the key must be a text with a URL", "url", _URL_FIX)
    migrations = section.get("migrations", _MIGRATIONS)
    if not (isinstance(migrations, str) and migrations):
        raise _wrong(path, "the key must be a text with a folder", "migrations", _MIGRATIONS_FIX)
    return Project(path, tuple(models or ()), url, migrations)


def _wrong(path: Path, text: str, key: str, fix: str) -> ConfigurationError:
    return ConfigurationError(text, file=str(path), key=key, fix=fix)
