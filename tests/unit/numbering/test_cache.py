"""What a process knows of its dictionaries: nothing is asked twice, nothing unknown is kept."""

from __future__ import annotations

import os
import signal
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from hbase_orm.errors import ConfigurationError
from hbase_orm.gateway.memory.gateway import MemoryGateway
from hbase_orm.numbering.cache import DictionaryCache
from hbase_orm.numbering.dictionary import allocate, ensure_dictionary
from tests.support.recording import RecordsRequests
from tests.support.stepping import drive

TABLE = "ids"


@pytest.fixture
def sent() -> RecordsRequests:
    gateway = MemoryGateway()
    for table in (TABLE, "others"):
        drive(ensure_dictionary(table), gateway)
    drive(allocate(TABLE, ["a", "b", "c"]), gateway)
    return RecordsRequests(gateway)


def test_a_name_is_asked_for_once(sent: RecordsRequests) -> None:
    cache = DictionaryCache()
    assert drive(cache.look_up(TABLE, ["a", "b"]), sent) == {"a": 1, "b": 2}
    sent.requests.clear()

    assert drive(cache.look_up(TABLE, ["b", "a"]), sent) == {"b": 2, "a": 1}
    assert drive(cache.names_of(TABLE, [1, 2]), sent) == {1: "a", 2: "b"}
    assert drive(cache.allocate(TABLE, ["a", "b"]), sent) == {"a": 1, "b": 2}

    assert sent.requests == []


def test_a_number_is_asked_for_once(sent: RecordsRequests) -> None:
    cache = DictionaryCache()
    assert drive(cache.names_of(TABLE, [3]), sent) == {3: "c"}
    sent.requests.clear()

    assert drive(cache.names_of(TABLE, [3]), sent) == {3: "c"}
    assert drive(cache.look_up(TABLE, ["c"]), sent) == {"c": 3}

    assert sent.requests == []


def test_a_name_that_was_given_a_number_is_known(sent: RecordsRequests) -> None:
    cache = DictionaryCache()
    assert drive(cache.allocate(TABLE, ["d", "a"]), sent) == {"d": 4, "a": 1}
    sent.requests.clear()

    assert drive(cache.look_up(TABLE, ["a", "d"]), sent) == {"a": 1, "d": 4}

    assert sent.requests == []


def test_an_unknown_name_is_asked_for_again(sent: RecordsRequests) -> None:
    cache = DictionaryCache()
    assert drive(cache.look_up(TABLE, ["d"]), sent) == {}
    assert drive(cache.names_of(TABLE, [4]), sent) == {}

    drive(allocate(TABLE, ["d"]), sent)

    assert drive(cache.look_up(TABLE, ["d"]), sent) == {"d": 4}
    assert len(cache) == 1


def test_the_limit_of_numbers_is_kept_through_the_cache(sent: RecordsRequests) -> None:
    with pytest.raises(
        ValueError,
        match="the dictionary has too few numbers left that fit the width in the row key",
    ):
        drive(DictionaryCache().allocate(TABLE, ["d"], max_number=3), sent)


def test_dictionaries_do_not_mix(sent: RecordsRequests) -> None:
    cache = DictionaryCache()
    drive(cache.look_up(TABLE, ["b"]), sent)

    assert drive(cache.allocate("others", ["b"]), sent) == {"b": 1}
    assert drive(cache.look_up(TABLE, ["b"]), sent) == {"b": 2}
    assert drive(cache.names_of("others", [2]), sent) == {}


def test_a_dropped_dictionary_is_forgotten(sent: RecordsRequests) -> None:
    cache = DictionaryCache()
    drive(cache.look_up(TABLE, ["a"]), sent)
    drive(cache.allocate("others", ["x"]), sent)

    cache.forget(TABLE)

    assert (cache.numbers(TABLE, ["a"]), cache.names(TABLE, [1])) == ({}, {})
    assert cache.numbers("others", ["x"]) == {"x": 1}


def test_a_full_cache_forgets_what_was_not_asked_for_the_longest() -> None:
    cache = DictionaryCache(max_names=3)
    cache.add(TABLE, {"a": 1, "b": 2, "c": 3})
    cache.numbers(TABLE, ["a"])
    cache.names(TABLE, [2])

    cache.add(TABLE, {"d": 4})

    assert cache.numbers(TABLE, "abcd") == {"a": 1, "b": 2, "d": 4}
    assert cache.names(TABLE, range(9)) == {1: "a", 2: "b", 4: "d"}
    assert repr(cache) == "DictionaryCache(3 of at most 3 names)"


def test_a_cache_without_room_is_refused() -> None:
    with pytest.raises(ConfigurationError):
        DictionaryCache(max_names=0)


def test_threads_share_a_cache() -> None:
    cache = DictionaryCache(max_names=50)

    def work(thread: int) -> None:
        for number in range(1, 2_000):
            cache.add(TABLE, {str(number % 100): number % 100})
            for name, known in cache.numbers(TABLE, map(str, range(thread, 100, 7))).items():
                assert name == str(known)

    interval_s = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as threads:
            list(threads.map(work, range(4)))
    finally:
        sys.setswitchinterval(interval_s)

    assert len(cache) == len(cache.names(TABLE, range(100))) == 50


# From Python 3.12 on, a fork beside other threads warns; what it does to us is tested here.
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
@pytest.mark.parametrize("is_held", [False, True])
def test_a_forked_child_has_the_names_unless_a_thread_was_at_them(*, is_held: bool) -> None:
    cache = DictionaryCache()
    cache.add(TABLE, {"a": 1})
    holds, may_end = threading.Event(), threading.Event()

    def hold() -> None:
        with cache._lock:
            holds.set()
            may_end.wait(30)

    holder = threading.Thread(target=hold)
    if is_held:
        holder.start()
        holds.wait(30)
    pid = os.fork()
    if pid == 0:
        # Nothing of pytest may run in the child, whatever happens; a held lock ends it.
        try:
            signal.alarm(5)
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            os._exit(0 if cache.numbers(TABLE, ["a"]) == ({} if is_held else {"a": 1}) else 1)
        finally:
            os._exit(2)
    status = os.waitpid(pid, 0)[1]
    may_end.set()
    if is_held:
        holder.join()

    assert os.waitstatus_to_exitcode(status) == 0
