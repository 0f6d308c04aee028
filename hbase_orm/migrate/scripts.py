"""The folder of revisions: reads the files, and writes new ones.

A revision is a Python file, whose name begins with the revision's name, and a JSON file of the
revision's name with the declarations of the tables before and after it. Every other file is left
alone; Python files whose names begin with `_` or `.` are too.
"""

from __future__ import annotations

import re
import sys
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from hbase_orm.migrate.checksum import checksum
from hbase_orm.migrate.errors import RevisionFileError
from hbase_orm.migrate.graph import RevisionGraph
from hbase_orm.migrate.operations.operation import Operation
from hbase_orm.migrate.record_files import read_records
from hbase_orm.migrate.revisions import Revision

REVISION_NAME: Final = re.compile(r"[A-Za-z0-9_]+")
_MODULES: Final = "hbase_orm_revision_"
_DOWN_FIX: Final = 'write down_revision = None, "3f2a", or ("3f2a", "19ac") for a merge'


@dataclass(frozen=True, slots=True)
class Scripts:
    """The folder of revisions.

    Attributes:
        folder: The folder.
    """

    folder: Path

    def graph(self) -> RevisionGraph:
        """Return all revisions.

        Raises:
            RevisionFileError: The folder is missing, or a file is wrong.
            RevisionGraphError: Two revisions have one name, a parent is missing, or there is a
                cycle.
        """
        if not self.folder.is_dir():
            raise RevisionFileError(
                "the folder of the revisions does not exist",
                file=str(self.folder),
                fix="create it with 'hbase-orm init', or correct migrations = in pyproject.toml",
            )
        paths = sorted(path for path in self.folder.glob("*.py") if path.name[0] not in "._")
        return RevisionGraph(_loaded(path) for path in paths)


def records_path(path: Path, revision: str) -> Path:
    """Return the path of the records beside a revision's file."""
    return path.with_name(f"{revision}.json")


def _loaded(path: Path) -> Revision:
    source = _text(path)
    values = _executed(path, source)
    revision = values.get("revision")
    if not isinstance(revision, str) or not REVISION_NAME.fullmatch(revision):
        raise _wrong(path, "revision", 'write revision = "3f2a": letters, digits and _')
    if "down_revision" not in values:
        raise _wrong(path, "down_revision", _DOWN_FIX)
    beside = records_path(path, revision)
    if not beside.is_file():
        raise RevisionFileError(
            "the file with the records of the revision is missing",
            revision=revision,
            file=str(beside),
            fix='restore it; if the revision changes no table, write {"before": {}, "after": {}}',
        )
    stored = _text(beside)
    before, after = read_records(beside, stored, revision)
    return Revision(
        revision,
        _parents(path, values["down_revision"]),
        _message(values),
        _operations(path, values.get("operations")),
        checksum(source, stored),
        before,
        after,
        path,
    )


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise RevisionFileError(
            "the file cannot be read", file=str(path), error=str(error)
        ) from error


def _executed(path: Path, source: str) -> Mapping[str, Any]:
    """Return the names that a revision's file defines.

    Raises:
        RevisionFileError: The file is not Python, or its code raised an error.
    """
    module = ModuleType(_MODULES + path.stem)
    module.__file__ = str(path)
    sys.modules[module.__name__] = module  # dataclasses look for their module there
    try:
        code = compile(source.removeprefix("\ufeff"), str(path), "exec", dont_inherit=True)
        exec(code, module.__dict__)  # noqa: S102 - the user's own revision
    except Exception as error:  # the file may raise anything
        raise RevisionFileError(
            "the file of the revision cannot be imported",
            file=str(path),
            at=_line(path, error),
            error=f"{type(error).__name__}: {error}",
            fix="correct the file",
        ) from error
    return module.__dict__


def _line(path: Path, error: Exception) -> int | None:
    """Return the line of the file at which an error was raised; None if it is unknown."""
    if isinstance(error, SyntaxError) and error.filename == str(path):
        return error.lineno
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == str(path)]
    return lines[-1] if lines else None


def _message(values: Mapping[str, Any]) -> str:
    lines = str(values.get("__doc__") or "").strip().splitlines()
    return lines[0].strip().removesuffix(".") if lines else ""


def _parents(path: Path, value: Any) -> tuple[str, ...]:
    parents = value if isinstance(value, tuple) else () if value is None else (value,)
    if not all(isinstance(each, str) for each in parents):
        raise _wrong(path, "down_revision", _DOWN_FIX)
    return tuple(dict.fromkeys(parents))


def _operations(path: Path, value: Any) -> tuple[Operation, ...]:
    if not isinstance(value, (list, tuple)) or not all(isinstance(o, Operation) for o in value):
        fix = "write operations = [...] with operations of hbase_orm.migrate; [] for none"
        raise _wrong(path, "operations", fix)
    return tuple(value)


def _wrong(path: Path, name: str, fix: str) -> RevisionFileError:
    return RevisionFileError(
        "the file of the revision lacks a name, or its value is of another type",
        file=str(path),
        name=name,
        fix=fix,
    )
