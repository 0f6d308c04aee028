"""The page that names the files of typical changes names files that exist."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "where-to-change.md").read_text(encoding="utf-8")
CHANGES = [line for line in PAGE.splitlines() if line.startswith(("| a", "| what"))]


def test_typical_changes_are_listed_each_with_its_files() -> None:
    assert len(CHANGES) == 27
    assert all(re.search(r"`[a-z_]+[/.]", line.split("|")[2]) for line in CHANGES)


def test_every_file_named_exists() -> None:
    paths = re.findall(r"`((?:[a-z0-9_]+/)*[a-z0-9_]+(?:\.py|/))`", "\n".join(CHANGES))

    missing = [
        path
        for path in paths
        if not (ROOT / "hbase_orm" / path).exists() and not (ROOT / path).exists()
    ]

    assert len(paths) > 40
    assert missing == []
