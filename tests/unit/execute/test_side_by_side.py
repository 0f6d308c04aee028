"""Buckets read side by side: order, errors and open scanners are those of buckets read in turn."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from hbase_orm.errors import RejectedError
from hbase_orm.execute import close_now, stream
from hbase_orm.execute.steps import Each
from hbase_orm.gateway.drive import Driver
from hbase_orm.gateway.memory.gateway import MemoryGateway
from hbase_orm.ops import FetchRows, OpenScanner, Operation, Row
from tests.support.bucket_scans import BucketServer, all_rows, numbers

PATIENCE_S = 10.0


@pytest.fixture
def each() -> Iterator[Each]:
    driver = Driver(MemoryGateway(), parallel=3)
    yield driver.each
    driver.close()


def salt_of(server: BucketServer, step: Operation[Any]) -> int | None:
    match step:
        case OpenScanner(scan=scan):
            return scan.key_range.start[0]
        case FetchRows(scanner=scanner):
            return server.salts[scanner]
    return None


def refuse(server: BucketServer, salt: int, kind: type) -> Callable[[Operation[Any]], None]:
    def before(step: Operation[Any]) -> None:
        if isinstance(step, kind) and salt_of(server, step) == salt:
            raise RejectedError("disabled", salt=salt)

    return before


def test_every_bucket_is_opened_at_once(each: Each) -> None:
    server = BucketServer([1, 5, 9], [2, 3], [4])
    meeting = threading.Barrier(3, timeout=PATIENCE_S)

    def before(step: Operation[Any]) -> None:
        if isinstance(step, OpenScanner):
            meeting.wait()

    server.before = before

    assert numbers(stream(all_rows(), server, each)) == [1, 2, 3, 4, 5, 9]


def test_nothing_is_handed_out_while_one_bucket_has_not_shown_its_head(each: Each) -> None:
    server = BucketServer([1, 5], [2, 3], [4])
    may_answer = threading.Event()

    def before(step: Operation[Any]) -> None:
        if isinstance(step, FetchRows) and server.salts[step.scanner] == 2:
            assert may_answer.wait(PATIENCE_S)

    server.before = before
    first: list[Sequence[Row]] = []
    pages = stream(all_rows(), server, each)
    reading = threading.Thread(target=lambda: first.append(next(pages)))
    reading.start()
    reading.join(0.3)
    early = list(first)
    may_answer.set()
    reading.join(PATIENCE_S)

    assert early == []
    assert [row.key[-1] for row in first[0]] + numbers(pages) == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("kind", [OpenScanner, FetchRows])
def test_a_bucket_that_fails_is_told_once_the_others_have_ended(each: Each, kind: type) -> None:
    server = BucketServer([1], [2], [3])
    refused = refuse(server, 0, kind)
    meeting = threading.Barrier(3, timeout=PATIENCE_S)

    def before(step: Operation[Any]) -> None:
        if isinstance(step, OpenScanner):
            meeting.wait()
        refused(step)

    server.before = before

    with pytest.raises(RejectedError) as caught:
        numbers(stream(all_rows(), server, each))

    assert caught.value.salt == 0
    assert sorted(server.fetched_salts) == [1, 2]
    assert server.is_each_closed_once()


def test_of_several_failures_the_first_bucket_s_is_raised(each: Each) -> None:
    server = BucketServer([1], [2], [3])
    meeting = threading.Barrier(3, timeout=PATIENCE_S)

    def before(step: Operation[Any]) -> None:
        salt = salt_of(server, step)
        if isinstance(step, OpenScanner):
            meeting.wait()
        if isinstance(step, OpenScanner) and salt != 0:
            raise RejectedError("disabled", salt=salt)

    server.before = before

    with pytest.raises(RejectedError) as caught:
        numbers(stream(all_rows(), server, each))

    assert caught.value.salt == 1


def test_a_bucket_that_is_cut_goes_on_where_it_was(each: Each) -> None:
    server = BucketServer([1, 5], [2, 3], [4])
    server.lose_next_fetch = True

    assert numbers(stream(all_rows(), server, each)) == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("read", [1, 2])
def test_leaving_early_closes_each_scanner_once(each: Each, read: int) -> None:
    server = BucketServer([1, 5, 9], [2, 3], [4])
    pages = stream(all_rows(), server, each)
    for _ in range(read):
        next(pages)

    close_now(pages)
    close_now(pages)

    assert len(server.open) == 3
    assert server.is_each_closed_once()


@pytest.mark.parametrize(("left", "filled"), [(2, [3, 2]), (3, [3, 1])])
def test_a_bucket_with_hardly_a_row_left_is_filled_along_with_an_empty_one(
    left: int, filled: list[int]
) -> None:
    # The first block ends at 16, where bucket 0 is empty and bucket 1 has so many of its 16 rows.
    second = [*range(1, 17 - left), *range(17, 17 + left), 41]
    server = BucketServer([*range(1, 17), 40], second, [60, 61], page=16)
    asked: list[int] = []

    def each(work: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        asked.append(len(items))
        return [work(item) for item in items]

    found = numbers(stream(all_rows(), server, each))

    assert found == sorted(n for bucket in server.buckets for n in bucket)
    assert asked[:2] == filled
    assert server.fetched_salts[: sum(filled)] == [0, 1, 2, 0, 1][: sum(filled)]


def test_many_streams_share_a_few_threads_and_all_end() -> None:
    driver = Driver(MemoryGateway(), parallel=2)
    servers = [BucketServer([1, 4, 7], [2, 5, 8], [3, 6, 9]) for _ in range(8)]
    found: list[list[int]] = []
    threads = [
        threading.Thread(
            target=lambda own: found.append(numbers(stream(all_rows(), own, driver.each))),
            args=(server,),
        )
        for server in servers
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    driver.close()

    assert found == [list(range(1, 10))] * len(servers)
    assert all(server.is_each_closed_once() for server in servers)
