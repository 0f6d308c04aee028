"""Substitutes: numbers in names' stead, which only writing gives out."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from hashlib import md5
from typing import Any
from uuid import uuid4

import pytest

from hbase_orm import (
    Counter,
    Digest,
    Engine,
    Family,
    HashPrefix,
    Key,
    Mapped,
    Model,
    RecordType,
    Salt,
    Substitute,
    Table,
    codecs,
    column,
    counter,
    key,
    rowkey,
    select,
)
from hbase_orm.errors import (
    ConfigurationError,
    CorruptRowError,
    RowKeyError,
    ValidationError,
)
from hbase_orm.ops import CheckAndMutate, GetRows
from hbase_orm.testing import RealHBase
from hbase_orm.writing.bulk import NUMBERED_AT_ONCE
from tests.support.programs import run_together
from tests.support.store import Store, rows_written

T0 = datetime(2024, 1, 1, tzinfo=UTC)


class Log(Model, table="logs"):
    d = Family()
    host: Key[str] = key()
    event: Key[str] = key()
    at: Key[datetime] = key(codecs.millis(desc=True))
    message: Mapped[str] = column(d, "m")
    level: Mapped[int] = column(d, "l", codec=codecs.uint8(), default=0)
    hits: Counter = counter(d, "h")

    __rowkey__ = rowkey(
        Substitute(of=host, dictionary="names"), Substitute(of=event, dictionary="names"), at
    )


class Salted(Model, table="log_salted"):
    d = Family()
    host: Key[str] = key()
    n: Key[int] = key(codecs.uint16())
    number = Substitute(of=host, dictionary="names", codec=codecs.uint32())
    __rowkey__ = rowkey(Salt(4, of=[number]), number, n)


class Prefixed(Model, table=Table("log_prefixed", splits=[])):
    d = Family()
    host: Key[str] = key()
    n: Key[int] = key(codecs.uint16())
    number = Substitute(of=host, dictionary="names", codec=codecs.uint32())
    __rowkey__ = rowkey(HashPrefix(4, of=[number]), number, n)


class Hashed(Model, table=Table("log_hashed", splits=[])):
    d = Family()
    host: Key[str] = key(family=d, qualifier="h")
    n: Key[int] = key(codecs.uint16())
    number = Substitute(of=host, dictionary="names", codec=codecs.uint32())
    __rowkey__ = rowkey(Digest(of=[number]), n)


class Machine(Model, table="machines"):
    """A base of record types, whose names have another length in the keys."""

    d = Family()
    rack: Key[int] = key(codecs.uint16())
    host: Key[str] = key()
    __rowkey__ = rowkey(rack, RecordType(), Substitute(of=host, dictionary="names"))


class Server(Machine, record_type="server"):
    memory: Mapped[int] = column(Machine.d, "m", codec=codecs.uint32())


class Switch(Machine, record_type="sw"):
    ports: Mapped[int] = column(Machine.d, "p", codec=codecs.uint8())


class Place(Model, table="places"):
    """A base without names, whose record types have names of dictionaries of their own."""

    d = Family()
    rack: Key[int] = key(codecs.uint16())
    __rowkey__ = rowkey(rack, RecordType())


class Desk(Place, record_type="desk"):
    user: Key[str] = key()
    height: Mapped[int] = column(Place.d, "h", codec=codecs.uint8())
    __rowkey__ = rowkey(Place.rack, RecordType(), Substitute(of=user, dictionary="users"))


class Door(Place, record_type="door"):
    keeper: Key[str] = key()
    locks: Mapped[int] = column(Place.d, "l", codec=codecs.uint8())
    __rowkey__ = rowkey(Place.rack, RecordType(), Substitute(of=keeper, dictionary="keepers"))


def prepare(engine: Engine) -> None:
    engine.create_tables(Log, Salted, Prefixed, Hashed, Machine, Place)


@pytest.fixture
def name() -> str:
    return uuid4().hex


def number_of(store: Store, name: str) -> bytes | None:
    """Return a name's number as the dictionary holds it."""
    asked = GetRows(store.named("names"), (b"n" + name.encode(),))
    (row,) = store.sent.inner.execute(asked)
    return None if row is None else row.cells[b"d:v"].value


def logs(name: str, count: int) -> list[Log]:
    """Return rows with `count` hosts and two events."""
    return [
        Log(host=f"{name}-{n}", event=f"{name}.{n % 2}", at=T0, message=str(n))
        for n in range(count)
    ]


# --- writing ---------------------------------------------------------------------------------------


def test_a_flush_numbers_all_new_names_of_a_dictionary_by_few_requests(
    store: Store, name: str
) -> None:
    store.put(Log(host="known", event="known", at=T0, message="x"))
    session = store.engine.session()

    session.add_all(logs(name, 50))
    sent_by_adding = store.taken()
    session.flush()

    assert sent_by_adding == {}
    assert store.taken() == {"GetRows": 1, "Increment": 1, "CheckAndMutate": 104, "MutateRows": 1}


def test_row_keys_hold_the_numbers_that_the_dictionary_has(store: Store, name: str) -> None:
    with store.engine.session() as session:
        session.add(Log(host=name, event=f"{name}!", at=T0, message="x"))

    host, event = number_of(store, name), number_of(store, f"{name}!")
    assert host is not None
    assert event is not None
    assert len({host, event}) == 2
    assert rows_written(store) == [host + event + b"\x7f\xff\xfe\x73\x3d\xae\x0b\xff"]


def test_an_object_that_does_not_fit_stops_the_flush_before_names_get_numbers(
    store: Store, name: str
) -> None:
    session = store.engine.session()
    bad = Log(host=name, event="x", at=T0, message="x", level=300)
    session.add_all([Log(host=f"{name}!", event="x", at=T0, message="x"), bad])
    store.taken()

    with pytest.raises(ValidationError) as caught:
        session.flush()

    assert (caught.value.field, store.taken()) == ("level", {})
    assert number_of(store, f"{name}!") is None


def test_deleting_an_object_whose_name_is_new_gives_it_no_number(store: Store, name: str) -> None:
    store.put(Log(host=f"{name}!", event="x", at=T0, message="x"))
    another = store.another()
    session = another.engine.session()
    session.delete(Log(host=name, event="x", at=T0, message="x"))
    session.delete(Log(host=f"{name}!", event="x", at=T0, message="x"))

    session.flush()

    assert another.taken()["CheckAndMutate"] == 0
    assert (number_of(store, name), repr(session)) == (None, "Session(loaded=0, pending=0)")
    assert session.count(select(Log).where(Log.host == f"{name}!")) == 0


def test_an_increment_makes_the_row_of_new_names(store: Store, name: str) -> None:
    with store.engine.session() as session:
        first = session.increment(Log, Log.hits.by(2), host=name, event=name, at=T0)
        second = session.increment(Log, Log.hits.by(2), host=name, event=name, at=T0)
        found = session.get(Log, host=name, event=name, at=T0)

    assert (first, second, found and found.hits) == ([2], [4], 4)


def test_a_bulk_numbers_the_names_of_many_rows_at_once(store: Store, name: str) -> None:
    rows = logs(name, NUMBERED_AT_ONCE + 50)
    store.put(Log(host="known", event="known", at=T0, message="x"))

    with store.engine.session() as session, session.bulk() as bulk:
        bulk.add_all([Log(host="known", event="known", at=T0, message="y"), *rows])

    sent = store.taken()
    assert bulk.report.written == NUMBERED_AT_ONCE + 51
    assert sent["CheckAndMutate"] == 2 * (NUMBERED_AT_ONCE + 52)
    assert (sent["Increment"], sent["MutateRows"]) == (2, 1)
    assert store.another().engine.session().get(
        Log, host=f"{name}-120", event=f"{name}.0", at=T0
    ) == Log(host=f"{name}-120", event=f"{name}.0", at=T0, message="120")


def test_a_bulk_tells_of_the_object_that_does_not_fit_and_writes_those_before_it(
    store: Store, name: str
) -> None:
    good, *_ = logs(name, 1)
    bad = Log(host=f"{name}!", event="x", at=T0, message="x", level=300)
    session = store.engine.session()

    with session.bulk() as bulk, pytest.raises(ValidationError) as caught:
        bulk.add_all([good, bad])

    assert (caught.value.field, bulk.report.written) == ("level", 1)
    assert session.get(Log, host=good.host, event=good.event, at=T0) == good


# --- reading ---------------------------------------------------------------------------------------


def test_unknown_names_are_found_nowhere_without_a_scan_and_get_no_number(
    store: Store, name: str
) -> None:
    store.put(Log(host=name, event=name, at=T0, message="x"))
    another = store.another()

    with another.engine.session() as session:
        got = session.get_many(Log, [(name, "?", T0), ("?", name, T0), (name, name, T0)])
        sent_by_get = another.taken()
        found = session.all(select(Log).where(Log.host == f"{name}?"))
        among = session.all(select(Log).where(Log.host.in_([name, f"{name}?"])))

    assert [log and log.message for log in got] == [None, None, "x"]
    # The record of the table, all names, then the one row that there can be.
    assert sent_by_get == {"GetRows": 3}
    assert (found, [log.message for log in among]) == ([], ["x"])
    assert another.taken() == {"GetRows": 2, "OpenScanner": 1, "FetchRows": 2, "CloseScanner": 1}


def test_the_plan_shows_which_names_were_looked_up(store: Store, name: str) -> None:
    store.put(Log(host=name, event=name, at=T0, message="x"))

    with store.engine.session() as session:
        known = session.explain(select(Log).where(Log.host == name))
        unknown = session.explain(select(Log).where(Log.host == f"{name}?"))

    number = int.from_bytes(number_of(store, name) or b"")
    assert f"├─ resolve '{name}' in names: {number}\n" in str(known)
    assert f"├─ resolve '{name}?' in names: unknown\n" in str(unknown)
    assert (known.kind, unknown.kind) == ("Scan", "Empty")


def test_rows_give_their_names_by_two_requests_a_page_then_by_none(store: Store, name: str) -> None:
    rows = [
        Log(host=name, event=f"{name}.{n}", at=T0 + timedelta(minutes=n), message=str(n))
        for n in range(10)
    ]
    store.put(*rows)
    another = store.another()
    statement = select(Log).where(Log.host == name).caching(5)

    with another.engine.session() as session:
        found = session.all(statement)
        first = another.taken()
        again = session.all(statement)

    assert sorted(found, key=lambda log: log.at) == rows
    assert again == found
    # The table's record, the name of the statement, then numbers and names.
    assert first["GetRows"] == 2 + 2 * 2
    assert another.taken()["GetRows"] == 0


def test_a_row_whose_name_was_lost_is_reported_with_its_key(store: Store, name: str) -> None:
    store.put(Log(host=f"{name}!", event=name, at=T0, message="x"))
    lost = number_of(store, name)
    store.delete_raw(store.named("names"), b"n" + name.encode())
    session = store.another().engine.session()

    with pytest.raises(CorruptRowError) as caught:
        session.all(select(Log).where(Log.host == f"{name}!"))

    error = caught.value
    assert (error.model, error.row[8:16], error.dictionary) == ("Log", lost, "names")
    assert "restore the dictionary" in error.fix


def test_a_record_type_is_read_past_rows_of_others_whose_names_stand_elsewhere(
    store: Store, name: str
) -> None:
    switch = Switch(rack=1, host=f"{name}.1", ports=48)
    server = Server(rack=1, host=f"{name}.2", memory=64)
    store.put(switch, server)
    session = store.another().engine.session()

    assert session.all(select(Server).allow_full_scan().caching(1)) == [server]
    assert session.all(select(Switch).allow_full_scan().caching(1)) == [switch]
    assert session.all(select(Machine).where(Machine.rack == 1)) == [server, switch]


def test_a_base_reads_the_names_that_only_its_record_types_have(store: Store, name: str) -> None:
    desk = Desk(rack=2, user=f"{name}.1", height=75)
    door = Door(rack=2, keeper=f"{name}.2", locks=3)
    store.put(desk, door)

    # Each by an engine that knows no names yet.
    assert store.another().engine.session().all(select(Place).where(Place.rack == 2)) == [
        desk,
        door,
    ]
    users = select(Desk.user).where(Desk.rack == 2)
    assert store.another().engine.session().all(users) == [desk.user]
    racks = select(Place.rack).where(Place.rack == 2)
    assert store.another().engine.session().all(racks) == [2, 2]


def test_a_row_whose_key_is_too_short_for_a_number_is_reported_with_its_key(
    store: Store,
) -> None:
    key = b"\x00" * 8 + b"\x00" * 5
    store.write_raw(store.table(Log), key, m=b"?")
    session = store.another().engine.session()
    try:
        with pytest.raises(CorruptRowError) as caught:
            session.all(select(Log).allow_full_scan())
    finally:
        store.delete_raw(store.table(Log), key)

    assert (caught.value.model, caught.value.row) == ("Log", key)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("host", None),
        ("host", 5),
        ("event", "\ud800"),
        ("at", datetime(2024, 1, 1)),  # noqa: DTZ001  # what is refused
        ("at", None),
    ],
)
def test_what_fits_no_key_is_refused_before_a_name_is_looked_up(
    store: Store, name: str, field: str, value: Any
) -> None:
    key = {"host": name, "event": name, "at": T0, field: value}
    store.taken()

    with store.engine.session() as session:
        with pytest.raises(RowKeyError) as caught:
            session.get(Log, **key)
        with pytest.raises(RowKeyError):
            session.increment(Log, Log.hits.by(1), **key)

    assert (caught.value.field, bool(caught.value.fix), store.taken()) == (field, True, {})


# --- with Thrift1 alone ----------------------------------------------------------------------------


def test_thrift1_alone_reads_and_writes_known_names(store: Store, name: str) -> None:
    store.put(*logs(name, 2))
    thrift1 = store.without_thrift2()

    with thrift1.engine.session() as session:
        session.add(Log(host=f"{name}-1", event=f"{name}.0", at=T0, message="new"))
        session.flush()
        found = session.all(select(Log).where(Log.host == f"{name}-1"))

    assert sorted(log.message for log in found) == ["1", "new"]


def test_thrift1_alone_refuses_new_names_before_anything_is_written(
    store: Store, name: str
) -> None:
    store.put(*logs(name, 1))
    thrift1 = store.without_thrift2()
    session = thrift1.engine.session()
    session.add_all([*logs(name, 1), Log(host=name, event="x", at=T0, message="x")])

    with pytest.raises(ConfigurationError) as flush:
        session.flush()
    with pytest.raises(ConfigurationError):
        session.increment(Log, Log.hits.by(1), host=name, event="x", at=T0)
    with pytest.raises(ConfigurationError), session.bulk() as bulk:
        bulk.add_all([Log(host=name, event="x", at=T0, message="x")])

    assert (flush.value.dictionary, set(thrift1.taken())) == (store.named("names"), {"GetRows"})
    assert "thrift2=" in flush.value.fix
    assert number_of(store, name) is None


# --- derived of a number ---------------------------------------------------------------------------


def salted_key(number: bytes) -> bytes:
    return bytes((Salt(4).bucket(number),)) + number


def prefixed_key(number: bytes) -> bytes:
    return md5(number, usedforsecurity=False).digest()[:4] + number


def hashed_key(number: bytes) -> bytes:
    return md5(number, usedforsecurity=False).digest()


@pytest.mark.parametrize(
    ("model", "leading"), [(Salted, salted_key), (Prefixed, prefixed_key), (Hashed, hashed_key)]
)
def test_what_is_derived_of_a_number_is_written_and_found(
    store: Store, name: str, model: Any, leading: Any
) -> None:
    store.put(*(model(host=f"{name}{n}", n=7) for n in range(3)))
    another = store.another()

    with another.engine.session() as session:
        got = session.get_many(model, [(f"{name}2", 7), ("?", 7), (f"{name}0", 7)])
        found = session.all(select(model).where(model.host == f"{name}1"))
        everything = session.all(select(model).allow_full_scan())

    number = (number_of(store, f"{name}1") or b"")[4:]
    assert [row and row.host for row in got] == [f"{name}2", None, f"{name}0"]
    assert [row.__state__.row.key for row in found] == [leading(number) + b"\x00\x07"]
    assert {f"{name}{n}" for n in range(3)} <= {row.host for row in everything}


def test_a_name_that_another_program_numbered_first_keeps_that_number(
    store: Store, name: str
) -> None:
    another = store.another()
    session = store.engine.session()
    session.add(Log(host=name, event=name, at=T0, message="ours"))
    another.put(Log(host=name, event=name, at=T0 + timedelta(1), message="theirs"))
    store.taken()

    session.flush()

    assert not [r for r in store.sent.requests if isinstance(r, CheckAndMutate)]
    assert session.count(select(Log).where(Log.host == name)) == 2


# --- several programs at once ----------------------------------------------------------------------


_PROGRAM = """
import json, sys
from datetime import UTC, datetime, timedelta
from hbase_orm import connect
from tests.behaviour.derived_keys.test_substitutes import Log
arguments = json.loads(sys.argv[1])
who, day = arguments["who"], datetime.fromisoformat(arguments["day"])
engine = connect(arguments["url"])
print("ready", flush=True)
input()
with engine.session() as session:
    for n in range(100):
        name = arguments["name"]
        session.add(Log(host=f"{name}-{n % 25}", event=name, at=day + timedelta(n), message=who))
    session.flush()
    session.increment(Log, Log.hits.by(1), host=f"{name}+", event=name, at=day)
"""


@pytest.mark.only_on("hbase")
def test_processes_that_meet_new_names_at_once_write_the_same_row_keys(
    store: Store, hbase: RealHBase, name: str
) -> None:
    day = datetime(2024, 1, 1, tzinfo=UTC)
    arguments = {
        "url": hbase.url_in(store.engine.options.namespace),
        "name": name,
        "day": day.isoformat(),
    }

    run_together(_PROGRAM, [{**arguments, "who": who} for who in ("a", "b", "c")])

    with store.engine.session() as session:
        rows = [
            row
            for n in range(25)
            for row in session.all(select(Log).where(Log.host == f"{name}-{n}"))
        ]
        counted = session.get(Log, host=f"{name}+", event=name, at=day)
    assert len(rows) == 100  # each process wrote the same hundred
    assert counted is not None
    assert counted.hits == 3
