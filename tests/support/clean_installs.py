"""The package as users install it: built, and alone in a new virtual environment."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
UV = Path(sys.executable).with_name("uv")

Resolution = Literal["lowest-direct", "highest"]
"""Which versions of dependencies are installed: the lowest that pyproject.toml allows, or the newest."""


def source_tree(copy: Path) -> Path:
    """Make a copy of what a source distribution has, without a compiled module; return its path."""
    ignored = shutil.ignore_patterns("__pycache__", "*.so")
    for name in ("hbase_orm", "docker"):
        shutil.copytree(ROOT / name, copy / name, ignore=ignored)
    for name in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy / name)
    return copy


def build(
    kind: Literal["wheel", "sdist"], tree: Path, python: str = sys.executable, **environment: str
) -> Path:
    """Build a distribution of the tree; return its path.

    Args:
        kind: What to build.
        tree: A folder that `source_tree` made.
        python: The Python that the wheel is for: a path, or a version such as "3.13".
        environment: Further variables for the build.
    """
    folder = tree.with_name(f"{kind}-{Path(python).name}")
    _uv("build", f"--{kind}", "--python", python, "--out-dir", folder, tree, **environment)
    (built,) = (*folder.glob("*.whl"), *folder.glob("*.tar.gz"))
    return built


@dataclass(frozen=True, slots=True)
class Install:
    """A virtual environment in which nothing but the package was installed."""

    folder: Path

    @property
    def python(self) -> Path:
        """The interpreter."""
        return self.folder / "bin" / "python"

    @property
    def environment(self) -> dict[str, str]:
        """The variables of a user's shell in which the environment is active."""
        ours = ("HBASE_ORM_", "PYTHON", "PYTEST", "COV_", "VIRTUAL_ENV")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
        path = os.pathsep.join([str(self.python.parent), os.environ["PATH"]])
        return {**kept, "VIRTUAL_ENV": str(self.folder), "PATH": path}


def install(
    package: Path,
    folder: Path,
    *,
    extra: str,
    python: str = sys.executable,
    resolution: Resolution = "highest",
    **environment: str,
) -> Install:
    """Install a built package, with an extra of it, into a new virtual environment."""
    installed = Install(folder)
    _uv("venv", "--python", python, folder)
    # Only what is named in the call is taken at its lowest version, so pyproject.toml names it.
    named = ("-r", package_requirements(), "--extra", extra, package)
    target = ("--python", installed.python, "--resolution", resolution)
    _uv("pip", "install", *target, *named, **environment)
    return installed


def package_requirements() -> Path:
    """Return the file with the package's own dependencies."""
    return ROOT / "pyproject.toml"


def lowest_versions(python_version: str) -> dict[str, str]:
    """Return the lower bounds of the package's dependencies on a Python such as "3.13"."""
    project = tomllib.loads(package_requirements().read_text(encoding="utf-8"))["project"]
    lowest: dict[str, str] = {}
    for each in map(Requirement, project["dependencies"]):
        if each.marker is None or each.marker.evaluate({"python_version": python_version}):
            (bound,) = each.specifier
            lowest[each.name] = bound.version  # a line with a marker follows the one without
    return lowest


def _uv(*arguments: object, **environment: str) -> None:
    done = subprocess.run(
        [str(UV), *map(str, arguments)],
        env={**os.environ, "PATH": _path(), **environment},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"uv {arguments}\n{done.stdout}{done.stderr}"


def _path() -> str:
    """Return the PATH with the Pythons that pyenv has built, which its shims may hide."""
    built = sorted((Path.home() / ".pyenv" / "versions").glob("*/bin"))
    return os.pathsep.join([*map(str, built), os.environ["PATH"]])
