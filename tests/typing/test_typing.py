"""mypy and basedpyright, both strict, accept the right programs and reject each wrong line.

A line that ends in `# E` must be an error for both; no other line may be one for either.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
ROOT = FOLDER.parent.parent
PROGRAMS = sorted([*FOLDER.glob("right_*.py"), *FOLDER.glob("wrong_*.py")])

# What basedpyright says besides: a line is wrong only if something else is wrong with it.
_SIDE_NOTES = ("reportUnknown", "reportUnused")

Lines = dict[str, set[int]]


def marked() -> Lines:
    """Return the lines marked as errors, by file."""
    return {
        path.name: {
            number
            for number, line in enumerate(path.read_text().splitlines(), 1)
            if line.endswith("# E")
        }
        for path in PROGRAMS
    }


def found(errors: list[tuple[str, int]]) -> Lines:
    """Return the lines of errors, by file."""
    lines: Lines = {path.name: set() for path in PROGRAMS}
    for path, number in errors:
        lines[Path(path).name].add(number)
    return lines


def run(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    assert done.returncode in {0, 1}, done.stdout + done.stderr
    return done.stdout


def test_wrong_programs_are_marked() -> None:
    lines = marked()

    assert all(bool(lines[path.name]) == path.name.startswith("wrong_") for path in PROGRAMS)
    assert len(PROGRAMS) >= 4


def test_mypy_rejects_the_marked_lines_and_no_other() -> None:
    output = run([sys.executable, "-m", "mypy", "--strict", *map(str, PROGRAMS)])

    errors = re.findall(r"^(.+?\.py):(\d+): error:", output, re.MULTILINE)
    assert found([(path, int(number)) for path, number in errors]) == marked(), output


@pytest.mark.timeout(240)
def test_basedpyright_rejects_the_marked_lines_and_no_other(tmp_path: Path) -> None:
    config = tmp_path / "pyrightconfig.json"
    config.write_text(
        json.dumps(
            {
                "typeCheckingMode": "strict",
                "pythonVersion": "3.11",
                "include": [str(path) for path in PROGRAMS],
                "extraPaths": [str(ROOT)],
            }
        )
    )

    output = run(
        [
            *(sys.executable, "-m", "basedpyright", "--project", str(config)),
            *("--pythonpath", sys.executable, "--outputjson"),
        ]
    )

    errors = [
        (error["file"], error["range"]["start"]["line"] + 1)
        for error in json.loads(output)["generalDiagnostics"]
        if error["severity"] == "error" and not error.get("rule", "").startswith(_SIDE_NOTES)
    ]
    assert found(errors) == marked(), output
