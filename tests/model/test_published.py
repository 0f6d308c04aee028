"""The published counterexamples, found by the explorer in the published number of steps.

What loses without any fault needs no crash and no lost answer here. The guarded write under the
same explorer does not lose: see `test_guard_small`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import pytest

from hbase_orm.gateway.memory.gateway import MemoryGateway
from hbase_orm.index.entries.targets import ENTRY_COLUMN
from tests.model.cells import Place, Store, Stored, ticking
from tests.model.explorer import ACKNOWLEDGED, Explorer, State
from tests.model.published import (
    Made,
    checked_by_value,
    delete_at_last,
    index_first,
    index_first_undeleted,
    last_writer_wins,
    naive,
    repair_at_once,
    repair_by_time,
)
from tests.support.replays import V1, V2, Bench

AX = {V1: b"A", V2: b"X"}


@dataclass(frozen=True, slots=True)
class Published:
    """A protocol and how it loses.

    Attributes:
        writes: What each of the processes wrote if it is acknowledged; None for a repair.
        steps: The published length of the shortest way to the loss, other processes' ends included.
        loses: "entry": an acknowledged row has no entry. "write": an acknowledged write that no
            other followed does not show.
    """

    name: str
    processes: Sequence[Made]
    writes: Sequence[Mapping[bytes, bytes | None] | None]
    steps: int
    loses: str = "entry"
    before: Mapping[bytes, bytes] = field(default_factory=lambda: {V1: b"A"})

    def __str__(self) -> str:
        return self.name


B, BACK = {V1: b"B"}, {V1: b"A"}
GONE: Mapping[bytes, bytes | None] = {V1: None}

PUBLISHED = (
    Published("A", (naive(b"B"), naive(b"A")), (B, BACK), 7),
    Published("B", (index_first(b"B"), index_first(b"A")), (B, BACK), 7),
    Published("C", (checked_by_value(b"B"), checked_by_value(b"A")), (B, BACK), 8),
    Published("D", (index_first_undeleted(b"B"), repair_at_once), (B, None), 5),
    Published(
        "E3",
        (last_writer_wins(B, 10), last_writer_wins(BACK, 10), repair_by_time(also_equal=True)),
        (B, BACK, None),
        9,
    ),
    Published(
        "E4",
        (last_writer_wins(B, 10), last_writer_wins({V2: b"Y"}, 10)),
        (B, {V2: b"Y"}),
        7,
        before=AX,
    ),
    Published(
        "E5",
        (delete_at_last(10), last_writer_wins(BACK, 20), repair_by_time(also_absent=True)),
        (GONE, BACK, None),
        8,
    ),
    Published(
        "E6",
        (delete_at_last(10), last_writer_wins(BACK, 10), repair_by_time()),
        (GONE, BACK, None),
        8,
        "write",
    ),
)


def bench_of(case: Published) -> Bench:
    return Bench(MemoryGateway(), "", base_ms=0, row=b"r", is_composite=V2 in case.before)


def store_of(case: Published) -> Store:
    """Return the row with its entry, all at 5, under a server's clock that moves on."""
    bench = bench_of(case)
    (key,) = bench.target.entry_keys(bench.index, bench.row, case.before)
    cells = {
        Place(bench.target.table, bench.row, column): Stored(5, value)
        for column, value in case.before.items()
    }
    cells[Place(bench.index.table, key, ENTRY_COLUMN)] = Stored(5, b"")
    return ticking(tuple(sorted(cells.items())), 100)


def loss(case: Published, state: State) -> str:
    bench = bench_of(case)
    shown = {
        place.column: stored.value
        for place, stored in state.store
        if place.table == bench.target.table and stored.value is not None
    }
    lost = _lacks_entry if case.loses == "entry" else _lacks_write
    return case.loses if lost(case, bench, state, shown) else ""


def _lacks_entry(case: Published, bench: Bench, state: State, shown: Mapping[bytes, bytes]) -> bool:
    """Return whether a row that shows what was acknowledged, or was there before, has no entry."""
    visible = {
        place.row
        for place, stored in state.store
        if place.table == bench.index.table and stored.value is not None
    }
    if bench.target.entry_keys(bench.index, bench.row, shown) <= visible:
        return False
    return any(
        end == ACKNOWLEDGED and written and V1 in written and written[V1] == shown.get(V1)
        for end, written in zip(state.processes, case.writes, strict=True)
    )


def _lacks_write(case: Published, _: Bench, state: State, shown: Mapping[bytes, bytes]) -> bool:
    """Return whether an acknowledged write, followed by no other, does not show at rest."""
    if not state.is_quiet:
        return False
    at = {event: position for position, event in enumerate(state.order)}
    writers = [number for number, written in enumerate(case.writes) if written]
    last = [
        one
        for one in writers
        if not any(at["start", other] > at[ACKNOWLEDGED, one] for other in writers if other != one)
    ]
    return shown.get(V1) not in [(case.writes[number] or {}).get(V1) for number in last]


def found(case: Published) -> tuple[str, ...]:
    bench = bench_of(case)
    makers = [partial(made, bench) for made in case.processes]
    explorer = Explorer(makers, partial(loss, case), crashes=0, losses=0, shares_checks=False)
    violation = explorer.run(store_of(case))
    return violation.trace if violation else ()


@pytest.mark.parametrize("case", PUBLISHED, ids=str)
def test_a_published_counterexample_is_found_in_the_published_number_of_steps(
    case: Published,
) -> None:
    assert len(found(case)) == case.steps
