from __future__ import annotations

import shutil
import tarfile
from typing import TYPE_CHECKING

import pytest

from hbase_orm.server.jars import RuntimeJars
from hbase_orm.testing import image

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The image's folder, copied, so that it may be changed."""
    folder = tmp_path / "docker"
    shutil.copytree(image.docker_dir(), folder)
    monkeypatch.setattr(image, "docker_dir", lambda: folder)
    return folder


def test_the_tag_stays_while_the_inputs_stay(copy: Path) -> None:
    before = image.tag()

    (copy / "compose.yaml").write_text("no input of the image\n")

    assert image.tag() == before


@pytest.mark.parametrize("name", ["Dockerfile", "entrypoint.sh", "healthcheck.sh"])
def test_the_tag_changes_with_each_input(copy: Path, name: str) -> None:
    before = image.tag()

    (copy / name).write_text("changed\n")

    assert image.tag() != before


def test_the_tag_changes_with_the_servers_sources(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = image.tag()
    shutil.copytree(image._SERVER_DIR, tmp_path / "server")
    monkeypatch.setattr(image, "_SERVER_DIR", tmp_path / "server")
    assert image.tag() == before

    (tmp_path / "server" / "java" / "More.java").write_text("class More {}\n")

    assert image.tag() != before


def test_the_build_context_holds_the_files_that_the_dockerfile_copies(tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "hbase.jar").write_bytes(b"hbase")
    (tmp_path / "hbase-orm-server.jar").write_bytes(b"ours")
    jars = RuntimeJars(tmp_path / "lib", tmp_path / "hbase-orm-server.jar")

    with (tmp_path / "context.tar").open("w+b") as file:
        image._write_context(file, jars)
    with tarfile.open(tmp_path / "context.tar") as tar:
        modes = {member.name: oct(member.mode) for member in tar}

    assert modes == {
        "Dockerfile": "0o644",
        "entrypoint.sh": "0o755",
        "healthcheck.sh": "0o755",
        "jvm.options": "0o644",
        "hbase-orm-server.jar": "0o644",
        "lib/hbase.jar": "0o644",
    }
