"""Ranges read row after row: resumed after what cut them off, nothing lost, nothing twice."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from hbase_orm.errors import (
    ConnectionLostError,
    GatewayError,
    RegionUnavailableError,
    RejectedError,
    ScannerExpiredError,
)
from hbase_orm.execute.reader import RETRIES, Pace, RangeReader
from hbase_orm.gateway.memory.gateway import MemoryGateway
from hbase_orm.ops import (
    CloseScanner,
    CreateTable,
    FamilyDescriptor,
    FetchRows,
    KeyRange,
    MutateRows,
    OpenScanner,
    Operation,
    ProtocolRun,
    Put,
    Row,
    RowMutation,
    Scan,
    ScannerId,
    Sleep,
    TableDescriptor,
    run_protocol,
)

KEYS = [b"a", b"b", b"c", b"d", b"e"]
FAILURES = [
    ScannerExpiredError("expired"),
    ConnectionLostError("cut"),
    RegionUnavailableError("moving"),
]


def scan(start: bytes = b"", stop: bytes | None = None, *, reverse: bool = False) -> Scan:
    return Scan("t", KeyRange(start, stop), caching_rows=2, reverse=reverse)


def scripted(
    scans: Sequence[Scan],
    answers: Sequence[Any],
    *,
    unconditional: bytes | None = None,
    pace: Pace | None = None,
) -> tuple[list[bytes], list[Operation[Any]]]:
    """Drive a reader by hand: each request gets the next answer, or the next error."""
    reader = RangeReader(scans, pace or Pace.steady(2), unconditional)
    found: list[bytes] = []
    asked: list[Operation[Any]] = []
    waiting = iter(answers)
    more = True
    while more:
        run = ProtocolRun(reader.fill())
        run.begin()
        while (step := run.request) is not None:
            asked.append(step)
            answer = None if isinstance(step, Sleep) else next(waiting)
            if isinstance(answer, Exception):
                run.throw(answer)
            else:
                run.send(answer)
        more = run.result
        found += [row.key for row in reader.rows]
        reader.rows.clear()
    assert next(waiting, "used up") == "used up"
    return found, asked


def rows(*keys: bytes) -> list[Row]:
    return [Row(row_key, {}) for row_key in keys]


ONE, TWO = ScannerId(1, None), ScannerId(2, None)


def test_ranges_are_read_one_after_the_other_and_closed() -> None:
    first, second = scan(b"a", b"c"), scan(b"d", b"f")

    found, asked = scripted(
        [first, second], [ONE, rows(b"a", b"b"), [], None, TWO, rows(b"d"), [], None]
    )

    assert found == [b"a", b"b", b"d"]
    assert asked == [
        OpenScanner(first),
        FetchRows(ONE, 2),
        FetchRows(ONE, 2),
        CloseScanner(ONE),
        OpenScanner(second),
        FetchRows(TWO, 2),
        FetchRows(TWO, 2),
        CloseScanner(TWO),
    ]


def filled(reader: RangeReader, answers: Sequence[Any]) -> list[Operation[Any]]:
    """Fill once; the requests get these answers."""
    asked: list[Operation[Any]] = []
    protocol = reader.fill()
    with contextlib.suppress(StopIteration):
        asked.append(next(protocol))
        asked.extend(map(protocol.send, answers))
    return asked


def test_filling_fetches_more_beside_the_rows_that_are_left() -> None:
    reader = RangeReader([scan(b"a", b"z")], Pace.steady(2))
    filled(reader, [ONE, rows(b"a", b"b")])

    asked = filled(reader, [rows(b"c")])

    assert asked == [FetchRows(ONE, 2)]
    assert reader.take() == rows(b"a", b"b", b"c")


def test_a_reader_at_its_end_keeps_the_rows_that_are_left_and_asks_nothing() -> None:
    reader = RangeReader([scan(b"a", b"z")], Pace.steady(2))
    filled(reader, [ONE, rows(b"a")])
    was_done = reader.is_done
    filled(reader, [[], None])

    assert (was_done, reader.is_done, reader.is_low) == (False, True, False)
    assert filled(reader, []) == []
    assert reader.take() == rows(b"a")


@pytest.mark.parametrize("failure", FAILURES, ids=lambda error: type(error).__name__)
def test_a_lost_scanner_is_reopened_after_the_last_row(failure: GatewayError) -> None:
    found, asked = scripted(
        [scan(b"a", b"z")], [ONE, rows(b"a", b"b"), failure, TWO, rows(b"c"), [], None]
    )

    assert found == [b"a", b"b", b"c"]
    assert asked[3:5] == [Sleep(RETRIES.first_pause_s), OpenScanner(scan(b"b\x00", b"z"))]


def test_a_lost_reverse_scanner_is_reopened_below_the_last_row() -> None:
    found, asked = scripted(
        [scan(b"a", b"z", reverse=True)], [ONE, rows(b"d", b"c"), FAILURES[0], TWO, [], None]
    )

    assert found == [b"d", b"c"]
    assert asked[4] == OpenScanner(scan(b"a", b"c", reverse=True))


def test_a_filter_is_left_out_after_a_call_that_was_not_answered_in_time() -> None:
    filtered = replace(scan(b"a", b"z"), filter=b"PrefixFilter('a')")

    found, asked = scripted(
        [filtered, filtered],
        [ONE, rows(b"b"), FAILURES[1], TWO, rows(b"c"), [], None, ONE, [], None],
    )

    assert found == [b"b", b"c"]
    opened = [step.scan for step in asked if isinstance(step, OpenScanner)]
    # What one range is slow for, the next one may be quick for.
    assert opened == [filtered, scan(b"b\x00", b"z"), filtered]


def test_what_leaves_cells_out_stays_where_conditions_are_left_out() -> None:
    filtered = replace(scan(b"a", b"z"), filter=b"PrefixFilter('a')")

    _, asked = scripted(
        [filtered], [ONE, rows(b"b"), FAILURES[1], TWO, [], None], unconditional=b"KeyOnlyFilter()"
    )

    opened = [step.scan.filter for step in asked if isinstance(step, OpenScanner)]
    assert opened == [b"PrefixFilter('a')", b"KeyOnlyFilter()"]


@pytest.mark.parametrize("failure", FAILURES, ids=lambda error: type(error).__name__)
def test_a_reopened_scan_begins_with_few_rows(failure: GatewayError) -> None:
    pace = Pace(2, 1000, most_bytes=1 << 20, caching_rows=9)

    _, asked = scripted(
        [scan()], [ONE, rows(b"a"), rows(b"b"), failure, TWO, rows(b"c"), [], None], pace=pace
    )

    assert [step.count for step in asked if isinstance(step, FetchRows)] == [2, 8, 32, 2, 8]


@pytest.mark.parametrize("failure", [FAILURES[0], FAILURES[2]], ids=lambda e: type(e).__name__)
def test_a_filter_stays_when_a_scanner_is_lost_otherwise(failure: GatewayError) -> None:
    filtered = replace(scan(b"a", b"z"), filter=b"KeyOnlyFilter()")

    _, asked = scripted([filtered], [ONE, rows(b"b"), failure, TWO, [], None])

    assert asked[4] == OpenScanner(replace(filtered, key_range=KeyRange(b"b\x00", b"z")))


def test_a_scanner_that_cannot_be_opened_is_tried_again() -> None:
    found, asked = scripted([scan()], [FAILURES[2], ONE, rows(b"a"), [], None])

    assert found == [b"a"]
    assert asked[2] == OpenScanner(scan())


@pytest.mark.parametrize(
    "failure", [*FAILURES, RejectedError("no")], ids=lambda e: type(e).__name__
)
def test_a_scan_that_was_read_to_its_end_needs_no_close(failure: GatewayError) -> None:
    first, second = scan(b"a", b"c"), scan(b"d", b"f")

    found, asked = scripted(
        [first, second], [ONE, rows(b"a"), [], failure, TWO, rows(b"d"), [], failure]
    )

    assert found == [b"a", b"d"]
    closed = [step for step in asked if isinstance(step, CloseScanner)]
    assert closed == [CloseScanner(ONE), CloseScanner(TWO)]


def test_failures_without_a_row_between_give_up_with_the_last() -> None:
    failures = [RegionUnavailableError("moving", number=n) for n in range(RETRIES.attempts)]

    with pytest.raises(RegionUnavailableError) as caught:
        scripted([scan()], failures)

    assert caught.value.number == RETRIES.attempts - 1


def test_pauses_grow_until_a_row_comes() -> None:
    lost = FAILURES[1]

    _, asked = scripted([scan()], [lost, lost, ONE, rows(b"a"), lost, ONE, [], None])

    assert [step.seconds for step in asked if isinstance(step, Sleep)] == [0.1, 0.2, 0.1]


def test_any_row_starts_the_count_of_failures_anew() -> None:
    lost = [FAILURES[0]] * (RETRIES.attempts - 1)

    found, _ = scripted([scan()], [*lost, ONE, rows(b"a"), *lost, TWO, rows(b"b"), [], None])

    assert found == [b"a", b"b"]


def test_a_rejected_scan_is_not_tried_again() -> None:
    with pytest.raises(RejectedError):
        scripted([scan()], [RejectedError("no such table")])


def test_no_range_is_no_request() -> None:
    assert scripted([], []) == ([], [])


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("every", [2, 3])
def test_leases_that_run_out_lose_and_repeat_nothing(reverse: bool, every: int) -> None:  # noqa: FBT001 - of the table
    now = [0]
    gateway = MemoryGateway(lambda: now[0], scanner_lease_ms=10)
    gateway.execute(CreateTable(TableDescriptor("t", (FamilyDescriptor(b"d"),))))
    mutations = [RowMutation(row_key, (Put(b"d:", b""),)) for row_key in KEYS]
    gateway.execute(MutateRows("t", tuple(mutations)))
    ranges = [scan(b"a", b"c", reverse=reverse), scan(b"c", b"f", reverse=reverse)]
    reader = RangeReader(ranges, Pace.steady(2))
    found: list[bytes] = []
    fetches = 0

    def execute(step: Operation[Any]) -> Any:
        nonlocal fetches
        fetches += isinstance(step, FetchRows)
        now[0] += 11 if isinstance(step, FetchRows) and fetches % every == 0 else 0
        return None if isinstance(step, Sleep) else gateway.execute(step)

    while run_protocol(reader.fill(), execute):
        found += [row.key for row in reader.rows]
        reader.rows.clear()

    assert found == ([b"b", b"a", b"e", b"d", b"c"] if reverse else KEYS)
