"""The checksum of a revision's files, which shows whether they were edited later."""

from __future__ import annotations

import hashlib
import json
from typing import Final

_DIGITS: Final = 32


def checksum(source: str, records: str) -> str:
    """Return a checksum of a revision's source and of the records beside it.

    Line ends, blanks at the ends of lines, empty lines at the end and a byte order mark of the
    source do not count; nor does the layout of the JSON.

    Args:
        source: The text of the revision's file.
        records: The text of the file beside it, which must be JSON.
    """
    lines = [line.rstrip() for line in source.removeprefix("\ufeff").splitlines()]
    text = "\n".join(lines).rstrip("\n")
    content = json.dumps(json.loads(records), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(f"{text}\0{content}".encode()).hexdigest()[:_DIGITS]
