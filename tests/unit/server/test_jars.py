"""The cache, with scripts in the place of Maven and of the JDK."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from hbase_orm.errors import DiskFullError, JavaUnsuitableError, MavenNotFoundError
from hbase_orm.server import jars
from hbase_orm.server.jars import RuntimeJars, runtime_jars
from hbase_orm.server.java import Java

_MAVEN = """#!/bin/sh
echo run >> {runs}
echo "$JAVA_HOME" > {runs}.home
for given in "$@"; do case "$given" in -DoutputDirectory=*) out="${{given#*=}}" ;; esac; done
sleep 0.1
echo jar > "$out/hbase.jar"
{last}
"""
_JAVAC = """#!/bin/sh
while [ "$1" != -d ]; do shift; done
echo class > "$2/A.class"
{last}
"""


def _program(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


class _Machine:
    def __init__(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.cache = tmp_path / "cache"
        self.java = Java(tmp_path / "jdk", 17)
        self.runs = tmp_path / "runs"
        self._programs = tmp_path / "programs"
        self.set_maven("exit 0")
        self.set_javac("exit 0")
        monkeypatch.setenv("PATH", f"{self._programs}:/usr/bin:/bin")

    def set_maven(self, last: str) -> None:
        _program(self._programs / "mvn", _MAVEN.format(runs=self.runs, last=last))

    def set_javac(self, last: str) -> None:
        _program(self.java.javac, _JAVAC.format(last=last))

    def resolve(self) -> RuntimeJars:
        return runtime_jars(self.java, print, self.cache)

    def count_runs(self) -> int:
        return self.runs.read_text().count("run")


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> _Machine:
    return _Machine(tmp_path, monkeypatch)


def test_jars_are_resolved_once(machine: _Machine) -> None:
    first = machine.resolve()
    second = machine.resolve()

    assert first == second
    assert machine.count_runs() == 1
    assert [jar.name for jar in first.lib.glob("*.jar")] == ["hbase.jar"]
    assert first.server_jar.is_file()


def test_the_progress_counts_what_maven_has_downloaded(
    machine: _Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jars, "_REPORT_INTERVAL_S", 0.0)
    downloads = "".join(
        f"echo '[INFO] Downloading from r: {name}'; echo '[INFO] Downloaded from r: {name}'; "
        for name in "abc"
    )
    machine.set_maven(downloads)
    seen: list[str] = []

    runtime_jars(machine.java, seen.append, machine.cache)

    assert "Maven: 3 files downloaded, 0 s" in seen


def test_maven_runs_with_the_java_that_was_chosen(machine: _Machine) -> None:
    machine.resolve()

    assert Path(f"{machine.runs}.home").read_text().strip() == str(machine.java.home)


def test_a_cache_with_a_missing_jar_is_made_again(machine: _Machine) -> None:
    (machine.resolve().lib / "hbase.jar").unlink()

    again = machine.resolve()

    assert machine.count_runs() == 2
    assert (again.lib / "hbase.jar").is_file()


def test_several_at_once_resolve_once(machine: _Machine) -> None:
    threads = [threading.Thread(target=machine.resolve) for _ in range(4)]

    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert machine.count_runs() == 1


def test_a_failed_download_leaves_nothing_and_can_be_repeated(machine: _Machine) -> None:
    machine.set_maven("echo '[INFO] x'; echo '[ERROR] Could not resolve a:b:1'; exit 1")
    with pytest.raises(MavenNotFoundError, match="Could not resolve a:b:1"):
        machine.resolve()
    left = [path for path in machine.cache.iterdir() if path.is_dir()]

    machine.set_maven("exit 0")
    machine.resolve()

    assert left == []


def test_a_missing_maven_is_named(
    machine: _Machine, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    with pytest.raises(MavenNotFoundError, match="not on the PATH"):
        machine.resolve()


def test_a_disk_that_gets_full_while_maven_runs_is_named(machine: _Machine) -> None:
    machine.set_maven("echo '[ERROR] hbase.jar: No space left on device'; exit 1")

    with pytest.raises(DiskFullError):
        machine.resolve()


def test_a_compiler_that_fails_is_named(machine: _Machine) -> None:
    machine.set_javac("echo 'A.java:1: error: cannot find symbol' >&2; exit 1")

    with pytest.raises(JavaUnsuitableError, match="cannot find symbol"):
        machine.resolve()
