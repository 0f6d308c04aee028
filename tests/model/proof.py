"""Explores every system, the large ones too, and prints what it has seen: `make model`."""

from __future__ import annotations

import sys
import time
from concurrent.futures import ProcessPoolExecutor
from os import cpu_count

from tests.model.guard_systems import LARGE, SYSTEMS
from tests.model.lww_systems import LWW_SYSTEMS
from tests.model.systems import System, explore


def explored(system: System) -> tuple[str, int, int, float]:
    """Return a system's name, its states, how deep they lie, and the seconds it took."""
    began_s = time.process_time()
    explorer = explore(system)
    return system.name, explorer.states, explorer.depth, time.process_time() - began_s


def main() -> None:
    """Print a line for each system, and the sum; a violation ends it with its trace."""
    every = {system.name: system for system in (*SYSTEMS, *LWW_SYSTEMS, *LARGE)}.values()
    states = deepest = 0
    with ProcessPoolExecutor(cpu_count()) as pool:
        for name, count, depth, took_s in pool.map(explored, every):
            print(f"{count:>9,} states  {depth:>3} deep  {took_s:6.1f} s  {name}", flush=True)
            states, deepest = states + count, max(deepest, depth)
    print(f"{states:>9,} states of {len(every)} scenarios, the deepest after {deepest} steps")
    sys.exit(states < 500_000)


if __name__ == "__main__":
    main()
