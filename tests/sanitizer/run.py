"""Builds the compiled reader with the address sanitizer, and runs its tests and its fuzz.

    python -m tests.sanitizer.run [ARGUMENTS OF PYTEST...]

The tree is copied to `build/sanitizer`, so that the module in use stays as it is. Every read or
write outside of a buffer ends the run, also in one that no test would notice otherwise. It needs
gcc with its libasan.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
COPY = ROOT / "build" / "sanitizer"
TOOLS = ROOT / "build" / "sanitizer-tools"
NEEDED = ("cython>=3.1", "hatchling>=1.25", "setuptools>=77")
TESTS = (
    "tests/property/test_row_replies.py",
    "tests/property/test_result_replies.py",
    "tests/property/test_compiled_reading.py",
    "tests/property/test_compiled_columns.py",
    "tests/property/test_arrow_columns.py",
    "tests/unit/compiled",
)
BUILD = """
from pathlib import Path
from hatch_build import compiled
print(compiled(Path.cwd(), "-g", "-fsanitize=address", "-fno-omit-frame-pointer"))
"""


def main() -> int:
    """Copy, build and run; return the exit code of pytest."""
    shutil.rmtree(COPY, ignore_errors=True)
    ignored = shutil.ignore_patterns("__pycache__", "*.so")
    for name in ("hbase_orm", "tests", "docs", "examples"):
        shutil.copytree(ROOT / name, COPY / name, ignore=ignored)
    for name in ("pyproject.toml", "hatch_build.py"):
        shutil.copy(ROOT / name, COPY / name)
    uv = [str(Path(sys.executable).with_name("uv")), "pip", "install", "--quiet"]
    subprocess.run([*uv, "--target", str(TOOLS), *NEEDED], check=True)
    paths = os.pathsep.join(map(str, (COPY, TOOLS)))
    building = {**os.environ, "PYTHONPATH": paths}
    subprocess.run([sys.executable, "-c", BUILD], cwd=COPY, env=building, check=True)
    asked = ["gcc", "-print-file-name=libasan.so"]
    library = subprocess.run(asked, check=True, capture_output=True, text=True).stdout.strip()
    running = {
        **os.environ,
        "PYTHONPATH": str(COPY),
        "LD_PRELOAD": library,
        "PYTHONMALLOC": "malloc",  # Python's own allocator would hide what is read outside
        "ASAN_OPTIONS": "detect_leaks=0",  # the interpreter leaves some memory to the system
    }
    arguments = ["-n0", "-q", "-p", "no:cacheprovider", *(sys.argv[1:] or TESTS)]
    pytest = [sys.executable, "-m", "pytest", *arguments]
    return subprocess.run(pytest, cwd=COPY, env=running, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
