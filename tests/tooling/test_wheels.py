"""A wheel has the compiled reader where a compiler is, and none where there is none."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
UV = Path(sys.executable).with_name("uv")

pytestmark = [pytest.mark.timeout(600), pytest.mark.skipif(not UV.exists(), reason="uv builds it")]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Return a copy of what a source distribution has, without a compiled module."""
    copy = tmp_path / "tree"
    ignored = shutil.ignore_patterns("__pycache__", "*.so")
    for name in ("hbase_orm", "docker"):
        shutil.copytree(ROOT / name, copy / name, ignore=ignored)
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy / name)
    return copy


def wheel(tree: Path, **environment: str) -> Path:
    """Build a wheel of the tree; return its path."""
    subprocess.run(
        [str(UV), "build", "--wheel", "--quiet", "--python", sys.executable],
        cwd=tree,
        env={**os.environ, **environment},
        check=True,
    )
    (built,) = (tree / "dist").glob("*.whl")
    return built


def modules(built: Path) -> list[str]:
    """Return the compiled modules of a wheel."""
    with zipfile.ZipFile(built) as archive:
        return [name for name in archive.namelist() if name.endswith(".so")]


def described(built: Path) -> str:
    """Return the description in a wheel's metadata."""
    with zipfile.ZipFile(built) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return archive.read(name).decode()


@pytest.mark.skipif(shutil.which("gcc") is None, reason="there is no compiler")
def test_a_wheel_has_the_compiled_reader(tree: Path) -> None:
    built = wheel(tree, HBASE_ORM_REQUIRE_COMPILED="1")
    (module,) = modules(built)
    assert module.startswith("hbase_orm/compiled/_cells.")
    assert not built.stem.endswith("none-any")


def test_without_a_compiler_a_wheel_is_built_for_every_platform(tree: Path) -> None:
    built = wheel(tree, CC="/bin/false")
    assert modules(built) == []
    assert built.stem.endswith("py3-none-any")
    # Its description has no link to a file, which an index of packages does not have.
    description = described(built)
    assert "Tutorial (`docs/tutorial.md`)" in description
    assert re.findall(r"\]\((?!https?:|#)", description) == []


def test_a_wheel_that_must_have_the_compiled_reader_is_not_built_without(tree: Path) -> None:
    with pytest.raises(subprocess.CalledProcessError):
        wheel(tree, CC="/bin/false", HBASE_ORM_REQUIRE_COMPILED="1")
