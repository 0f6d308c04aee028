"""Chooses the first suitable JDK for HBase, and records why others were refused."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from hbase_orm.errors import JavaNotFoundError, JavaUnsuitableError

OLDEST = 17
NEWEST = 21
"""The last suitable version: later JDKs lack the security manager, which Hadoop 3.3 needs."""

_TIMEOUT_S = 30.0  # the first start of a JVM on a loaded machine
_FIX = (
    f"install a JDK {OLDEST} to {NEWEST} (for example the package openjdk-17-jdk-headless) "
    "or set JAVA_HOME to one"
)
FOLDERS = (
    "/usr/lib/jvm/*",
    "/usr/java/*",
    "/opt/*",
    "/opt/*/*",
    "~/.sdkman/candidates/java/*",
    "~/.jdks/*",
    "/Library/Java/JavaVirtualMachines/*/Contents/Home",
    "~/Library/Java/JavaVirtualMachines/*/Contents/Home",
    "/opt/homebrew/opt/openjdk*/libexec/openjdk.jdk/Contents/Home",
)
"""The usual homes of JDKs as glob patterns; the matches of each are tried in sorted order."""


@dataclass(frozen=True, slots=True)
class Java:
    """A suitable JDK."""

    home: Path
    version: int

    @property
    def java(self) -> Path:
        """The path of `java`."""
        return self.home / "bin" / "java"

    @property
    def javac(self) -> Path:
        """The path of `javac`."""
        return self.home / "bin" / "javac"


@dataclass(frozen=True, slots=True)
class Refused:
    """A Java installation that is not suitable.

    Attributes:
        java: The path of `java`.
        origin: Where the installation was found: "JAVA_HOME", "PATH" or a folder.
        reason: Why it is not suitable.
    """

    java: Path
    origin: str
    reason: str

    def __str__(self) -> str:
        """Return the path, the origin and the reason in one line, for an error message."""
        return f"{self.java} ({self.origin}): {self.reason}"


@dataclass(frozen=True, slots=True)
class JavaChoice:
    """The chosen JDK and the Java installations that were refused before it."""

    java: Java
    refused: tuple[Refused, ...]


def choose_java(
    environment: Mapping[str, str] = os.environ, folders: Iterable[str] = FOLDERS
) -> JavaChoice:
    """Return the first suitable JDK: from JAVA_HOME, then PATH, then the usual folders.

    Raises:
        JavaNotFoundError: No Java was found.
        JavaUnsuitableError: No Java is suitable; `refused` has the reasons.
    """
    refused: list[Refused] = []
    for java, origin in _candidates(environment, folders):
        examined = _examine(java)
        if isinstance(examined, Java):
            return JavaChoice(examined, tuple(refused))
        refused.append(Refused(java, origin, examined))
    if not refused:
        raise JavaNotFoundError(
            "no Java was found", searched="JAVA_HOME, PATH and the usual folders", fix=_FIX
        )
    raise JavaUnsuitableError(
        "none of the Java installations on this machine is suitable",
        refused="; ".join(map(str, refused)),
        fix=_FIX,
    )


def _candidates(
    environment: Mapping[str, str], folders: Iterable[str]
) -> Iterator[tuple[Path, str]]:
    """Yield each Java installation once, with the place where it was found."""
    seen: set[Path] = set()
    for java, origin in _places(environment, folders):
        # A wrong JAVA_HOME is reported; at the other places Java may well be missing.
        if origin == "JAVA_HOME" or java.is_file():
            target = java.resolve()
            if target not in seen:
                seen.add(target)
                yield java, origin


def _places(environment: Mapping[str, str], folders: Iterable[str]) -> Iterator[tuple[Path, str]]:
    if environment.get("JAVA_HOME"):
        yield Path(environment["JAVA_HOME"]) / "bin" / "java", "JAVA_HOME"
    on_path = shutil.which("java", path=environment.get("PATH", ""))
    if on_path:
        yield Path(on_path), "PATH"
    for pattern in folders:
        absolute = Path(pattern).expanduser()
        for home in sorted(Path("/").glob(str(absolute.relative_to("/")))):
            yield home / "bin" / "java", str(absolute.parent)


def _examine(java: Path) -> Java | str:
    """Return the JDK that the program `java` belongs to, or the reason why it is not suitable."""
    if not java.is_file():
        return "there is no such file"
    try:
        shown = subprocess.run(  # noqa: S603 -- the Java that the user's settings name
            [str(java), "-XshowSettings:properties", "-version"],
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=_TIMEOUT_S,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"it does not run ({type(error).__name__})"
    version = re.search(r"java\.specification\.version = (?:1\.)?(\d+)", shown.stderr)
    home = re.search(r"java\.home = (.+)", shown.stderr)
    if shown.returncode or not version or not home:
        return f"it does not print its version (exit code {shown.returncode})"
    return _judge(Java(Path(home.group(1).strip()), int(version.group(1))))


def _judge(java: Java) -> Java | str:
    if not OLDEST <= java.version <= NEWEST:
        return f"version {java.version} is not {OLDEST} to {NEWEST}"
    if not java.javac.is_file():
        return "it is a JRE without the compiler javac: a JDK is needed"
    return java


def chosen_java(progress: Callable[[str], None]) -> Java:
    """Return the JDK for servers; report the JDK, and why other Java installations were refused.

    Raises:
        JavaNotFoundError: No Java was found.
        JavaUnsuitableError: No Java is suitable.
    """
    choice = choose_java()
    for refused in choice.refused:
        progress(f"refused {refused}")
    progress(f"Java {choice.java.version} at {choice.java.home}")
    return choice.java
