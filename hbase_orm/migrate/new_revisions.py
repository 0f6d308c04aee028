"""Writes the files of a new revision, and creates the folder of revisions."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import indent
from typing import Final

from hbase_orm.migrate.errors import RevisionFileError
from hbase_orm.migrate.operations.operation import Operation
from hbase_orm.migrate.record_files import Declarations, written_records
from hbase_orm.migrate.scripts import Scripts, records_path

_ID_BYTES: Final = 6
_MAX_SLUG: Final = 40
_LINE: Final = 98
_README: Final = """\
# Migrations

Each file here is a revision of the tables in HBase; the JSON file beside it has the declarations of
the tables before and after it. Keep both in version control, and do not edit applied revisions.

    hbase-orm revision --autogenerate -m "what changes"
    hbase-orm upgrade --plan
    hbase-orm upgrade
"""


@dataclass(frozen=True, slots=True)
class NewRevision:
    """A revision to be written.

    Attributes:
        message: What it does; the first line of its docstring.
        parents: The revisions before it.
        operations: The steps.
        before: The declarations by table before it, of the tables that it changes.
        after: The declarations by table after it.
    """

    message: str
    parents: tuple[str, ...]
    operations: Sequence[Operation]
    before: Declarations
    after: Declarations


def create_folder(folder: Path) -> bool:
    """Create the folder of revisions with a README; return whether it was new.

    Raises:
        RevisionFileError: A file has this name, or the folder cannot be created.
    """
    is_new = not folder.is_dir()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        readme = folder / "README.md"
        if not readme.exists():
            readme.write_text(_README, encoding="utf-8")
    except OSError as error:
        raise RevisionFileError(
            "the folder cannot be created", file=str(folder), error=str(error)
        ) from error
    return is_new


def write_revision(scripts: Scripts, new: NewRevision) -> Path:
    """Write the files of a new revision; return the path of the Python file.

    Raises:
        RevisionFileError: The files cannot be written.
    """
    revision = os.urandom(_ID_BYTES).hex()
    slug = re.sub(r"\W+", "_", new.message.lower()).strip("_")[:_MAX_SLUG].rstrip("_")
    path = scripts.folder / f"{revision}_{slug}.py" if slug else scripts.folder / f"{revision}.py"
    try:
        # The records first: a revision without them is refused.
        records = records_path(path, revision)
        records.write_text(written_records(new.before, new.after), encoding="utf-8")
        path.write_text(source_of(revision, new), encoding="utf-8")
    except OSError as error:
        raise RevisionFileError(
            "the revision cannot be written", file=str(path), error=str(error)
        ) from error
    return path


def source_of(revision: str, new: NewRevision) -> str:
    """Return the text of a revision's Python file."""
    sources = [operation.source() for operation in new.operations]
    lines = [f'"""{_docstring(new.message)}"""', "", "from __future__ import annotations", ""]
    lines += _imports(new.operations, sources)
    lines += [f"revision = {_quoted(revision)}", f"down_revision = {_down(new.parents)}"]
    if sources:
        lines += ["operations = [", *(f"{indent(each, '    ')}," for each in sources), "]"]
    else:
        lines.append("operations: list[Operation] = []")
    return "\n".join(lines) + "\n"


def _imports(operations: Sequence[Operation], sources: Sequence[str]) -> list[str]:
    names = sorted({type(each).__name__ for each in operations}) or ["Operation"]
    single = f"from hbase_orm.migrate import {', '.join(names)}"
    lines = [f"from hbase_orm import {m}" for m in ("codecs",) if _uses(m, sources)]
    if len(single) <= _LINE:
        return [*lines, single, ""]
    return [*lines, "from hbase_orm.migrate import (", *(f"    {n}," for n in names), ")", ""]


def _uses(module: str, sources: Sequence[str]) -> bool:
    return any(re.search(rf"\b{module}\.", source) for source in sources)


def _docstring(message: str) -> str:
    text = message.replace("\\", "\\\\").replace('"', '\\"').strip() or "No message"
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _down(parents: tuple[str, ...]) -> str:
    if not parents:
        return "None"
    quoted = [_quoted(each) for each in parents]
    return quoted[0] if len(quoted) == 1 else f"({', '.join(quoted)})"


def _quoted(text: str) -> str:
    return f'"{text}"'
