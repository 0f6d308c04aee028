"""The packages that the CI script installs, on a machine that has nothing but a shell.

Installing for real would change the machine: `apt-get` and `apt-cache` only note and answer here.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

_SCRIPT = Path(__file__).parents[2] / ".ci" / "run"
_FOUND = ("bash", "dirname", "mktemp", "rm", "env")
_OTHERS = "docker.io iptables debootstrap"


def _run(tmp_path: Path, *, user: int, known: str) -> tuple[str, list[str]]:
    """Run the script up to the installation; return what it said and what it would install."""
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in _FOUND:
        (programs / name).symlink_to(shutil.which(name) or name)
    asked = tmp_path / "asked"
    shims = {
        "id": f"echo {user}",
        "apt-cache": f'[[ $2 == {known} ]] && echo "  Candidate: 1.0" || echo "  Candidate: (none)"',
        "apt-get": f'[[ $1 == update ]] || {{ echo "${{@:5}}" >{asked}; exit 1; }}',
    }
    for name, line in shims.items():
        (programs / name).write_text(f"#!{shutil.which('bash')}\n{line}\n")
        (programs / name).chmod(0o755)
    done = subprocess.run(
        [programs / "bash", _SCRIPT],
        env={"PATH": str(programs), "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 1
    return done.stdout + done.stderr, asked.read_text().split() if asked.exists() else []


@pytest.mark.parametrize("version", [17, 21])
def test_the_jdk_is_the_one_that_apt_has(tmp_path: Path, version: int) -> None:
    package = f"openjdk-{version}-jdk-headless"

    _, installed = _run(tmp_path, user=0, known=package)

    assert installed == f"make python3-venv {package} maven {_OTHERS}".split()


def test_without_a_fitting_jdk_nothing_is_installed_and_the_reason_is_said(tmp_path: Path) -> None:
    said, installed = _run(tmp_path, user=0, known="openjdk-8-jdk-headless")

    assert installed == []
    assert "install a JDK 17 to 21" in said


def test_who_may_not_install_is_told_what_is_missing(tmp_path: Path) -> None:
    said, installed = _run(tmp_path, user=1000, known="openjdk-17-jdk-headless")

    assert installed == []
    assert "missing: make python3-venv openjdk-17-jdk-headless (or 21) maven" in said
    assert "as root" in said
