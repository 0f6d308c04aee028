"""Counter seals of rows that are old, incremented all the time, or damaged by another program."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from hbase_orm.errors import (
    ConnectionLostError,
    RejectedError,
    RetryableError,
    ValidationError,
)
from hbase_orm.index.catalog.move_phases import Phase
from hbase_orm.moving import seal
from hbase_orm.moving.counter_seals import counter_seal, is_counter_seal, seal_counters
from hbase_orm.moving.moved_increment import moved_increment
from hbase_orm.moving.moved_reads import moved_versions
from hbase_orm.moving.mover import check_page, move_page
from hbase_orm.moving.seal import seal_row
from hbase_orm.moving.translation import TableMove
from hbase_orm.moving.virtual_reads import virtual_rows
from hbase_orm.ops import (
    Cell,
    GetRows,
    GetVersions,
    GetVersionsOfRows,
    Increment,
    KeyRange,
    MutateRow,
    Put,
    RowMutation,
)
from tests.support.counted_readings import (
    COUNTING,
    KEPT,
    NORTH,
    TTL_S,
    Answers,
    add,
    cell,
    readings_with_ttl,
)
from tests.support.moved_readings import HITS, MISSES, VISITS, Tables, readings_in_memory
from tests.support.stepping import drive


@pytest.fixture
def tables() -> Tables:
    tables = readings_in_memory()
    tables.write_old(b"d1", region=b"north", unit=b"K", v=b"1")
    return tables


@pytest.mark.parametrize("value", [b"", b"text", b"a longer text"])
def test_a_cell_that_is_no_counter_is_handed_over_unchanged(tables: Tables, value: bytes) -> None:
    tables.write_old(b"d1", hits=value)
    before = cell(tables, "old", b"d1", HITS)

    tables.run(move_page(COUNTING, KeyRange(), tables.context))

    assert before is not None
    assert before.value == value
    assert cell(tables, "new", NORTH, VISITS) == before


@pytest.mark.parametrize("width", range(20))
def test_no_counter_seal_is_as_wide_as_a_counter(width: int) -> None:
    stored = counter_seal(Cell(bytes(width), 5))

    assert len(stored) != len(bytes(8))
    assert is_counter_seal(Cell(stored, 6))
    assert not is_counter_seal(Cell(b"M" * width, 6))


def test_rows_older_than_the_ttl_of_their_counters_can_be_sealed() -> None:
    now_ms = 1_000
    tables = readings_with_ttl(lambda: now_ms)
    tables.write_old(b"d1", region=b"north", unit=b"K", v=b"1")
    add(tables, HITS, 7)
    now_ms = tables.clock_ms = 1_000 + 2 * TTL_S * 1_000

    sealed = tables.run(seal_row(COUNTING.old, b"d1", tables.context))

    assert sealed.cells == {}
    for column in (HITS, MISSES):
        with pytest.raises(RejectedError):
            add(tables, column, 1)
    assert tables.run(check_page(COUNTING, KeyRange(), tables.context)).left == ()


EXPIRING = replace(COUNTING, old=replace(COUNTING.old, counter_ttls_s={HITS: TTL_S, MISSES: TTL_S}))
NEWEST_ONLY = replace(
    EXPIRING, translation=replace(EXPIRING.translation, older_versions=None), new_key_table=None
)


class Moment:
    """The clock of the servers and of the programs."""

    now_ms = 1_000


def sealed_before_its_ttl_is_over(moment: Moment) -> Tables:
    """Return tables with a sealed row whose counter is older than its other cells."""
    tables = readings_with_ttl(lambda: moment.now_ms)
    tables.write_old(b"d1", region=b"north")
    add(tables, HITS, 7)
    moment.now_ms = tables.clock_ms = 8_000
    tables.write_old(b"d1", region=b"north")
    tables.run(seal_row(EXPIRING.old, b"d1", tables.context))
    return tables


def at(moment: Moment, tables: Tables, now_ms: int) -> None:
    moment.now_ms = tables.clock_ms = now_ms


@pytest.mark.parametrize("move", [EXPIRING, NEWEST_ONLY], ids=["all versions", "the newest"])
@pytest.mark.parametrize("phase", [Phase.PREPARED, Phase.MOVING])
@pytest.mark.parametrize(("now_ms", "is_shown"), [(11_000, True), (11_001, False)])
def test_a_sealed_counter_is_shown_until_its_ttl_is_over(
    move: TableMove, phase: Phase, now_ms: int, *, is_shown: bool
) -> None:
    moment = Moment()
    tables = sealed_before_its_ttl_is_over(moment)

    at(moment, tables, now_ms)

    (row,) = tables.run(virtual_rows(move, phase, [NORTH], tables.context))
    assert row is not None
    assert (VISITS in row.cells) is is_shown
    of_rows = GetVersionsOfRows("new", (NORTH,), (VISITS,), 9)
    (versions,) = tables.run(moved_versions(move, phase, of_rows, tables.context))
    assert bool(versions) is is_shown


@pytest.mark.parametrize("move", [EXPIRING, NEWEST_ONLY], ids=["all versions", "the newest"])
@pytest.mark.parametrize(("now_ms", "is_put"), [(11_000, True), (11_001, False)])
def test_an_expired_counter_is_not_put_into_the_new_table(
    move: TableMove, now_ms: int, *, is_put: bool
) -> None:
    """There its family may have another TTL, or none."""
    moment = Moment()
    tables = sealed_before_its_ttl_is_over(moment)

    at(moment, tables, now_ms)
    tables.run(move_page(move, KeyRange(), tables.context))

    at(moment, tables, 9_000)  # as a longer TTL would show it
    assert (cell(tables, "new", NORTH, VISITS) is not None) is is_put


def test_expired_counters_of_an_absent_row_are_left_behind() -> None:
    moment = Moment()
    tables = readings_with_ttl(lambda: moment.now_ms)
    kept = replace(KEPT, old=EXPIRING.old)
    add(tables, HITS, 7)
    at(moment, tables, 8_000)
    sealed = tables.run(seal_row(kept.old, b"d1", tables.context))

    assert kept.counters_of_absent(b"d1", sealed.cells, 11_000) is not None
    at(moment, tables, 11_001)
    again = tables.run(seal_row(kept.old, b"d1", tables.context))
    assert again.cells == {}
    assert tables.run(check_page(kept, KeyRange(), tables.context)).left == ()


def test_a_counter_that_changes_with_every_third_request_is_sealed(tables: Tables) -> None:
    sent = added = 0

    def meanwhile(request: Any) -> Any:
        nonlocal sent, added
        sent += 1
        if sent % 3 == 0:
            added += _is_added(tables)
        return tables.gateway.execute(request)

    counters = drive(seal_counters(COUNTING.old, b"d1", tables.context), Answers(tables, meanwhile))

    assert counters[HITS].value == added.to_bytes(8)
    assert sent < 10


def _is_added(tables: Tables) -> bool:
    try:
        tables.gateway.execute(Increment("old", b"d1", {HITS: 1}))
    except RejectedError:
        return False
    return True


def test_a_row_is_sealed_with_few_requests(tables: Tables) -> None:
    sent: list[Any] = []

    def counted(request: Any) -> Any:
        sent.append(request)
        return tables.gateway.execute(request)

    drive(seal_counters(COUNTING.old, b"d1", tables.context), Answers(tables, counted))

    kinds = [type(request).__name__ for request in sent]
    assert kinds == [
        GetRows.__name__,
        GetVersions.__name__,
        "CheckAndMutate",
        "CheckAndMutate",
        GetRows.__name__,
    ]


@pytest.mark.parametrize("phase", [Phase.INDEXING, Phase.PREPARED])
def test_before_moving_a_counter_that_the_old_table_lacks_is_refused(
    tables: Tables, phase: Phase
) -> None:
    request = Increment("new", NORTH, {VISITS: 1, b"d:unknown": 1})

    with pytest.raises(ValidationError, match="does not have the counter") as caught:
        tables.run(moved_increment(COUNTING, phase, request, tables.context))

    assert (caught.value.column, caught.value.row) == (b"d:unknown", NORTH)
    assert cell(tables, "old", b"d1", HITS) is None


@pytest.mark.parametrize("phase", [Phase.PREPARED, Phase.MOVING])
@pytest.mark.parametrize("is_sealed", [False, True], ids=["in the old table", "sealed"])
def test_a_lost_request_before_the_increment_is_no_unknown_outcome(
    tables: Tables, phase: Phase, *, is_sealed: bool
) -> None:
    if is_sealed:
        tables.run(seal_row(COUNTING.old, b"d1", tables.context))
    incremented: list[Any] = []

    def lost(request: Any) -> Any:
        if isinstance(request, Increment):
            answer = tables.gateway.execute(request)
            incremented.append(answer)
            return answer
        raise ConnectionLostError("no answer")

    steps = moved_increment(COUNTING, phase, Increment("new", NORTH, {VISITS: 1}), tables.context)
    with pytest.raises(RetryableError, match="nothing was added"):
        drive(steps, Answers(tables, lost))

    assert incremented == []


def test_an_increment_of_prepared_leaves_another_row_that_was_handed_over_alone(
    tables: Tables, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if the mover crashed before it sealed the other row's counters."""
    south = b"south\x00d1"
    with monkeypatch.context() as patch:
        patch.setattr(seal, "seal_counters", _crash)
        with pytest.raises(KeyboardInterrupt):
            tables.run(seal_row(COUNTING.old, b"d1", tables.context))
    request = Increment("new", south, {VISITS: 1})

    answer = tables.run(moved_increment(COUNTING, Phase.PREPARED, request, tables.context))
    tables.run(move_page(COUNTING, KeyRange(), tables.context))

    assert answer == {VISITS: 1}
    assert cell(tables, "new", NORTH, VISITS) is None
    assert cell(tables, "new", south, VISITS) is not None


def _crash(*_: object) -> Any:
    raise KeyboardInterrupt


def test_the_oldest_version_of_a_counter_gives_its_place_to_the_seal(tables: Tables) -> None:
    for at_ms, n in ((10, 1), (20, 2), (30, 3)):
        put = Put(HITS, n.to_bytes(8), at_ms)
        tables.gateway.execute(MutateRow("old", RowMutation(b"d1", puts=(put,))))

    tables.run(move_page(COUNTING, KeyRange(), tables.context))

    versions = tables.gateway.execute(GetVersions("new", NORTH, (VISITS,), 9))
    assert [(each.timestamp_ms, each.value[-1]) for each in versions] == [(30, 3), (20, 2)]
