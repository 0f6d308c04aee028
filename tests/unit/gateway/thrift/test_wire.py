"""A connection's answers are its own, in time, or it is closed: over sockets, with scripts."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

import pytest
from thriftpy2.thrift import TApplicationException
from thriftpy2.transport import TTransportException

from hbase_orm.errors import (
    ConfigurationError,
    ConnectionLostError,
    FeatureMissingError,
    RejectedError,
    RetryableError,
)
from hbase_orm.gateway.base import Gateway, execute_within
from hbase_orm.gateway.thrift.deadline_socket import DeadlineSocket
from hbase_orm.gateway.thrift.pool import Address
from hbase_orm.gateway.thrift.thrift1 import Thrift1Gateway
from hbase_orm.gateway.thrift.thrift2 import Thrift2Gateway
from hbase_orm.gateway.thrift.wire import WireStyle
from hbase_orm.ops import GetRows, ListTables
from tests.fault.doubles import (
    LOOPBACK,
    Request,
    Script,
    failure,
    names_answer,
    scripted,
)

# Only for calls that are meant to run out of time: a busy machine needs more for the others.
_SHORT_S = 0.4

_INTERNAL = TApplicationException.INTERNAL_ERROR
_UNKNOWN = TApplicationException.UNKNOWN_METHOD

# From Python 3.12 on, a fork beside other threads warns; what it does to us is tested here.
_forks = pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")


def _right(request: Request) -> bytes:
    return names_answer(request, [b"right"])


def _then_right(*first: Script) -> Script:
    """Return a script that answers the first requests so, and all later ones rightly."""
    left = list(first)

    def script(request: Request) -> bytes | None:
        return left.pop(0)(request) if left else _right(request)

    return script


@contextmanager
def _closing(gateway: Gateway) -> Iterator[Gateway]:
    try:
        yield gateway
    finally:
        gateway.close()


def _thrift1(address: Address, timeout_s: float = 5.0) -> Thrift1Gateway:
    return Thrift1Gateway.connect([address], timeout_s=timeout_s)


def test_the_first_request_on_an_address_is_preceded_by_one_question_for_its_type() -> None:
    with scripted(_right) as server, _closing(_thrift1(server.address)) as gateway:
        answers = [gateway.execute(ListTables()) for _ in range(2)]

    assert answers == [["right"], ["right"]]
    assert [request.method for request in server.requests] == ["getTableNames"] * 2


def test_later_connections_to_an_address_are_not_asked_again() -> None:
    with scripted(_right) as server, _closing(_thrift1(server.address)) as gateway:
        for _ in range(3):
            gateway.execute(ListTables())
            server.cut()
            time.sleep(0.05)

    assert (server.connections, server.questions) == (3, 1)


def test_requests_are_numbered() -> None:
    with scripted(_right) as server, _closing(_thrift1(server.address)) as gateway:
        for _ in range(3):
            gateway.execute(ListTables())

    numbers = [request.sequence_id for request in server.requests]
    assert numbers == [numbers[0], numbers[0] + 1, numbers[0] + 2]


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param(
            lambda request: names_answer(request, [b"wrong"], sequence_id=request.sequence_id - 1),
            id="of the request before",
        ),
        pytest.param(
            lambda request: names_answer(request, [b"wrong"], method="getRow"),
            id="of another method",
        ),
        pytest.param(lambda request: names_answer(request, None), id="without a result"),
        pytest.param(
            lambda request: failure(request, TApplicationException.BAD_SEQUENCE_ID, "whose?"),
            id="of a gateway that is out of step itself",
        ),
        pytest.param(lambda _request: b"HTTP/1.1 400 Bad Request\r\n\r\n", id="not of Thrift"),
        pytest.param(lambda request: _right(request)[:-9], id="cut short"),
        pytest.param(lambda _request: None, id="none at all"),
    ],
)
def test_a_wrong_answer_costs_the_connection_and_the_next_call_is_right(wrong: Script) -> None:
    script = _then_right(_right, wrong)
    with scripted(script) as server, _closing(_thrift1(server.address)) as gateway:
        gateway.execute(ListTables())
        with pytest.raises(ConnectionLostError):
            execute_within(gateway, ListTables(), _SHORT_S)
        answer = gateway.execute(ListTables())

    assert answer == ["right"]
    assert server.connections == 2


def test_an_answer_that_comes_too_late_is_never_anybodys() -> None:
    is_over = threading.Event()

    def late(request: Request) -> bytes:
        is_over.wait(5)
        return names_answer(request, [b"late"])

    script = _then_right(_right, late)
    with scripted(script) as server, _closing(_thrift1(server.address)) as gateway:
        gateway.execute(ListTables())
        with pytest.raises(ConnectionLostError, match="in time"):
            execute_within(gateway, ListTables(), _SHORT_S)
        is_over.set()
        answers = [gateway.execute(ListTables()) for _ in range(3)]

    assert answers == [["right"]] * 3


def test_an_answer_that_trickles_ends_at_the_deadline() -> None:
    with socket.create_server((LOOPBACK, 0)) as listener:
        is_over = threading.Event()

        def trickle() -> None:
            peer, _ = listener.accept()
            with peer:
                # A length that lies far ahead, then one byte at a time.
                while not is_over.wait(0.05):
                    peer.sendall(b"\x80")

        thread = threading.Thread(target=trickle)
        thread.start()
        gateway = _thrift1(Address(LOOPBACK, listener.getsockname()[1]), timeout_s=0.4)
        started = time.monotonic()
        with _closing(gateway), pytest.raises((ConnectionLostError, RetryableError)):
            gateway.execute(ListTables())
        elapsed_s = time.monotonic() - started
        is_over.set()
        thread.join()

    assert elapsed_s < 3.0


def test_a_declared_failure_keeps_the_connection() -> None:
    def internal(request: Request) -> bytes:
        return failure(request, _INTERNAL, "Internal error processing getTableNames")

    with (
        scripted(_then_right(internal)) as server,
        _closing(_thrift1(server.address)) as gateway,
    ):
        with pytest.raises(RejectedError):
            gateway.execute(ListTables())
        answer = gateway.execute(ListTables())

    assert answer == ["right"]
    assert server.connections == 1


def test_a_call_that_the_gateway_does_not_know_is_a_missing_feature() -> None:
    def unknown(request: Request) -> bytes:
        return failure(request, _UNKNOWN, "Invalid method name")

    with (
        scripted(unknown) as server,
        _closing(_thrift1(server.address)) as gateway,
        pytest.raises(FeatureMissingError),
    ):
        gateway.execute(ListTables())


def test_a_value_of_the_wrong_type_sends_nothing_that_could_be_carried_out() -> None:
    keys = ("\ud800",)
    with scripted(_right) as server, _closing(_thrift1(server.address)) as gateway:
        with pytest.raises(RejectedError, match="wrong type"):
            gateway.execute(GetRows("t", keys))  # type: ignore[arg-type] # what is tested
        answer = gateway.execute(ListTables())

    assert answer == ["right"]
    assert [request.method for request in server.requests] == ["getTableNames"]


def test_a_connection_closed_by_the_peer_between_calls_is_not_noticed_by_the_caller() -> None:
    with scripted(_right) as server, _closing(_thrift1(server.address)) as gateway:
        gateway.execute(ListTables())
        server.cut()
        time.sleep(0.05)
        answer = gateway.execute(ListTables())

    assert answer == ["right"]


# --- the first connection -------------------------------------------------------------------------


def test_a_thrift2_port_given_as_thrift1_says_so() -> None:
    with (
        scripted(_right, interface=2) as server,
        _closing(_thrift1(server.address)) as gateway,
        pytest.raises(ConfigurationError, match="other Thrift interface") as caught,
    ):
        gateway.execute(ListTables())

    assert (caught.value.expected, caught.value.actual) == ("Thrift1", "Thrift2")


def test_a_thrift1_port_given_as_thrift2_says_so() -> None:
    with (
        scripted(_right, interface=1) as server,
        _closing(Thrift2Gateway.connect([server.address])) as gateway,
        pytest.raises(ConfigurationError, match="other Thrift interface"),
    ):
        gateway.execute(ListTables())


def test_an_old_gateway_that_does_not_tell_its_type_is_told_by_a_call_of_thrift1() -> None:
    def old(request: Request) -> bytes:
        if request.method == "getThriftServerType":
            return failure(request, _UNKNOWN, "Invalid method name")
        return _right(request)

    with scripted(old, is_shy=True) as server:
        with _closing(_thrift1(server.address)) as gateway:
            answer = gateway.execute(ListTables())
        with (
            _closing(Thrift2Gateway.connect([server.address])) as gateway,
            pytest.raises(ConfigurationError, match="other Thrift interface"),
        ):
            gateway.execute(ListTables())

    assert answer == ["right"]


def test_an_old_thrift2_gateway_is_told_by_what_it_does_not_know() -> None:
    def old(request: Request) -> bytes:
        return failure(request, _UNKNOWN, "Invalid method name")

    with (
        scripted(old, is_shy=True) as server,
        _closing(_thrift1(server.address)) as gateway,
        pytest.raises(ConfigurationError, match="other Thrift interface"),
    ):
        gateway.execute(ListTables())


@pytest.mark.parametrize(
    "style", [WireStyle("framed", "binary"), WireStyle("buffered", "compact")], ids=repr
)
def test_another_transport_or_protocol_is_found_and_named(style: WireStyle) -> None:
    with scripted(_right) as server:
        gateway = Thrift1Gateway.connect([server.address], style=style, timeout_s=2.0)
        with (
            _closing(gateway),
            pytest.raises(ConfigurationError, match="transport or protocol") as caught,
        ):
            gateway.execute(ListTables())

    assert caught.value.actual == "buffered/binary"
    assert "transport=buffered&protocol=binary" in caught.value.fix


def test_a_port_where_nobody_listens_names_address_and_remedy() -> None:
    with socket.create_server((LOOPBACK, 0)) as taken:
        address = Address(LOOPBACK, taken.getsockname()[1])

    with (
        _closing(_thrift1(address)) as gateway,
        pytest.raises(RetryableError, match="no gateway accepts") as caught,
    ):
        gateway.execute(ListTables())

    assert caught.value.addresses == [str(address)]


def test_a_port_that_answers_nothing_sends_nothing_and_ends_in_time() -> None:
    with socket.create_server((LOOPBACK, 0)) as silent:
        gateway = _thrift1(Address(LOOPBACK, silent.getsockname()[1]), timeout_s=0.6)
        started = time.monotonic()
        with _closing(gateway), pytest.raises(RetryableError):
            gateway.execute(ListTables())

    assert time.monotonic() - started < 3.0


@pytest.mark.parametrize("style", [("udp", "binary"), ("buffered", "json")])
def test_a_style_that_does_not_exist_is_refused(style: tuple[str, str]) -> None:
    with pytest.raises(ConfigurationError):
        WireStyle(*style)


def test_a_timeout_of_nothing_is_refused() -> None:
    with pytest.raises(ConfigurationError):
        _thrift1(Address(LOOPBACK, 1), timeout_s=0)


# --- happybase, and forks -------------------------------------------------------------------------


def test_raw_lends_a_happybase_connection_with_the_same_safety() -> None:
    def wrong(request: Request) -> bytes:
        return names_answer(request, [b"wrong"], sequence_id=request.sequence_id + 1)

    with scripted(_then_right(_right, wrong)) as server:
        gateway = _thrift1(server.address)
        with gateway.raw() as connection:
            names = connection.tables()
            with pytest.raises(TApplicationException):
                connection.tables()
            with pytest.raises(TTransportException):
                connection.tables()
        gateway.close()

    assert names == [b"right"]


def test_raw_is_closed_after_its_block() -> None:
    with scripted(_right) as server:
        gateway = _thrift1(server.address)
        with gateway.raw() as connection:
            connection.tables()

        assert not connection.transport.is_open()
        gateway.close()


@_forks
def test_a_forked_child_that_ends_does_not_hang_up_on_the_parents_gateway() -> None:
    with scripted(_right) as server, _closing(_thrift1(server.address)) as gateway:
        gateway.execute(ListTables())
        pid = os.fork()
        if pid == 0:
            # Nothing of pytest may run in the child, whatever happens.
            try:
                is_right = gateway.execute(ListTables()) == ["right"]
                gateway.close()
                os._exit(0 if is_right else 1)
            finally:
                os._exit(2)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        answer = gateway.execute(ListTables())

    assert code == 0
    assert answer == ["right"]
    # One connection of the parent before and after the fork, one of the child.
    assert server.connections == 2


# --- hosts with several addresses -----------------------------------------------------------------


class _Blackhole(socket.socket):
    """A socket whose connect is never answered: it takes all the time it is given."""

    clock: ClassVar[list[float]] = []

    def connect(self, address: Any) -> None:
        del address
        self.clock[0] += self.gettimeout() or 0.0
        raise TimeoutError


def _four_addresses(monkeypatch: pytest.MonkeyPatch, kind: type[socket.socket]) -> None:
    place = (socket.AF_INET, socket.SOCK_STREAM, 0, "", ("127.0.0.1", 9))
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: [place] * 4)
    monkeypatch.setattr(socket, "socket", kind)


def test_all_addresses_of_a_host_share_one_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    _Blackhole.clock = [100.0]
    _four_addresses(monkeypatch, _Blackhole)
    sock = DeadlineSocket("four", 9, lambda: _Blackhole.clock[0])
    sock.deadline = 102.0

    with pytest.raises(TimeoutError):
        sock.open()

    assert _Blackhole.clock[0] == pytest.approx(102.0)


def test_an_address_that_answers_is_found_behind_those_that_do_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _Blackhole.clock = [100.0]

    class Last(_Blackhole):
        tries = 0

        def connect(self, address: Any) -> None:
            Last.tries += 1
            if Last.tries < 4:
                super().connect(address)

    _four_addresses(monkeypatch, Last)
    sock = DeadlineSocket("four", 9, lambda: _Blackhole.clock[0])
    sock.deadline = 102.0

    sock.open()

    assert sock.is_open()
    sock.close()
