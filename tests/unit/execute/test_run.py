"""Plans run: what is asked in which order, what is handed out, and what is closed."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from typing import Any

import pytest

from hbase_orm import Family, Index, Key, Mapped, Model, codecs, column, key
from hbase_orm.errors import ConnectionLostError, QueryError, RejectedError, ScannerExpiredError
from hbase_orm.execute import close_now, rows_of, stream
from hbase_orm.execute.steps import Emit
from hbase_orm.index.entries.index_entries import guarded_table
from hbase_orm.index.entries.targets import MARKER_VALUE
from hbase_orm.ops import (
    Cell,
    CloseScanner,
    FetchRows,
    GetRows,
    OpenScanner,
    Operation,
    Row,
    ScannerId,
    Sleep,
)
from hbase_orm.query import Plan, Select, plan, select
from tests.support.bucket_scans import BucketServer, Salted, all_rows, numbers


class Indexed(Model, table="rows"):
    d = Family()
    n: Key[int] = key(codecs.uint8())
    v: Mapped[int | None] = column(d, codec=codecs.uint8(), default=None)
    by_v = Index(v)


GUARDED = guarded_table(Indexed.__schema__)
assert GUARDED.marker is not None


def planned(stmt: Select[Any]) -> Plan:
    return plan(stmt, stmt.model.__schema__)


def merged(server: BucketServer) -> Iterator[Any]:
    return stream(all_rows(), server)


def test_buckets_are_merged_by_the_key_behind_the_salt() -> None:
    server = BucketServer([1, 5, 9], [2, 3], [4])

    assert numbers(merged(server)) == [1, 2, 3, 4, 5, 9]


def test_buckets_are_merged_backwards() -> None:
    server = BucketServer([9, 5, 1], [3, 2, 1], [4])

    assert numbers(stream(all_rows(reverse=True), server)) == [9, 5, 4, 3, 2, 1, 1]


@pytest.mark.parametrize("page", [1, 2, 3, 20])
@pytest.mark.parametrize("reverse", [False, True])
def test_pages_of_any_size_are_merged_in_order(page: int, reverse: bool) -> None:  # noqa: FBT001 - of the table
    buckets = [[n for n in range(40) if n % 7 % 3 == salt] for salt in range(3)]
    server = BucketServer(*(b[::-1] if reverse else b for b in buckets), page=page)

    found = numbers(stream(all_rows(reverse=reverse), server))

    assert found == (list(range(40))[::-1] if reverse else list(range(40)))
    assert server.is_each_closed_once()


def test_nothing_is_handed_out_before_every_bucket_has_shown_its_head() -> None:
    server = BucketServer([1, 5], [2, 3], [4])
    pages = merged(server)

    next(pages)

    fetched = [step for step in server.asked if isinstance(step, FetchRows)]
    assert len({step.scanner for step in fetched}) == 3


def test_a_bucket_is_asked_again_before_a_later_row_of_another_is_handed_out() -> None:
    server = BucketServer([1, 2, 3], [9], [])

    assert numbers(merged(server)) == [1, 2, 3, 9]


def test_empty_buckets_give_nothing() -> None:
    server = BucketServer([], [], [])

    assert numbers(merged(server)) == []
    assert len(server.closed) == 3


def test_a_cut_bucket_goes_on_where_it_was() -> None:
    server = BucketServer([1, 5], [2, 3], [4])
    pages = merged(server)
    first = [row.key[-1] for row in next(pages)]
    server.lose_next_fetch = True

    assert first + numbers(pages) == [1, 2, 3, 4, 5]


def test_a_read_to_the_end_closes_each_scanner_once() -> None:
    server = BucketServer([1, 5], [2, 3], [4])

    numbers(merged(server))

    assert server.is_each_closed_once()
    assert len(set(server.closed)) == 3


def test_closing_early_closes_each_open_scanner_once() -> None:
    server = BucketServer([1, 5], [2, 3], [])
    pages = stream(all_rows(), server)
    next(pages)

    close_now(pages)
    close_now(pages)

    assert server.is_each_closed_once()
    assert len(set(server.closed)) == 3


def test_what_cannot_be_closed_is_left_to_its_lease() -> None:
    server = BucketServer([1, 5], [2, 3], [4])

    def execute(step: Operation[Any]) -> Any:
        answer = server(step)
        if isinstance(step, CloseScanner):
            raise ConnectionLostError("cut")
        return answer

    pages = stream(all_rows(), execute)
    next(pages)
    close_now(pages)

    assert len(set(server.closed)) == 3


def test_an_error_that_no_repeat_mends_ends_the_stream_and_closes_the_rest() -> None:
    server = BucketServer([1, 5], [2, 3], [4])

    def execute(step: Operation[Any]) -> Any:
        if isinstance(step, OpenScanner) and len(server.open) == 2:
            raise RejectedError("disabled")
        return server(step)

    with pytest.raises(RejectedError):
        numbers(stream(all_rows(), execute))

    assert server.is_each_closed_once()


def test_a_scan_hands_out_page_after_page() -> None:
    class Plain(Model, table="plain"):
        d = Family()
        a: Key[int] = key(codecs.uint8())
        n: Key[int] = key(codecs.uint8())

    server = BucketServer([1, 2, 3], page=2)
    found = planned(select(Plain).where(Plain.a == 0))

    pages = [[row.key[-1] for row in page] for page in stream(rows_of(found, None), server)]

    assert pages == [[1, 2], [3]]
    assert len(server.closed) == 1


def test_a_protocol_may_end_upon_an_error() -> None:
    def patient() -> Generator[Operation[Any] | Emit, Any, None]:
        with suppress(RejectedError):
            yield GetRows("rows", (b"a",))

    def refuse(_: Operation[Any]) -> Any:
        raise RejectedError("no")

    assert list(stream(patient(), refuse)) == []


def test_an_empty_plan_asks_nothing() -> None:
    server = BucketServer()

    assert (
        numbers(stream(rows_of(planned(select(Salted).where(Salted.n == 300)), None), server)) == []
    )
    assert server.asked == []


def test_gets_hand_out_the_rows_that_are_there() -> None:
    found = planned(select(Indexed).where(Indexed.n.in_([1, 2, 3])))
    asked: list[Operation[Any]] = []

    def execute(step: Operation[Any]) -> Any:
        asked.append(step)
        return [Row(b"\x01", {}), None, Row(b"\x03", {})]

    assert numbers(stream(rows_of(found, None), execute)) == [1, 3]
    assert asked == [GetRows("rows", (b"\x01", b"\x02", b"\x03"), (b"d",))]


def test_an_index_plan_needs_the_guards() -> None:
    found = planned(select(Indexed).where(Indexed.v == 7))

    with pytest.raises(QueryError) as caught:
        rows_of(found, None)

    assert caught.value.plan == "Index"


# --- the index look-up ----------------------------------------------------------------------------


def row(n: int, v: int | None, *, exists: bool = True) -> Row:
    cells = {b"d:_0": Cell(MARKER_VALUE, 1)} if exists else {}
    if v is not None:
        cells[b"d:v"] = Cell(bytes((v,)), 1)
    return Row(bytes((n,)), cells)


def looked_up(
    entries: list[list[tuple[int, int]]], table: Callable[[int], Row | None]
) -> tuple[list[int], list[tuple[bytes, ...]]]:
    """Run `v in 7..8` over pages of entries (v, n); return the rows kept and the keys got."""
    got: list[tuple[bytes, ...]] = []
    pages = iter(entries)

    def execute(step: Operation[Any]) -> Any:
        match step:
            case OpenScanner():
                return ScannerId(1, None)
            case FetchRows():
                return [Row(bytes(entry), {}) for entry in next(pages, [])]
            case GetRows(keys=keys):
                got.append(keys)
                return [table(row_key[0]) for row_key in keys]
        return None

    found = planned(select(Indexed).where(Indexed.v.between(7, 8)))
    return numbers(stream(rows_of(found, GUARDED), execute)), got


def test_rows_come_in_the_order_of_their_entries() -> None:
    table = {1: row(1, 8), 2: row(2, 7), 3: row(3, 8)}

    found, got = looked_up([[(7, 2), (8, 1)], [(8, 3)]], table.get)

    assert found == [2, 1, 3]
    assert got == [(b"\x02", b"\x01"), (b"\x03",)]


def test_an_entry_whose_row_is_gone_is_dropped() -> None:
    assert looked_up([[(7, 1), (7, 2)]], {2: row(2, 7)}.get)[0] == [2]


def test_an_entry_that_its_row_does_not_have_is_dropped() -> None:
    table = {1: row(1, 9), 2: row(2, None), 3: row(3, 8)}

    assert looked_up([[(7, 1), (7, 2), (7, 3)]], table.get)[0] == []


def test_a_row_is_handed_out_at_the_entry_that_it_has() -> None:
    found, got = looked_up([[(7, 1), (8, 1), (8, 2)]], {1: row(1, 8), 2: row(2, 8)}.get)

    assert found == [1, 2]
    assert got == [(b"\x01", b"\x02")]


@pytest.mark.parametrize(("value_bytes", "asked"), [(1, 100), (100_000, 20)])
def test_entries_of_large_rows_are_looked_up_few_at_a_time(value_bytes: int, asked: int) -> None:
    counts: list[int] = []
    pages = iter([[Row(bytes((7, n)), {}) for n in range(10)], []])

    def execute(step: Operation[Any]) -> Any:
        match step:
            case OpenScanner():
                return ScannerId(1, None)
            case FetchRows(count=count):
                counts.append(count)
                return next(pages)
            case GetRows(keys=keys):
                large = Cell(bytes(value_bytes), 1)
                return [Row(row_key, {b"d:large": large}) for row_key in keys]
        return None

    found = planned(select(Indexed).where(Indexed.v == 7))
    list(stream(rows_of(found, GUARDED), execute))

    assert counts == [100, pytest.approx(asked, abs=1)]


def test_a_row_that_changes_between_two_pages_is_handed_out_once() -> None:
    versions = iter([row(1, 7), row(1, 8)])

    found, _ = looked_up([[(7, 1)], [(8, 1)]], lambda _: next(versions))

    assert found == [1]


def test_a_row_of_which_only_other_cells_are_left_is_dropped() -> None:
    only_counters = Row(b"\x01", {})

    assert looked_up([[(7, 1)]], lambda _: only_counters)[0] == []


def test_rows_and_waits_are_told_apart() -> None:
    steps = rows_of(planned(select(Indexed).where(Indexed.v == 7)), GUARDED)

    first = next(steps)
    assert isinstance(first, OpenScanner)
    assert isinstance(steps.throw(ScannerExpiredError("expired")), Sleep)
    assert Emit([]).rows == []
