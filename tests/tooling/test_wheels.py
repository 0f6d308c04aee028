"""A wheel has the compiled reader where a compiler is, and none where there is none."""

from __future__ import annotations

import re
import shutil
import zipfile
from pathlib import Path

import pytest

from tests.support.clean_installs import UV, build, source_tree

pytestmark = [pytest.mark.timeout(600), pytest.mark.skipif(not UV.exists(), reason="uv builds it")]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Return a copy of what a source distribution has, without a compiled module."""
    return source_tree(tmp_path / "tree")


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
    built = build("wheel", tree, HBASE_ORM_REQUIRE_COMPILED="1")
    (module,) = modules(built)
    assert module.startswith("hbase_orm/compiled/_cells.")
    assert not built.stem.endswith("none-any")


def test_without_a_compiler_a_wheel_is_built_for_every_platform(tree: Path) -> None:
    built = build("wheel", tree, CC="/bin/false")
    assert modules(built) == []
    assert built.stem.endswith("py3-none-any")
    # Its description has no link to a file, which an index of packages does not have.
    description = described(built)
    assert "Tutorial (`docs/tutorial.md`)" in description
    assert re.findall(r"\]\((?!https?:|#)", description) == []


def test_a_wheel_that_must_have_the_compiled_reader_is_not_built_without(tree: Path) -> None:
    with pytest.raises(AssertionError, match="uv "):
        build("wheel", tree, CC="/bin/false", HBASE_ORM_REQUIRE_COMPILED="1")
