"""Dictionaries: one number a name, step by step, with lost answers, crashes and rivals."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

import pytest

from hbase_orm.errors import (
    CodecError,
    ConfigurationError,
    ConflictError,
    ConnectionLostError,
    CorruptRowError,
    FeatureMissingError,
    RetryableError,
    RowKeyError,
    SchemaError,
    ServerBusyError,
    TableNotFoundError,
)
from hbase_orm.gateway.base import Feature, Gateway
from hbase_orm.gateway.drive import Driver
from hbase_orm.gateway.memory.gateway import MemoryGateway
from hbase_orm.numbering.counters import MAX_NUMBER
from hbase_orm.numbering.dictionary import (
    COUNTER_ROW,
    allocate,
    check_can_allocate,
    dictionary_descriptor,
    ensure_dictionary,
    look_up,
    names_of,
)
from hbase_orm.numbering.retries import RETRIES
from hbase_orm.ops import (
    CheckAndMutate,
    CreateTable,
    DescribeTable,
    FamilyDescriptor,
    FetchRows,
    GetRows,
    Increment,
    KeyRange,
    ListTables,
    MutateRows,
    OpenScanner,
    Operation,
    Put,
    RowMutation,
    Scan,
    TableDescriptor,
)
from tests.support.recording import FailsBeforeSending, LosesAnswers, RecordsRequests
from tests.support.stepping import Fault, StepController, drive

TABLE = "ids"
COLUMN = b"d:v"


@pytest.fixture
def gateway() -> MemoryGateway:
    ticks = count(1_000)
    gateway = MemoryGateway(lambda: next(ticks))
    drive(ensure_dictionary(TABLE), gateway)
    return gateway


def store(gateway: Gateway, row: bytes, value: bytes) -> None:
    gateway.execute(MutateRows(TABLE, (RowMutation(row, (Put(COLUMN, value),)),)))


def stored(gateway: Gateway) -> dict[bytes, bytes]:
    rows = gateway.execute(OpenScanner(Scan(TABLE, KeyRange())))
    return {row.key: row.cells[COLUMN].value for row in gateway.execute(FetchRows(rows, 99))}


def eight(number: int) -> bytes:
    return number.to_bytes(8, "big")


# --- the table ------------------------------------------------------------------------------------


def test_the_table_has_a_counter_and_two_rows_a_name(gateway: MemoryGateway) -> None:
    drive(allocate(TABLE, ["a", "é"]), gateway)

    assert stored(gateway) == {
        b"c": eight(2),
        b"na": eight(1),
        b"n\xc3\xa9": eight(2),
        b"r" + eight(1): b"na",
        b"r" + eight(2): b"n\xc3\xa9",
    }


def test_a_dictionary_is_made_once(gateway: MemoryGateway) -> None:
    assert drive(ensure_dictionary("other"), gateway) == ["other"]
    assert drive(ensure_dictionary("other"), gateway) == []


def test_a_dictionary_is_made_with_its_namespace(gateway: MemoryGateway) -> None:
    assert drive(ensure_dictionary("ns:ids"), gateway) == ["ns:ids"]
    assert drive(ensure_dictionary("ns:more"), gateway) == ["ns:more"]

    assert drive(allocate("ns:ids", ["a"]), gateway) == {"a": 1}


def test_of_two_that_make_a_dictionary_both_succeed(gateway: MemoryGateway) -> None:
    controller = StepController(gateway)
    for name in ("one", "two"):
        controller.start(name, lambda own: drive(ensure_dictionary("ns:ids"), own))

    for _ in range(9):
        controller.step("one")
        controller.step("two")

    made = [controller.finish("one"), controller.finish("two")]
    assert sorted(map(len, made)) == [0, 1]  # type: ignore[arg-type]  # lists of names


@pytest.mark.parametrize(
    "existing",
    [
        TableDescriptor("t", (FamilyDescriptor(b"d"),), {"hbase_orm.row_key": "name"}),
        TableDescriptor("t", (FamilyDescriptor(b"d"),), {"hbase_orm.format": "sequences 1"}),
        TableDescriptor("t", (FamilyDescriptor(b"d"), FamilyDescriptor(b"e"))),
        TableDescriptor("t", (FamilyDescriptor(b"x"),)),
    ],
)
def test_a_table_of_something_else_is_no_dictionary(
    gateway: MemoryGateway, existing: TableDescriptor
) -> None:
    gateway.execute(CreateTable(existing))

    with pytest.raises(SchemaError):
        drive(ensure_dictionary("t"), gateway)


def test_a_table_that_was_made_by_hand_serves(gateway: MemoryGateway) -> None:
    gateway.execute(CreateTable(TableDescriptor("t", (FamilyDescriptor(b"d", versions=3),))))

    assert drive(ensure_dictionary("t"), gateway) == []


def test_making_a_dictionary_goes_on_after_lost_answers(gateway: MemoryGateway) -> None:
    seen: list[Operation[Any]] = []

    def is_new(request: Operation[Any]) -> bool:
        if request in seen:
            return False
        seen.append(request)
        return True

    drive(ensure_dictionary("ns:ids"), LosesAnswers(gateway, is_new))

    assert "ns:ids" in gateway.execute(ListTables())


def test_the_descriptor_says_what_the_table_is(gateway: MemoryGateway) -> None:
    assert gateway.execute(DescribeTable(TABLE)) == dictionary_descriptor(TABLE)


# --- numbers and names ----------------------------------------------------------------------------


def test_names_get_numbers_from_one_up_in_their_order(gateway: MemoryGateway) -> None:
    assert drive(allocate(TABLE, ["b", "a", "b"]), gateway) == {"b": 1, "a": 2}
    assert drive(allocate(TABLE, ["c", "a"]), gateway) == {"c": 3, "a": 2}


def test_many_names_get_numbers_in_several_requests(gateway: MemoryGateway) -> None:
    names = [f"host{number}" for number in range(2_345)]

    numbers = drive(allocate(TABLE, iter(names)), gateway)

    assert numbers == {name: number for number, name in enumerate(names, start=1)}
    assert drive(look_up(TABLE, iter(names)), gateway) == numbers
    assert drive(names_of(TABLE, numbers.values()), gateway) == {
        number: name for name, number in numbers.items()
    }


@pytest.mark.parametrize("name", ["", "\0", "n", "c", "名", "\U0001f600", "x" * 30_000])
def test_any_text_is_a_name(gateway: MemoryGateway, name: str) -> None:
    drive(allocate(TABLE, [name, "another"]), gateway)

    assert drive(look_up(TABLE, [name]), gateway) == {name: 1}
    assert drive(names_of(TABLE, [1]), gateway) == {1: name}


def test_reading_never_allocates(gateway: MemoryGateway) -> None:
    sent = RecordsRequests(gateway)

    assert drive(look_up(TABLE, ["a", "b"]), sent) == {}
    assert drive(names_of(TABLE, [1, 2]), sent) == {}
    assert {type(request) for request in sent.requests} == {GetRows}


def test_names_without_a_number_are_left_out(gateway: MemoryGateway) -> None:
    drive(allocate(TABLE, ["a"]), gateway)

    assert drive(look_up(TABLE, ["a", "b"]), gateway) == {"a": 1}
    assert drive(names_of(TABLE, [1, 2]), gateway) == {1: "a"}


@pytest.mark.parametrize("number", [0, -1, MAX_NUMBER + 1, 2**64])
def test_numbers_that_are_never_given_are_not_asked_for(
    gateway: MemoryGateway, number: int
) -> None:
    sent = RecordsRequests(gateway)

    assert drive(names_of(TABLE, [number]), sent) == {}
    assert sent.requests == []


def test_nothing_is_sent_for_no_names(gateway: MemoryGateway) -> None:
    sent = RecordsRequests(gateway)

    assert drive(allocate(TABLE, []), sent) == {}
    assert drive(look_up(TABLE, []), sent) == {}
    assert sent.requests == []


def test_a_table_that_does_not_exist_knows_nothing(gateway: MemoryGateway) -> None:
    assert drive(look_up("absent", ["a"]), gateway) == {}
    assert drive(names_of("absent", [1]), gateway) == {}


def test_a_table_that_does_not_exist_gives_no_numbers(gateway: MemoryGateway) -> None:
    with pytest.raises(TableNotFoundError):
        drive(allocate("absent", ["a"]), gateway)


@pytest.mark.parametrize("protocol", [look_up, allocate])
@pytest.mark.parametrize(
    ("name", "error"), [("a\ud800", CodecError), (b"a", CodecError), ("x" * 32_767, RowKeyError)]
)
def test_a_name_that_cannot_be_a_row_is_refused_before_anything_is_sent(
    gateway: MemoryGateway, protocol: Callable[..., Any], name: str, error: type[Exception]
) -> None:
    sent = RecordsRequests(gateway)

    with pytest.raises(error):
        drive(protocol(TABLE, ["fine", name]), sent)

    assert sent.requests == []


# --- the limit ------------------------------------------------------------------------------------


def test_the_highest_number_is_given(gateway: MemoryGateway) -> None:
    drive(allocate(TABLE, map(str, range(254)), max_number=255), gateway)

    assert drive(allocate(TABLE, ["last"], max_number=255), gateway) == {"last": 255}


def test_beyond_the_limit_nothing_is_taken(gateway: MemoryGateway) -> None:
    drive(allocate(TABLE, ["a", "b"], max_number=3), gateway)
    before = stored(gateway)

    with pytest.raises(CodecError) as caught:
        drive(allocate(TABLE, ["c", "d"], max_number=3), gateway)

    assert (caught.value.last, caught.value.wanted, caught.value.max_number) == (2, 2, 3)
    assert stored(gateway) == before


def test_of_many_names_none_gets_a_number_if_not_all_can(gateway: MemoryGateway) -> None:
    with pytest.raises(CodecError) as caught:
        drive(allocate(TABLE, map(str, range(1_500)), max_number=1_499), gateway)

    assert caught.value.wanted == 1_500
    assert stored(gateway) == {}


def test_a_full_dictionary_still_knows_its_names(gateway: MemoryGateway) -> None:
    drive(allocate(TABLE, ["a", "b"], max_number=2), gateway)

    assert drive(allocate(TABLE, ["b", "a"], max_number=2), gateway) == {"a": 1, "b": 2}


def test_a_rival_that_takes_the_last_number_leaves_none(gateway: MemoryGateway) -> None:
    controller = StepController(gateway)
    controller.start("late", lambda own: drive(allocate(TABLE, ["a"], max_number=1), own))
    controller.step("late")
    drive(allocate(TABLE, ["b"], max_number=1), gateway)

    with pytest.raises(CodecError):
        controller.finish("late")

    assert stored(gateway) == {b"c": eight(2), b"nb": eight(1), b"r" + eight(1): b"nb"}
    assert drive(allocate(TABLE, ["b"], max_number=1), gateway) == {"b": 1}


@pytest.mark.parametrize("max_number", [MAX_NUMBER, 2**64 - 1])
def test_the_counter_never_runs_over(gateway: MemoryGateway, max_number: int) -> None:
    store(gateway, COUNTER_ROW, eight(MAX_NUMBER - 1))
    drive(allocate(TABLE, ["a"], max_number=max_number), gateway)

    with pytest.raises(CodecError):
        drive(allocate(TABLE, ["b"], max_number=max_number), gateway)

    assert drive(look_up(TABLE, ["a", "b"]), gateway) == {"a": MAX_NUMBER}


# --- faults ---------------------------------------------------------------------------------------

INCREMENT, NUMBER_ROW, NAME_ROW = 1, 2, 3
"""The steps of one new name, after the look-up."""


@pytest.fixture
def controller(gateway: MemoryGateway) -> Iterator[StepController]:
    controller = StepController(gateway)
    yield controller
    controller.close()


def start(controller: StepController, writer: str, steps: int) -> None:
    controller.start(writer, lambda own: drive(allocate(TABLE, ["a"]), own))
    for _ in range(steps):
        controller.step(writer)


def test_a_lost_increment_skips_its_number(
    gateway: MemoryGateway, controller: StepController
) -> None:
    start(controller, "one", INCREMENT)
    controller.step("one", Fault.CUT_AFTER)

    assert controller.finish("one") == {"a": 2}
    assert drive(names_of(TABLE, [1, 2]), gateway) == {2: "a"}


def test_an_increment_that_comes_late_skips_its_number(
    gateway: MemoryGateway, controller: StepController
) -> None:
    start(controller, "one", INCREMENT)
    controller.step("one", Fault.LATE)
    assert controller.finish("one") == {"a": 1}

    assert controller.deliver() == [{COLUMN: 2}]

    assert drive(allocate(TABLE, ["b"]), gateway) == {"b": 3}


@pytest.mark.parametrize("step", [NUMBER_ROW, NAME_ROW])
@pytest.mark.parametrize(
    "fault", [Fault.CUT_BEFORE, Fault.CUT_AFTER, Fault.LATE, Fault.FALSE_THOUGH_APPLIED]
)
def test_a_row_whose_answer_is_lost_or_false_is_read_and_decides(
    gateway: MemoryGateway, controller: StepController, step: int, fault: Fault
) -> None:
    start(controller, "one", step)
    controller.step("one", fault)

    assert controller.finish("one") == {"a": 1}

    assert controller.deliver() == ([False] if fault is Fault.LATE else [])
    assert drive(allocate(TABLE, ["a", "b"]), gateway) == {"a": 1, "b": 2}


@pytest.mark.parametrize("step", [0, INCREMENT, NUMBER_ROW, NAME_ROW])
@pytest.mark.parametrize("fault", [Fault.CRASH, Fault.CRASH_LATE])
def test_the_number_of_a_process_that_died_is_never_given_again(
    gateway: MemoryGateway, controller: StepController, step: int, fault: Fault
) -> None:
    start(controller, "dead", step)
    controller.step("dead", fault)

    given = drive(allocate(TABLE, ["b"]), gateway)
    controller.deliver()
    given |= drive(allocate(TABLE, ["c", "a"]), gateway)

    assert len(set(given.values())) == 3
    assert drive(look_up(TABLE, ["a", "b", "c"]), gateway) == given
    assert drive(names_of(TABLE, range(9)), gateway) == {n: name for name, n in given.items()}
    assert given["b"] == (1 if step <= INCREMENT else 2)


def test_of_two_processes_the_first_claim_decides(
    gateway: MemoryGateway, controller: StepController
) -> None:
    start(controller, "one", NAME_ROW)
    start(controller, "two", NAME_ROW)

    assert controller.finish("two") == {"a": 2}
    assert controller.finish("one") == {"a": 2}
    assert drive(names_of(TABLE, [1, 2]), gateway) == {2: "a"}
    assert stored(gateway)[b"r" + eight(1)] == b"na", "the skipped number's row stays"


def test_of_many_names_those_that_another_gave_numbers_meanwhile_take_none(
    gateway: MemoryGateway, controller: StepController
) -> None:
    names = [f"host{number}" for number in range(1_100)]
    controller.start("one", lambda own: drive(allocate(TABLE, names), own))
    for _ in range(2 + 1 + 2 * 1_000):  # reads, increments, writes the rows of 1,000 names
        controller.step("one")

    of_rival = drive(allocate(TABLE, names), gateway)

    assert controller.finish("one") == of_rival
    assert max(of_rival.values()) == 1_100
    assert drive(allocate(TABLE, ["new"]), gateway) == {"new": 1_101}


def test_a_claim_that_comes_late_finds_the_name_taken(
    gateway: MemoryGateway, controller: StepController
) -> None:
    start(controller, "one", NAME_ROW)
    controller.step("one", Fault.CRASH_LATE)
    assert drive(allocate(TABLE, ["a"]), gateway) == {"a": 2}

    assert controller.deliver() == [False]

    assert drive(look_up(TABLE, ["a"]), gateway) == {"a": 2}


@pytest.mark.parametrize("error", [ConnectionLostError("cut"), ServerBusyError("busy")])
@pytest.mark.parametrize("kind", [Increment, CheckAndMutate])
def test_a_gateway_that_stays_away_is_given_up(
    gateway: MemoryGateway, kind: type[Operation[Any]], error: Exception
) -> None:
    fails = FailsBeforeSending(
        gateway, lambda request: error if isinstance(request, kind) else None
    )
    waits: list[float] = []

    with pytest.raises(type(error)):
        drive(allocate(TABLE, ["a"]), fails, waits.append)

    assert len(waits) == RETRIES.attempts - 1
    assert waits == sorted(set(waits)), "each wait is longer than the one before"
    assert drive(allocate(TABLE, ["a"]), gateway).keys() == {"a"}


def test_a_claim_that_is_denied_although_it_holds_is_given_up(gateway: MemoryGateway) -> None:
    class Denies(RecordsRequests):
        def execute(self, operation: Operation[Any], /) -> Any:
            denied = isinstance(operation, CheckAndMutate)
            return False if denied else self.inner.execute(operation)

    with pytest.raises(ConflictError):
        drive(allocate(TABLE, ["a"]), Denies(gateway))


def test_some_of_many_claims_may_fail(gateway: MemoryGateway) -> None:
    names = [f"host{number}" for number in range(100)]
    claims = count()
    shaky = FailsBeforeSending(
        gateway,
        lambda request: (
            RetryableError("moving")
            if isinstance(request, CheckAndMutate) and next(claims) % 7 == 3
            else None
        ),
    )

    numbers = Driver(shaky, sleep=lambda _: None).run(allocate(TABLE, names))

    assert numbers.keys() == set(names)
    assert len(set(numbers.values())) == len(names)
    assert drive(look_up(TABLE, names), gateway) == numbers


# --- what others may have done to the table -------------------------------------------------------


@pytest.mark.parametrize("counter", [1, 3, 6])
def test_a_counter_that_was_set_back_gives_no_number_twice(
    gateway: MemoryGateway, counter: int
) -> None:
    before = drive(allocate(TABLE, "abcdefg"), gateway)
    store(gateway, COUNTER_ROW, eight(counter))

    given = drive(allocate(TABLE, "hij"), gateway)

    assert not set(given.values()) & set(before.values())
    assert drive(look_up(TABLE, "abcdefg"), gateway) == before


def test_a_counter_that_was_set_back_far_is_told(gateway: MemoryGateway) -> None:
    drive(allocate(TABLE, map(str, range(500))), gateway)
    store(gateway, COUNTER_ROW, eight(1))

    with pytest.raises(CorruptRowError) as caught:
        drive(allocate(TABLE, ["new"]), gateway)

    assert caught.value.row == COUNTER_ROW


@pytest.mark.parametrize("value", [b"", b"\0" * 7, eight(0), b"\xff" * 8, b"seven"])
@pytest.mark.parametrize("row", [b"na", COUNTER_ROW])
def test_a_row_of_somebody_else_is_refused(
    gateway: MemoryGateway, row: bytes, value: bytes
) -> None:
    store(gateway, row, value)

    with pytest.raises(CorruptRowError) as caught:
        drive(allocate(TABLE, ["a", "b"]), gateway)

    assert (caught.value.row, caught.value.value) == (row, value)


def test_a_number_row_of_somebody_else_is_nobody_s(gateway: MemoryGateway) -> None:
    store(gateway, b"r" + eight(1), b"whatever")

    assert drive(names_of(TABLE, [1]), gateway) == {}
    assert drive(allocate(TABLE, ["a"]), gateway) == {"a": 2}


# --- features -------------------------------------------------------------------------------------


def test_allocating_needs_check_and_mutate() -> None:
    check_can_allocate(TABLE, frozenset({Feature.CHECK_AND_MUTATE}))

    with pytest.raises(ConfigurationError) as caught:
        check_can_allocate(TABLE, frozenset(Feature) - {Feature.CHECK_AND_MUTATE})

    assert caught.value.dictionary == TABLE
    assert "thrift2=" in caught.value.fix


def test_a_gateway_without_check_and_mutate_says_so(gateway: MemoryGateway) -> None:
    thrift1 = FailsBeforeSending(
        gateway,
        lambda request: FeatureMissingError("no") if isinstance(request, CheckAndMutate) else None,
    )

    with pytest.raises(FeatureMissingError):
        drive(allocate(TABLE, ["a"]), thrift1)

    assert drive(look_up(TABLE, ["a"]), thrift1) == {}
