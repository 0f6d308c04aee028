"""Explores every system, the large ones too, and prints what it has seen: `make model`."""

from __future__ import annotations

import sys
import time
from concurrent.futures import ProcessPoolExecutor
from os import cpu_count

from tests.model.guard_systems import LARGE, SYSTEMS
from tests.model.lww_systems import LWW_SYSTEMS
from tests.model.moving_soundness import explore_move
from tests.model.moving_systems import LARGE_MOVES, MOVE_SYSTEMS
from tests.model.moving_tables import MoveSystem
from tests.model.systems import System, explore

FEWEST_STATES = 2_000_000


def explored(system: System | MoveSystem) -> tuple[str, int, int, float]:
    """Return a system's name, its states, how deep they lie, and the seconds it took."""
    began_s = time.process_time()
    explorer = explore_move(system) if isinstance(system, MoveSystem) else explore(system)
    return system.name, explorer.states, explorer.depth, time.process_time() - began_s


def main() -> None:
    """Print a line for each system, and the sum; a violation ends it with its trace."""
    of_indexes, of_moves = (*SYSTEMS, *LWW_SYSTEMS, *LARGE), (*MOVE_SYSTEMS, *LARGE_MOVES)
    every: list[System | MoveSystem] = []
    every += {system.name: system for system in of_indexes}.values()
    every += {system.name: system for system in of_moves}.values()
    states = deepest = 0
    with ProcessPoolExecutor(cpu_count()) as pool:
        for name, count, depth, took_s in pool.map(explored, every):
            print(f"{count:>9,} states  {depth:>3} deep  {took_s:6.1f} s  {name}", flush=True)
            states, deepest = states + count, max(deepest, depth)
    print(f"{states:>9,} states of {len(every)} scenarios, the deepest after {deepest} steps")
    sys.exit(states < FEWEST_STATES)


if __name__ == "__main__":
    main()
