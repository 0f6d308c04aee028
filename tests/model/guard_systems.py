"""The systems that are explored: some in every run, the large ones by `make model`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from tests.model.systems import REPAIR_CLOCK_MS, SECOND, System, Worker
from tests.support.replays import V1, V2

A, B, C = {V1: b"A"}, {V1: b"B"}, {V1: b"C"}
X, Y = {V2: b"X"}, {V2: b"Y"}
AX = {**A, **X}
DELETE = Worker(kind="delete")
REPAIR = Worker(kind="repair", clock_ms=REPAIR_CLOCK_MS)
VERIFY = Worker(kind="verify", clock_ms=REPAIR_CLOCK_MS)
VERIFY_AND_REPAIR = Worker(kind="verify and repair", clock_ms=REPAIR_CLOCK_MS)
COMPACT = Worker(kind="compact")
EXPIRE = Worker(kind="expire")
REINDEX = Worker(kind="reindex")

CLOCKS: Final = ((10, 10), (10, 20), (20, 10), (3, 10), (10, 3), (3, 3))
"""Pairs of clocks beside rows that were written at 5: equal, skewed, and behind the row."""


def by_clocks(system: System, pairs: Sequence[tuple[int, int]] = CLOCKS) -> list[System]:
    """Return a system of two writers, by each pair of clocks."""
    first, second, *others = system.workers
    return [
        replace(
            system,
            name=f"{system.name}, clocks {one} and {other}",
            workers=(
                replace(first, clock_ms=one),
                replace(second, clock_ms=other),
                *others,
            ),
        )
        for one, other in pairs
    ]


# --- plain entries --------------------------------------------------------------------------------

TWO_PUTS = System("two puts, one of the old value", A, (Worker(B), Worker(A)), at_least=2_500)
SLOW_PUT = System(
    "a put by a slow clock", A, (Worker(B, clock_ms=20), Worker(C, clock_ms=3)), at_least=6_000
)
SAME_PUT = System("two puts of the same value", A, (Worker(B), Worker(B)), at_least=3_000)
COMPOSITE = System(
    "two columns of one key",
    AX,
    (Worker(B), Worker(Y, clock_ms=20)),
    is_composite=True,
    at_least=10_000,
)
DELETE_PUT = System(
    "a delete and a put", A, (replace(DELETE, clock_ms=20), Worker(B)), at_least=4_000
)
TWO_INSERTS = System("two inserts", {}, (Worker(B, "insert"), Worker(C, "insert")), at_least=1_000)
INSERT_DELETE = System(
    "an insert, and an insert and its delete by a fast clock",
    {},
    (Worker(B, "insert"), Worker(C, "insert", 20), replace(DELETE, clock_ms=30)),
    crashes=0,
    losses=0,
    at_least=1_500,
)
NO_GUARD = System(
    "two puts to a row without guard",
    A,
    (Worker(B, clock_ms=3), Worker(A)),
    has_guard=False,
    at_least=4_000,
)
PUT_REPAIR = System("a put and a repair", A, (Worker(B), REPAIR), at_least=3_500)
DELETE_PUT_REPAIR = System(
    "a delete, a put and a repair",
    A,
    (DELETE, Worker(B, clock_ms=20), REPAIR),
    crashes=0,
    losses=0,
    at_least=12_000,
)
TWO_PUTS_REPAIR = System(
    "two puts and a repair", A, (Worker(B), Worker(A), REPAIR), crashes=1, losses=0, at_least=29_000
)
TWO_EXTENDS = System(
    "two writes that each build on the row",
    AX,
    (Worker({V2: b"1"}, "extend"), Worker({V2: b"2"}, "extend", 20)),
    is_composite=True,
    at_least=10_000,
)
REPLACE_PUT = System(
    "a replace and a put",
    AX,
    (Worker(B, "replace"), Worker(Y, clock_ms=20)),
    is_composite=True,
    at_least=4_500,
)
TWO_PUTS_VERIFY = System(
    "two puts and a verification",
    A,
    (Worker(B), Worker(A), VERIFY),
    crashes=1,
    losses=0,
    at_least=50_000,
)
PUT_VERIFY_AND_REPAIR = System(
    "a put, and a verification that repairs", A, (Worker(B), VERIFY_AND_REPAIR), at_least=8_000
)
DELETE_VERIFY_AND_REPAIR = System(
    "a delete, and a verification that repairs", A, (DELETE, VERIFY_AND_REPAIR)
)
NO_GUARD_VERIFY_AND_REPAIR = System(
    "a put to a row without guard, and a verification that repairs",
    A,
    (Worker(B), VERIFY_AND_REPAIR),
    has_guard=False,
    losses=0,
)
COVERING_VERIFY_AND_REPAIR = System(
    "a put of a repeated column, and a verification that repairs",
    AX,
    (Worker(Y), VERIFY_AND_REPAIR),
    is_covering=True,
    at_least=33_000,
)
CLAIM_VERIFY_AND_REPAIR = System(
    "a claim, and a verification that repairs",
    A,
    (Worker(C), VERIFY_AND_REPAIR),
    is_unique=True,
    at_least=15_000,
)
TWO_PUTS_COMPACT = System(
    "two puts and a compaction", A, (Worker(B), Worker(A), COMPACT), at_least=16_000
)
DELETE_PUT_COMPACT = System(
    "a delete, a put and a compaction", A, (DELETE, Worker(B), COMPACT), at_least=28_000
)
DELETE_PUT_EXPIRE = System(
    "a delete, a later put, and the dead guard expires",
    A,
    (DELETE, Worker(B, clock_ms=50), EXPIRE),
    losses=0,  # seven days later nothing is under way any more
)
THREE_PUTS = System(
    "three puts", A, (Worker(B), Worker(A), Worker(B)), crashes=0, losses=0, at_least=5_000
)
PUTS_OF_MANY_FAULTS = System(
    "two puts, two crashes and two losses",
    A,
    (Worker(B), Worker(A)),
    crashes=2,
    losses=2,
    at_least=20_000,
)

# --- the life of a table and of an index ----------------------------------------------------------

LOAD = Worker(AX, "load")
LOAD_AND_WRITE = System(
    "a load and a write",
    {},
    (LOAD, Worker(B, clock_ms=20)),
    is_composite=True,
    is_new=True,
    at_least=3_000,
)
LOAD_AGAIN = System(
    "a load, the same load again, and a write",
    {},
    (LOAD, replace(LOAD, kind="last load", clock_ms=50), Worker(B, clock_ms=20)),
    losses=0,
    is_composite=True,
    is_new=True,
    at_least=17_000,
)
LOAD_AND_DELETE = System(
    "a load and a delete",
    {},
    (LOAD, DELETE),
    is_composite=True,
    is_new=True,
    at_least=3_000,
)
LOAD_COVERING = System(
    "a load whose entries repeat a column, and a write of that column",
    {},
    (LOAD, Worker(Y, clock_ms=20)),
    is_covering=True,
    is_new=True,
    at_least=3_900,
)
LOAD_COVERING_MOVED = System(
    "a load whose entries repeat a column, and a write of the key",
    {},
    (LOAD, Worker(B, clock_ms=20)),
    is_covering=True,
    is_new=True,
    at_least=5_500,
)
LOAD_COVERING_AGAIN = System(
    "a load whose entries repeat a column, the same load again, and a write",
    {},
    (LOAD, replace(LOAD, kind="last load", clock_ms=50), Worker({**B, **Y}, clock_ms=20)),
    losses=0,
    is_covering=True,
    is_new=True,
    at_least=34_000,
)
LOADS_TOGETHER = System(
    "two loads of different rows, and a write of a row of the first",
    {},
    (
        LOAD,
        Worker(AX, "last load", clock_ms=50, row=SECOND),
        Worker(B, clock_ms=20),
    ),
    losses=0,
    is_composite=True,
    is_new=True,
    at_least=28_000,
)
LOAD_COVERING_DELETE = System(
    "a load whose entries repeat a column, and a delete",
    {},
    (LOAD, DELETE),
    is_covering=True,
    is_new=True,
    at_least=3_900,
)
BACKFILL = System(
    "a backfill, and a writer that does not know the index",
    A,
    (Worker(B, is_unaware=True), REINDEX),
    is_built=True,
)
BACKFILL_BOTH = System(
    "a backfill, a writer that does not know the index and one that does",
    A,
    (Worker(B, is_unaware=True), Worker(C), REINDEX),
    is_built=True,
    losses=0,
    at_least=8_000,
)
BACKFILL_DELETE = System(
    "a backfill, and a delete that does not know the index",
    A,
    (replace(DELETE, is_unaware=True), REINDEX),
    is_built=True,
)
PLAIN_PUT = Worker({**B, **Y}, "plain put")
PLAIN_DELETE = Worker(kind="plain delete")
CATCH_UP = Worker(kind="catch up", clock_ms=REPAIR_CLOCK_MS)
SERVER_BEHIND_MS = 2_000
BUILD_BESIDE_PLAIN_PUT = System(
    "a build of a plain table, and a put that knows no guard",
    A,
    (PLAIN_PUT, REINDEX),
    has_guard=False,
    is_built=True,
)
BUILD_BESIDE_PLAIN_AND_AWARE = System(
    "a build of a plain table, a put that knows no guard, and one that knows the index",
    AX,
    (PLAIN_PUT, Worker(C, clock_ms=SERVER_BEHIND_MS), replace(REINDEX, clock_ms=SERVER_BEHIND_MS)),
    has_guard=False,
    is_built=True,
    is_covering=True,
    crashes=0,
    losses=0,
)
BUILD_BESIDE_PLAIN_DELETE = System(
    "a build of a plain table, a delete that knows no guard, and a put that knows the index",
    AX,
    (PLAIN_DELETE, Worker(C), REINDEX),
    has_guard=False,
    is_built=True,
    is_covering=True,
    crashes=0,
    losses=0,
)
CATCH_UP_PLAIN_PUT = System(
    "a build catches up with a plain put, beside a put that knows the index",
    AX,
    (CATCH_UP, Worker({**C, **Y}, clock_ms=20)),
    settled=(REINDEX, PLAIN_PUT),
    is_built=True,
    is_covering=True,
    losses=0,
)
CATCH_UP_BESIDE_OTHER_COLUMN = System(
    "a build catches up with a plain put, beside a put of a column that is not indexed",
    AX,
    (CATCH_UP, Worker({V2: b"Z"}, clock_ms=SERVER_BEHIND_MS)),
    settled=(replace(REINDEX, clock_ms=SERVER_BEHIND_MS), PLAIN_PUT),
    is_built=True,
    losses=0,
)
CATCH_UP_PLAIN_DELETE = System(
    "a build catches up with a plain delete, beside a put that knows the index",
    AX,
    (CATCH_UP, Worker(C, clock_ms=SERVER_BEHIND_MS)),
    settled=(REINDEX, PLAIN_DELETE),
    is_built=True,
    is_covering=True,
    losses=0,
)
EXCLUSIVE = Worker(kind="exclusive build", clock_ms=REPAIR_CLOCK_MS)
EXCLUSIVE_BESIDE_PLAIN_PUT = System(
    "an exclusive build of a plain table, and a put under an older lease",
    AX,
    (PLAIN_PUT, EXCLUSIVE),
    has_guard=False,
    is_built=True,
    is_covering=True,
    at_least=1_700,
)
EXCLUSIVE_BESIDE_PLAIN_DELETE = System(
    "an exclusive build of a plain table, and a delete under an older lease",
    AX,
    (PLAIN_DELETE, EXCLUSIVE),
    has_guard=False,
    is_built=True,
    is_covering=True,
    at_least=900,
)
EXCLUSIVE_BESIDE_INSERT = System(
    "an exclusive build, and an insert under an older lease",
    {},
    (Worker(B, "insert", is_unaware=True), EXCLUSIVE),
    is_built=True,
    at_least=1_200,
)
EXCLUSIVE_TWICE = System(
    "two exclusive builds, one of which was killed or suspended, and a put under an older lease",
    A,
    (EXCLUSIVE, EXCLUSIVE, Worker(B, is_unaware=True)),
    is_built=True,
    losses=0,
    at_least=29_000,
)
LOST_CATALOG = System(
    "a table that the catalog has lost is entered twice, beside a write",
    A,
    (Worker(kind="register"), Worker(kind="register"), Worker(B, clock_ms=20)),
    is_lost=True,
)
# --- entries that repeat a column -----------------------------------------------------------------

COVERING = System(
    "the key and the column that entries repeat",
    AX,
    (Worker(B), Worker(Y)),
    is_covering=True,
    at_least=13_000,
)
COVERING_BOTH = System(
    "the key, and key and repeated column back",
    AX,
    (Worker(B), Worker({**A, **Y}, clock_ms=20)),
    is_covering=True,
    at_least=17_000,
)
COVERING_DELETE = System(
    "a delete, and a put of a repeated column", AX, (DELETE, Worker({**A, **Y})), is_covering=True
)
COVERING_ABSENT = System(
    "a repeated column goes, and comes",
    AX,
    (Worker(B, "replace"), Worker(Y)),
    is_covering=True,
    at_least=13_000,
)
COVERING_REPAIR = System(
    "a put of a repeated column and a repair", AX, (Worker(Y), REPAIR), is_covering=True
)
COVERING_PUTS_REPAIR = System(
    "key, repeated column and a repair",
    AX,
    (Worker(B), Worker(Y), REPAIR),
    is_covering=True,
    crashes=0,
    losses=0,
    at_least=92_000,
)
COVERING_COMPACT = System(
    "a key moves on twice, and a compaction",
    AX,
    (Worker(B), Worker(C), COMPACT),
    is_covering=True,
    crashes=0,
    at_least=51_000,
)

# --- unique values --------------------------------------------------------------------------------

BOTH_CLAIM = System(
    "two rows want one value",
    A,
    (Worker(C), Worker(C, row=SECOND)),
    beside=B,
    is_unique=True,
    losses=0,
    tries=2,
)
BOTH_CLAIM_LOST = replace(
    BOTH_CLAIM,
    name="two rows want one value, an answer is lost",
    crashes=0,
    losses=1,
    at_least=58_000,
)
BOTH_INSERT = System(
    "two rows are made with one value",
    {},
    (Worker(C, "insert"), Worker(C, "insert", row=SECOND)),
    is_unique=True,
    losses=0,
    at_least=15_000,
)
HAND_OVER = System(
    "one row leaves a value, another takes it",
    A,
    (Worker(C), Worker(A, row=SECOND)),
    beside=B,
    is_unique=True,
)
HAND_OVER_SLOW = System(
    "a row takes a value and leaves it by a fast clock, another takes it by a slow one",
    A,
    (Worker(C, clock_ms=20), Worker(B, clock_ms=20), Worker(C, clock_ms=3, row=SECOND)),
    beside={V1: b"D"},
    is_unique=True,
    crashes=0,
    losses=0,
    tries=1,
)
HAND_OVER_DELETED = System(
    "a row is deleted, another takes its value",
    A,
    (DELETE, Worker(A, "insert", row=SECOND)),
    is_unique=True,
)
LEAVE_AND_RETURN = System(
    "a row leaves a value and returns to it, another takes it",
    A,
    (Worker(C), Worker(A), Worker(A, row=SECOND)),
    beside=B,
    is_unique=True,
    crashes=0,
    losses=0,
    tries=2,
    at_least=36_000,
)
STALE_CLAIM = System(
    "a value that a crash has left claimed, wanted by its row and by another",
    A,
    (Worker(C), Worker(C, row=SECOND)),
    beside=B,
    is_unique=True,
    losses=0,
    tries=2,
    stale_claim=b"C",
)
CLAIM_REPAIR = System("a claim and a repair", A, (Worker(C), REPAIR), is_unique=True)
OWN_CLAIMS = System(
    "an older and a newer try of a row claim a value, and so does another row",
    A,
    (
        Worker(B, clock_ms=20),
        Worker(C, clock_ms=3),
        Worker(C),
        Worker(C, row=SECOND),
    ),
    beside={V1: b"D"},
    is_unique=True,
    crashes=0,
    losses=0,
    tries=1,
)
OTHER_TAKES_BETWEEN = replace(
    BOTH_CLAIM, name="another row takes the value between two tries", tries=3
)
CLAIM_EXPIRES = System(
    "a value given up, its mark expires, another row takes it",
    A,
    (DELETE, Worker(A, "insert", clock_ms=50, row=SECOND), EXPIRE),
    is_unique=True,
    losses=0,
)
SYSTEMS: Final = (
    *by_clocks(TWO_PUTS),
    SLOW_PUT,
    SAME_PUT,
    COMPOSITE,
    DELETE_PUT,
    TWO_INSERTS,
    INSERT_DELETE,
    NO_GUARD,
    PUT_REPAIR,
    DELETE_PUT_REPAIR,
    TWO_PUTS_REPAIR,
    TWO_EXTENDS,
    REPLACE_PUT,
    TWO_PUTS_VERIFY,
    PUT_VERIFY_AND_REPAIR,
    DELETE_VERIFY_AND_REPAIR,
    NO_GUARD_VERIFY_AND_REPAIR,
    COVERING_VERIFY_AND_REPAIR,
    CLAIM_VERIFY_AND_REPAIR,
    TWO_PUTS_COMPACT,
    DELETE_PUT_COMPACT,
    DELETE_PUT_EXPIRE,
    THREE_PUTS,
    PUTS_OF_MANY_FAULTS,
    LOAD_AND_WRITE,
    LOAD_AGAIN,
    LOAD_AND_DELETE,
    LOAD_COVERING,
    LOAD_COVERING_MOVED,
    LOAD_COVERING_AGAIN,
    LOAD_COVERING_DELETE,
    LOADS_TOGETHER,
    BACKFILL,
    BACKFILL_BOTH,
    BACKFILL_DELETE,
    BUILD_BESIDE_PLAIN_PUT,
    BUILD_BESIDE_PLAIN_AND_AWARE,
    BUILD_BESIDE_PLAIN_DELETE,
    CATCH_UP_PLAIN_PUT,
    CATCH_UP_BESIDE_OTHER_COLUMN,
    CATCH_UP_PLAIN_DELETE,
    EXCLUSIVE_BESIDE_PLAIN_PUT,
    EXCLUSIVE_BESIDE_PLAIN_DELETE,
    EXCLUSIVE_BESIDE_INSERT,
    EXCLUSIVE_TWICE,
    LOST_CATALOG,
    COVERING,
    COVERING_BOTH,
    COVERING_DELETE,
    COVERING_ABSENT,
    COVERING_REPAIR,
    COVERING_PUTS_REPAIR,
    COVERING_COMPACT,
    BOTH_CLAIM,
    BOTH_CLAIM_LOST,
    BOTH_INSERT,
    HAND_OVER,
    HAND_OVER_SLOW,
    HAND_OVER_DELETED,
    LEAVE_AND_RETURN,
    STALE_CLAIM,
    CLAIM_REPAIR,
    CLAIM_EXPIRES,
)
"""Explored in every run."""

LARGE: Final = (
    *by_clocks(SAME_PUT),
    *by_clocks(COMPOSITE),
    *by_clocks(DELETE_PUT),
    *by_clocks(REPLACE_PUT),
    *by_clocks(PUTS_OF_MANY_FAULTS),
    *by_clocks(TWO_PUTS_REPAIR),
    *by_clocks(DELETE_PUT_COMPACT),
    *by_clocks(COVERING),
    *by_clocks(COVERING_BOTH),
    *by_clocks(replace(BOTH_INSERT, crashes=1, losses=1, tries=2, at_least=60_000)),
    *by_clocks(replace(BOTH_CLAIM, tries=3)),
    *by_clocks(HAND_OVER),
    *(
        replace(each, name=f"{each.name}, and a crash", crashes=1)
        for each in (BUILD_BESIDE_PLAIN_AND_AWARE, BUILD_BESIDE_PLAIN_DELETE)
    ),
    replace(
        CATCH_UP_PLAIN_PUT, name="a build catches up beside a write whose answer is lost", losses=1
    ),
    OWN_CLAIMS,
)
"""Explored by `make model`, besides the others."""
