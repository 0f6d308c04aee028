from __future__ import annotations

from pathlib import Path

import pytest

from hbase_orm.errors import JavaNotFoundError, JavaUnsuitableError
from hbase_orm.server.java import choose_java

_SCRIPT = """#!/bin/sh
echo '    java.home = {home}' >&2
echo '    java.specification.version = {version}' >&2
exit {code}
"""


def _jdk(home: Path, version: str, *, javac: bool = True, code: int = 0) -> Path:
    programs = home / "bin"
    programs.mkdir(parents=True)
    (programs / "java").write_text(_SCRIPT.format(home=home, version=version, code=code))
    (programs / "java").chmod(0o755)
    if javac:
        (programs / "javac").write_text("#!/bin/sh\n")
    return home


def _path(home: Path) -> dict[str, str]:
    return {"PATH": str(home / "bin")}


def test_java_home_is_taken_before_the_path(tmp_path: Path) -> None:
    wanted = _jdk(tmp_path / "a", "21")
    other = _jdk(tmp_path / "b", "17")

    choice = choose_java({"JAVA_HOME": str(wanted), **_path(other)}, [])

    assert (choice.java.home, choice.java.version) == (wanted, 21)


def test_the_path_is_taken_before_the_usual_folders(tmp_path: Path) -> None:
    wanted = _jdk(tmp_path / "a", "17")
    _jdk(tmp_path / "usual" / "b", "17")

    choice = choose_java(_path(wanted), [f"{tmp_path}/usual/*"])

    assert choice.java.home == wanted


def test_the_usual_folders_are_searched_in_order(tmp_path: Path) -> None:
    _jdk(tmp_path / "usual" / "b", "17")
    wanted = _jdk(tmp_path / "usual" / "a", "17")

    choice = choose_java({}, [f"{tmp_path}/usual/*"])

    assert choice.java.home == wanted


@pytest.mark.parametrize("version", ["1.8", "11", "16", "22", "25"])
def test_a_version_that_does_not_fit_is_refused_and_the_next_is_taken(
    tmp_path: Path, version: str
) -> None:
    refused = _jdk(tmp_path / "a", version)
    wanted = _jdk(tmp_path / "usual" / "b", "17")

    choice = choose_java({"JAVA_HOME": str(refused)}, [f"{tmp_path}/usual/*"])

    assert choice.java.home == wanted
    assert [str(one) for one in choice.refused] == [
        f"{refused}/bin/java (JAVA_HOME): version {version.removeprefix('1.')} is not 17 to 21"
    ]


def test_a_jre_is_refused_because_it_cannot_compile(tmp_path: Path) -> None:
    refused = _jdk(tmp_path / "a", "17", javac=False)

    with pytest.raises(JavaUnsuitableError, match="JRE without the compiler javac"):
        choose_java({"JAVA_HOME": str(refused)}, [])


def test_a_java_that_fails_is_refused(tmp_path: Path) -> None:
    refused = _jdk(tmp_path / "a", "17", code=1)

    with pytest.raises(JavaUnsuitableError, match="does not print its version"):
        choose_java({"JAVA_HOME": str(refused)}, [])


def test_a_java_that_cannot_be_executed_is_refused(tmp_path: Path) -> None:
    refused = _jdk(tmp_path / "a", "17")
    (refused / "bin" / "java").write_bytes(b"\x7fELF")

    with pytest.raises(JavaUnsuitableError, match="does not run"):
        choose_java({"JAVA_HOME": str(refused)}, [])


def test_a_java_home_without_java_is_named(tmp_path: Path) -> None:
    with pytest.raises(JavaUnsuitableError, match=r"JAVA_HOME\): there is no such file"):
        choose_java({"JAVA_HOME": str(tmp_path)}, [])


def test_no_java_at_all_is_an_error_of_its_own(tmp_path: Path) -> None:
    with pytest.raises(JavaNotFoundError, match="install a JDK 17 to 21"):
        choose_java({"PATH": str(tmp_path)}, [f"{tmp_path}/*"])


def test_every_refused_java_is_listed_once(tmp_path: Path) -> None:
    old = _jdk(tmp_path / "usual" / "old", "11")
    new = _jdk(tmp_path / "usual" / "new", "25")

    with pytest.raises(JavaUnsuitableError) as caught:
        choose_java({"JAVA_HOME": str(old), **_path(new)}, [f"{tmp_path}/usual/*"])

    assert caught.value.refused.count("version") == 2
