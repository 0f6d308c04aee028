"""Dictionaries and sequences on a real HBase: several processes at once, and one that is killed."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

import pytest

from hbase_orm import Engine, connect
from hbase_orm.errors import ConfigurationError, FeatureMissingError, TableNotFoundError
from hbase_orm.numbering.dictionary import (
    allocate,
    check_can_allocate,
    ensure_dictionary,
    look_up,
    names_of,
)
from hbase_orm.numbering.sequence import SEQUENCES_TABLE
from hbase_orm.ops import CheckAndMutate, DropTable, GetRows, Increment, Operation
from tests.support.recording import LosesAnswers, gateway_of, through

pytestmark = pytest.mark.hbase

# Each says that it is connected, waits until all are, and prints what it got.
_PRELUDE = """
import json, os, sys
from hbase_orm import connect
from hbase_orm.numbering.dictionary import allocate, ensure_dictionary
arguments = json.loads(sys.argv[1])
engine = connect(arguments["url"])
print("ready", flush=True)
input()
"""

_ALLOCATE = """
run = engine._runtime.run
run(ensure_dictionary(arguments["table"]))
print(json.dumps(run(allocate(arguments["table"], arguments["names"]))))
"""

_TAKE = """
sequence = engine.sequence("s", **arguments["sizes"])
print(json.dumps([sequence() for _ in range(arguments["count"])]))
"""

_FORK = """
sequence = engine.sequence("s", block=50)
taken = [sequence() for _ in range(3)]
ends = []
for _ in range(3):
    reader, writer = os.pipe()
    if not os.fork():
        with os.fdopen(writer, "w") as answer:
            json.dump([sequence() for _ in range(200)], answer)
        os._exit(0)
    os.close(writer)
    ends.append(reader)
taken += [sequence() for _ in range(200)]
print(json.dumps([taken, *(json.load(os.fdopen(end)) for end in ends)]))
"""

_TELL_AND_GO_ON = """
class Tells:
    def __init__(self, inner):
        self.inner, self.left = inner, arguments["requests"]
    def execute(self, operation):
        self.left -= 1
        if self.left == 0:
            print("now", flush=True)
        return self.inner.execute(operation)
engine._runtime._driver.gateway = Tells(engine._runtime.gateway)
engine._runtime.run(allocate(arguments["table"], arguments["names"]))
"""


def start(stack: ExitStack, script: str, **arguments: Any) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", _PRELUDE + script, json.dumps(arguments)]
    process = stack.enter_context(
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    )
    stack.callback(process.kill)
    return process


def go(*processes: subprocess.Popen[str]) -> None:
    """Let the processes start together, once all are connected."""
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()


def answers(script: str, every: Sequence[dict[str, Any]]) -> list[Any]:
    """Run one process for each set of arguments, all at once; return what they print."""
    with ExitStack() as stack:
        processes = [start(stack, script, **arguments) for arguments in every]
        go(*processes)
        printed = [process.communicate(timeout=100)[0] for process in processes]
    return [json.loads(text) for text in printed]


@pytest.fixture
def engine(hbase_url: str) -> Iterator[Engine]:
    with connect(hbase_url) as engine:
        yield engine


@pytest.fixture
def table(hbase_url: str) -> str:
    """A dictionary that nobody has made yet, in a namespace that nobody has made either."""
    return f"{urlsplit(hbase_url).path.strip('/')}:ids"


@pytest.fixture
def dictionary(engine: Engine, table: str) -> str:
    engine._runtime.run(ensure_dictionary(table))
    return table


# --- dictionaries ---------------------------------------------------------------------------------


def test_processes_that_meet_200_new_names_at_once_agree(
    hbase_url: str, engine: Engine, table: str
) -> None:
    names = [f"metric-{number}-é" for number in range(200)]
    orders = [names, names[::-1], names[100:] + names[:100]]

    told = answers(_ALLOCATE, [{"url": hbase_url, "table": table, "names": o} for o in orders])

    assert told[0] == told[1] == told[2]
    assert told[0].keys() == set(names)
    assert len(set(told[0].values())) == 200
    assert engine._runtime.run(look_up(table, names)) == told[0]
    every = range(1, 601)
    assert engine._runtime.run(names_of(table, every)) == {n: name for name, n in told[0].items()}


@pytest.mark.parametrize("requests", [2, 3, 20, 102, 103, 150, 202])
def test_a_process_killed_in_mid_allocation_leaves_no_number_to_two_names(
    hbase_url: str, engine: Engine, dictionary: str, requests: int
) -> None:
    names = [f"n{number}" for number in range(100)]
    with ExitStack() as stack:
        arguments = {"url": hbase_url, "table": dictionary, "names": names, "requests": requests}
        victim = start(stack, _TELL_AND_GO_ON, **arguments)
        go(victim)
        assert victim.stdout is not None
        assert victim.stdout.readline() == "now\n"
        victim.kill()
    run = engine._runtime.run
    survived = run(look_up(dictionary, names))

    given = run(allocate(dictionary, ["another", *reversed(names)]))

    assert survived.items() <= given.items()
    assert len(set(given.values())) == len(given) == 101
    (counter,) = engine._runtime.execute(GetRows(dictionary, (b"c",)))
    assert counter is not None
    last = int.from_bytes(counter.cells[b"d:v"].value)
    assert 101 <= max(given.values()) <= last
    assert run(names_of(dictionary, range(last + 1))) == {n: name for name, n in given.items()}


def test_a_dictionary_is_read_where_it_does_not_exist(engine: Engine, table: str) -> None:
    run = engine._runtime.run

    assert not run(look_up(table, ["a"]))  # nor does its namespace
    run(ensure_dictionary(f"{table}_more"))
    assert not run(look_up(table, ["a"]))
    assert not run(names_of(table, [1]))


def test_a_dictionary_that_exists_is_recognized(engine: Engine, dictionary: str) -> None:
    assert engine._runtime.run(ensure_dictionary(dictionary)) == []


@pytest.mark.parametrize("name", ["", "\0", "x" * 30_000, "\U0001f600"])
def test_any_text_comes_back(engine: Engine, dictionary: str, name: str) -> None:
    number = engine._runtime.run(allocate(dictionary, [name]))[name]

    assert engine._runtime.run(look_up(dictionary, [name])) == {name: number}
    assert engine._runtime.run(names_of(dictionary, [number])) == {number: name}


def lose_first(kind: type[Operation[Any]]) -> Callable[[Operation[Any]], bool]:
    """Say True of the first request of a kind, and of no other."""
    left = [kind]

    def is_first(request: Operation[Any]) -> bool:
        return isinstance(request, kind) and bool(left and left.pop())

    return is_first


@pytest.mark.parametrize("kind", [Increment, CheckAndMutate])
def test_an_answer_that_is_lost_leaves_one_number_a_name(
    engine: Engine, dictionary: str, kind: type[Operation[Any]]
) -> None:
    cut = through(LosesAnswers(gateway_of(engine), lose_first(kind)), engine)

    given = cut._runtime.run(allocate(dictionary, ["a", "b"]))

    assert given == ({"a": 3, "b": 4} if kind is Increment else {"a": 1, "b": 2})
    assert engine._runtime.run(look_up(dictionary, ["b", "a"])) == given
    assert engine._runtime.run(names_of(dictionary, [1, 2, 3, 4])) == {
        number: name for name, number in given.items()
    }


# --- Thrift1 alone --------------------------------------------------------------------------------


@pytest.fixture
def thrift1(engine: Engine) -> Iterator[Engine]:
    options = replace(engine.options, thrift2=())
    (host, port), *_ = options.thrift1
    with connect(f"hbase://{host}:{port}/{options.namespace}") as alone:
        yield alone


def test_thrift1_alone_reads_and_does_not_allocate(
    engine: Engine, thrift1: Engine, dictionary: str
) -> None:
    numbers = engine._runtime.run(allocate(dictionary, ["a", "b"]))
    run = thrift1._runtime.run

    assert run(ensure_dictionary(dictionary)) == []
    assert run(look_up(dictionary, ["a", "b", "c"])) == numbers
    assert run(names_of(dictionary, [1, 2, 3])) == {1: "a", 2: "b"}
    assert run(allocate(dictionary, ["b"])) == {"b": 2}
    with pytest.raises(ConfigurationError):
        check_can_allocate(dictionary, thrift1._runtime.features)


def test_thrift1_alone_draws_from_a_sequence_whose_table_exists(
    engine: Engine, thrift1: Engine
) -> None:
    with pytest.raises(FeatureMissingError):
        thrift1.sequence("s", block=5)()
    assert engine.sequence("s", block=5)() == 1

    sequence = thrift1.sequence("s", block=5)

    assert [sequence() for _ in range(6)] == [6, 7, 8, 9, 10, 11]


# --- sequences ------------------------------------------------------------------------------------


def test_four_processes_take_1000_numbers_each(hbase_url: str) -> None:
    arguments = {"url": hbase_url, "sizes": {"block": 37}, "count": 1_000}

    taken = answers(_TAKE, [arguments] * 4)

    every = [number for some in taken for number in some]
    assert len(set(every)) == len(every) == 4_000
    assert min(every) == 1
    assert all(some == sorted(some) for some in taken)


def test_four_loaders_take_1000_numbers_each(hbase_url: str, engine: Engine) -> None:
    sizes = [{"block": 64, "loaders": 4, "loader": loader} for loader in range(4)]

    taken = answers(_TAKE, [{"url": hbase_url, "sizes": of, "count": 1_000} for of in sizes])

    assert all({number % 4 for number in some} == {loader} for loader, some in enumerate(taken))
    every = {number for some in taken for number in some}
    assert len(every) == 4_000
    assert engine.sequence("s")() > max(every)


def test_forked_children_never_give_a_number_of_their_parent_s_block(hbase_url: str) -> None:
    (taken,) = answers(_FORK, [{"url": hbase_url}])

    every = [number for some in taken for number in some]
    assert len(set(every)) == len(every) == 803
    assert taken[0][:50] == list(range(1, 51))


def test_a_block_whose_answer_is_lost_is_skipped(engine: Engine) -> None:
    assert engine.sequence("s", block=5)() == 1
    cut = through(LosesAnswers(gateway_of(engine), lose_first(Increment)), engine)

    assert cut.sequence("s", block=5)() == 11


def test_a_sequence_does_not_begin_again_when_its_table_was_dropped(engine: Engine) -> None:
    sequence = engine.sequence("s", block=2)
    assert [sequence(), sequence()] == [1, 2]
    engine._runtime.execute(DropTable(f"{engine.options.namespace}:{SEQUENCES_TABLE}"))

    with pytest.raises(TableNotFoundError):
        sequence()
