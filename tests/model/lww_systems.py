"""The systems without guards that are explored: writers whose every entry is of one column."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from tests.model import guard_systems
from tests.model.guard_systems import COMPACT, REINDEX, REPAIR, VERIFY, A, B, C, Y, by_clocks
from tests.model.systems import System, Worker

TWO_PUTS = System(
    "two puts, one of the old value", A, (Worker(B), Worker(A)), is_lww=True, at_least=1_300
)
SLOW_PUT = System(
    "a put by a slow clock", A, (Worker(B, clock_ms=20), Worker(C, clock_ms=3)), is_lww=True
)
TWO_NEW = System("two puts of a new row", {}, (Worker(B), Worker(C)), is_lww=True)
OTHER_COLUMN = System(
    "a put, and one of a column without index",
    {**A, **Y},
    (Worker(B), Worker({b"d:v2": b"Z"}, clock_ms=20)),
    is_lww=True,
)
TIE_REPAIR = System(
    "two puts and a repair",
    A,
    (Worker(B), Worker(C), REPAIR),
    losses=0,
    is_lww=True,
    at_least=33_000,
)
BACK_REPAIR = replace(
    TIE_REPAIR,
    name="two puts, one of the old value, and a repair",
    workers=(Worker(B), Worker(A), REPAIR),
    at_least=11_000,
)
LATE_REPAIR = System(
    "a put whose answer may be lost, and a repair", A, (Worker(B), REPAIR), is_lww=True
)
VERIFY_AND_REPAIR = System(
    "a put, and a verification that repairs",
    A,
    (Worker(B), guard_systems.VERIFY_AND_REPAIR),
    is_lww=True,
    at_least=4_000,
)
THREE_PUTS = System(
    "three puts", A, (Worker(B), Worker(A), Worker(C)), crashes=0, losses=0, is_lww=True
)
PUTS_COMPACT = System(
    "two puts and a compaction", A, (Worker(B), Worker(A), COMPACT), is_lww=True, at_least=8_000
)
PUTS_VERIFY = System(
    "two puts and a verification",
    A,
    (Worker(B), Worker(A), VERIFY),
    losses=0,
    is_lww=True,
    at_least=47_000,
)
BACKFILL = System(
    "a backfill and two writers that know the index",
    A,
    (Worker(B), Worker(A), REINDEX),
    losses=0,
    is_lww=True,
)

_EVERY: Final = (
    *by_clocks(TWO_PUTS),
    SLOW_PUT,
    *by_clocks(TWO_NEW),
    OTHER_COLUMN,
    *by_clocks(TIE_REPAIR),
    *by_clocks(BACK_REPAIR),
    LATE_REPAIR,
    VERIFY_AND_REPAIR,
    THREE_PUTS,
    PUTS_COMPACT,
    PUTS_VERIFY,
    BACKFILL,
)
LWW_SYSTEMS: Final = tuple(replace(each, name=f"{each.name}, no guards") for each in _EVERY)
"""Explored in every run."""
