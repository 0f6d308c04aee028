"""The systems in which a table moves: some are explored in every run, the large ones by `make model`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from hbase_orm.index.catalog.move_phases import Phase
from tests.model.moving_tables import Layout, MoveSystem, Task, W
from tests.support.replays import V1, V2

GUARDED, INDEXING, PREPARED = Phase.GUARDED, Phase.INDEXING, Phase.PREPARED
MOVING, NEW = Phase.MOVING, Phase.NEW
BYTE: Final[Layout] = "behind a byte"
VALUE: Final[Layout] = "behind a value"
SAME: Final[Layout] = "same key"
PERIOD: Final[Layout] = "of a period"

ONE: Final[Mapping[bytes, Mapping[bytes, bytes]]] = {b"a": {V1: b"A", V2: b"X"}}
TWO: Final = {**ONE, b"b": {V1: b"A", V2: b"Q"}}
NONE: Final[Mapping[bytes, Mapping[bytes, bytes]]] = {}

FAST_MS, SLOW_MS, REPAIR_MS = 50, 7, 100


def put(phase: Phase, w: bytes = b"Y", key: bytes = b"na", clock_ms: int = 10) -> Task:
    return Task("put", phase, key, {V1: b"A", W: w}, clock_ms)


def insert(phase: Phase, w: bytes = b"I", key: bytes = b"na", clock_ms: int = 10) -> Task:
    return Task("insert", phase, key, {V1: b"A", W: w}, clock_ms)


def update(phase: Phase, w: bytes = b"U", key: bytes = b"na") -> Task:
    return Task("update", phase, key, {W: w})


def delete(phase: Phase, key: bytes = b"na", clock_ms: int = 10) -> Task:
    return Task("delete", phase, key, clock_ms=clock_ms)


def count(phase: Phase, key: bytes = b"na") -> Task:
    return Task("count", phase, key)


def find(phase: Phase, w: bytes) -> Task:
    return Task("find", phase, puts={W: w})


INDEXER: Final = Task("indexer", INDEXING)
MOVER: Final = Task("mover")
EXPIRE: Final = Task("expire")
COMPACT: Final = Task("compact")
REPAIR: Final = Task("repair", MOVING, clock_ms=REPAIR_MS)
OLD_REPAIR: Final = Task("old repair", PREPARED, clock_ms=REPAIR_MS)
GET, SCAN = Task("get", PREPARED), Task("scan", PREPARED)
SCAN_BACK: Final = Task("scan back", PREPARED)
CHANGE_OF_KEY: Final = Task("old put", INDEXING, b"a", {V1: b"B"})

# --- old rows get entries in the new indexes ------------------------------------------------------

INDEX_BESIDE_UNAWARE = MoveSystem(
    "old rows are indexed beside a put that does not know the indexes",
    BYTE,
    TWO,
    (INDEXER, Task("old put", GUARDED, b"a", {V2: b"Y"})),
    needs_index=True,
    at_least=4_900,
)
INDEX_BESIDE_PUT = MoveSystem(
    "old rows are indexed beside a put",
    BYTE,
    ONE,
    (INDEXER, Task("old put", INDEXING, b"a", {V2: b"Y"})),
    needs_index=True,
    at_least=8_700,
)
INDEX_BESIDE_KEY = MoveSystem(
    "old rows are indexed beside a change of the new key, and a compaction",
    VALUE,
    ONE,
    (INDEXER, CHANGE_OF_KEY, COMPACT),
    needs_index=True,
    crashes=0,
    at_least=36_000,
)
INDEX_BESIDE_DELETE = MoveSystem(
    "old rows are indexed beside a delete, and a compaction",
    BYTE,
    ONE,
    (INDEXER, Task("old delete", INDEXING, b"a"), COMPACT),
    needs_index=True,
    crashes=0,
    at_least=18_000,
)
LATE_INDEXER = MoveSystem(
    "the mover, and a program that still indexes old rows",
    BYTE,
    ONE,
    (INDEXER, MOVER),
    settled=(INDEXER,),
    needs_index=True,
    at_least=7_500,
)
LATE_INDEXER_BESIDE_GET = replace(
    LATE_INDEXER,
    name="a read beside the mover, and a program that still indexes old rows",
    tasks=(INDEXER, MOVER, GET),
    losses=0,
    crashes=0,
    at_least=5_200,
)
LATE_INDEXER_BESIDE_PUT = replace(
    LATE_INDEXER,
    name="a put of MOVING, the mover, and a program that still indexes old rows",
    tasks=(INDEXER, MOVER, put(MOVING)),
    losses=0,
    crashes=0,
    at_least=95_000,
)
INDEX_BESIDE_TWO_PUTS = replace(
    INDEX_BESIDE_PUT,
    name="old rows are indexed beside two puts",
    tasks=(*INDEX_BESIDE_PUT.tasks, Task("old put", INDEXING, b"a", {V2: b"Z"})),
    losses=0,
    crashes=0,
    at_least=37_000,
)
PUTS_AND_MOVER = MoveSystem(
    "a put of PREPARED, one of MOVING, and the mover",
    BYTE,
    ONE,
    (put(PREPARED), put(MOVING, b"Z"), MOVER),
    losses=0,
    crashes=0,
    at_least=300_000,
)
INDEX_SYSTEMS: Final = (
    INDEX_BESIDE_TWO_PUTS,
    LATE_INDEXER_BESIDE_PUT,
    INDEX_BESIDE_UNAWARE,
    INDEX_BESIDE_PUT,
    INDEX_BESIDE_KEY,
    INDEX_BESIDE_DELETE,
    LATE_INDEXER,
    LATE_INDEXER_BESIDE_GET,
)

# --- one row --------------------------------------------------------------------------------------

ONE_PUT = MoveSystem("a put that hands its row over", BYTE, ONE, (put(MOVING),))
PREPARED_AND_MOVING = MoveSystem(
    "a put of PREPARED and one of MOVING",
    BYTE,
    ONE,
    (put(PREPARED), put(MOVING, b"Z")),
    crashes=0,
    at_least=19_000,
)
TWO_MOVING = MoveSystem(
    "two puts of MOVING",
    BYTE,
    ONE,
    (put(MOVING), put(MOVING, b"Z")),
    crashes=0,
    at_least=1_300,
    losses=0,
)
TWO_UPDATES = MoveSystem(
    "updates of two columns, of PREPARED and of MOVING",
    BYTE,
    ONE,
    (update(PREPARED), Task("update", MOVING, b"na", {V1: b"Q"})),
    at_least=9_200,
    crashes=0,
)
DELETE_AND_INSERT = MoveSystem(
    "a delete and an insert of MOVING", BYTE, ONE, (delete(MOVING), insert(MOVING)), at_least=14_000
)
DELETE_THEN_INSERT = MoveSystem(
    "a delete of PREPARED and an insert of MOVING",
    BYTE,
    ONE,
    (delete(PREPARED), insert(MOVING)),
    at_least=15_000,
)
TWO_INSERTS = MoveSystem(
    "an insert of PREPARED and one of MOVING",
    BYTE,
    NONE,
    (insert(PREPARED), insert(MOVING, b"J")),
    at_least=16_000,
)
DELETED_BY_A_FAST_CLOCK = MoveSystem(
    "a row deleted by a fast clock, inserted by a slow one",
    BYTE,
    ONE,
    (insert(MOVING, clock_ms=SLOW_MS), MOVER),
    settled=(delete(PREPARED, clock_ms=FAST_MS),),
    at_least=7_500,
)
DELETED_AND_REPAIRED = replace(
    DELETED_BY_A_FAST_CLOCK,
    name="a row deleted by a fast clock, inserted by a slow one beside a repair",
    tasks=(insert(MOVING, clock_ms=SLOW_MS), replace(REPAIR, clock_ms=30)),
    at_least=1_600,
)
DELETED_FOR_GOOD = MoveSystem(
    "a delete, the mover, and guards expire",
    BYTE,
    ONE,
    (delete(MOVING), MOVER, EXPIRE),
    losses=0,
    at_least=8_500,
)
COMPACTED = MoveSystem(
    "the mover, a delete and a compaction",
    BYTE,
    ONE,
    (MOVER, delete(MOVING), COMPACT),
    crashes=0,
    at_least=3_300,
    losses=0,
)

# --- the mover and the phase NEW ------------------------------------------------------------------

PUT_AND_MOVER = MoveSystem(
    "a put of PREPARED and the mover", BYTE, ONE, (put(PREPARED), MOVER), at_least=10_000
)
TWO_MOVERS = MoveSystem("two movers", BYTE, ONE, (MOVER, MOVER), losses=0)
LATE_INSERT = MoveSystem(
    "an insert of PREPARED, the mover, and an insert of NEW",
    BYTE,
    NONE,
    (insert(PREPARED), MOVER, insert(NEW, b"J")),
    at_least=2_100,
)
MOVING_BESIDE_NEW = MoveSystem(
    "an insert of MOVING, the mover, and an insert of NEW",
    BYTE,
    NONE,
    (insert(MOVING), MOVER, insert(NEW, b"J")),
    at_least=21_000,
)
PUT_BESIDE_NEW = MoveSystem(
    "a put of MOVING, the mover, and a put of NEW",
    BYTE,
    ONE,
    (put(MOVING), MOVER, put(NEW, b"Z")),
    losses=0,
    at_least=5_400,
)
DELETE_BESIDE_NEW = MoveSystem(
    "a put of MOVING, the mover, a delete of NEW, and a reader",
    BYTE,
    ONE,
    (put(MOVING), MOVER, delete(NEW), Task("get", MOVING)),
    crashes=0,
    losses=0,
    at_least=6_000,
)

# --- readers --------------------------------------------------------------------------------------

GET_BESIDE_PUT = MoveSystem(
    "a read by keys, a put and a delete",
    BYTE,
    TWO,
    (GET, put(MOVING), delete(MOVING, b"nb")),
    crashes=0,
    losses=0,
    at_least=6_300,
)
SCAN_BESIDE_PUT = MoveSystem(
    "a scan, a put and a delete",
    BYTE,
    TWO,
    (SCAN, put(MOVING), delete(MOVING, b"nb")),
    crashes=0,
    losses=0,
    at_least=28_000,
)
SCAN_BESIDE_INSERT = MoveSystem(
    "a scan, and an insert between two rows",
    BYTE,
    {b"a": ONE[b"a"], b"c": ONE[b"a"]},
    (SCAN, insert(MOVING, key=b"nb"), put(MOVING, key=b"nc")),
    crashes=0,
    losses=0,
    at_least=16_000,
)
SCAN_BESIDE_MOVER = MoveSystem(
    "a scan and the mover", BYTE, TWO, (SCAN, MOVER), losses=0, at_least=950
)
SCAN_BESIDE_NEW = MoveSystem(
    "a scan of MOVING, the mover, and writes of NEW",
    BYTE,
    ONE,
    (Task("scan", MOVING), MOVER, put(NEW), insert(NEW, b"J", b"nc")),
    crashes=0,
    losses=0,
    at_least=9_200,
)
SCAN_BACK_BESIDE_PUT = replace(
    SCAN_BESIDE_PUT,
    name="a reverse scan, a put and a delete",
    tasks=(SCAN_BACK, put(MOVING), delete(MOVING, b"nb")),
    at_least=28_000,
)
SCAN_BACK_BESIDE_MOVER = replace(
    SCAN_BESIDE_MOVER, name="a reverse scan and the mover", tasks=(SCAN_BACK, MOVER), at_least=750
)
SCANS_OF_PERIOD = tuple(
    replace(system, name=f"{system.name}, of a period", layout=PERIOD)
    for system in (SCAN_BESIDE_MOVER, SCAN_BACK_BESIDE_MOVER, SCAN_BESIDE_NEW)
)
FIND_BESIDE_PUT = MoveSystem(
    "a read by the index, and a put that leaves its value and a delete",
    BYTE,
    TWO,
    (find(PREPARED, b"X"), put(MOVING), delete(MOVING, b"nb")),
    crashes=0,
    losses=0,
    at_least=3_900,
)
FIND_THE_NEW_VALUE = MoveSystem(
    "a read by the index, and a put that takes its value",
    BYTE,
    ONE,
    (find(PREPARED, b"Y"), put(MOVING)),
    at_least=1_500,
)

# --- repairs --------------------------------------------------------------------------------------

REPAIR_BESIDE_PREPARED = MoveSystem(
    "a repair of the new table, and a put of PREPARED",
    BYTE,
    ONE,
    (REPAIR, put(PREPARED)),
    losses=0,
    at_least=2_900,
)
REPAIR_BESIDE_MOVING = MoveSystem(
    "a repair of the new table, and a put of MOVING",
    BYTE,
    ONE,
    (REPAIR, put(MOVING)),
    losses=0,
    at_least=3_800,
)
OLD_REPAIR_BESIDE_MOVING = MoveSystem(
    "a repair through the old table, and a put of MOVING",
    BYTE,
    ONE,
    (OLD_REPAIR, put(MOVING)),
    at_least=6_100,
)

# --- the new key depends on a cell ----------------------------------------------------------------

KEY_BESIDE_SCAN = MoveSystem(
    "a change of the new key, and a scan",
    VALUE,
    ONE,
    (CHANGE_OF_KEY, SCAN),
    has_old_index=True,
    at_least=10_000,
)
KEY_BESIDE_FIND = MoveSystem(
    "a change of the new key, and a read by the index",
    VALUE,
    ONE,
    (CHANGE_OF_KEY, find(PREPARED, b"X")),
    at_least=4_900,
)
KEY_BESIDE_UPDATE = MoveSystem(
    "a change of the new key, and an update of PREPARED of the former one",
    VALUE,
    ONE,
    (CHANGE_OF_KEY, update(PREPARED, key=b"Aa")),
    losses=0,
    at_least=760,
)
KEY_TAKEN = MoveSystem(
    "a put of PREPARED whose old key another row has",
    VALUE,
    ONE,
    (put(PREPARED, key=b"Ba"),),
    at_least=3,
)
FORMER_KEY = MoveSystem(
    "a row that left its new key by a fast clock, and an insert there by a slow one",
    VALUE,
    ONE,
    (insert(MOVING, key=b"Aa", clock_ms=SLOW_MS), put(MOVING, b"Z", key=b"Ba")),
    losses=0,
    settled=(replace(CHANGE_OF_KEY, clock_ms=FAST_MS),),
    at_least=1_100,
)
TWO_KEYS_OF_ONE = MoveSystem(
    "two inserts of one old key, and the mover",
    VALUE,
    NONE,
    (insert(MOVING, key=b"Aa"), insert(MOVING, b"J", key=b"Ba"), MOVER),
    crashes=0,
    losses=0,
    at_least=16_000,
)

# --- the key stays --------------------------------------------------------------------------------

SAME_PUT_AND_MOVER = MoveSystem(
    "the key stays: a put of PREPARED and the mover",
    SAME,
    ONE,
    (put(PREPARED, key=b"a"), MOVER),
    losses=0,
    at_least=850,
)
SAME_SCAN = MoveSystem(
    "the key stays: a scan, a put and a delete",
    SAME,
    TWO,
    (Task("scan", MOVING), put(MOVING, key=b"a"), delete(MOVING, b"b")),
    crashes=0,
    losses=0,
    at_least=21_000,
)

# --- unique values --------------------------------------------------------------------------------

BOTH_CLAIM = MoveSystem(
    "a row of PREPARED and one of MOVING want one value",
    BYTE,
    TWO,
    (update(PREPARED, b"C"), update(MOVING, b"C", b"nb")),
    crashes=0,
    losses=0,
    is_unique=True,
    tries=2,
    at_least=16_000,
)
BOTH_CLAIM_MOVING = MoveSystem(
    "two rows of MOVING want one value",
    BYTE,
    TWO,
    (update(MOVING, b"C"), update(MOVING, b"C", b"nb")),
    crashes=0,
    losses=0,
    is_unique=True,
    tries=2,
    at_least=2_000,
)
TAKEN_OVER = MoveSystem(
    "a row of PREPARED leaves a value, one of MOVING takes it",
    BYTE,
    TWO,
    (update(PREPARED, b"C"), update(MOVING, b"X", b"nb")),
    losses=0,
    is_unique=True,
    tries=2,
    at_least=1_500,
)
TAKEN_BACK = MoveSystem(
    "a row of MOVING leaves a value, one of PREPARED takes it",
    BYTE,
    TWO,
    (update(MOVING, b"C"), update(PREPARED, b"X", b"nb")),
    losses=0,
    is_unique=True,
    tries=2,
    at_least=1_000,
)

# --- counters -------------------------------------------------------------------------------------

COUNTS = MoveSystem(
    "increments of PREPARED and of MOVING",
    BYTE,
    ONE,
    (count(PREPARED), count(MOVING)),
    has_counter=True,
    at_least=2_800,
)
COUNTED_BEFORE = replace(
    COUNTS,
    name="increments of PREPARED and of MOVING, of a counter that the row has",
    settled=(count(PREPARED),),
)
COUNT_AND_MOVER = replace(
    COUNTED_BEFORE,
    name="an increment of PREPARED and the mover",
    tasks=(count(PREPARED), MOVER),
    at_least=5_000,
)
COUNT_OF_MOVING_AND_MOVER = replace(
    COUNTED_BEFORE,
    name="an increment of MOVING and the mover",
    tasks=(count(MOVING), MOVER),
    at_least=68_000,
)
COUNT_AND_PUT = replace(
    COUNTED_BEFORE,
    name="an increment of PREPARED and a put of MOVING",
    tasks=(count(PREPARED), put(MOVING)),
)
PUT_AND_COUNT = replace(
    COUNTED_BEFORE,
    name="a put of PREPARED and an increment of MOVING",
    tasks=(put(PREPARED), count(MOVING)),
    crashes=0,
    at_least=20_000,
)
COUNT_BESIDE_NEW = replace(
    COUNTED_BEFORE,
    name="an increment of PREPARED, the mover, and an increment of NEW",
    tasks=(count(PREPARED), MOVER, count(NEW)),
    crashes=0,
    at_least=2_000,
)
COUNT_BESIDE_GET = replace(
    COUNTED_BEFORE,
    name="an increment of MOVING beside a get",
    tasks=(count(MOVING), GET),
    losses=0,
    at_least=200,
)
COUNT_BESIDE_SCAN = replace(
    COUNTED_BEFORE,
    name="an increment of PREPARED beside a scan and the mover",
    tasks=(count(PREPARED), SCAN, MOVER),
    crashes=0,
    losses=0,
)
SAME_COUNTS = replace(
    COUNTS,
    name="increments of rows that keep their key",
    layout=SAME,
    tasks=(count(PREPARED, b"a"), count(MOVING, b"a")),
)
KEY_BESIDE_COUNT = MoveSystem(
    "a change of the key by the old class, and an increment of PREPARED",
    VALUE,
    ONE,
    (Task("old put", INDEXING, b"a", {V2: b"Z"}), count(PREPARED, b"Aa")),
    has_counter=True,
    crashes=0,
    at_least=200,
)
OLD_COUNT = replace(
    COUNTS,
    name="increments of the old class and of PREPARED",
    tasks=(Task("old count", INDEXING, b"a"), count(PREPARED)),
    at_least=70,
)
LATE_OLD_COUNT = replace(
    COUNTED_BEFORE,
    name="an increment of the old class that stood still until MOVING, and one of MOVING",
    tasks=(Task("old count", INDEXING, b"a"), count(MOVING)),
    at_least=1_900,
)
LATE_COUNT = replace(
    COUNTED_BEFORE,
    name="an increment of PREPARED that nobody waits for, the mover, and an increment of NEW",
    tasks=(count(PREPARED), MOVER, count(NEW)),
    crashes=0,
    keeps_promise=False,
    at_least=2_100,
)
COUNT_SYSTEMS: Final = (
    COUNTS,
    COUNTED_BEFORE,
    COUNT_AND_MOVER,
    COUNT_OF_MOVING_AND_MOVER,
    COUNT_AND_PUT,
    PUT_AND_COUNT,
    COUNT_BESIDE_NEW,
    COUNT_BESIDE_GET,
    COUNT_BESIDE_SCAN,
    SAME_COUNTS,
    KEY_BESIDE_COUNT,
    OLD_COUNT,
    LATE_OLD_COUNT,
    LATE_COUNT,
)

MOVE_SYSTEMS: Final = (
    *INDEX_SYSTEMS,
    *COUNT_SYSTEMS,
    ONE_PUT,
    PREPARED_AND_MOVING,
    TWO_MOVING,
    TWO_UPDATES,
    DELETE_AND_INSERT,
    DELETE_THEN_INSERT,
    TWO_INSERTS,
    DELETED_BY_A_FAST_CLOCK,
    DELETED_AND_REPAIRED,
    DELETED_FOR_GOOD,
    COMPACTED,
    PUT_AND_MOVER,
    TWO_MOVERS,
    LATE_INSERT,
    MOVING_BESIDE_NEW,
    PUT_BESIDE_NEW,
    GET_BESIDE_PUT,
    SCAN_BESIDE_PUT,
    SCAN_BESIDE_INSERT,
    SCAN_BESIDE_MOVER,
    SCAN_BESIDE_NEW,
    SCAN_BACK_BESIDE_PUT,
    SCAN_BACK_BESIDE_MOVER,
    *SCANS_OF_PERIOD,
    FIND_BESIDE_PUT,
    FIND_THE_NEW_VALUE,
    REPAIR_BESIDE_PREPARED,
    REPAIR_BESIDE_MOVING,
    OLD_REPAIR_BESIDE_MOVING,
    KEY_BESIDE_SCAN,
    KEY_BESIDE_FIND,
    KEY_BESIDE_UPDATE,
    KEY_TAKEN,
    FORMER_KEY,
    TWO_KEYS_OF_ONE,
    SAME_PUT_AND_MOVER,
    SAME_SCAN,
    BOTH_CLAIM,
    BOTH_CLAIM_MOVING,
    TAKEN_OVER,
    TAKEN_BACK,
)
"""Explored in every run."""


def with_faults(system: MoveSystem, *, crashes: int = 1, losses: int = 1) -> MoveSystem:
    name = f"{system.name}; crashes {crashes}, losses {losses}"
    return replace(system, name=name, crashes=crashes, losses=losses)


LARGE_MOVES: Final = (
    DELETE_BESIDE_NEW,
    PUTS_AND_MOVER,
    with_faults(TWO_UPDATES),
    with_faults(PREPARED_AND_MOVING),
    with_faults(TWO_MOVING),
    with_faults(PREPARED_AND_MOVING, crashes=2, losses=1),
    with_faults(PUT_BESIDE_NEW),
    with_faults(DELETED_FOR_GOOD),
    with_faults(COMPACTED),
    with_faults(REPAIR_BESIDE_PREPARED),
    with_faults(REPAIR_BESIDE_MOVING),
    with_faults(KEY_BESIDE_UPDATE),
    with_faults(FORMER_KEY),
    with_faults(TWO_KEYS_OF_ONE, losses=0),
    with_faults(SAME_PUT_AND_MOVER),
    with_faults(SCAN_BESIDE_MOVER),
    with_faults(FIND_BESIDE_PUT, losses=0),
    with_faults(GET_BESIDE_PUT, losses=0),
    with_faults(SCAN_BESIDE_NEW, losses=0),
    with_faults(BOTH_CLAIM, losses=0),
    with_faults(BOTH_CLAIM_MOVING),
    with_faults(TAKEN_OVER),
    with_faults(TAKEN_BACK),
    with_faults(COUNTS, crashes=2, losses=2),
    with_faults(COUNT_AND_MOVER, crashes=2),
    with_faults(COUNT_BESIDE_SCAN, losses=0),
    with_faults(PUT_AND_COUNT),
    replace(
        COUNTED_BEFORE,
        name="increments of PREPARED and of MOVING beside the mover",
        tasks=(count(PREPARED), count(MOVING), MOVER),
        losses=0,
        crashes=0,
    ),
    MoveSystem(
        "a repair through the old table, and puts of PREPARED and of MOVING",
        BYTE,
        ONE,
        (OLD_REPAIR, put(PREPARED), put(MOVING, b"X")),
        crashes=0,
        losses=0,
        at_least=100_000,
    ),
    MoveSystem(
        "puts of PREPARED and of MOVING beside the mover",
        BYTE,
        ONE,
        (put(PREPARED), put(MOVING, b"Z"), MOVER),
        losses=0,
        at_least=100,
    ),
    MoveSystem(
        "puts of PREPARED and of MOVING beside a scan",
        BYTE,
        ONE,
        (put(PREPARED), put(MOVING, b"Z"), SCAN),
        losses=0,
        at_least=100,
    ),
    MoveSystem(
        "an insert of PREPARED, a delete of MOVING, and a read by the index",
        BYTE,
        NONE,
        (insert(PREPARED), delete(MOVING), find(PREPARED, b"I")),
        losses=0,
        at_least=100,
    ),
)
"""Explored by `make model`, besides the others."""
