"""Connections that break before, during and after a request, or answer wrongly."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hbase_orm.errors import ConnectionLostError, GatewayError, ScannerExpiredError
from hbase_orm.gateway.retry import RetryingGateway
from hbase_orm.ops import (
    CheckAndMutate,
    FetchRows,
    GetRows,
    Increment,
    OpenScanner,
    Ping,
    Put,
    RowMutation,
    Scan,
)
from hbase_orm.server import EmbeddedServer
from tests.fault.conftest import TABLE, Connect, key, new_row
from tests.fault.doubles import (
    AnswersLate,
    ChangesSequenceId,
    CutsConnectionAfterSend,
    CutsConnectionBeforeSend,
    CutsConnectionDuringSend,
    Proxy,
)
from tests.integration.embedded import marks

pytestmark = [*marks(), pytest.mark.fault]

_both = pytest.mark.parametrize("kind", ["thrift1", "thrift2"])
_COUNTER = b"d:n"
_GET = GetRows(TABLE, (key(5),), (b"d:own",))


@pytest.fixture
def proxy(request: pytest.FixtureRequest, server: EmbeddedServer, kind: str) -> Iterator[Proxy]:
    """Return a proxy of the class given as parameter, in front of the gateway `kind`."""
    between: Proxy = request.param(server.ports[kind])  # type: ignore[index] # a gateway's name
    yield between
    between.close()


def _proxies(*classes: type[Proxy]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("proxy", classes, indirect=True)


@_both
@pytest.mark.parametrize(
    ("proxy", "applied"),
    [
        (CutsConnectionBeforeSend, 0),
        (CutsConnectionDuringSend, 0),
        (CutsConnectionAfterSend, 1),
    ],
    indirect=["proxy"],
)
def test_a_cut_write_is_of_unknown_outcome_and_never_sent_twice(
    connect: Connect, proxy: Proxy, kind: str, applied: int
) -> None:
    row = new_row()
    gateway = RetryingGateway(connect(kind, address=proxy.address), base_pause_s=0.01)
    gateway.execute(Ping())

    proxy.arm()
    with pytest.raises(ConnectionLostError):
        gateway.execute(Increment(TABLE, row, {_COUNTER: 1}))
    counted = gateway.execute(Increment(TABLE, row, {_COUNTER: 1}))

    assert counted == {_COUNTER: applied + 1}


@_both
@_proxies(
    CutsConnectionBeforeSend, CutsConnectionDuringSend, CutsConnectionAfterSend, ChangesSequenceId
)
def test_a_read_is_repeated_over_a_new_connection_and_is_right(
    connect: Connect, proxy: Proxy, kind: str
) -> None:
    gateway = RetryingGateway(connect(kind, address=proxy.address), base_pause_s=0.01)
    gateway.execute(Ping())

    proxy.arm()
    row = gateway.execute(_GET)[0]

    assert proxy.has_struck.is_set()
    assert row is not None
    assert row.cells[b"d:own"].value == key(5)


@_both
@_proxies(ChangesSequenceId)
def test_an_answer_with_another_requests_number_is_not_taken(
    connect: Connect, proxy: Proxy, kind: str
) -> None:
    gateway = connect(kind, address=proxy.address)
    gateway.execute(Ping())

    proxy.arm()
    with pytest.raises(ConnectionLostError, match="another request"):
        gateway.execute(_GET)

    assert gateway.execute(GetRows(TABLE, (b"missing",))) == [None]


@_both
@_proxies(AnswersLate)
def test_a_late_answer_is_never_the_next_requests(
    connect: Connect, proxy: AnswersLate, kind: str
) -> None:
    gateway = connect(kind, address=proxy.address)
    gateway.execute(Ping())

    proxy.arm()
    with pytest.raises(ConnectionLostError, match="in time"):
        gateway.execute_within(_GET, 0.5)
    proxy.release()
    answers = [gateway.execute(GetRows(TABLE, (b"missing",))) for _ in range(5)]

    assert answers == [[None]] * 5


@_both
@_proxies(CutsConnectionBeforeSend, CutsConnectionAfterSend)
def test_a_cut_fetch_ends_the_scan(connect: Connect, proxy: Proxy, kind: str) -> None:
    gateway = connect(kind, address=proxy.address)
    scanner = gateway.execute(OpenScanner(Scan(TABLE, caching_rows=10)))
    gateway.execute(FetchRows(scanner, 10))

    proxy.arm()
    for _ in range(2):
        with pytest.raises(ScannerExpiredError):
            gateway.execute(FetchRows(scanner, 10))

    assert proxy.has_struck.is_set()


@pytest.mark.parametrize("kind", ["thrift2"])
@_proxies(CutsConnectionAfterSend)
def test_a_conditional_write_whose_answer_is_lost_is_not_repeated(
    connect: Connect, proxy: Proxy, kind: str
) -> None:
    row = new_row()
    insert = CheckAndMutate(TABLE, b"d:g", b"", RowMutation(row, (Put(b"d:g", b"1"),)))
    gateway = RetryingGateway(connect(kind, address=proxy.address), base_pause_s=0.01)
    gateway.execute(Ping())

    proxy.arm()
    with pytest.raises(GatewayError) as caught:
        gateway.execute(insert)

    assert type(caught.value) is ConnectionLostError
    assert gateway.execute(insert) is False
