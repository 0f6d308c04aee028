"""The tutorial's blocks, pasted in order, work with nothing but the built package installed."""

from __future__ import annotations

import json
import re
import shutil
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from tests.support.clean_installs import (
    UV,
    Install,
    Resolution,
    build,
    install,
    lowest_versions,
    source_tree,
)
from tests.support.new_user import HBaseUser, MemoryUser, NewUser
from tests.support.tutorial_page import PAGE, blocks

PYTHONS = ("3.11", "3.12", "3.13")
USERS = {"memory": MemoryUser, "hbase": HBaseUser}
SOAK = pytest.mark.soak
HAS_COMPILER = shutil.which("gcc") is not None

pytestmark = [pytest.mark.timeout(3600), pytest.mark.skipif(not UV.exists(), reason="uv builds it")]

InstallOf = Callable[[str, Resolution], Install]


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return source_tree(tmp_path_factory.mktemp("source") / "tree")


@pytest.fixture(scope="module")
def install_of(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> InstallOf:
    """Return a function that returns the wheel's install for a Python, made once."""

    @cache
    def wheel(python: str) -> Path:
        return build("wheel", tree, python)

    @cache
    def installed(python: str, resolution: Resolution) -> Install:
        folder = tmp_path_factory.mktemp("environment") / "venv"
        return install(
            wheel(python), folder, extra=page_extra(), python=python, resolution=resolution
        )

    return installed


def page_extra() -> str:
    """Return the extra that the page installs."""
    extras: set[str] = set(re.findall(r"pip install 'hbase-orm\[(\w+)]'", PAGE))
    (extra,) = extras
    return extra


def follows(user: NewUser) -> dict[str, object]:
    """Let a user follow the whole page; return what `hbase-orm doctor` says."""
    user.follow(blocks())
    in_tests = [line for line in user.printed if line.endswith("pytest")]
    assert len(in_tests) == 2
    assert all("2 passed" in user.printed[line] for line in in_tests)
    imported = user.run(str(user.installed.python), "-c", "print(__import__('hbase_orm').__file__)")
    assert Path(imported).is_relative_to(user.installed.folder)
    del user.environment["HBASE_ORM_URL"]  # doctor would ask a server that is stopped
    report: dict[str, object] = json.loads(user.run("hbase-orm", "doctor", "--json"))
    return report


def test_the_page_says_how_to_do_without_a_server() -> None:
    assert "`export HBASE_ORM_URL=memory://tutorial`" in PAGE


def test_every_block_works_in_memory_with_the_newest_dependencies(
    install_of: InstallOf, tmp_path: Path
) -> None:
    report = follows(MemoryUser(install_of(sys.executable, "highest"), tmp_path / "empty"))

    assert report["reader"] == ("compiled" if HAS_COMPILER else "python")


@SOAK
@pytest.mark.server
@pytest.mark.parametrize("place", USERS)
@pytest.mark.parametrize("resolution", ["lowest-direct", "highest"])
@pytest.mark.parametrize("python", PYTHONS)
def test_every_block_works_on_every_python(
    install_of: InstallOf, tmp_path: Path, python: str, resolution: Resolution, place: str
) -> None:
    report = follows(USERS[place](install_of(python, resolution), tmp_path / "empty"))

    assert str(report["python"]).startswith(f"{python}.")
    assert report["reader"] == ("compiled" if HAS_COMPILER else "python")
    packages = report["packages"]
    assert isinstance(packages, dict)
    lowest = lowest_versions(python)
    same = {name for name, version in lowest.items() if packages[name] == version}
    assert same == set(lowest) or resolution == "highest"


@SOAK
@pytest.mark.server
def test_every_block_works_where_the_source_was_installed_without_a_compiler(
    tree: Path, tmp_path: Path
) -> None:
    sdist = build("sdist", tree)
    installed = install(sdist, tmp_path / "venv", extra=page_extra(), CC="/bin/false")

    report = follows(HBaseUser(installed, tmp_path / "empty"))

    assert report["reader"] == "python"
    assert report["reader_reason"]
