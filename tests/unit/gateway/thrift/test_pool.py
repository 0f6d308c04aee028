"""The pool lends each connection to one thread, and never one whose answers may be another's."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable

import pytest

from hbase_orm.errors import (
    ConfigurationError,
    ConnectionLostError,
    RetryableError,
    ScannerExpiredError,
    ServerBusyError,
)
from hbase_orm.gateway.thrift.pool import Address, Pool, Slot

_HERE = Address("here", 1)
_THERE = Address("there", 2)
_SOON = 1000.0

# From Python 3.12 on, a fork beside other threads warns; what it does to us is tested here.
_forks = pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")


def _later() -> float:
    return time.monotonic() + 30


class _Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class _Connection:
    def __init__(self, address: Address) -> None:
        self.address = address
        self.deadline = 0.0
        self.is_open = True
        self.in_step = True
        self.is_quiet = True

    def set_deadline(self, deadline: float) -> None:
        self.deadline = deadline

    def is_in_step(self) -> bool:
        return self.in_step

    def is_usable(self) -> bool:
        return self.in_step and self.is_quiet

    def close(self) -> None:
        self.is_open = False


class _Network:
    """Opens connections, except to addresses that are down."""

    def __init__(self) -> None:
        self.opened: list[_Connection] = []
        self.down: dict[Address, Exception] = {}

    def __call__(self, address: Address, deadline: float) -> _Connection:
        del deadline
        if address in self.down:
            raise self.down[address]
        connection = _Connection(address)
        self.opened.append(connection)
        return connection


@pytest.fixture
def network() -> _Network:
    return _Network()


@pytest.fixture
def clock() -> _Clock:
    return _Clock()


def _pool(
    network: _Network,
    clock: Callable[[], float],
    *,
    addresses: tuple[Address, ...] = (_HERE,),
    size: int = 2,
    wait_s: float = 0.02,
) -> Pool[_Connection]:
    return Pool(network, addresses, size=size, wait_s=wait_s, clock=clock)


def _real_clock_pool(network: _Network, size: int, wait_s: float = 10.0) -> Pool[_Connection]:
    return Pool(network, (_HERE,), size=size, wait_s=wait_s)


def test_a_connection_that_answered_everything_is_used_again(
    network: _Network, clock: _Clock
) -> None:
    pool = _pool(network, clock)

    with pool.use(_SOON) as first:
        pass
    with pool.use(_SOON) as second:
        pass

    assert second is first


def test_the_deadline_is_the_calls_own(network: _Network, clock: _Clock) -> None:
    pool = _pool(network, clock)

    with pool.use(5.0):
        pass
    with pool.use(7.0) as slot:
        deadline = slot.connection.deadline

    assert deadline == 7.0


def test_a_connection_out_of_step_is_closed_and_never_lent_again(
    network: _Network, clock: _Clock
) -> None:
    pool = _pool(network, clock)

    with pool.use(_SOON) as first:
        first.connection.in_step = False
    was_closed_at_once = not first.connection.is_open
    with pool.use(_SOON) as second:
        pass

    assert was_closed_at_once
    assert second.connection is not first.connection


def test_an_error_of_the_caller_costs_no_connection(network: _Network, clock: _Clock) -> None:
    pool = _pool(network, clock)

    with pytest.raises(KeyError), pool.use(_SOON):
        raise KeyError
    with pool.use(_SOON):
        pass

    assert len(network.opened) == 1


def test_a_connection_that_the_peer_closed_is_replaced_before_use(
    network: _Network, clock: _Clock
) -> None:
    pool = _pool(network, clock)
    with pool.use(_SOON) as first:
        pass

    first.connection.is_quiet = False
    with pool.use(_SOON) as second:
        pass

    assert not first.connection.is_open
    assert second.connection.is_open


@pytest.mark.parametrize(("idle_s", "opened"), [(50.0, 1), (50.1, 2)])
def test_a_connection_idle_for_more_than_50_s_is_replaced(
    network: _Network, clock: _Clock, idle_s: float, opened: int
) -> None:
    pool = _pool(network, clock)
    with pool.use(_SOON):
        pass

    clock.now += idle_s
    with pool.use(_SOON):
        pass

    assert len(network.opened) == opened


def test_no_more_connections_than_allowed(network: _Network) -> None:
    pool = _real_clock_pool(network, size=2)
    gate = threading.Barrier(2)

    def work() -> None:
        for _ in range(50):
            with pool.use(_later()):
                pass
        gate.wait()

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(network.opened) <= 2


def test_two_threads_never_hold_one_connection(network: _Network) -> None:
    pool = _real_clock_pool(network, size=3)
    held: set[int] = set()
    clashes: list[int] = []

    def work() -> None:
        for _ in range(300):
            with pool.use(_later()) as slot:
                number = id(slot.connection)
                if number in held:
                    clashes.append(number)
                held.add(number)
                threading.Event().wait(0)
                held.discard(number)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert clashes == []


def test_waiting_for_a_free_connection_is_bounded_and_says_how_long(network: _Network) -> None:
    pool = _real_clock_pool(network, size=1, wait_s=0.05)

    with pool.use(_later()), pytest.raises(ServerBusyError) as caught, pool.use(_later()):
        pass

    assert caught.value.pool_size == 1
    assert 0.05 <= caught.value.waited_s < 1.0


def test_who_waits_gets_the_connection_that_comes_free(network: _Network) -> None:
    pool = _real_clock_pool(network, size=1)
    got: list[_Connection] = []

    def wait() -> None:
        with pool.use(_later()) as slot:
            got.append(slot.connection)

    with pool.use(_later()) as held:
        thread = threading.Thread(target=wait)
        thread.start()
        thread.join(0.05)
        got_early = list(got)
    thread.join()

    assert got_early == []
    assert got == [held.connection]


def test_addresses_are_taken_in_turn(network: _Network, clock: _Clock) -> None:
    pool = _pool(network, clock, addresses=(_HERE, _THERE))

    with pool.use(_SOON), pool.use(_SOON):
        pass

    assert {connection.address for connection in network.opened} == {_HERE, _THERE}


def test_an_address_that_is_down_is_passed_over(network: _Network, clock: _Clock) -> None:
    network.down[_THERE] = ConnectionRefusedError("refused")
    pool = _pool(network, clock, addresses=(_HERE, _THERE))

    with pool.use(_SOON) as first, pool.use(_SOON) as second:
        pass

    assert first.connection.address == second.connection.address == _HERE


def test_when_all_are_down_nothing_was_sent_and_the_addresses_are_named(
    network: _Network, clock: _Clock
) -> None:
    network.down = {_HERE: ConnectionRefusedError("refused"), _THERE: ConnectionLostError("cut")}
    pool = _pool(network, clock, addresses=(_HERE, _THERE))

    with pytest.raises(RetryableError) as caught, pool.use(_SOON):
        pass

    assert sorted(caught.value.addresses) == ["here:1", "there:2"]
    assert "check host and port" in caught.value.fix


def test_a_failed_connect_gives_its_place_back(network: _Network, clock: _Clock) -> None:
    pool = _pool(network, clock, size=1)
    network.down[_HERE] = ConnectionRefusedError("refused")
    with pytest.raises(RetryableError), pool.use(_SOON):
        pass

    network.down.clear()
    with pool.use(_SOON) as slot:
        is_open = slot.connection.is_open

    assert is_open


def test_an_unknown_host_is_a_mistake_in_the_url(network: _Network, clock: _Clock) -> None:
    network.down[_HERE] = socket.gaierror("unknown")
    pool = _pool(network, clock)

    with pytest.raises(ConfigurationError, match="host"), pool.use(_SOON):
        pass


def test_a_gateway_that_is_not_what_it_should_be_is_not_passed_over(
    network: _Network, clock: _Clock
) -> None:
    network.down[_THERE] = ConfigurationError("the other interface")
    pool = _pool(network, clock, addresses=(_HERE, _THERE))

    with pytest.raises(ConfigurationError), pool.use(_SOON), pool.use(_SOON):
        pass


# --- fairness, and turns that nobody ends ---------------------------------------------------------


def _in_line(pool: Pool[_Connection], waiting: int) -> None:
    """Return when so many turns wait."""
    while len(pool._waiting) < waiting:
        threading.Event().wait(0.001)


def test_connections_are_given_in_the_order_in_which_they_were_asked_for(
    network: _Network,
) -> None:
    pool = _real_clock_pool(network, size=1)
    served: list[int] = []

    def work(number: int) -> None:
        for _ in range(3):
            with pool.use(_later()):
                served.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(12)]
    with pool.use(_later()):
        for number, thread in enumerate(threads):
            thread.start()
            _in_line(pool, number + 1)
    for thread in threads:
        thread.join()

    assert served[:12] == list(range(12))
    assert all(served.index(number) < 12 for number in range(12))


def test_who_asks_again_at_once_waits_behind_those_who_were_there_before(
    network: _Network,
) -> None:
    pool = _real_clock_pool(network, size=1)
    served: list[str] = []

    def other() -> None:
        with pool.use(_later()):
            served.append("other")

    thread = threading.Thread(target=other)
    with pool.use(_later()):
        thread.start()
        _in_line(pool, 1)
    with pool.use(_later()):
        served.append("again")
    thread.join()

    assert served == ["other", "again"]


def test_a_fetch_gets_its_connection_before_a_later_request_does(network: _Network) -> None:
    pool = _real_clock_pool(network, size=1)
    with pool.use(_later()) as scanning:
        scanning.scanners.add(7)
    served: list[str] = []

    def fetch() -> None:
        with pool.use_same(scanning, _later()):
            served.append("fetch")

    def ask() -> None:
        with pool.use(_later()):
            served.append("request")

    threads = [threading.Thread(target=fetch), threading.Thread(target=ask)]
    with pool.use(_later()):
        for number, thread in enumerate(threads):
            thread.start()
            _in_line(pool, number + 1)
    for thread in threads:
        thread.join()

    assert served == ["fetch", "request"]


def test_a_turn_that_nobody_ends_is_over_when_it_is_dropped(network: _Network) -> None:
    pool = _real_clock_pool(network, size=1, wait_s=0.05)
    turn = pool.use(_later())
    turn.__enter__()

    del turn
    with pool.use(_later()) as slot:
        is_open = slot.connection.is_open

    assert is_open
    assert len(network.opened) == 1


def test_a_dropped_turn_in_the_middle_of_an_exchange_costs_its_connection(
    network: _Network,
) -> None:
    pool = _real_clock_pool(network, size=1, wait_s=0.05)
    turn = pool.use(_later())
    turn.__enter__().connection.in_step = False

    del turn
    with pool.use(_later()) as slot:
        second = slot.connection

    assert second is network.opened[1]
    assert not network.opened[0].is_open


def test_who_waits_for_a_turn_that_was_dropped_gets_its_connection(network: _Network) -> None:
    pool = _real_clock_pool(network, size=1)
    turns = [pool.use(_later())]
    turns[0].__enter__()
    got: list[bool] = []

    def wait() -> None:
        with pool.use(_later()):
            got.append(True)

    thread = threading.Thread(target=wait)
    thread.start()
    _in_line(pool, 1)
    turns.clear()
    thread.join(10)

    assert got == [True]


def test_a_request_inside_a_request_of_its_thread_gets_a_connection_of_its_own(
    network: _Network,
) -> None:
    pool = _real_clock_pool(network, size=2)

    with pool._lock, pool.use(_later()) as outer, pool.use(_later()) as inner:
        assert inner is not outer


# --- scanners -------------------------------------------------------------------------------------


def _with_scanner(pool: Pool[_Connection]) -> Slot[_Connection]:
    with pool.use(_SOON, is_spread=True) as slot:
        slot.scanners.add(7)
    return slot


def test_a_second_scanner_gets_a_connection_of_its_own_while_there_is_room(
    network: _Network, clock: _Clock
) -> None:
    pool = _pool(network, clock, size=2)

    slots = [_with_scanner(pool) for _ in range(3)]

    assert slots[0] is not slots[1]
    assert slots[2] in slots[:2]


def test_other_requests_share_a_scanners_connection_rather_than_open_one(
    network: _Network, clock: _Clock
) -> None:
    pool = _pool(network, clock)
    scanning = _with_scanner(pool)

    with pool.use(_SOON) as slot:
        pass

    assert slot is scanning


def test_a_scanner_is_read_on_the_connection_that_opened_it(
    network: _Network, clock: _Clock
) -> None:
    pool = _pool(network, clock)
    scanning = _with_scanner(pool)
    _with_scanner(pool)

    with pool.use_same(scanning, _SOON) as slot:
        pass

    assert slot is scanning


def test_a_scanners_connection_is_waited_for_while_another_thread_has_it(
    network: _Network,
) -> None:
    pool = _real_clock_pool(network, size=1)
    with pool.use(_later()) as scanning:
        scanning.scanners.add(7)
    got: list[Slot[_Connection]] = []

    def fetch() -> None:
        with pool.use_same(scanning, _later()) as slot:
            got.append(slot)

    with pool.use(_later()):
        thread = threading.Thread(target=fetch)
        thread.start()
        thread.join(0.05)
        got_early = list(got)
    thread.join()

    assert got_early == []
    assert got == [scanning]


def test_waiting_for_a_scanners_connection_ends_at_the_deadline(network: _Network) -> None:
    pool = Pool(network, (_HERE,), size=1, clock=lambda: 0.0)
    with (
        pool.use(_SOON) as scanning,
        pytest.raises(ServerBusyError),
        pool.use_same(scanning, 0.0),
    ):
        pass


def test_a_scanner_ends_with_its_connection(network: _Network, clock: _Clock) -> None:
    pool = _pool(network, clock)
    scanning = _with_scanner(pool)

    with pool.use(_SOON) as slot:
        slot.connection.in_step = False

    with pytest.raises(ScannerExpiredError), pool.use_same(scanning, _SOON):
        pass


def test_a_scanner_whose_connection_idled_too_long_has_expired(
    network: _Network, clock: _Clock
) -> None:
    pool = _pool(network, clock)
    scanning = _with_scanner(pool)

    clock.now += 50.1

    with pytest.raises(ScannerExpiredError), pool.use_same(scanning, _SOON):
        pass
    assert not scanning.connection.is_open


def test_a_scanner_whose_connection_the_peer_closed_has_expired(
    network: _Network, clock: _Clock
) -> None:
    pool = _pool(network, clock)
    scanning = _with_scanner(pool)

    scanning.connection.is_quiet = False

    with pytest.raises(ScannerExpiredError), pool.use_same(scanning, _SOON):
        pass


# --- the end, and forks ---------------------------------------------------------------------------


def test_closing_closes_idle_connections_at_once_and_busy_ones_after_their_call(
    network: _Network, clock: _Clock
) -> None:
    pool = _pool(network, clock)
    with pool.use(_SOON) as busy:
        with pool.use(_SOON) as idle:
            pass
        pool.close()
        is_open_in_call = busy.connection.is_open

    assert is_open_in_call
    assert not idle.connection.is_open
    assert not busy.connection.is_open


def test_a_closed_pool_refuses_and_closes_again(network: _Network, clock: _Clock) -> None:
    pool = _pool(network, clock)
    pool.close()
    pool.close()

    with pytest.raises(ConfigurationError, match="closed"), pool.use(_SOON):
        pass


def test_a_connection_apart_is_closed_after_its_block(network: _Network, clock: _Clock) -> None:
    pool = _pool(network, clock, size=1)

    with pool.use(_SOON), pool.use_apart(_SOON) as apart:
        was_open = apart.is_open

    assert was_open
    assert not apart.is_open


def test_repr_shows_addresses_and_use(network: _Network, clock: _Clock) -> None:
    pool = _pool(network, clock, addresses=(_HERE, Address("::1", 9)))

    with pool.use(_SOON):
        shown = repr(pool)

    assert shown == "Pool(here:1,[::1]:9, 1 open, 1 busy, at most 2)"
    pool.close()
    assert repr(pool) == "Pool(here:1,[::1]:9, closed)"


@pytest.mark.parametrize(("addresses", "size"), [((), 1), ((_HERE,), 0)])
def test_a_pool_that_could_never_serve_is_refused(
    network: _Network, addresses: tuple[Address, ...], size: int
) -> None:
    with pytest.raises(ConfigurationError):
        Pool(network, addresses, size=size)


def _in_child(check: Callable[[], bool]) -> bool:
    """Run `check` in a forked child and return what it said."""
    pid = os.fork()
    if pid == 0:
        # Nothing of pytest may run in the child, whatever happens.
        try:
            os._exit(0 if check() else 1)
        finally:
            os._exit(2)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


FORKING = """
import gc, os, socket, sys, time
from hbase_orm.gateway.thrift.pool import Address, Pool
from hbase_orm.gateway.thrift.deadline_socket import DeadlineSocket

class Line(DeadlineSocket):
    def set_deadline(self, deadline):
        self.deadline = deadline
    def is_in_step(self):
        return True
    is_usable = is_in_step

def opened(address, deadline):
    line = Line(*address, time.monotonic)
    line.deadline = deadline
    line.open()
    return line

with socket.create_server(("127.0.0.1", 0)) as server:
    pool = Pool(opened, [Address(*server.getsockname())])
    with pool.use(time.monotonic() + 30) as slot:
        peer, _ = server.accept()
    pid = os.fork()
    if pid == 0:
        gc.collect()
        peer.close()
        server.close()
        sys.exit(3 if slot.opened.is_open() else 0)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    slot.opened.sock.sendall(b"still here")
    assert peer.recv(10) == b"still here"
    pool.close()
    peer.close()
sys.exit(code)
"""


def test_a_forked_child_closes_its_handles_without_a_warning_and_without_the_peer() -> None:
    run = subprocess.run(
        [sys.executable, "-W", "always", "-c", FORKING],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert (run.stderr, run.returncode) == ("", 0)


@_forks
def test_a_forked_child_opens_its_own_connections_and_leaves_the_parents_alone(
    network: _Network, clock: _Clock
) -> None:
    pool = _pool(network, clock)
    scanning = _with_scanner(pool)

    def child() -> bool:
        with pool.use(_SOON) as slot:
            is_own = slot.connection is not scanning.connection
        return is_own and scanning.is_gone and not scanning.connection.is_open

    assert _in_child(child)
    assert not scanning.is_gone


@_forks
def test_a_fork_while_another_thread_holds_the_lock_does_not_hang_the_child(
    network: _Network, clock: _Clock
) -> None:
    pool = _pool(network, clock)
    is_held, is_over = threading.Event(), threading.Event()

    def hold() -> None:
        with pool._lock:
            is_held.set()
            is_over.wait(10)

    thread = threading.Thread(target=hold)
    thread.start()
    is_held.wait(10)

    def child() -> bool:
        with pool.use(_SOON):
            return True

    assert _in_child(child)
    is_over.set()
    thread.join()


@_forks
def test_a_block_that_forks_gives_nothing_back_in_the_child(
    network: _Network, clock: _Clock
) -> None:
    pool = _pool(network, clock)

    with (turn := pool.use(_SOON)) as slot:

        def child() -> bool:
            turn.end()
            return slot not in pool._slots and not slot.connection.is_open

        is_right = _in_child(child)

    assert is_right
