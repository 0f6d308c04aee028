"""What a session promises: objects are read, changed, written and deleted.

Tests share the tables of `prepare`, so each works on rows of its own `host`.
"""

from __future__ import annotations

import contextlib
import gc
import weakref
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import uuid4

import pytest

from hbase_orm import (
    Counter,
    Engine,
    Family,
    Index,
    Key,
    Mapped,
    Model,
    codecs,
    column,
    connect,
    counter,
    key,
    select,
)
from hbase_orm.errors import (
    ConfigurationError,
    DuplicateRowError,
    FeatureMissingError,
    FlushError,
    MultipleRowsError,
    QueryError,
    RowKeyError,
    RowNotFoundError,
    TableNotFoundError,
    UnboundedScanError,
    ValidationError,
)
from hbase_orm.ops import Delete, GetRows, Increment, MutateRow, MutateRows, Put, RowMutation
from tests.support.backends import thrift1_url
from tests.support.recording import gateway_of
from tests.support.store import Store, load


class Plain(Model, table="plain"):
    d = Family()
    e = Family()
    host: Key[str] = key()
    n: Key[int] = key(codecs.uint32())
    value: Mapped[float] = column(d, "v")
    unit: Mapped[str | None] = column(d, "u", default=None)
    note: Mapped[str | None] = column(e, "n", default=None)
    hits: Counter = counter(d, "h")
    likes: Counter = counter(d, "l")


class Indexed(Model, table="indexed"):
    d = Family()
    host: Key[str] = key()
    n: Key[int] = key(codecs.uint32())
    value: Mapped[float] = column(d, "v")
    unit: Mapped[str | None] = column(d, "u", default=None)
    note: Mapped[str | None] = column(d, "n", default=None)
    hits: Counter = counter(d, "h")
    likes: Counter = counter(d, "l")
    by_unit = Index(unit, n)


class Later(Model, table="plain"):
    """The rows of `Plain`, seen by a program whose columns have grown."""

    d = Family()
    host: Key[str] = key()
    n: Key[int] = key(codecs.uint32())
    unit: Mapped[str | None] = column(d, "u", default=None)
    port: Mapped[int] = column(d, "p", default=80)
    token: Mapped[str] = column(d, "t", default_factory=lambda: uuid4().hex)


class Loose(Model, table="loose"):
    d = Family()
    host: Key[str] = key()
    a: Mapped[str | None] = column(d, default=None)
    b: Mapped[str | None] = column(d, default=None)
    hits: Counter = counter(d, "h")


class LooseIndexed(Model, table="loose_indexed"):
    d = Family()
    host: Key[str] = key()
    a: Mapped[str | None] = column(d, default=None)
    b: Mapped[str | None] = column(d, default=None)
    hits: Counter = counter(d, "h")
    by_a = Index(a)


class Bare(Model, table="bare"):
    d = Family()
    host: Key[str] = key()
    body: Mapped[str | None] = column(d, "", default=None)
    note: Mapped[str | None] = column(d, "n", default=None)


class BareIndexed(Model, table="bare_indexed"):
    d = Family()
    host: Key[str] = key()
    body: Mapped[str | None] = column(d, "", default=None)
    note: Mapped[str | None] = column(d, "n", default=None)
    by_body = Index(body)


class Never(Model, table="never_made"):
    d = Family()
    host: Key[str] = key()
    a: Mapped[str] = column(d)


MODELS = (Plain, Indexed, Loose, LooseIndexed, Bare, BareIndexed)


def prepare(engine: Engine) -> None:
    engine.create_tables(*MODELS)


@pytest.fixture(params=[Plain, Indexed], ids=["plain", "indexed"])
def model(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture(params=[Loose, LooseIndexed], ids=["plain", "indexed"])
def loose(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture(params=[Bare, BareIndexed], ids=["plain", "indexed"])
def bare(request: pytest.FixtureRequest) -> Any:
    return request.param


def plain_key(host: str, n: int = 0) -> bytes:
    return Plain.encode_key(host=host, n=n)


# --- writing and reading ---------------------------------------------------------------------------


def test_what_is_added_is_read_back_after_the_flush(store: Store, model: Any, host: str) -> None:
    made = model(host=host, n=1, value=0.5, unit="ms")

    with store.engine.session() as session:
        session.add(made)
        before = store.stored(model, host=host, n=1)
        report = session.flush()

    assert before is None
    assert report.written == 1
    assert store.stored(model, host=host, n=1) == made


def test_a_new_object_leaves_the_other_cells_of_its_row(
    store: Store, model: Any, host: str
) -> None:
    store.put(model(host=host, n=1, value=0.5, unit="ms"))

    store.put(model(host=host, n=1, value=0.7))

    found = store.stored(model, host=host, n=1)
    assert (found.value, found.unit) == (0.7, "ms")


def test_many_gets_keep_positions_and_repeat_the_one_object(
    store: Store, model: Any, host: str
) -> None:
    store.put(*(model(host=host, n=n, value=n) for n in range(3)))

    with store.engine.session() as session:
        found = session.get_many(model, [(host, 2), {"n": 0, "host": host}, (host, 9), (host, 2)])

    assert [obj and obj.n for obj in found] == [2, 0, None, 2]
    assert found[0] is found[3]


def test_more_rows_than_one_request_takes_are_got_in_their_order(store: Store, host: str) -> None:
    store.put(*(Plain(host=host, n=n, value=n) for n in range(250)))

    with store.engine.session() as session:
        found = session.get_many(Plain, [(host, n) for n in reversed(range(250))])

    assert [obj.n if obj else None for obj in found] == list(reversed(range(250)))
    assert len(store.sent.requests) == 3


@pytest.mark.parametrize(
    ("keys", "field"),
    [
        ([("a",)], None),
        (["a"], None),
        ([{"host": "a"}], "n"),
        ([{"host": "a", "n": 1, "x": 1}], "x"),
        ([("a", "1")], "n"),
        ([(1, 1)], "host"),
        ([("a", -1)], "n"),
        ([("a", 1), ("a", 1 << 32)], "n"),
    ],
)
def test_a_wrong_key_among_many_sends_nothing(
    store: Store, keys: list[Any], field: str | None
) -> None:
    store.forget()

    with store.engine.session() as session, pytest.raises(RowKeyError) as caught:
        session.get_many(Plain, keys)

    assert (caught.value.details.get("field"), store.sent.requests) == (field, [])
    assert caught.value.fix


def test_first_one_count_exists_and_explain_answer_the_same_statement(
    store: Store, model: Any, host: str
) -> None:
    store.put(*(model(host=host, n=n, value=n) for n in range(4)))
    statement = select(model).where(model.host == host)

    with store.engine.session() as session:
        first: Any = session.first(statement.order_by(model.host.desc(), model.n.desc()))
        only = session.one(statement.where(model.n == 2))
        counted = session.count(statement.where(model.n > 0))
        there = session.exists(statement), session.exists(statement.where(model.n > 3))
        nothing = session.first(statement.where(model.n > 3))
        store.forget()
        plan = session.explain(statement)

    assert (first.n, only.n, counted, there, nothing) == (3, 2, 3, (True, False), None)
    assert (plan.kind, store.sent.requests) == ("Scan", [])


def test_one_refuses_none_and_several(store: Store, model: Any, host: str) -> None:
    store.put(*(model(host=host, n=n, value=n) for n in range(2)))
    statement = select(model).where(model.host == host)

    with store.engine.session() as session:
        with pytest.raises(RowNotFoundError):
            session.one(statement.where(model.n == 7))
        with pytest.raises(MultipleRowsError):
            session.one(statement)


def test_a_whole_table_is_read_only_when_that_is_said(store: Store) -> None:
    store.forget()

    with store.engine.session() as session, pytest.raises(UnboundedScanError) as caught:
        session.all(select(Plain).where(Plain.value > 1))

    assert "allow_full_scan" in caught.value.fix
    assert store.sent.requests == []


def test_an_index_finds_rows_by_their_present_values(store: Store, host: str) -> None:
    unit = f"u{host}"
    store.put(*(Indexed(host=host, n=n, value=n, unit=unit if n % 2 else None) for n in range(6)))
    statement = select(Indexed).where(Indexed.unit == unit)

    with store.engine.session() as session:
        one, *rest = session.all(statement)
        one.unit = None
        session.delete(rest[0])
        session.flush()
        left = session.all(statement)

    assert [obj.n for obj in (one, *rest)] == [1, 3, 5]
    assert [obj.n for obj in left] == [5]


# --- what is sent ----------------------------------------------------------------------------------


def test_only_changed_cells_travel(store: Store, host: str) -> None:
    store.put(Plain(host=host, n=0, value=0.5, unit="ms", note="x"))

    with store.engine.session() as session:
        found = session.get(Plain, host=host, n=0)
        assert found is not None
        found.unit, found.value = "us", 0.5
        session.flush()

    change = RowMutation(plain_key(host), puts=(Put(b"d:u", b"us"),))
    assert store.sent.writes == [MutateRows(store.table(Plain), (change,))]


def test_a_value_set_back_or_not_changed_sends_nothing(store: Store, model: Any, host: str) -> None:
    store.put(model(host=host, n=0, value=0.5, unit="ms"))

    with store.engine.session() as session:
        found = load(session, model, host=host, n=0)
        found.unit = "us"
        found.unit = "ms"
        session.add(found)
        store.forget()
        report = session.flush()

    assert (report.written, store.sent.requests) == (0, [])


def test_defaults_of_absent_cells_are_no_changes(store: Store, host: str) -> None:
    store.put(Plain(host=host, n=0, value=0.5))

    with store.engine.session() as session:
        found = session.get(Later, host=host, n=0)
        assert found is not None
        token = found.token
        again = session.get(Later, host=host, n=0)
        found.unit = "us"
        session.flush()

    change = RowMutation(plain_key(host), puts=(Put(b"d:u", b"us"),))
    assert store.sent.writes == [MutateRows(store.table(Plain), (change,))]
    assert (again, found.port, len(token)) == (found, 80, 32)


def test_none_deletes_the_cell(store: Store, model: Any, host: str) -> None:
    store.put(model(host=host, n=0, value=0.5, unit="ms"))

    with store.engine.session() as session:
        found = load(session, model, host=host, n=0)
        found.unit = None
        session.flush()
        (row,) = gateway_of(store.engine).execute(
            GetRows(store.table(model), (plain_key(host),), (b"d",))
        )

    assert row is not None
    assert set(row.cells) == {b"d:v"}


def test_changing_and_clearing_cells_of_one_row_is_one_atomic_request(
    store: Store, host: str
) -> None:
    store.put(Plain(host=host, n=0, value=0.5, unit="ms", note="x"))

    with store.engine.session() as session:
        found = session.get(Plain, host=host, n=0)
        assert found is not None
        found.unit, found.note, found.value = "us", None, 0.7
        session.flush()

    (request,) = store.sent.writes
    assert isinstance(request, MutateRow)
    assert {put.column for put in request.mutation.puts} == {b"d:u", b"d:v"}
    assert request.mutation.deletes == (Delete(b"e:n"),)
    assert store.stored(Plain, host=host, n=0) == found


def test_leaving_the_block_by_an_exception_sends_nothing(
    store: Store, model: Any, host: str
) -> None:
    store.forget()

    with contextlib.suppress(KeyError), store.engine.session() as session:
        session.add(model(host=host, n=0, value=0.5))
        raise KeyError

    assert store.sent.requests == []


def test_an_object_that_does_not_fit_stops_the_flush_before_anything_is_sent(
    store: Store, host: str
) -> None:
    class Small(Model, table="plain"):
        d = Family()
        host: Key[str] = key()
        n: Key[int] = key(codecs.uint32())
        small: Mapped[int] = column(d, codec=codecs.uint8())

    good, bad = Plain(host=host, n=0, value=0.5), Small(host=host, n=1, small=300)
    store.forget()
    session = store.engine.session()
    session.add_all([good, bad])

    with pytest.raises(ValidationError) as caught:
        session.flush()

    error = caught.value
    assert (error.model, error.field, error.row) == ("Small", "small", plain_key(host, 1))
    assert store.sent.requests == []
    bad.small = 3
    assert session.flush().written == 2


def test_without_the_object_that_does_not_fit_the_others_are_written(
    store: Store, model: Any, host: str
) -> None:
    good, bad, other = (model(host=host, n=n, value=0.5) for n in range(3))
    session = store.engine.session()
    session.add_all([good, bad, other])
    bad.unit = "\ud800"

    with pytest.raises(ValidationError) as caught:
        session.flush()
    session.expunge(bad)
    good.unit = "ms"
    report = session.flush()

    assert (caught.value.model, caught.value.field) == (model.__name__, "unit")
    assert caught.value.row == plain_key(host, 1)
    assert report.written == 2
    assert [obj.n for obj in session.all(select(model).where(model.host == host))] == [0, 2]
    assert store.stored(model, host=host, n=0).unit == "ms"


def test_of_nothing_nothing_is_sent(store: Store, model: Any) -> None:
    with store.engine.session() as session:
        session.flush()  # the engine knows its models from here on
        store.forget()
        session.add_all([])
        reports = [session.flush()]
        with session.bulk() as bulk:
            bulk.add_all([])
        reports.append(bulk.report)
        found = session.get_many(model, [])

    assert [report.written for report in reports] == [0, 0]
    assert (found, store.sent.requests) == ([], [])


def test_an_empty_value_is_a_value(store: Store, model: Any, host: str) -> None:
    store.put(model(host=host, n=0, value=0.5, unit="", note="x"))

    with store.engine.session() as session:
        found = load(session, model, host=host, n=0)
        assert (found.unit, found.note) == ("", "x")
        found.note = ""
        session.flush()
        empty = session.all(select(model.n).where(model.host == host, model.note == ""))
        none = session.all(select(model.n).where(model.host == host, model.note.is_null()))

    assert store.stored(model, host=host, n=0).note == ""
    assert (empty, none) == ([0], [])


def test_an_empty_qualifier_is_a_column(store: Store, bare: Any, host: str) -> None:
    store.put(bare(host=host, body="x", note="y"))

    with store.engine.session() as session:
        found = load(session, bare, host=host)
        assert (found.body, found.note) == ("x", "y")
        assert session.all(select(bare.body).where(bare.host == host)) == ["x"]
        found.body, found.note = None, "z"
        session.flush()
        (row,) = gateway_of(store.engine).execute(
            GetRows(store.table(bare), (host.encode(),), (b"d",))
        )

    assert row is not None
    assert (set(row.cells), store.stored(bare, host=host).note) == ({b"d:n", b"d:_0"}, "z")


# --- order and ties --------------------------------------------------------------------------------


def test_two_adds_of_one_row_keep_their_order(store: Store, model: Any, host: str) -> None:
    with store.engine.session() as session:
        session.add(model(host=host, n=0, value=1.0, unit="first"))
        session.add(model(host=host, n=0, value=2.0))

    found = store.stored(model, host=host, n=0)
    assert (found.value, found.unit) == (2.0, "first")


def test_a_delete_and_an_add_in_one_flush_never_lose_the_add(
    store: Store, model: Any, host: str
) -> None:
    rows = [model(host=host, n=n, value=1.0, unit="old") for n in range(20)]
    store.put(*rows)

    with store.engine.session() as session:
        for obj in rows:
            session.delete(obj)
            session.add(model(host=host, n=obj.n, value=2.0))

    with store.engine.session() as session:
        found = session.all(select(model).where(model.host == host))
    assert [(obj.value, obj.unit) for obj in found] == [(2.0, None)] * 20


@pytest.mark.parametrize(("kind", "rounds"), [(Plain, 200), (Indexed, 40)])
def test_a_delete_and_an_add_back_to_back_never_lose_the_add(
    store: Store, kind: Any, rounds: int, host: str
) -> None:
    lost = []

    with store.engine.session() as session:
        for number in range(rounds):
            session.delete(kind(host=host, n=0, value=0.0))
            session.flush()
            session.add(kind(host=host, n=0, value=number))
            session.flush()
            if session.count(select(kind).where(kind.host == host)) != 1:
                lost.append(number)

    assert lost == []


def test_a_cell_that_was_cleared_and_set_back_to_back_is_never_lost(
    store: Store, host: str
) -> None:
    obj = Plain(host=host, n=0, value=0.5, unit="ms")
    store.put(obj)
    lost = []

    with store.engine.session() as session:
        session.add(obj)
        for number in range(150):
            obj.unit = None
            obj.value = number if number % 2 else obj.value  # alone, and with a change
            session.flush()
            obj.unit = f"u{number}"
            session.flush()
            if store.stored(Plain, host=host, n=0).unit is None:
                lost.append(number)

    assert lost == []


def test_an_increment_right_after_a_delete_is_never_lost(
    store: Store, model: Any, host: str
) -> None:
    totals = set()

    with store.engine.session() as session:
        for n in range(60):
            session.delete(model(host=host, n=n, value=0.0))
            session.flush()
            session.increment(model, model.hits.by(2), host=host, n=n)
            totals.add(session.increment(model, model.hits.by(1), host=host, n=n)[0])

    assert totals == {3}


def test_a_row_is_deleted_though_its_counter_ran_ahead_of_the_clock(
    store: Store, model: Any, host: str
) -> None:
    def count() -> None:
        with store.engine.session() as session:
            for _ in range(40):
                session.increment(model, model.hits.by(1), host=host, n=0)

    with ThreadPoolExecutor(4) as threads:
        for done in [threads.submit(count) for _ in range(4)]:
            done.result()
    with store.engine.session() as session:
        session.delete(model(host=host, n=0, value=0.0))
        session.flush()
        left = session.count(select(model).where(model.host == host))
        counted = session.increment(model, model.hits.by(1), host=host, n=0)

    assert (left, counted) == (0, [1])


@pytest.mark.parametrize("verb", ["add", "replace", "move"])
def test_what_is_put_after_many_appends_is_seen(store: Store, verb: str, host: str) -> None:
    with store.engine.session() as session:
        for _ in range(60):
            session.append(Loose, Loose.a, "x", host=host)
        obj = Loose(host=host, a="new")
        if verb == "move":
            old = load(session, Loose, host=host)
            session.move(old, host=f"{host}2")
        if verb == "replace":
            session.replace(obj)
        else:
            session.add(obj)

    assert store.stored(Loose, host=host) == Loose(host=host, a="new")


# --- failures --------------------------------------------------------------------------------------


def test_a_flush_that_fails_in_one_table_says_which_rows_it_wrote(store: Store, host: str) -> None:
    session = store.engine.session()
    good, bad = Plain(host=host, n=0, value=0.5), Never(host=host, a="x")
    session.add_all([good, bad])

    with pytest.raises(FlushError) as caught:
        session.flush()

    (table, row, reason) = caught.value.not_written[0]
    assert caught.value.written == [(store.table(Plain), plain_key(host))]
    assert (table, row, type(reason)) == (store.table(Never), host.encode(), TableNotFoundError)
    assert caught.value.unknown == []
    assert str(caught.value).startswith("not all rows were written [not_written=1 unknown=0 wri")


def test_a_second_flush_sends_only_what_was_not_acknowledged(store: Store, host: str) -> None:
    session = store.engine.session()
    session.add_all([Plain(host=host, n=0, value=0.5), Never(host=host, a="x")])
    with pytest.raises(FlushError):
        session.flush()
    store.forget()

    with pytest.raises(FlushError) as caught:
        session.flush()

    change = RowMutation(host.encode(), puts=(Put(b"d:a", b"x"),))
    assert store.sent.writes == [MutateRows(store.table(Never), (change,))]
    assert caught.value.written == []


# --- identity --------------------------------------------------------------------------------------


def test_a_row_has_one_object_in_a_session(store: Store, model: Any, host: str) -> None:
    store.put(model(host=host, n=0, value=0.5))

    with store.engine.session() as session:
        got = load(session, model, host=host, n=0)
        selected = session.one(select(model).where(model.host == host))

    assert got is selected


def test_a_flushed_object_is_the_object_of_its_row(store: Store, model: Any, host: str) -> None:
    made = model(host=host, n=0, value=0.5)

    with store.engine.session() as session:
        session.add(made)
        session.flush()
        got = load(session, model, host=host, n=0)

    assert got is made


def test_reading_again_refreshes_what_the_program_did_not_change(
    store: Store, model: Any, host: str
) -> None:
    store.put(model(host=host, n=0, value=0.5, unit="ms", note="old"))

    with store.engine.session() as session:
        found = load(session, model, host=host, n=0)
        found.unit = "mine"
        store.put(model(host=host, n=0, value=0.7, unit="theirs", note="new"))
        session.increment(model, model.hits.by(4), host=host, n=0)
        load(session, model, host=host, n=0)
        seen = (found.value, found.unit, found.note, found.hits)

    assert seen == (0.7, "mine", "new", 4)
    assert store.stored(model, host=host, n=0).unit == "mine"


def test_an_object_that_nobody_holds_is_forgotten(store: Store, host: str) -> None:
    store.put(Plain(host=host, n=0, value=0.5))
    session = store.engine.session()
    found = session.get(Plain, host=host, n=0)
    assert found is not None
    held = weakref.ref(found)

    del found
    gc.collect()

    assert held() is None
    assert repr(session) == "Session(loaded=0, pending=0)"


def test_a_changed_object_is_kept_until_it_is_flushed(store: Store, host: str) -> None:
    store.put(Plain(host=host, n=0, value=0.5))
    session = store.engine.session()
    found = session.get(Plain, host=host, n=0)
    assert found is not None
    found.unit = "kept"

    del found
    gc.collect()
    session.flush()

    assert store.stored(Plain, host=host, n=0).unit == "kept"


def test_streamed_objects_are_not_attached_until_they_are_added(
    store: Store, model: Any, host: str
) -> None:
    store.put(*(model(host=host, n=n, value=0.5) for n in range(2)))

    with store.engine.session() as session:
        with session.stream(select(model).where(model.host == host)) as found:
            loose, added = found
        loose.unit = added.unit = "ms"
        session.add(added)

    assert store.stored(model, host=host, n=0).unit is None
    assert store.stored(model, host=host, n=1).unit == "ms"


def test_objects_of_a_closed_session_are_plain(store: Store, model: Any, host: str) -> None:
    store.put(model(host=host, n=0, value=0.5))
    with store.engine.session() as session:
        found = load(session, model, host=host, n=0)

    found.unit = "us"
    assert session.flush().written == 0

    with store.engine.session() as other:
        other.add(found)
    assert store.stored(model, host=host, n=0).unit == "us"


def test_an_expunged_object_is_not_written(store: Store, model: Any, host: str) -> None:
    store.put(model(host=host, n=0, value=0.5))

    with store.engine.session() as session:
        found = load(session, model, host=host, n=0)
        found.unit = "us"
        session.expunge(found)
        found.note = "x"

    assert store.stored(model, host=host, n=0).to_dict()["unit"] is None


def test_a_second_object_of_a_row_is_refused_until_the_first_is_expunged(
    store: Store, model: Any, host: str
) -> None:
    store.put(model(host=host, n=0, value=0.5))
    session = store.engine.session()
    old = load(session, model, host=host, n=0)
    new = model(host=host, n=0, value=0.7)

    for refused in (session.add, session.delete):
        with pytest.raises(ValidationError) as caught:
            refused(new)
        assert (caught.value.model, caught.value.row) == (
            model.__name__,
            model.encode_key(host=host, n=0),
        )
    assert session.flush().written == 0
    session.expunge(old)
    session.add(new)
    session.flush()
    old.value = 0.1
    session.flush()

    assert load(session, model, host=host, n=0) is new
    assert store.stored(model, host=host, n=0).value == 0.7


def test_expunging_another_object_of_a_row_leaves_the_one_that_the_session_holds(
    store: Store, model: Any, host: str
) -> None:
    store.put(model(host=host, n=0, value=0.5))

    with store.engine.session() as session:
        held = load(session, model, host=host, n=0)
        session.expunge(model(host=host, n=0, value=0.7))
        again = load(session, model, host=host, n=0)

    assert again is held


def test_a_row_that_is_to_be_deleted_takes_a_new_object(
    store: Store, model: Any, host: str
) -> None:
    store.put(model(host=host, n=0, value=0.5, unit="ms"))

    with store.engine.session() as session:
        old = load(session, model, host=host, n=0)
        session.delete(old)
        new = model(host=host, n=0, value=0.7)
        session.add(new)
        session.flush()
        new.note = "kept"

    found = store.stored(model, host=host, n=0)
    assert (found.value, found.unit, found.note) == (0.7, None, "kept")


@pytest.mark.parametrize("last", ["add", "delete"])
def test_an_object_that_another_one_has_replaced_refuses_changes(
    store: Store, host: str, last: str
) -> None:
    session = store.engine.session()
    first, second = Plain(host=host, n=0, value=0.5), Plain(host=host, n=0, value=0.7)
    session.add(first)
    getattr(session, last)(second)
    session.flush()
    store.forget()

    with pytest.raises(ValidationError) as caught:
        first.value = 0.1

    assert caught.value.fix
    assert session.flush().written == 0
    assert store.sent.requests == []


def test_a_replaced_object_that_is_added_again_is_written_as_a_whole(
    store: Store, host: str
) -> None:
    session = store.engine.session()
    first, second = Plain(host=host, n=0, value=0.5), Plain(host=host, n=0, value=0.7)
    session.add_all([first, second])
    session.flush()
    session.expunge(second)
    session.add(first)
    session.flush()
    first.unit = "ms"
    session.flush()

    assert store.stored(Plain, host=host, n=0) == first


def test_what_is_noted_last_is_sent_last(store: Store, host: str) -> None:
    session = store.engine.session()
    first, second = Plain(host=host, n=0, value=0.5), Plain(host=host, n=0, value=0.7)
    session.add(first)
    session.add(second)
    session.add(first)
    session.flush()

    assert store.stored(Plain, host=host, n=0).value == 0.5


def test_a_nan_that_the_program_did_not_change_is_refreshed(
    store: Store, model: Any, host: str
) -> None:
    store.put(model(host=host, n=0, value=float("nan")))
    session = store.engine.session()
    found = load(session, model, host=host, n=0)

    store.put(model(host=host, n=0, value=0.7))
    load(session, model, host=host, n=0)
    refreshed = found.value
    found.value = float("nan")
    load(session, model, host=host, n=0)

    assert refreshed == 0.7
    assert str(found.value) == "nan"


def test_an_index_entry_that_is_too_long_stops_the_flush_before_anything_is_sent(
    store: Store, host: str
) -> None:
    session = store.engine.session()
    session.add(Indexed(host=host, n=0, value=0.5))
    session.add(Indexed(host=host, n=1, value=0.5, unit="u" * 40_000))
    store.forget()

    with pytest.raises(RowKeyError) as caught:
        session.flush()

    assert caught.value.index == "by_unit"
    assert store.sent.requests == []


def test_a_deleted_object_may_be_added_again_as_a_whole(
    store: Store, model: Any, host: str
) -> None:
    made = model(host=host, n=0, value=0.5, unit="ms")
    store.put(made)

    with store.engine.session() as session:
        session.delete(made)
        session.flush()
        gone = store.stored(model, host=host, n=0)
        session.add(made)

    assert gone is None
    assert store.stored(model, host=host, n=0) == made


# --- which rows exist ------------------------------------------------------------------------------


def test_a_row_whose_columns_are_all_none_exists_until_it_is_deleted(
    store: Store, loose: Any, host: str
) -> None:
    store.put(loose(host=host))
    there = store.stored(loose, host=host)

    with store.engine.session() as session:
        session.delete(there)

    assert (there.host, there.a, there.b) == (host, None, None)
    assert store.stored(loose, host=host) is None


def test_every_way_of_reading_sees_a_row_whose_columns_are_all_none(
    store: Store, loose: Any, host: str
) -> None:
    mine = loose.host == host

    def ways() -> list[Any]:
        with store.engine.session() as session:
            return [
                load(session, loose, host=host) is not None,
                len(session.all(select(loose).where(mine))),
                session.count(select(loose).where(mine)),
                session.exists(select(loose).where(mine)),
                session.all(select(loose.host).where(mine)),
                session.all(select(loose.a, loose.hits).where(mine)),
                session.all(select(loose.b).where(mine, loose.b.is_null())),
                len(session.all(select(loose).where(mine, loose.a.is_null()))),
                [obj.host for obj in session.get_many(loose, [(host,)]) if obj],
            ]

    store.put(loose(host=host))
    there = ways()
    store.put(loose(host=host, a="x"))
    with store.engine.session() as session:
        load(session, loose, host=host).a = None
    cleared = ways()
    with store.engine.session() as session:
        session.delete_row(loose, host=host)

    assert there == [True, 1, 1, True, [host], [(None, 0)], [None], 1, [host]]
    assert cleared == there
    assert ways() == [False, 0, 0, False, [], [], [], 0, []]


def test_clearing_the_last_column_leaves_the_row(store: Store, loose: Any, host: str) -> None:
    store.put(loose(host=host, a="x"))

    with store.engine.session() as session:
        found = load(session, loose, host=host)
        found.a = None

    assert store.stored(loose, host=host) == loose(host=host)


def test_every_put_writes_the_marker(store: Store, host: str) -> None:
    store.put(Loose(host=host, a="x"))

    with store.engine.session() as session:
        found = session.get(Loose, host=host)
        assert found is not None
        found.b = "y"
        session.flush()

    change = RowMutation(host.encode(), puts=(Put(b"d:b", b"y"), Put(b"d:_0", b"x")))
    assert store.sent.writes == [MutateRows(store.table(Loose), (change,))]


def test_any_cell_makes_a_plain_row(store: Store, host: str) -> None:
    cell = RowMutation(plain_key(host), puts=(Put(b"e:foreign", b"1"),))
    store.sent.execute(MutateRow(store.table(Plain), cell))

    found = store.stored(Plain, host=host, n=0)

    assert (found.host, found.unit) == (host, None)


@pytest.mark.parametrize("kind", [Indexed, LooseIndexed])
def test_a_counter_that_outlives_a_delete_makes_no_guarded_row(
    store: Store, kind: Any, host: str
) -> None:
    key = {"host": host} if kind is LooseIndexed else {"host": host, "n": 0}
    values = {} if kind is LooseIndexed else {"value": 0.5}
    store.put(kind(**key, **values))

    with store.engine.session() as session:
        session.delete(load(session, kind, **key))
        session.flush()
        session.increment(kind, kind.hits.by(1), **key)
        gone = load(session, kind, **key), session.all(select(kind).where(kind.host == host))
        session.add(kind(**key, **values))

    assert gone == (None, [])
    assert store.stored(kind, **key).hits == 1


# --- counters --------------------------------------------------------------------------------------


def test_several_counters_change_in_one_request(store: Store, model: Any, host: str) -> None:
    with store.engine.session() as session:
        session.increment(model, model.hits.by(5), model.likes.by(1), host=host, n=0)
        store.forget()
        values = session.increment(model, model.likes.by(3), model.hits.by(-7), host=host, n=0)

    assert values == [4, -2]
    assert [type(request) for request in store.sent.requests] == [Increment]


def test_increments_of_nothing_twice_or_of_another_field_send_nothing(
    store: Store, host: str
) -> None:
    store.forget()
    session = store.engine.session()

    for wrong in (
        (),
        (Plain.hits.by(1), Plain.hits.by(1)),
        (Indexed.hits.by(1),),
        (Plain.hits,),
    ):
        with pytest.raises(QueryError) as caught:
            session.increment(Plain, *wrong, host=host, n=0)
        assert caught.value.fix
    with pytest.raises(RowKeyError):
        session.increment(Plain, Plain.hits.by(1), host=host)

    assert store.sent.requests == []


# --- bulk ------------------------------------------------------------------------------------------


def test_a_bulk_writes_more_rows_than_a_batch_holds(store: Store, model: Any, host: str) -> None:
    with store.engine.session() as session, session.bulk(batch_rows=7) as bulk:
        bulk.add_all(model(host=host, n=n, value=n) for n in range(50))

    with store.engine.session() as session:
        found = session.all(select(model).where(model.host == host))
    assert bulk.report.written == 50
    assert [obj.value for obj in found] == list(range(50))


def test_rows_that_exist_are_reported_one_by_one(store: Store, host: str) -> None:
    store.put(Indexed(host=host, n=1, value=1.0))
    session = store.engine.session()

    with pytest.raises(FlushError) as caught, session.bulk(insert_only=True) as bulk:
        bulk.add_all(Indexed(host=host, n=n, value=9.0) for n in range(3))

    ((table, row, reason),) = caught.value.not_written
    assert (table, row) == (store.table(Indexed), plain_key(host, 1))
    assert isinstance(reason, DuplicateRowError)
    assert bulk.report.written == 2
    assert store.stored(Indexed, host=host, n=1).value == 1.0


# --- threads ---------------------------------------------------------------------------------------


def test_threads_with_a_session_each_share_an_engine(store: Store, model: Any, host: str) -> None:
    def work(thread: int) -> list[float]:
        seen = []
        with store.engine.session() as session:
            for number in range(15):
                session.add(model(host=host, n=thread, value=number))
                session.flush()
                found = load(session, model, host=host, n=thread)
                assert found is not None
                seen.append(found.value)
                session.delete(found)
                session.flush()
                session.increment(model, model.hits.by(1), host=host, n=99)
        return seen

    with ThreadPoolExecutor(4) as threads:
        results = list(threads.map(work, range(4)))

    assert results == [list(range(15))] * 4
    with store.engine.session() as session:
        assert session.increment(model, model.hits.by(0), host=host, n=99) == [60]


# --- on a real HBase alone --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def thrift1(store: Store) -> Iterator[Store]:
    """The same tables through Thrift1 alone."""
    with connect(thrift1_url(store.engine)) as engine:
        yield Store.on(engine)


@pytest.mark.only_on("hbase")
def test_thrift1_alone_puts_first_and_clears_second(thrift1: Store, host: str) -> None:
    thrift1.put(Plain(host=host, n=0, value=0.5, note="x"))

    with thrift1.engine.session() as session:
        found = session.get(Plain, host=host, n=0)
        assert found is not None
        found.unit, found.note = "us", None

    table, row = thrift1.table(Plain), plain_key(host)
    assert thrift1.sent.writes == [
        MutateRows(table, (RowMutation(row, puts=(Put(b"d:u", b"us"),)),)),
        MutateRows(table, (RowMutation(row, deletes=(Delete(b"e:n"),)),)),
    ]
    assert thrift1.stored(Plain, host=host, n=0) == found


@pytest.mark.only_on("hbase")
def test_thrift1_alone_refuses_models_with_indexes_and_says_how_to_get_them(
    thrift1: Store, host: str
) -> None:
    thrift1.forget()

    with thrift1.engine.session() as session, pytest.raises(ConfigurationError) as caught:
        session.get(Indexed, host=host, n=0)

    assert (caught.value.model, thrift1.sent.requests) == ("Indexed", [])
    assert "thrift2=" in caught.value.fix


@pytest.mark.only_on("hbase")
def test_thrift1_alone_increments_one_counter_at_a_time(thrift1: Store, host: str) -> None:
    with thrift1.engine.session() as session:
        one = session.increment(Plain, Plain.hits.by(2), host=host, n=0)
        with pytest.raises(FeatureMissingError):
            session.increment(Plain, Plain.hits.by(2), Plain.likes.by(1), host=host, n=0)

    assert one == [2]


@pytest.mark.only_on("hbase")
def test_the_connection_of_happybase_is_there_for_what_the_library_lacks(
    store: Store, host: str
) -> None:
    store.put(Plain(host=host, n=0, value=0.5))
    engine: Engine = store.engine

    with engine.raw() as connection:
        row = connection.table(store.table(Plain)).row(plain_key(host))

    assert list(row) == [b"d:v"]


@pytest.mark.only_on("hbase")
def test_a_stream_left_early_holds_no_scanner_and_the_session_goes_on(
    store: Store, host: str
) -> None:
    store.put(*(Plain(host=host, n=n, value=n) for n in range(500)))

    with store.engine.session() as session:
        with session.stream(select(Plain).where(Plain.host == host).caching(10)) as found:
            first = next(found)
        count = session.count(select(Plain).where(Plain.host == host))

    opened = [type(r).__name__ for r in store.sent.requests].count("OpenScanner")
    closed = [type(r).__name__ for r in store.sent.requests].count("CloseScanner")
    assert (first.n, count, opened) == (0, 500, closed)
