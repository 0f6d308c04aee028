"""`hbase-orm doctor` says which reader of rows is in use, and why."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import pytest

from hbase_orm.compiled import compiled_cells

RUN = "import sys; from hbase_orm.cli.main import main; main(sys.argv[1:])"


def doctor(*arguments: str, **environment: str) -> dict[str, Any]:
    """Run the command in a program of its own; return its answer."""
    done = subprocess.run(
        [sys.executable, "-c", RUN, *arguments, "doctor", "--json"],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


@pytest.mark.skipif(compiled_cells is None, reason="it was not built")
def test_the_compiled_reader_is_in_use_where_it_was_built() -> None:
    assert (doctor()["reader"], doctor()["reader_reason"]) == ("compiled", "")


def test_the_compiled_reader_can_be_switched_off() -> None:
    report = doctor("--url", "memory://", HBASE_ORM_PURE="1")
    assert report["reader"] == "python"
    assert report["reader_reason"] == "HBASE_ORM_PURE is 1"
    assert report["tables"] == 0
    assert "check_and_mutate" in report["features"]
