"""What a user gets wrong: a typed error that names what is wrong and the fix, and nothing is sent.

Proved by the requests that the engine sent: none. Wrong addresses are tried on the real gateways.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest

from hbase_orm import (
    Engine,
    Family,
    Index,
    Key,
    Mapped,
    Model,
    codecs,
    column,
    connect,
    key,
    select,
)
from hbase_orm.binding.url import parse_url
from hbase_orm.errors import (
    ConfigurationError,
    GatewayError,
    HBaseORMError,
    QueryError,
    RowKeyError,
    SchemaError,
    ValidationError,
)
from hbase_orm.gateway.checks import CELL_OVERHEAD_BYTES
from hbase_orm.ops import MAX_CELL_BYTES, MAX_ROW_KEY_BYTES, longest_row_key_bytes
from hbase_orm.testing import RealHBase
from tests.support.recording import RecordsRequests, gateway_of, through

pytestmark = pytest.mark.hbase


class Reading(Model, table="readings"):
    d = Family()
    host: Key[str] = key(codecs.text(separator=b"|"))
    metric: Key[int] = key(codecs.uint32())
    at: Key[datetime] = key(codecs.millis())
    port: Mapped[int | None] = column(d, codec=codecs.uint16(), default=None)
    text: Mapped[str | None] = column(d, default=None)
    blob: Mapped[bytes | None] = column(d, default=None)


class Named(Model, table="named"):
    d = Family()
    name: Key[str] = key()
    unit: Mapped[str | None] = column(d, default=None)
    by_unit = Index(unit)


NOON = datetime(2024, 5, 6, 12, tzinfo=UTC)
LONE_SURROGATE = "\ud800"


def reading(**changes: Any) -> Reading:
    values: dict[str, Any] = {"host": "a", "metric": 1, "at": NOON}
    return Reading(**{**values, **changes})


@pytest.fixture(scope="module")
def engine(hbase: RealHBase) -> Iterator[Engine]:
    namespace = f"n{uuid4().hex[:12]}"
    with connect(hbase.url_in(namespace)) as plain:
        plain.create_tables(Reading, Named)
        yield plain
    hbase.drop_namespace(namespace)


@pytest.fixture
def sent(engine: Engine) -> RecordsRequests:
    return RecordsRequests(gateway_of(engine))


def refusal(act: Callable[[], object]) -> HBaseORMError:
    with pytest.raises(HBaseORMError) as caught:
        act()
    assert caught.value.fix
    return caught.value


# --- addresses -------------------------------------------------------------------------------------


@pytest.mark.parametrize("option", ["bogus=1", "tls=1", "timestamps=their", "readonly=1"])
def test_an_option_that_is_unknown_or_not_there_yet(hbase: RealHBase, option: str) -> None:
    error = refusal(lambda: connect(f"{hbase.url}&{option}"))

    assert isinstance(error, ConfigurationError)
    assert error.option == option.partition("=")[0]


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def test_a_port_at_which_nobody_listens() -> None:
    port = free_port()
    begin = time.monotonic()

    error = refusal(lambda: connect(f"hbase://127.0.0.1:{port}?retries=0&timeout_s=5"))

    assert isinstance(error, GatewayError)
    assert str(port) in str(error)
    assert time.monotonic() - begin < 5


def test_a_host_that_does_not_exist() -> None:
    error = refusal(lambda: connect("hbase://no-such-host.invalid:9090?retries=0&timeout_s=5"))

    assert isinstance(error, ConfigurationError)
    assert "no-such-host.invalid" in str(error)


def addresses(url: str) -> tuple[str, str]:
    """Return the Thrift1 and the Thrift2 address of a URL."""
    options = parse_url(url)
    (one, *_), (two, *_) = options.thrift1, options.thrift2
    return f"{one[0]}:{one[1]}", f"{two[0]}:{two[1]}"


def test_a_thrift1_port_given_as_thrift2(hbase: RealHBase) -> None:
    thrift1, _ = addresses(hbase.url)

    error = refusal(lambda: connect(f"hbase://{thrift1}?thrift2={thrift1}"))

    assert isinstance(error, ConfigurationError)
    assert "Thrift1" in str(error)
    assert "Thrift2" in str(error)
    assert thrift1 in str(error)


def test_a_thrift2_port_given_as_thrift1(hbase: RealHBase) -> None:
    _, thrift2 = addresses(hbase.url)

    error = refusal(lambda: connect(f"hbase://{thrift2}"))

    assert isinstance(error, ConfigurationError)
    assert "Thrift1" in str(error)
    assert "Thrift2" in str(error)
    assert thrift2 in str(error)


@pytest.mark.parametrize("style", ["transport=framed", "protocol=compact"])
def test_a_gateway_that_speaks_another_way_is_not_waited_for_long(
    hbase: RealHBase, style: str
) -> None:
    begin = time.monotonic()

    error = refusal(lambda: connect(f"{hbase.url}&{style}&timeout_s=3&retries=0"))

    assert isinstance(error, (ConfigurationError, GatewayError))
    assert time.monotonic() - begin < 10


# --- models ----------------------------------------------------------------------------------------


def test_a_model_without_a_row_key() -> None:
    with pytest.raises(SchemaError, match="no row key") as caught:

        class Keyless(Model, table="keyless"):
            d = Family()
            value: Mapped[str] = column(d)

    assert (caught.value.model, "key()" in caught.value.fix) == ("Keyless", True)


# --- values ----------------------------------------------------------------------------------------

KEYS: dict[str, tuple[dict[str, Any], str]] = {
    "wrong type": ({"metric": "7"}, "metric"),
    "None": ({"host": None}, "host"),
    "naive datetime": ({"at": NOON.replace(tzinfo=None)}, "at"),
    "out of range": ({"metric": 1 << 32}, "metric"),
    "the separator": ({"host": "a|b"}, "host"),
    "not encodable": ({"host": LONE_SURROGATE}, "host"),
}


@pytest.mark.parametrize("name", KEYS)
def test_a_wrong_key_value_in_a_get(engine: Engine, sent: RecordsRequests, name: str) -> None:
    changes, field = KEYS[name]
    values = {"host": "a", "metric": 1, "at": NOON, **changes}
    session = through(sent, engine).session()

    error = refusal(lambda: session.get(Reading, **values))

    assert isinstance(error, RowKeyError)
    assert (error.field, sent.requests) == (field, [])


@pytest.mark.parametrize("name", KEYS)
def test_a_wrong_key_value_in_an_object(engine: Engine, sent: RecordsRequests, name: str) -> None:
    changes, field = KEYS[name]
    session = through(sent, engine).session()

    error = refusal(lambda: session.add(reading(**changes)))

    assert isinstance(error, (RowKeyError, ValidationError))
    assert (error.field, sent.requests) == (field, [])
    assert session.flush().written == 0


def test_an_empty_row_key(engine: Engine, sent: RecordsRequests) -> None:
    session = through(sent, engine).session()

    for act in (lambda: session.get(Named, name=""), lambda: session.add(Named(name=""))):
        error = refusal(act)
        assert isinstance(error, RowKeyError)
        assert "name" in str(error)

    assert sent.requests == []


def test_a_row_key_over_the_limit(engine: Engine, sent: RecordsRequests) -> None:
    session = through(sent, engine).session()
    longer = "n" * (MAX_ROW_KEY_BYTES + 1)

    errors = [
        refusal(lambda: session.add(Named(name=longer))),
        refusal(lambda: session.get(Named, name=longer)),
    ]
    found = session.all(select(Named).where(Named.name == longer))

    assert [type(error) for error in errors] == [RowKeyError] * 2
    assert found == []  # what cannot be stored matches nothing
    assert (errors[0].limit_bytes, errors[0].length_bytes, sent.requests) == (32_767, 32_768, [])


def test_a_row_key_that_the_tables_name_leaves_no_room_for(
    engine: Engine, sent: RecordsRequests
) -> None:
    table = f"{engine.options.namespace}:named"
    session = through(sent, engine).session()
    longest = "n" * longest_row_key_bytes(table)

    errors = [
        refusal(lambda: session.add(Named(name=longest + "n"))),
        refusal(lambda: session.get(Named, name=longest + "n")),
    ]
    found = session.all(select(Named).where(Named.name == longest + "n"))

    assert [type(error) for error in errors] == [RowKeyError] * 2
    assert found == []  # what cannot be stored matches nothing
    assert (errors[0].table, errors[0].fields, sent.requests) == (table, ("name",), [])
    session.add(Named(name=longest, unit=None))
    assert session.flush().written == 1
    assert session.get(Named, name=longest) is not None


VALUES: dict[str, tuple[dict[str, Any], str]] = {
    "wrong type": ({"port": "80"}, "port"),
    "out of range": ({"port": 1 << 16}, "port"),
    "not encodable": ({"text": LONE_SURROGATE}, "text"),
    "cell over 10 MiB": ({"blob": b"x" * MAX_CELL_BYTES}, "blob"),
}


@pytest.mark.parametrize("name", VALUES)
def test_a_wrong_value_stops_the_whole_flush(
    engine: Engine, sent: RecordsRequests, name: str
) -> None:
    changes, field = VALUES[name]
    session = through(sent, engine).session()
    session.add(reading(host="good"))

    def write() -> None:
        session.add(reading(**changes))
        session.flush()

    error = refusal(write)

    assert isinstance(error, ValidationError)
    assert (error.model, error.field, sent.requests) == ("Reading", field, [])


def test_a_cell_that_fits_only_without_its_row_key(engine: Engine, sent: RecordsRequests) -> None:
    key = Reading.encode_key(host="b", metric=1, at=NOON)
    room = MAX_CELL_BYTES - CELL_OVERHEAD_BYTES - len(key) - len("dblob")
    session = through(sent, engine).session()
    session.add(reading(host="b", blob=b"x" * (room + 1)))

    error = refusal(session.flush)

    assert (error.size_bytes, error.limit_bytes) == (MAX_CELL_BYTES + 1, MAX_CELL_BYTES)
    assert (error.field, error.row, sent.requests) == ("blob", key, [])


@pytest.mark.parametrize("is_bulk", [False, True])
def test_the_largest_cell_that_fits_is_stored(engine: Engine, *, is_bulk: bool) -> None:
    key = Reading.encode_key(host="largest", metric=1, at=NOON)
    blob = b"x" * (MAX_CELL_BYTES - CELL_OVERHEAD_BYTES - len(key) - len("dblob"))
    with engine.session() as session, session.bulk() as bulk:
        (bulk if is_bulk else session).add(reading(host="largest", blob=blob))

    with engine.session() as session:
        found = session.get(Reading, host="largest", metric=1, at=NOON)
        session.delete_row(Reading, host="largest", metric=1, at=NOON)

    assert found is not None
    assert found.blob == blob


def test_an_index_entry_over_the_limit_sends_nothing(engine: Engine, sent: RecordsRequests) -> None:
    session = through(sent, engine).session()
    session.add(Named(name="x", unit="u" * MAX_ROW_KEY_BYTES))

    error = refusal(session.flush)

    assert (type(error), error.index) == (RowKeyError, "by_unit")
    assert sent.requests == []


# --- conditions ------------------------------------------------------------------------------------

ANY: Any = Reading

CONDITIONS: dict[str, Callable[[], Any]] = {
    "text for a number": lambda: ANY.metric == "7",
    "number for a text": lambda: ANY.host == 7,
    "text for a time": lambda: ANY.at >= "2024-05-06",
    "naive datetime": lambda: ANY.at >= NOON.replace(tzinfo=None),
    "in a list": lambda: ANY.metric.in_([1, "2"]),
    "in a range": lambda: ANY.metric.between(1, "2"),
    "prefix of a number": lambda: ANY.metric.startswith("7"),
    "bool of a condition": lambda: ANY.metric == 1 and ANY.host == "a",
    "not a condition": lambda: not (ANY.metric == 1),  # noqa: SIM201  # what is refused
    "chained comparison": lambda: 1 < ANY.metric < 3,
    "a bare field": lambda: ANY.host,
    "another model's field": lambda: Named.unit == "s",
}


@pytest.mark.parametrize("name", CONDITIONS)
def test_a_wrong_condition(engine: Engine, sent: RecordsRequests, name: str) -> None:
    session = through(sent, engine).session()

    error = refusal(lambda: session.all(select(Reading).where(CONDITIONS[name]())))

    assert isinstance(error, QueryError)
    assert sent.requests == []
