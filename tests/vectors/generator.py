"""Run the real Java classes: what `make vectors` does, and what the tests find afterwards.

The jars and the vectors lie in the user's cache, in a folder named by a hash of the pom and the
programs that print them; none of it is ever committed.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

from hbase_orm.server.java import choose_java
from hbase_orm.server.options import default_cache_dir

HERE = Path(__file__).parent
POM = HERE / "pom.xml"
PROGRAM = HERE / "Vectors.java"
SPLITS = HERE / "Splits.java"
KEYS = HERE / "Keys.java"
COUNT = 300
"""How many values a type are asked for; small types have fewer."""

_TIMEOUT_S = 300.0
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_INTEGERS = ("int8", "int16", "int32", "int64", "tinyint", "smallint", "integer", "bigint")
_READERS: Mapping[str, Callable[[str], Any]] = {
    **dict.fromkeys((*_INTEGERS, "int", "long"), int),
    **dict.fromkeys(("float", "double", "float32", "float64"), float.fromhex),
    **dict.fromkeys(("decimal", "numeric"), Decimal),
    **dict.fromkeys(("bool", "boolean"), {"true": True, "false": False}.__getitem__),
    **dict.fromkeys(("blob", "blobcopy", "binary", "varbinary"), bytes.fromhex),
    **dict.fromkeys(("date", "time"), lambda text: _EPOCH + timedelta(milliseconds=int(text))),
    "timestamp": lambda text: _EPOCH + timedelta(microseconds=int(text) // 1000),
}


@dataclass(frozen=True, slots=True)
class Vector:
    """A value and the bytes that the Java class makes of it.

    Attributes:
        codec: The codec's name.
        desc: Whether the bytes sort in reverse.
        parameters: The codec's other parameters.
        text: The value as the program prints it.
        data: The bytes.
    """

    codec: str
    desc: bool
    parameters: dict[str, Any]
    text: str
    data: bytes

    @property
    def value(self) -> Any:
        """The value as the codec takes it; what is finer than a microsecond is cut off."""
        kind = self.codec.split(".")[1].removeprefix("unsigned_")
        return _READERS.get(kind, str)(self.text)

    @property
    def is_finer_than_python(self) -> bool:
        """Whether the value has nanoseconds, which only decoding can meet."""
        return self.codec.endswith("timestamp") and int(self.text) % 1000 != 0


def parse(line: str) -> Vector:
    fields = json.loads(line)
    return Vector(
        f"{fields['family']}.{fields['type']}",
        fields["desc"],
        fields["params"],
        fields["value"],
        bytes.fromhex(fields["hex"]),
    )


def folder() -> Path:
    sources = b"\0".join(path.read_bytes() for path in (POM, PROGRAM, SPLITS, KEYS))
    return default_cache_dir() / f"vectors-{hashlib.sha256(sources).hexdigest()[:16]}"


def cached() -> Path:
    return folder() / "vectors.jsonl"


def cached_splits() -> Path:
    return folder() / "splits.jsonl"


def cached_keys() -> Path:
    return folder() / "keys.jsonl"


def run(jars: Path, count: int) -> str:
    """Return what the program prints for the first `count` values of each type."""
    return run_program(jars, PROGRAM, str(count))


def run_program(jars: Path, program: Path, *arguments: str) -> str:
    """Return what a Java program prints that needs no other classes than the jars'."""
    java = choose_java().java
    # The source launcher compiles in memory; -ea runs the checks within OrderedBytes.
    command = [str(java.java), "-ea", "-cp", f"{jars}{os.sep}*", str(program), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)
    if done.returncode:
        sys.exit(f"the vectors' program failed:\n{done.stderr}")
    return done.stdout


def _download(jars: Path) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        sys.exit("Maven is not on the PATH: install it (for example the package maven)")
    done = subprocess.run(
        [
            maven,
            "--batch-mode",
            f"--file={POM}",
            "dependency:copy-dependencies",
            "-DincludeScope=runtime",
            f"-DoutputDirectory={jars}",
        ],
        env={**os.environ, "JAVA_HOME": str(choose_java().java.home)},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(f"Maven could not resolve the jars:\n{done.stdout}")


def make() -> Path:
    """Return the file of vectors, made if it is not there; whole, or not there at all."""
    if not cached().exists():
        folder().parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder().parent) as scratch:
            made = Path(scratch) / "made"
            _download(made / "jars")
            (made / "vectors.jsonl").write_text(run(made / "jars", COUNT), encoding="ascii")
            splits = run_program(made / "jars", SPLITS)
            (made / "splits.jsonl").write_text(splits, encoding="ascii")
            keys = run_program(made / "jars", KEYS)
            (made / "keys.jsonl").write_text(keys, encoding="ascii")
            if not folder().exists():  # else another process was faster
                made.rename(folder())
    return cached()


def main() -> None:
    """Make the vectors, and print which jars they come from."""
    path = make()
    lines = path.read_text(encoding="ascii").splitlines()
    say = sys.stdout.write
    say(f"{len(lines)} vectors of {len({parse(line).codec for line in lines})} codecs: {path}\n")
    splits = cached_splits().read_text(encoding="ascii").splitlines()
    say(f"{len(splits)} results of split algorithms and of the notation of row keys\n")
    keys = cached_keys().read_text(encoding="ascii").splitlines()
    say(f"{len(keys)} row keys of several parts, of Struct and of Phoenix tables\n")
    for jar in sorted((folder() / "jars").glob("*.jar")):
        if jar.name.startswith(("hbase-common", "hbase-server", "phoenix-core-client")):
            say(f"made by {jar.stem}\n")


if __name__ == "__main__":
    main()
