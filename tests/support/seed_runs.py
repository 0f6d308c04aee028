"""Runs tests with many seeds, one after the other: `make seeds`.

Each run draws other values, so a test whose result depends on its seed fails here sooner than in the
runs of one day. What a failed run printed is shown, and with it the command that repeats the run.
"""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence


def run(seed: int, arguments: Sequence[str]) -> bool:
    """Run pytest with a seed; say whether all tests passed."""
    command = [sys.executable, "-m", "pytest", "-q", f"--randomly-seed={seed}", *arguments]
    begun_s = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    took_s = time.monotonic() - begun_s
    said = done.stdout.strip().splitlines() or [done.stderr.strip()]
    print(f"seed {seed}: exit code {done.returncode} after {took_s:.0f} s: {said[-1]}", flush=True)
    if done.returncode:
        print(done.stdout, done.stderr, sep="\n", flush=True)
    return done.returncode == 0


def seeds(count: int) -> Iterator[int]:
    """Yield so many numbers that pytest-randomly and Hypothesis take as seeds."""
    return (random.getrandbits(32) for _ in range(count))


def main(count: int, arguments: Sequence[str]) -> int:
    """Run pytest so many times; return how many of the runs failed."""
    results = {seed: run(seed, arguments) for seed in seeds(count)}
    failed = [str(seed) for seed, passed in results.items() if not passed]
    print(f"{len(results)} seeds: {len(results) - len(failed)} passed, {len(failed)} failed")
    if failed:
        print(f"failed: --randomly-seed={', '.join(failed)}")
    return len(failed)


if __name__ == "__main__":
    sys.exit(min(main(int(sys.argv[1]), sys.argv[2:]), 1))
