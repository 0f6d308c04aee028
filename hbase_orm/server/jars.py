"""The cache of HBase's jars and of this library's compiled classes.

The jars are downloaded by Maven with the user's settings; the classes are compiled by the JDK. The
cache has a folder for the jars and a folder for the classes. A folder is filled under a temporary
name and then renamed, under a lock, so it is always complete. Its final name has a hash of the
files that it was made from.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import shutil
import stat
import subprocess
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from hbase_orm.errors import JavaUnsuitableError, MavenNotFoundError, ServerError
from hbase_orm.server.disk import FULL, disk_full, require_space, writing_to
from hbase_orm.server.java import Java
from hbase_orm.server.options import default_cache_dir

Progress = Callable[[str], None]

_HERE = Path(__file__).parent
_POM = _HERE / "pom.xml"
_SOURCES = _HERE / "java"
_MANIFEST = "manifest.json"
_NEEDED_BYTES = 400_000_000  # the jars are 118 MB, and Maven keeps a second copy
_REPORT_INTERVAL_S = 2.0
_HASH_CHARS = 16
_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH
_JAVAC_FLAGS = ("--release", "17", "-proc:none", "-nowarn")
_ZIP_TIME = (1980, 1, 1, 0, 0, 0)  # equal sources give an equal jar


@dataclass(frozen=True, slots=True)
class RuntimeJars:
    """The jars that a JVM of the server needs on its class path.

    Attributes:
        lib: The folder with HBase's jars.
        server_jar: The jar with this library's classes and the log settings.
    """

    lib: Path
    server_jar: Path

    @property
    def class_path(self) -> str:
        """The JVM's class path, with this library's jar first because of its log settings."""
        return f"{self.server_jar}{os.pathsep}{self.lib}/*"


def runtime_jars(java: Java, progress: Progress, cache_dir: Path | None = None) -> RuntimeJars:
    """Return the jars; download and compile those that are not in the cache yet.

    Several processes may call this function at the same time: one makes the jars, the others wait.

    Raises:
        MavenNotFoundError: Maven is missing or could not resolve the jars.
        JavaUnsuitableError: This library's classes do not compile.
        DiskFullError: There is not enough disk space for the jars.
    """
    cache = cache_dir or default_cache_dir()
    lib = _folder(cache, "jars", [_POM])
    sources = sorted(path for path in _SOURCES.rglob("*") if path.is_file())
    classes = _folder(cache, "classes", [_POM, *sources])
    with writing_to(cache):
        _keep_to_owner(cache)
        _make(lib, lambda target: _download(target, java, progress))
        _make(classes, lambda target: _compile(target, sources, lib, java, progress))
    return RuntimeJars(lib, classes / "hbase-orm-server.jar")


def _keep_to_owner(cache: Path) -> None:
    """Create the cache so that only its owner may write: the jars in it are executed.

    Raises:
        ServerError: The cache belongs to another user.
    """
    cache.mkdir(mode=0o700, parents=True, exist_ok=True)
    status = cache.stat()
    if status.st_uid not in {0, os.geteuid()}:
        raise ServerError(
            "the cache of jars belongs to another user, who could change the code that runs",
            folder=str(cache),
            fix="set XDG_CACHE_HOME to a folder that belongs to you",
        )
    for folder in (cache, *filter(Path.is_dir, cache.iterdir())):
        mode = stat.S_IMODE(folder.stat().st_mode)
        if mode & _WRITABLE_BY_OTHERS:
            folder.chmod(mode & ~_WRITABLE_BY_OTHERS)


def _folder(cache: Path, kind: str, made_from: list[Path]) -> Path:
    digest = hashlib.sha256()
    for path in made_from:
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return cache / f"{kind}-{digest.hexdigest()[:_HASH_CHARS]}"


def _make(folder: Path, fill: Callable[[Path], None]) -> None:
    """Create `folder` and fill it by `fill`, unless it exists and is complete."""
    if _is_whole(folder):
        return
    with _locked(folder.with_suffix(".lock")):
        if _is_whole(folder):
            return  # by another process, while we waited
        with tempfile.TemporaryDirectory(prefix="making-", dir=folder.parent) as made:
            target = Path(made) / "new"
            target.mkdir()
            fill(target)
            manifest = {jar.name: jar.stat().st_size for jar in target.glob("*.jar")}
            (target / _MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")
            if folder.exists():
                folder.rename(Path(made) / "broken")
            target.rename(folder)


def _is_whole(folder: Path) -> bool:
    try:
        manifest = json.loads((folder / _MANIFEST).read_text(encoding="utf-8"))
        return all((folder / name).stat().st_size == size for name, size in manifest.items())
    except (OSError, ValueError):
        return False


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield  # closing the file gives the lock back


def _download(target: Path, java: Java, progress: Progress) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise MavenNotFoundError(
            "Maven is not on the PATH", fix="install it (for example the package maven)"
        )
    require_space(target, _NEEDED_BYTES)
    command = [
        maven,
        "--batch-mode",
        f"--file={_POM}",
        "dependency:copy-dependencies",
        "-DincludeScope=runtime",
        f"-DoutputDirectory={target}",
    ]
    lines = list(_run_maven(command, java, progress))
    if lines[-1:] == ["done"]:
        return
    if any(FULL in line for line in lines):
        raise disk_full(target.parent)
    raise MavenNotFoundError(
        "Maven could not resolve the jars",
        reason=next((line for line in lines if line.startswith("[ERROR]")), "unknown"),
        fix="check its network access and settings with 'mvn dependency:get'",
    )


def _run_maven(command: list[str], java: Java, progress: Progress) -> Iterator[str]:
    """Run Maven and yield the lines of its output, then 'done' if it succeeded; report progress."""
    started = reported = time.monotonic()
    fetched = 0
    progress("Maven resolves the jars (118 MB, once)")
    environment = {**os.environ, "JAVA_HOME": str(java.home)}
    with subprocess.Popen(  # noqa: S603 -- the user's own Maven
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as maven:
        for raw in maven.stdout or ():
            line = re.sub(r"\x1b\[[0-9;]*m", "", raw).strip()
            fetched += "Downloaded" in line
            if time.monotonic() - reported > _REPORT_INTERVAL_S:
                reported = time.monotonic()
                progress(f"Maven: {fetched} files downloaded, {reported - started:.0f} s")
            yield line
    if maven.returncode == 0:
        yield "done"


def _compile(target: Path, sources: list[Path], lib: Path, java: Java, progress: Progress) -> None:
    progress("compiling the server's classes")
    with tempfile.TemporaryDirectory(dir=target.parent) as classes:
        programs = [str(path) for path in sources if path.suffix == ".java"]
        done = subprocess.run(  # noqa: S603 -- the JDK that was chosen
            [str(java.javac), *_JAVAC_FLAGS, "-cp", f"{lib}/*", "-d", classes, *programs],
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        if done.returncode:
            raise JavaUnsuitableError(
                "the server's classes do not compile",
                javac=str(java.javac),
                reason=next((x for x in done.stderr.splitlines() if "error" in x), "unknown"),
                fix="set JAVA_HOME to another JDK 17 to 21",
            )
        _pack(target / "hbase-orm-server.jar", Path(classes), sources)


def _pack(jar: Path, classes: Path, sources: list[Path]) -> None:
    entries = {str(path.relative_to(classes)): path for path in classes.rglob("*.class")}
    entries |= {path.name: path for path in sources if path.suffix == ".properties"}
    with zipfile.ZipFile(jar, "w", zipfile.ZIP_DEFLATED) as packed:
        for name in sorted(entries):
            packed.writestr(zipfile.ZipInfo(name, _ZIP_TIME), entries[name].read_bytes())
