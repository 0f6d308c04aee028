"""The JSON file beside a revision: the declarations of its tables before and after it.

Each declaration is encoded as in the record of a table, so a newer release reads it as it reads
records.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from hbase_orm.errors import RecordError
from hbase_orm.migrate.errors import RevisionFileError
from hbase_orm.record.declaration import Declaration, TableRecord

_MEMBERS: Final = ("before", "after")

Declarations = Mapping[str, Declaration]


def written_records(before: Declarations, after: Declarations) -> str:
    """Return the text of the file."""
    content = {"before": _stored(before), "after": _stored(after)}
    return json.dumps(content, indent=1, sort_keys=True, ensure_ascii=True) + "\n"


def read_records(path: Path, text: str, revision: str) -> tuple[Declarations, Declarations]:
    """Return the declarations before and after a revision, by table.

    Raises:
        RevisionFileError: The text is something else.
    """
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _wrong(path, revision, str(error)) from error
    if not isinstance(content, dict) or content.keys() != set(_MEMBERS):
        raise _wrong(path, revision, "it must have the members before and after")
    before, after = (_declarations(path, revision, content[name]) for name in _MEMBERS)
    return before, after


def _stored(declarations: Declarations) -> dict[str, Any]:
    return {
        table: json.loads(TableRecord("", declaration).encode())
        for table, declaration in declarations.items()
    }


def _declarations(path: Path, revision: str, stored: Any) -> Declarations:
    if not isinstance(stored, dict):
        raise _wrong(path, revision, "before and after must be objects")
    try:
        return {
            table: TableRecord.decode(json.dumps(record).encode(), table).current
            for table, record in stored.items()
        }
    except RecordError as error:
        raise _wrong(path, revision, str(error)) from error


def _wrong(path: Path, revision: str, error: str) -> RevisionFileError:
    return RevisionFileError(
        "the file with the records of the revision is damaged, or of a newer release",
        revision=revision,
        file=str(path),
        error=error,
        fix="restore the file, or install the newer release",
    )
