"""Protocols in step: what they ask alike goes out as one request, and each gets its own answer."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeVar

import pytest

from hbase_orm.errors import ConnectionLostError, RejectedError, TableNotFoundError
from hbase_orm.gateway.base import Feature
from hbase_orm.gateway.coalesce import GROUP_BYTES, GROUP_ROWS, IN_STEP, run_grouped
from hbase_orm.gateway.drive import Driver
from hbase_orm.gateway.memory.gateway import MemoryGateway
from hbase_orm.gateway.row_sizes import ReadSizes
from hbase_orm.ops import (
    Cell,
    CreateTable,
    Delete,
    FamilyDescriptor,
    GetRows,
    GetVersions,
    GetVersionsOfRows,
    MutateRow,
    MutateRows,
    Nested,
    Operation,
    Protocol,
    Put,
    Row,
    RowMutation,
    Sleep,
    TableDescriptor,
    ask,
    ask_all,
    run_all,
)
from tests.support.recording import FailsBeforeSending, RecordsRequests, batches_of

R = TypeVar("R")
NOTHING: Callable[[Operation[Any]], None] = lambda _: None  # noqa: E731  # a constant


def gateway(
    error_of: Callable[[Operation[Any]], Exception | None] = NOTHING,
) -> FailsBeforeSending:
    inner = MemoryGateway()
    inner.execute(CreateTable(TableDescriptor("t", (FamilyDescriptor(b"d"),))))
    return FailsBeforeSending(inner, error_of)


def driver(sends: RecordsRequests, parallel: int = 4) -> Driver:
    return Driver(sends, parallel=parallel, sleep=lambda _: None)


def put(row: bytes, value: bytes = b"1", at: int | None = 7) -> MutateRows:
    return MutateRows("t", (RowMutation(row, (Put(b"d:x", value, at),)),))


def delete(row: bytes) -> MutateRows:
    return MutateRows("t", (RowMutation(row, deletes=(Delete(b"d:x", 9),)),))


def doing(*operations: Operation[Any]) -> Protocol[list[Any]]:
    answers = []
    for operation in operations:
        answers += [(yield from ask(operation))]
    return answers


def keys(number: int) -> list[bytes]:
    return [b"%03d" % n for n in range(number)]


def test_reads_and_stamped_writes_go_out_as_one_and_answers_are_each_ones_own() -> None:
    sends = gateway()
    rows = keys(5)
    protocols = [doing(put(row, b"of " + row), GetRows("t", (row,))) for row in rows]

    outcomes = run_grouped(driver(sends), protocols)

    assert [each.result() for each in outcomes] == [
        [None, [Row(row, {b"d:x": Cell(b"of " + row, 7)})]] for row in rows
    ]
    kinds = [type(each) for each in sends.requests]
    assert kinds == [MutateRows, GetRows]


def test_a_protocol_that_runs_others_goes_on_by_itself() -> None:
    sends = gateway()

    def many() -> Protocol[list[Any]]:
        yield from ask(put(b"a"))
        return (yield from run_all([doing(GetRows("t", (row,))) for row in (b"a", b"b")]))

    outcomes = run_grouped(driver(sends), [many(), doing(put(b"b"))])

    row_a, row_b = (Row(row, {b"d:x": Cell(b"1", 7)}) for row in (b"a", b"b"))
    assert outcomes[0].result() == [[[row_a]], [[row_b]]]


def test_a_protocol_within_another_one_is_run_by_itself_and_its_error_comes_back() -> None:
    sends = gateway()

    def nesting(table: str) -> Protocol[Any]:
        yield from ask(put(b"a"))
        return (yield from ask(Nested(doing(GetRows(table, (b"a",))))))

    outcomes = run_grouped(driver(sends), [nesting("t"), nesting("none"), doing(put(b"b"))])

    assert outcomes[0].result() == [[Row(b"a", {b"d:x": Cell(b"1", 7)})]]
    assert isinstance(outcomes[1].error, TableNotFoundError)


def test_reads_of_versions_go_out_as_one_and_each_gets_its_own() -> None:
    sends = RecordsRequests(gateway())
    driver(sends).run(doing(put(b"a", b"1"), put(b"c", b"3")))
    sends.requests.clear()
    asked = [GetVersions("t", row, (b"d",), 3, raw=True) for row in (b"c", b"b", b"a")]

    outcomes = run_grouped(driver(sends), [doing(each) for each in asked])

    assert sends.requests == [GetVersionsOfRows("t", (b"c", b"b", b"a"), (b"d",), 3, raw=True)]
    found = [[cell.value for cell in outcome.result()[0]] for outcome in outcomes]
    assert found == [[b"3"], [], [b"1"]]


def test_reads_of_versions_that_differ_go_out_apart() -> None:
    sends = RecordsRequests(gateway())
    asked = [
        GetVersions("t", b"a", (b"d",)),
        GetVersions("t", b"b", (b"d",), raw=True),
        GetVersions("t", b"c", (b"d",), 2),
        GetVersions("t", b"e"),
    ]

    run_grouped(driver(sends), [doing(each) for each in asked])

    assert sorted(sends.requests, key=repr) == sorted(asked, key=repr)


def test_what_is_not_alike_goes_out_apart() -> None:
    sends = gateway()
    asked: list[Operation[Any]] = [
        GetRows("t", (b"a",)),
        GetRows("t", (b"b",), (b"d:x",)),
        GetRows("t", (b"c",), before_ms=5),
        GetRows("t", (b"d",), is_timeline=True),
        put(b"d", at=None),
        put(b"e", at=None),
        put(b"g"),
        MutateRow("t", put(b"h").mutations[0]),
    ]

    run_grouped(driver(sends), [doing(each) for each in asked])

    assert sorted(map(repr, sends.requests)) == sorted(map(repr, asked))


def test_timeline_reads_go_out_as_one_and_stay_timeline_reads() -> None:
    sends = gateway()
    rows = keys(3)

    run_grouped(driver(sends), [doing(GetRows("t", (row,), is_timeline=True)) for row in rows])

    assert sends.requests == [GetRows("t", tuple(rows), is_timeline=True)]


def test_one_row_stands_once_in_a_batch() -> None:
    sends = gateway()
    asked = [put(b"a", b"1"), put(b"a", b"2"), delete(b"a"), delete(b"b")]

    run_grouped(driver(sends, parallel=1), [doing(each) for each in asked])

    rows = [[each.row for each in batch.mutations] for batch in batches_of(sends.requests)]
    assert rows == [[b"a"], [b"a"], [b"a", b"b"]]


def test_the_requests_of_a_together_are_grouped_with_those_of_others() -> None:
    sends = gateway()

    def both(row: bytes) -> Protocol[Any]:
        requests: list[Operation[Any]] = [put(row), GetRows("t", (row + b"!",))]
        return (yield from ask_all(requests))

    outcomes = run_grouped(driver(sends), [both(row) for row in keys(3)])

    assert [each.result() for each in outcomes] == [(None, [None])] * 3
    assert sorted(type(each).__name__ for each in sends.requests) == ["GetRows", "MutateRows"]


def test_a_group_that_is_refused_is_sent_one_by_one_and_only_the_bad_one_fails() -> None:
    refused = RejectedError("no such family")

    def error_of(operation: Operation[Any]) -> Exception | None:
        is_bad = isinstance(operation, MutateRows) and any(
            each.row == b"001" for each in operation.mutations
        )
        return refused if is_bad else None

    sends = gateway(error_of)

    outcomes = run_grouped(driver(sends), [doing(put(row)) for row in keys(3)])

    assert [each.error for each in outcomes] == [None, refused, None]
    assert len(sends.requests) == 4


def test_a_group_without_an_answer_fails_for_all_in_it() -> None:
    lost = ConnectionLostError("gone")
    sends = gateway(lambda operation: lost if isinstance(operation, MutateRows) else None)

    outcomes = run_grouped(
        driver(sends), [*(doing(put(row)) for row in keys(3)), doing(GetRows("t", (b"a",)))]
    )

    assert [each.error for each in outcomes] == [lost, lost, lost, None]
    assert len(sends.requests) == 2


def test_a_protocol_may_go_on_after_a_failure() -> None:
    lost = [ConnectionLostError("gone")]
    sends = gateway(
        lambda operation: lost.pop() if lost and isinstance(operation, MutateRows) else None
    )

    def stubborn(row: bytes) -> Protocol[Any]:
        try:
            yield from ask(put(row))
        except ConnectionLostError:
            yield from ask(put(row, b"2"))
        return (yield from ask(GetRows("t", (row,))))

    outcomes = run_grouped(driver(sends), [stubborn(row) for row in keys(2)])

    values = [each.result()[0].cells[b"d:x"].value for each in outcomes]
    assert values == [b"2", b"2"]
    assert [type(each) for each in sends.requests] == [MutateRows, MutateRows, GetRows]


def test_who_waits_goes_on_by_itself_and_keeps_nobody() -> None:
    sends = gateway()
    slept = list[float]()

    def waits(row: bytes) -> Protocol[Any]:
        yield from ask(put(row))
        yield from ask(Sleep(3.0))
        try:
            yield from ask(MutateRows("none", put(row).mutations))
        except RejectedError:
            return (yield from ask(GetRows("t", (row,))))

    drives = Driver(sends, parallel=2, sleep=slept.append)

    outcomes = run_grouped(drives, [waits(b"a"), doing(put(b"b"), put(b"c")), waits(b"d")])

    assert [bool(each.result()) for each in outcomes] == [True, True, True]
    assert slept == [3.0, 3.0]
    first = [
        [each.row for each in r.mutations] for r in sends.requests[:2] if isinstance(r, MutateRows)
    ]
    assert first == [[b"a", b"b", b"d"], [b"c"]]


@pytest.mark.parametrize("number", [0, 1, IN_STEP, IN_STEP + 1])
def test_outcomes_come_in_order_however_many_there_are(number: int) -> None:
    sends = gateway()

    asked = [GetRows("t", (row,), (b"d:x",)) for row in keys(number)]

    outcomes = run_grouped(driver(sends), [doing(each) for each in asked])

    assert [each.result() for each in outcomes] == [[[None]]] * number
    assert len(sends.requests) == -(-number // IN_STEP)


def test_an_error_of_a_protocols_own_is_its_outcome() -> None:
    def broken() -> Protocol[Any]:
        yield from ask(GetRows("t", (b"a",)))
        raise ZeroDivisionError

    def broken_at_once() -> Protocol[Any]:
        raise ZeroDivisionError
        yield

    protocols = [broken(), doing(GetRows("t", (b"b",))), broken_at_once()]
    outcomes = run_grouped(driver(gateway()), protocols)

    assert [type(each.error) for each in outcomes] == [
        ZeroDivisionError,
        type(None),
        ZeroDivisionError,
    ]


def test_an_interrupt_closes_every_protocol() -> None:
    closed = list[int]()

    class Interrupts(RecordsRequests):
        """Is interrupted while it sends."""

        def execute(self, operation: Operation[R], /) -> R:
            raise KeyboardInterrupt(operation)

    def noting(number: int) -> Protocol[Any]:
        try:
            yield from ask(GetRows("t", (b"a",)))
        finally:
            closed.append(number)

    with pytest.raises(KeyboardInterrupt):
        run_grouped(driver(Interrupts(MemoryGateway()), 1), [noting(n) for n in range(3)])

    assert closed == [0, 1, 2]


def test_requests_that_are_not_alike_go_out_side_by_side() -> None:
    together = threading.Barrier(2)

    class Meets(RecordsRequests):
        """Answers two requests only at once."""

        features: frozenset[Feature] = frozenset()

        def execute(self, operation: Operation[R], /) -> R:
            together.wait(10)
            return self.inner.execute(operation)

    meets = Meets(gateway())

    outcomes = run_grouped(driver(meets, 2), [doing(put(row, at=None)) for row in keys(2)])

    assert [each.error for each in outcomes] == [None, None]


def test_a_batch_has_so_many_rows_and_no_more() -> None:
    sends = gateway()
    many = [RowMutation(b"%04d" % n, (Put(b"d:x", b"1", 7),)) for n in range(GROUP_ROWS)]

    run_grouped(driver(sends, 1), [doing(MutateRows("t", tuple(many))), doing(put(b"a"))])

    assert [len(each.mutations) for each in batches_of(sends.requests)] == [GROUP_ROWS, 1]


@pytest.mark.parametrize("parallel", [1, 4])
def test_what_goes_alone_is_sent_by_the_thread_that_asked_and_before_another_asks(
    parallel: int,
) -> None:
    noted = list[tuple[int, str]]()

    class Notes(RecordsRequests):
        """Notes what each thread sends."""

        def execute(self, operation: Operation[R], /) -> R:
            noted.append((threading.get_ident(), repr(operation)))
            return self.inner.execute(operation)

    def checks_first(row: bytes) -> Protocol[Any]:
        yield from ask(GetRows("t", (row,), (b"d:x",)))
        alone = put(row, at=None)
        noted.append((threading.get_ident(), repr(alone)))
        return (yield from ask(alone))

    run_grouped(driver(Notes(gateway()), parallel), [checks_first(row) for row in keys(9)])

    by_thread: dict[int, list[str]] = {}
    for thread, event in noted[1:]:
        by_thread.setdefault(thread, []).append(event)
    assert len(noted) == 1 + 9 * 2
    assert all(events[::2] == events[1::2] for events in by_thread.values())


def test_a_group_that_fails_for_no_known_reason_is_sent_one_by_one() -> None:
    broken = UnicodeDecodeError("utf-8", b"", 0, 1, "broken answer")

    def error_of(operation: Operation[Any]) -> Exception | None:
        is_bad = isinstance(operation, GetRows) and b"001" in operation.keys
        return broken if is_bad else None

    sends = gateway(error_of)
    asked = [GetRows("t", (row,), (b"d:x",)) for row in keys(3)]

    outcomes = run_grouped(driver(sends), [doing(each) for each in asked])

    assert [each.error for each in outcomes] == [None, broken, None]
    assert len(sends.requests) == 4


def test_a_batch_has_so_many_bytes_and_no_more() -> None:
    sends = gateway()
    sizes = [GROUP_BYTES // 2 - 100, GROUP_BYTES // 2 - 100, 100, GROUP_BYTES + 1, 1]
    asked = [put(b"%d" % n, bytes(size)) for n, size in enumerate(sizes)]

    run_grouped(driver(sends, 1), [doing(each) for each in asked])

    rows = [[each.row for each in batch.mutations] for batch in batches_of(sends.requests)]
    assert rows == [[b"0", b"1", b"2"], [b"3"], [b"4"]]


def keys_of(sends: RecordsRequests) -> list[int]:
    return [len(each.keys) for each in sends.requests if isinstance(each, GetRows)]


def test_a_multi_get_asks_for_so_many_bytes_as_are_expected_and_no_more() -> None:
    sends = gateway()
    asked = [GetRows("t", (row,), (b"d:x",)) for row in keys(5)]
    expected = [GROUP_BYTES // 2, GROUP_BYTES // 2, 1, GROUP_BYTES * 9, 0]

    run_grouped(driver(sends, 1), [doing(each) for each in asked], expected_bytes=expected)

    assert keys_of(sends) == [2, 1, 1, 1]


def test_the_next_multi_get_is_as_large_as_the_rows_of_the_last_one_allow() -> None:
    sends, sizes = gateway(), ReadSizes()
    for row in keys(8):
        sends.inner.execute(put(row, bytes(GROUP_BYTES // 4 - 10)))
    asked = [GetRows("t", (row,), (b"d:x",)) for row in keys(8)]

    for _ in range(2):
        run_grouped(driver(sends, 1), [doing(each) for each in asked], sizes=sizes)

    assert keys_of(sends) == [8, 4, 4]


def test_what_is_asked_of_certain_tables_is_never_joined() -> None:
    sends = gateway()
    asked = [GetRows("t", (row,), (b"d:x",)) for row in keys(3)]

    run_grouped(driver(sends, 1), [doing(each) for each in asked], unjoined=("t",))

    assert sends.requests == asked
