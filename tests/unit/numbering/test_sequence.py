"""Sequences: unique numbers in blocks, by loader, over threads, forks, crashes and lost answers."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import islice
from typing import Any

import pytest

from hbase_orm import Engine, Family, Key, Mapped, Model, codecs, column, connect, key, select
from hbase_orm.errors import (
    ConfigurationError,
    ConnectionLostError,
    CorruptRowError,
    NamespaceNotFoundError,
    SchemaError,
    TableNotFoundError,
)
from hbase_orm.gateway.memory.gateway import MemoryGateway
from hbase_orm.numbering.counters import MAX_NUMBER
from hbase_orm.numbering.create_tables import ensure_table
from hbase_orm.numbering.dictionary import ensure_dictionary
from hbase_orm.numbering.retries import RETRIES
from hbase_orm.numbering.sequence import (
    SEQUENCES_TABLE,
    Sequence,
    sequences_descriptor,
    take_block,
)
from hbase_orm.ops import (
    CreateTable,
    DropTable,
    GetRows,
    Increment,
    ListTables,
    MutateRows,
    Operation,
    Put,
    RowMutation,
)
from tests.support.recording import (
    FailsBeforeSending,
    LosesAnswers,
    RecordsRequests,
    gateway_of,
    through,
)
from tests.support.stepping import Fault, StepController, drive


@pytest.fixture
def engine() -> Iterator[Engine]:
    with connect("memory://") as engine:
        yield engine


def take(sequence: Sequence, count: int) -> list[int]:
    return [sequence() for _ in range(count)]


def is_increment(request: Operation[Any]) -> bool:
    return isinstance(request, Increment)


# --- numbers --------------------------------------------------------------------------------------


def test_numbers_start_at_one_and_rise(engine: Engine) -> None:
    assert take(engine.sequence("s", block=3), 7) == [1, 2, 3, 4, 5, 6, 7]


def test_a_block_is_one_request(engine: Engine) -> None:
    sent = RecordsRequests(gateway_of(engine))
    sequence = through(sent, engine).sequence("s", block=50)
    sequence()
    sent.requests.clear()

    take(sequence, 100)

    row, column_ = b"s", b"d:v"
    assert sent.requests == [Increment(SEQUENCES_TABLE, row, {column_: 50})] * 2


def test_nothing_is_sent_before_the_first_number(engine: Engine) -> None:
    engine.sequence("s")

    assert gateway_of(engine).execute(ListTables()) == []


def test_two_of_one_name_share_the_numbers(engine: Engine) -> None:
    one, other = engine.sequence("s", block=2), engine.sequence("s", block=3)

    taken = [sequence() for _ in range(6) for sequence in (one, other)]

    assert sorted(taken) == list(range(1, 13))


def test_two_names_have_numbers_of_their_own(engine: Engine) -> None:
    assert take(engine.sequence("s"), 2) == take(engine.sequence("é"), 2) == [1, 2]


def test_the_rest_of_a_block_is_skipped_by_the_next_start(engine: Engine) -> None:
    first = take(engine.sequence("s", block=10), 3)

    assert (first, take(engine.sequence("s", block=10), 2)) == ([1, 2, 3], [11, 12])


def test_an_engine_with_a_namespace_has_sequences_of_its_own() -> None:
    with connect("memory:///ns") as engine:
        assert take(engine.sequence("s"), 2) == [1, 2]

        assert gateway_of(engine).execute(ListTables()) == [f"ns:{SEQUENCES_TABLE}"]


def test_a_namespace_that_others_are_just_making_is_waited_for() -> None:
    with connect("memory:///ns") as engine:
        refusals = [NamespaceNotFoundError("not yet"), NamespaceNotFoundError("not yet")]
        gateway = FailsBeforeSending(
            gateway_of(engine),
            lambda asked: refusals.pop() if refusals and isinstance(asked, CreateTable) else None,
        )

        assert take(through(gateway, engine).sequence("s"), 2) == [1, 2]

        assert not refusals


def test_a_namespace_that_never_comes_is_an_error() -> None:
    with connect("memory:///ns") as engine:
        refusal = NamespaceNotFoundError("not yet")
        gateway = FailsBeforeSending(
            gateway_of(engine), lambda asked: refusal if isinstance(asked, CreateTable) else None
        )

        with pytest.raises(NamespaceNotFoundError):
            through(gateway, engine).sequence("s")()


def test_the_cell_is_a_counter_of_hbase(engine: Engine) -> None:
    take(engine.sequence("s", block=258), 1)

    (row,) = gateway_of(engine).execute(GetRows(SEQUENCES_TABLE, (b"s",)))
    assert row is not None
    assert {name: cell.value for name, cell in row.cells.items()} == {b"d:v": b"\0" * 6 + b"\1\2"}


tickets = connect("memory://").sequence("tickets", block=10)


class Ticket(Model, table="tickets"):
    d = Family()
    number: Key[int] = key(codecs.uint64(), default_factory=tickets)
    serial: Mapped[int] = column(d, default_factory=tickets)


def test_a_sequence_serves_as_a_default_factory(engine: Engine) -> None:
    engine.create_tables(Ticket)

    with engine.session() as session:
        session.add_all([Ticket(), Ticket(number=99), Ticket()])
        session.flush()
        found = session.all(select(Ticket).allow_full_scan())

    assert sorted((ticket.number, ticket.serial) for ticket in found) == [(1, 2), (4, 5), (99, 3)]


# --- loaders --------------------------------------------------------------------------------------


@pytest.mark.parametrize("loaders", [1, 2, 3, 7])
def test_each_loader_has_its_own_remainder(engine: Engine, loaders: int) -> None:
    sequences = [
        engine.sequence("s", block=4, loaders=loaders, loader=loader) for loader in range(loaders)
    ]

    taken = {loader: take(sequence, 10) for loader, sequence in enumerate(sequences)}

    assert all(number % loaders == loader for loader in taken for number in taken[loader])
    every = [number for some in taken.values() for number in some]
    assert len(set(every)) == len(every) == 10 * loaders
    assert min(every) >= 1


def test_a_loader_s_block_has_all_its_numbers(engine: Engine) -> None:
    assert take(engine.sequence("s", block=3, loaders=4, loader=2), 6) == [2, 6, 10, 14, 18, 22]
    assert take(engine.sequence("s", block=2, loaders=4, loader=0), 2) == [28, 32]


def test_numbers_stay_unique_when_the_loaders_change(engine: Engine) -> None:
    taken: list[int] = []
    for loaders in (3, 1, 2, 3, 5):
        for loader in range(loaders):
            taken += take(engine.sequence("s", block=3, loaders=loaders, loader=loader), 5)

    assert len(set(taken)) == len(taken)


def test_two_processes_that_take_themselves_for_one_loader_stay_apart(engine: Engine) -> None:
    one, other = (engine.sequence("s", block=2, loaders=3, loader=1) for _ in range(2))

    taken = [sequence() for _ in range(5) for sequence in (one, other)]

    assert len(set(taken)) == 10
    assert {number % 3 for number in taken} == {1}


# --- threads and forks ----------------------------------------------------------------------------


def test_threads_share_a_sequence(engine: Engine) -> None:
    slow = FailsBeforeSending(gateway_of(engine), lambda _: time.sleep(0.001))
    sequence = through(slow, engine).sequence("s", block=7)

    with ThreadPoolExecutor(8) as threads:
        taken = list(threads.map(lambda _: take(sequence, 100), range(8)))

    assert sorted(number for some in taken for number in some) == list(range(1, 801))


# From Python 3.12 on, a fork beside other threads warns; what it does to us is tested here.
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_forked_child_draws_a_block_of_its_own(engine: Engine) -> None:
    sequence = engine.sequence("s", block=10)
    take(sequence, 3)

    with sequence._lock:  # as a thread of the parent may at the moment of the fork
        reader, writer = os.pipe()
        pid = os.fork()
        if pid == 0:
            # Nothing of pytest may run in the child, whatever happens; a held lock ends it.
            try:
                signal.alarm(5)
                signal.signal(signal.SIGALRM, signal.SIG_DFL)
                os.write(writer, repr(take(sequence, 2)).encode())
            finally:
                os._exit(0)
        os.waitpid(pid, 0)
        os.close(writer)
    with os.fdopen(reader) as answer:
        of_child = answer.read()

    # The gateway in memory was copied, too: the child's next block is the parent's next as well.
    assert of_child == "[11, 12]"
    assert take(sequence, 2) == [4, 5]


# --- faults ---------------------------------------------------------------------------------------


def test_a_block_whose_answer_is_lost_is_skipped(engine: Engine) -> None:
    take(engine.sequence("s", block=5), 1)
    answers = iter([True, False])
    loses = LosesAnswers(gateway_of(engine), lambda r: is_increment(r) and next(answers))

    assert take(through(loses, engine).sequence("s", block=5), 3) == [11, 12, 13]


def test_a_block_that_comes_late_is_skipped() -> None:
    gateway = MemoryGateway()
    drive(take_block("seq", b"s", block=5), gateway)
    controller = StepController(gateway)
    controller.start("one", lambda own: drive(take_block("seq", b"s", block=5), own))
    controller.step("one", Fault.LATE)

    assert controller.finish("one") == range(6, 11)

    controller.deliver()
    assert drive(take_block("seq", b"s", block=5), gateway) == range(16, 21)


def test_after_a_failure_the_sequence_goes_on(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hbase_orm.numbering.counters.RETRIES", replace(RETRIES, first_pause_s=0.0))
    is_away = True
    fails = FailsBeforeSending(
        gateway_of(engine), lambda _: ConnectionLostError("cut") if is_away else None
    )
    other = through(fails, engine)
    sequence = other.sequence("s")
    with pytest.raises(ConnectionLostError):
        sequence()

    is_away = False

    assert take(sequence, 2) == [1, 2]


def test_a_sequence_does_not_begin_again_when_its_table_was_dropped(engine: Engine) -> None:
    sequence = engine.sequence("s", block=1)
    sequence()
    gateway_of(engine).execute(DropTable(SEQUENCES_TABLE))

    for _ in range(2):
        with pytest.raises(TableNotFoundError):
            sequence()

    assert engine.sequence("s")() == 1


def test_two_processes_may_make_the_table_at_once() -> None:
    gateway = MemoryGateway()
    controller = StepController(gateway)
    for name in ("one", "two"):
        controller.start(name, lambda own: drive(take_block("ns:seq", b"s", block=5), own))

    for _ in range(9):
        controller.step("one")
        controller.step("two")

    assert {controller.finish("one"), controller.finish("two")} == {range(1, 6), range(6, 11)}


def test_a_table_of_something_else_is_left_alone(engine: Engine) -> None:
    gateway = gateway_of(engine)
    drive(ensure_dictionary("seq"), gateway)

    with pytest.raises(SchemaError):
        drive(ensure_table(sequences_descriptor("seq")), gateway)


@pytest.mark.parametrize("loaders", [1, 3])
@pytest.mark.parametrize("last", [MAX_NUMBER, MAX_NUMBER - 9, -50, -(2**63)])
def test_a_counter_out_of_range_gives_no_number(engine: Engine, last: int, loaders: int) -> None:
    sequence = engine.sequence("s", block=10, loaders=loaders)
    sequence()
    put = Put(b"d:v", last.to_bytes(8, "big", signed=True))
    gateway_of(engine).execute(MutateRows(SEQUENCES_TABLE, (RowMutation(b"s", (put,)),)))
    take(sequence, 9)

    for _ in range(2):
        with pytest.raises(CorruptRowError):
            sequence()


def test_the_highest_number_is_given(engine: Engine) -> None:
    sequence = engine.sequence("s", block=1)
    sequence()
    put = Put(b"d:v", (MAX_NUMBER - 1).to_bytes(8, "big"))
    gateway_of(engine).execute(MutateRows(SEQUENCES_TABLE, (RowMutation(b"s", (put,)),)))

    assert sequence() == MAX_NUMBER


# --- declarations ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "sizes",
    [
        {"block": 0},
        {"block": -1},
        {"block": 1.5},
        {"block": "9"},
        {"loaders": 0},
        {"loaders": 2, "loader": 2},
        {"loaders": 2, "loader": -1},
        {"loader": 1},
        {"block": 2**62, "loaders": 3},
    ],
    ids=str,
)
def test_sizes_that_make_no_sense_are_refused(engine: Engine, sizes: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        engine.sequence("s", **sizes)


@pytest.mark.parametrize("name", ["", "\ud800", "x" * 40_000, b"s", 7])
def test_a_name_that_cannot_be_a_row_is_refused(engine: Engine, name: Any) -> None:
    with pytest.raises(ConfigurationError):
        engine.sequence(name)


def test_a_sequence_prints_what_it_is(engine: Engine) -> None:
    assert repr(engine.sequence("s", block=9)) == "Sequence('s', block=9)"
    assert (
        repr(engine.sequence("s", loaders=4, loader=3))
        == "Sequence('s', block=100, loaders=4, loader=3)"
    )


def test_numbers_can_be_taken_from_an_iterator(engine: Engine) -> None:
    assert list(islice(iter(engine.sequence("s"), None), 3)) == [1, 2, 3]
