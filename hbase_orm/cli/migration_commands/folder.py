"""The folder of revisions, as pyproject.toml names it, and its entry there."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Final

from hbase_orm.cli.frame import settings
from hbase_orm.cli.project import SECTION
from hbase_orm.migrate import Scripts

DEFAULT_FOLDER: Final = "migrations"
_FILE: Final = "pyproject.toml"


def scripts() -> Scripts:
    """Return the folder of revisions of the project, or `migrations` in the current directory.

    Raises:
        ConfigurationError: A pyproject.toml is wrong.
    """
    project = settings().project()
    if project is None:
        return Scripts(Path.cwd() / DEFAULT_FOLDER)
    return Scripts(project.folder / project.migrations)


def name_folder(folder: Path) -> str:
    """Write a folder into pyproject.toml, unless it is named there already or is the default.

    Returns:
        What is left to do by hand, as a line; empty if nothing is.
    """
    project = settings().project()
    path = Path.cwd() / _FILE if project is None else project.path
    name = folder.relative_to(path.parent) if folder.is_relative_to(path.parent) else folder
    present = DEFAULT_FOLDER if project is None else project.migrations
    if str(name) == present:
        return ""
    line = f'migrations = "{name.as_posix()}"'
    if not path.is_file() or not _written(path, line):
        return f"write {line} below {SECTION} in {path}"
    return ""


def _written(path: Path, line: str) -> bool:
    """Write a line into the section of a pyproject.toml; return whether the file was changed.

    The file is left alone if it has the key, or if it would not be TOML afterwards.
    """
    text = path.read_text(encoding="utf-8")
    head = re.search(rf"^{re.escape(SECTION)}[ \t]*$", text, re.MULTILINE)
    if head is None:
        changed = f"{text.rstrip()}\n\n{SECTION}\n{line}\n".lstrip()
    else:
        changed = f"{text[: head.end()]}\n{line}{text[head.end() :]}"
    try:
        tomllib.loads(changed)
    except tomllib.TOMLDecodeError:  # the key occurs twice, or the section has another form
        return False
    path.write_text(changed, encoding="utf-8")
    return True
