"""What writes at once promise.

Tests share the tables of `prepare`, so each works on rows of its own `host`.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import pytest

from hbase_orm import (
    Counter,
    Dynamic,
    Engine,
    Family,
    Index,
    Key,
    Mapped,
    Model,
    Version,
    codecs,
    column,
    connect,
    counter,
    dynamic,
    key,
    select,
    version,
)
from hbase_orm.errors import (
    ConfigurationError,
    ConflictError,
    ConnectionLostError,
    DuplicateRowError,
    FeatureMissingError,
    FlushConflictError,
    FlushError,
    QueryError,
    RowKeyError,
    RowNotFoundError,
    ValidationError,
    VersionConflictError,
)
from hbase_orm.ops import CheckAndMutate, MutateRow, Operation, Put, RowMutation
from hbase_orm.schema import Comparison
from tests.support.backends import thrift1_url
from tests.support.recording import (
    FailsBeforeSending,
    LosesAnswers,
)
from tests.support.store import Store, load, row_key


class Plain(Model, table="plain"):
    d = Family()
    e = Family()
    host: Key[str] = key()
    n: Key[int] = key(codecs.uint32())
    name: Mapped[str] = column(d, "n")
    size: Mapped[int] = column(d, "s", codec=codecs.int64())
    unit: Mapped[str | None] = column(e, "u", default=None)
    port: Mapped[int | None] = column(d, "p", codec=codecs.uint16(desc=True), default=None)
    share: Mapped[float | None] = column(d, "f", default=None)
    hits: Counter = counter(d, "h")


class Indexed(Model, table="indexed"):
    d = Family()
    e = Family()
    host: Key[str] = key()
    n: Key[int] = key(codecs.uint32())
    name: Mapped[str] = column(d, "n")
    size: Mapped[int] = column(d, "s", codec=codecs.int64())
    unit: Mapped[str | None] = column(e, "u", default=None)
    port: Mapped[int | None] = column(d, "p", codec=codecs.uint16(desc=True), default=None)
    share: Mapped[float | None] = column(d, "f", default=None)
    hits: Counter = counter(d, "h")
    by_unit = Index(unit)


class Versioned(Model, table="versioned"):
    d = Family()
    e = Family()
    host: Key[str] = key()
    n: Key[int] = key(codecs.uint32())
    name: Mapped[str] = column(d, "n")
    size: Mapped[int] = column(d, "s", codec=codecs.int64())
    unit: Mapped[str | None] = column(e, "u", default=None)
    port: Mapped[int | None] = column(d, "p", codec=codecs.uint16(desc=True), default=None)
    share: Mapped[float | None] = column(d, "f", default=None)
    hits: Counter = counter(d, "h")
    revision: Version = version(d)


class Loose(Model, table="loose"):
    d = Family()
    host: Key[str] = key()
    a: Mapped[str | None] = column(d, default=None)
    b: Mapped[str | None] = column(d, default=None)


class LooseVersioned(Model, table="loose_versioned"):
    d = Family()
    host: Key[str] = key()
    a: Mapped[str | None] = column(d, default=None)
    b: Mapped[str | None] = column(d, default=None)
    revision: Version = version(d)


class Named(Model, table="named"):
    """A row whose only required cell may be empty."""

    d = Family()
    host: Key[str] = key()
    name: Mapped[str] = column(d)


class Tagged(Model, table="tagged"):
    d = Family()
    host: Key[str] = key()
    name: Mapped[str] = column(d)
    tags: Dynamic[str, str] = dynamic(d, prefix="t:")


class TaggedVersioned(Model, table="tagged_versioned"):
    d = Family()
    host: Key[str] = key()
    name: Mapped[str] = column(d)
    tags: Dynamic[str, str] = dynamic(d)
    revision: Version = version(d)


MODELS = (Tagged, TaggedVersioned, Plain, Indexed, Versioned, Loose, LooseVersioned, Named)
GUARDED = (Indexed, Versioned)


def prepare(engine: Engine) -> None:
    engine.create_tables(*MODELS)


@pytest.fixture(params=[Plain, Indexed, Versioned], ids=["plain", "indexed", "versioned"])
def model(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture(params=GUARDED, ids=["indexed", "versioned"])
def guarded(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture(params=[Loose, LooseVersioned], ids=["plain", "versioned"])
def loose(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture(params=[Tagged, TaggedVersioned], ids=["plain", "versioned"])
def tagged(request: pytest.FixtureRequest) -> Any:
    return request.param


# --- put_row and delete_row ------------------------------------------------------------------------


def test_put_row_writes_and_clears_cells_of_one_row(store: Store, model: Any, host: str) -> None:
    store.put(model(host=host, n=1, name="a", size=1, unit="ms", port=80))

    with store.engine.session() as session:
        session.put_row(model, model.size.to(2), model.unit.to(None), host=host, n=1)

    found = store.stored(model, host=host, n=1)
    assert (found.name, found.size, found.unit, found.port) == ("a", 2, None, 80)


def test_put_row_moves_the_index_entry(store: Store, host: str) -> None:
    unit = f"u{host}"
    store.put(Indexed(host=host, n=1, name="a", size=1, unit=f"old{host}"))

    with store.engine.session() as session:
        session.put_row(Indexed, Indexed.unit.to(unit), host=host, n=1)
        found = session.all(select(Indexed).where(Indexed.unit == unit))
        left = session.all(select(Indexed).where(Indexed.unit == f"old{host}"))

    assert [obj.n for obj in found] == [1]
    assert left == []


def test_put_row_of_all_required_fields_makes_a_row(store: Store, model: Any, host: str) -> None:
    with store.engine.session() as session:
        session.put_row(model, model.name.to("a"), model.size.to(2), host=host, n=1)

    assert store.stored(model, host=host, n=1) == model(host=host, n=1, name="a", size=2)


def test_put_row_of_some_fields_makes_no_row_under_a_guard(
    store: Store, guarded: Any, host: str
) -> None:
    with store.engine.session() as session, pytest.raises(RowNotFoundError) as caught:
        session.put_row(guarded, guarded.size.to(2), host=host, n=1)

    assert caught.value.model == guarded.__name__
    assert store.cells(guarded(host=host, n=1, name="", size=0)) == {}


def test_put_row_makes_a_row_whose_columns_are_all_none(
    store: Store, loose: Any, host: str
) -> None:
    with store.engine.session() as session:
        session.put_row(loose, loose.a.to(None), host=host)

    assert store.stored(loose, host=host) == loose(host=host)


def test_put_row_takes_its_words_literally(store: Store, model: Any, host: str) -> None:
    store.sent.requests.clear()
    with store.engine.session() as session:
        for wrong in ((), (model.hits.to(1),), (Loose.a.to("x"),), ("x",)):
            with pytest.raises(QueryError):
                session.put_row(model, *wrong, host=host, n=1)
        with pytest.raises(QueryError):
            session.put_row(model, model.size.to(1), model.size.to(2), host=host, n=1)
        with pytest.raises(RowKeyError):
            session.put_row(model, model.n.to(1), host=host, n=1)
        with pytest.raises(RowKeyError):
            session.put_row(model, model.size.to(1), host=host)
        for value in (None, "x", 1 << 70):
            with pytest.raises(ValidationError) as caught:
                session.put_row(model, model.size.to(value), host=host, n=1)
            assert (caught.value.model, caught.value.field) == (model.__name__, "size")

    assert store.sent.requests == []


def test_delete_row_deletes_what_is_there(store: Store, model: Any, host: str) -> None:
    obj = model(host=host, n=1, name="a", size=1)
    store.put(obj)

    with store.engine.session() as session:
        session.increment(model, model.hits.by(1), host=host, n=1)
        session.delete_row(model, host=host, n=1)
        session.delete_row(model, host=host, n=1)

    assert store.stored(model, host=host, n=1) is None
    assert store.cells(obj) == {}


def test_writes_by_key_leave_pending_work_alone(store: Store, model: Any, host: str) -> None:
    store.put(model(host=host, n=1, name="a", size=1))

    with store.engine.session() as session:
        session.add(model(host=host, n=2, name="b", size=2))
        session.put_row(model, model.size.to(5), host=host, n=1)
        between = store.stored(model, host=host, n=2)

    assert between is None
    assert store.stored(model, host=host, n=2).name == "b"


# --- append and refresh ----------------------------------------------------------------------------


def test_append_joins_text_and_answers_the_new_value(store: Store, model: Any, host: str) -> None:
    store.put(model(host=host, n=1, name="a", size=1))

    with store.engine.session() as session:
        assert session.append(model, model.name, "b", host=host, n=1) == "ab"
        assert session.append(model, model.name, "ü", host=host, n=1) == "abü"

    assert store.stored(model, host=host, n=1).name == "abü"


def test_appends_of_several_threads_all_count(store: Store, model: Any, host: str) -> None:
    store.put(model(host=host, n=1, name="", size=1))

    def append(tail: str) -> None:
        with store.engine.session() as session:
            for _ in range(10):
                session.append(model, model.name, tail, host=host, n=1)

    with ThreadPoolExecutor(3) as threads:
        list(threads.map(append, "xyz"))

    assert sorted(store.stored(model, host=host, n=1).name) == sorted("xyz" * 10)


def test_append_refuses_what_cannot_be_joined(store: Store, model: Any, host: str) -> None:
    with store.engine.session() as session:
        with pytest.raises(QueryError, match="append works only on text and bytes fields"):
            session.append(model, model.size, 1, host=host, n=1)
        with pytest.raises(ValidationError):
            session.append(model, model.name, 5, host=host, n=1)
        with pytest.raises(QueryError, match="indexed"):
            session.append(Indexed, Indexed.unit, "x", host=host, n=1)


def test_append_needs_a_guarded_row_to_exist(store: Store, guarded: Any, host: str) -> None:
    with store.engine.session() as session, pytest.raises(RowNotFoundError):
        session.append(guarded, guarded.name, "x", host=host, n=1)


def test_append_to_a_plain_row_that_is_absent_makes_it(store: Store, host: str) -> None:
    with store.engine.session() as session:
        assert session.append(Loose, Loose.a, "x", host=host) == "x"

    assert store.stored(Loose, host=host) == Loose(host=host, a="x")


def test_refresh_drops_changes_and_reads_the_row(store: Store, model: Any, host: str) -> None:
    store.put(model(host=host, n=1, name="a", size=1))

    with store.engine.session() as session:
        found = load(session, model, host=host, n=1)
        found.name = "mine"
        store.put(model(host=host, n=1, name="theirs", size=2))
        session.refresh(found)
        assert (found.name, found.size) == ("theirs", 2)
        assert session.flush().written == 0

        session.delete_row(model, host=host, n=1)
        with pytest.raises(RowNotFoundError):
            session.refresh(found)


# --- insert ----------------------------------------------------------------------------------------


def test_insert_writes_an_absent_row_once(store: Store, model: Any, host: str) -> None:
    with store.engine.session() as session:
        first = model(host=host, n=1, name="a", size=1, unit="ms")
        session.insert(first)
        assert store.stored(model, host=host, n=1) == first
        assert load(session, model, host=host, n=1) is first
        assert session.flush().written == 0
    with store.engine.session() as session, pytest.raises(DuplicateRowError) as caught:
        session.insert(model(host=host, n=1, name="b", size=2))

    assert (caught.value.model, caught.value.row) == (model.__name__, row_key(first))
    assert store.stored(model, host=host, n=1) == first


def test_insert_of_a_row_whose_columns_are_all_none(store: Store, loose: Any, host: str) -> None:
    with store.engine.session() as session:
        session.insert(loose(host=host))
    with store.engine.session() as session, pytest.raises(DuplicateRowError):
        session.insert(loose(host=host, a="x"))

    assert store.stored(loose, host=host) == loose(host=host)


def test_insert_after_a_delete(store: Store, model: Any, host: str) -> None:
    with store.engine.session() as session:
        for size in range(5):
            obj = model(host=host, n=1, name="a", size=size)
            session.insert(obj)
            assert store.stored(model, host=host, n=1).size == size
            session.delete_row(model, host=host, n=1)
            session.expunge(obj)


def test_of_many_inserts_of_one_row_one_wins(store: Store, model: Any, host: str) -> None:
    def insert(number: int) -> int:
        with store.engine.session() as session:
            try:
                session.insert(model(host=host, n=1, name=str(number), size=number))
            except DuplicateRowError:
                return 0
        return 1

    with ThreadPoolExecutor(4) as threads:
        assert sum(threads.map(insert, range(8))) == 1


def test_any_cell_of_a_plain_row_makes_an_insert_a_duplicate(store: Store, host: str) -> None:
    obj = Plain(host=host, n=1, name="a", size=1)
    cell = RowMutation(row_key(obj), puts=(Put(b"e:other", b"x"),))
    store.run(MutateRow(store.table(Plain), cell))

    with store.engine.session() as session, pytest.raises(DuplicateRowError):
        session.insert(obj)


def test_an_insert_that_hbase_could_not_tell_from_no_row_is_refused(
    store: Store, host: str
) -> None:
    with store.engine.session() as session:
        with pytest.raises(ValidationError, match="empty cell"):
            session.insert(Named(host=host, name=""))
        session.insert(Named(host=host, name="x"))


# --- replace ---------------------------------------------------------------------------------------


def test_replace_leaves_exactly_the_object(store: Store, model: Any, host: str) -> None:
    store.put(model(host=host, n=1, name="a", size=1, unit="ms", port=80))

    with store.engine.session() as session:
        session.increment(model, model.hits.by(3), host=host, n=1)
        obj = model(host=host, n=1, name="b", size=2)
        session.replace(obj)
        found = store.stored(model, host=host, n=1)
        assert (found, found.hits) == (obj, 0)
        obj.unit = "s"
        session.flush()

    assert store.stored(model, host=host, n=1).unit == "s"


def test_replace_of_what_was_just_written_or_deleted_is_seen(
    store: Store, model: Any, host: str
) -> None:
    with store.engine.session() as session:
        for size in range(20):
            obj = model(host=host, n=1, name="a", size=size)
            session.replace(obj)
            assert store.stored(model, host=host, n=1).size == size
            if size % 2:
                session.delete_row(model, host=host, n=1)
            session.expunge(obj)


def test_replace_of_a_row_from_the_future_is_seen(store: Store, host: str) -> None:
    obj = Plain(host=host, n=1, name="new", size=1)
    ahead_ms = store.engine._runtime.guard_context.now_ms() + 1_800_000
    future = RowMutation(row_key(obj), puts=(Put(b"d:n", b"old", ahead_ms),))
    store.run(MutateRow(store.table(Plain), future))

    with store.engine.session() as session:
        session.replace(obj)

    assert store.stored(Plain, host=host, n=1) == obj


def test_replace_moves_the_index_entry(store: Store, host: str) -> None:
    unit = f"u{host}"
    store.put(Indexed(host=host, n=1, name="a", size=1, unit=unit))

    with store.engine.session() as session:
        session.replace(Indexed(host=host, n=1, name="b", size=2))
        assert session.all(select(Indexed).where(Indexed.unit == unit)) == []
        session.expunge(session.get(Indexed, host=host, n=1))  # type: ignore[arg-type]  # it exists
        session.replace(Indexed(host=host, n=1, name="b", size=2, unit=unit))
        assert len(session.all(select(Indexed).where(Indexed.unit == unit))) == 1


# --- put_if and delete_if --------------------------------------------------------------------------

COMPARISONS = [
    (lambda m: m.size == 5, True),
    (lambda m: m.size == 4, False),
    (lambda m: m.size != 4, True),
    (lambda m: m.size != 5, False),
    (lambda m: m.size < 6, True),
    (lambda m: m.size < 5, False),
    (lambda m: m.size <= 5, True),
    (lambda m: m.size <= 4, False),
    (lambda m: m.size > 4, True),
    (lambda m: m.size > 5, False),
    (lambda m: m.size >= 5, True),
    (lambda m: m.size >= 6, False),
    (lambda m: m.size > -1, True),
    (lambda m: m.port == 80, True),
    (lambda m: m.port < 81, True),
    (lambda m: m.port < 80, False),
    (lambda m: m.port >= 80, True),
    (lambda m: m.port > 80, False),
    (lambda m: m.port.is_null(), False),
    (lambda m: m.port != None, True),  # noqa: E711 - a condition
    (lambda m: m.share.is_null(), True),
    (lambda m: m.share != None, False),  # noqa: E711 - a condition
    (lambda m: m.share == 0.5, False),
    (lambda m: m.name == "a", True),
    (lambda m: m.name == "", False),
    (lambda m: m.name < "b", True),
    (lambda m: m.hits == 0, True),
    (lambda m: m.hits == 1, False),
]


@pytest.mark.parametrize(("condition", "is_met"), COMPARISONS)
def test_put_if_and_delete_if_write_what_fulfils_the_condition(
    store: Store,
    model: Any,
    host: str,
    condition: Any,
    is_met: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    store.put(model(host=host, n=1, name="a", size=5, port=80))

    with store.engine.session() as session:
        loaded = load(session, model, host=host, n=1)
        loaded.unit = "s"
        if model is Plain and repr(condition(Plain)) in {"Plain.name == ''", "Plain.hits == 0"}:
            with pytest.raises(QueryError):  # HBase cannot decide this
                session.put_if(loaded, condition(model))
            session.expunge(loaded)
            return
        assert session.put_if(loaded, condition(model)) is is_met
        assert store.stored(model, host=host, n=1).unit == ("s" if is_met else None)
        session.expunge(loaded)
        gone = load(session, model, host=host, n=1)
        assert session.delete_if(gone, condition(model)) is is_met

    assert (store.stored(model, host=host, n=1) is None) is is_met


@pytest.mark.parametrize(
    "conditions",
    [
        (Plain.size == 5, Plain.port == 80),
        ((Plain.size == 5) & (Plain.port == 80),),
        ((Plain.size == 5) | (Plain.port == 80),),
        (~(Plain.size == 5),),
        (Plain.size.in_([5, 6]),),
        (Plain.name.startswith("a"),),
        (Plain.name == "",),
        (Plain.unit.is_null(),),
        (Plain.unit != "s",),
        (Plain.share == 0.0,),
        (Plain.share < 0.5,),
        (Plain.hits == 0,),
        (Plain.hits < 5,),
        (Comparison(Plain.size, "<", None),),
        (Plain.size == 1 << 70,),
        (Plain.n == 1,),
        (Indexed.size == 5,),
        (Plain.size == "x",),
        (),
        (True,),
    ],
    ids=repr,
)
def test_what_hbase_cannot_decide_is_refused_before_anything_is_sent(
    store: Store, host: str, conditions: tuple[Any, ...]
) -> None:
    store.sent.requests.clear()
    obj = Plain(host=host, n=1, name="a", size=5)

    with store.engine.session() as session:
        for write in (session.put_if, session.delete_if):
            with pytest.raises(QueryError) as caught:
                write(obj, *conditions)
            assert caught.value.fix

    assert store.sent.requests == []


def test_guarded_rows_take_any_conditions(store: Store, guarded: Any, host: str) -> None:
    store.put(guarded(host=host, n=1, name="", size=5, port=80))

    with store.engine.session() as session:
        loaded = load(session, guarded, host=host, n=1)
        loaded.unit = "s"
        nothing_else = guarded.unit.is_null() & (guarded.name == "") & (guarded.hits == 0)
        assert not session.put_if(loaded, nothing_else, guarded.size > 5)
        assert not session.put_if(loaded, ~(guarded.size.in_([5, 6]) | guarded.port.is_null()))
        assert session.put_if(loaded, nothing_else, guarded.n == 1)


def test_an_absent_row_fulfils_only_is_null(store: Store, model: Any, host: str) -> None:
    with store.engine.session() as session:
        obj = model(host=host, n=1, name="a", size=5)
        assert not session.put_if(obj, model.size == 5)
        assert not session.put_if(obj, model.size != 5)
        assert session.put_if(obj, model.port.is_null())

    assert store.stored(model, host=host, n=1) == obj


def test_a_conditional_write_that_changes_nothing_tells_whether_it_would(
    store: Store, model: Any, host: str
) -> None:
    store.put(model(host=host, n=1, name="a", size=5))

    with store.engine.session() as session:
        loaded = load(session, model, host=host, n=1)
        assert session.put_if(loaded, model.size == 5)
        assert not session.put_if(loaded, model.size == 6)


def test_put_if_changes_and_clears_in_one(store: Store, model: Any, host: str) -> None:
    store.put(model(host=host, n=1, name="a", size=5, unit="s"))

    with store.engine.session() as session:
        loaded = load(session, model, host=host, n=1)
        loaded.unit, loaded.size = None, 6
        assert session.put_if(loaded, model.size == 5)
        loaded.unit = "ms"
        assert session.put_if(loaded, model.size == 6)

    found = store.stored(model, host=host, n=1)
    assert (found.unit, found.size) == ("ms", 6)


def test_of_many_that_take_the_next_number_each_gets_its_own(
    store: Store, model: Any, host: str
) -> None:
    store.put(model(host=host, n=1, name="a", size=0))

    def take(_: int) -> list[int]:
        taken: list[int] = []
        with store.engine.session() as session:
            while len(taken) < 5:
                obj = load(session, model, host=host, n=1)
                session.refresh(obj)
                old = obj.size
                obj.size = old + 1
                if session.put_if(obj, model.size == old):
                    taken.append(old)
                session.expunge(obj)
        return taken

    with ThreadPoolExecutor(3) as threads:
        taken = [number for numbers in threads.map(take, range(3)) for number in numbers]

    assert sorted(taken) == list(range(15))


# --- lost answers ----------------------------------------------------------------------------------


def losing_first_check(store: Store) -> LosesAnswers:
    """Return a gateway that loses the answer to the first check-and-mutate."""
    lost: list[Operation[Any]] = []

    def loses(operation: Operation[Any]) -> bool:
        is_first = isinstance(operation, CheckAndMutate) and not lost and _is_guarded(operation)
        if is_first:
            lost.append(operation)
        return is_first

    return LosesAnswers(store.sent.inner, loses)


def _is_guarded(operation: CheckAndMutate) -> bool:
    return "catalog" not in operation.table


def test_a_lost_answer_to_a_conditional_write_of_a_plain_row_is_told(
    store: Store, host: str
) -> None:
    for write in ("insert", "put_if", "delete_if"):
        obj = Plain(host=host, n=1, name="a", size=5)
        engine = store.through(losing_first_check(store))
        with engine.session() as session, pytest.raises(ConnectionLostError):
            session.insert(obj) if write == "insert" else getattr(session, write)(
                obj, Plain.size == 5
            )
    assert store.stored(Plain, host=host, n=1) is None  # all three were applied


def test_a_lost_answer_to_a_guarded_write_is_found_out(
    store: Store, guarded: Any, host: str
) -> None:
    key = {"host": host, "n": 1}
    obj = guarded(**key, name="a", size=5)
    with store.through(losing_first_check(store)).session() as session:
        session.insert(obj)
        obj.size = 6
    with store.through(losing_first_check(store)).session() as session:
        loaded = load(session, guarded, **key)
        loaded.size = 7
        assert session.put_if(loaded, guarded.size == 6)
    with store.through(losing_first_check(store)).session() as session:
        updated = session.update(guarded, lambda row: setattr(row, "size", row.size + 1), **key)
        assert updated.size == 8
    with store.through(losing_first_check(store)).session() as session:
        assert session.append(guarded, guarded.name, "b", **key) == "ab"
    with store.through(losing_first_check(store)).session() as session:
        session.replace(guarded(**key, name="c", size=9))
    with store.through(losing_first_check(store)).session() as session:
        assert session.delete_if(load(session, guarded, **key), guarded.size == 9)

    assert store.stored(guarded, **key) is None


def test_a_write_that_builds_on_the_row_is_never_made_twice(
    store: Store, guarded: Any, host: str
) -> None:
    store.put(guarded(host=host, n=1, name="a", size=0))
    lost: list[Operation[Any]] = []

    def loses(operation: Operation[Any]) -> bool:
        if not isinstance(operation, CheckAndMutate) or not _is_guarded(operation) or lost:
            return False
        lost.append(operation)
        with store.engine.session() as other:  # more writes than a guard remembers
            for size in range(5):
                other.put_row(guarded, guarded.size.to(size), host=host, n=1)
        return True

    engine = store.through(LosesAnswers(store.sent.inner, loses))
    with engine.session() as session, pytest.raises(ConnectionLostError, match="unknown"):
        session.append(guarded, guarded.name, "b", host=host, n=1)

    assert store.stored(guarded, host=host, n=1).name == "ab"


def test_a_request_that_was_not_sent_leaves_the_row(store: Store, model: Any, host: str) -> None:
    def error_of(operation: Operation[Any]) -> Exception | None:
        is_write = isinstance(operation, CheckAndMutate) and _is_guarded(operation)
        return ConnectionLostError("cut") if is_write else None

    engine = store.through(FailsBeforeSending(store.sent.inner, error_of))
    with engine.session() as session, pytest.raises(ConnectionLostError):
        session.insert(model(host=host, n=1, name="a", size=5))

    assert store.stored(model, host=host, n=1) is None


# --- versions --------------------------------------------------------------------------------------


def test_a_version_counts_the_writes_of_a_row(store: Store, host: str) -> None:
    obj = Versioned(host=host, n=1, name="a", size=0)
    assert obj.revision == 0

    with store.engine.session() as session:
        session.add(obj)
        session.flush()
        assert obj.revision == 1
        for size in range(1, 4):
            obj.size = size
            session.flush()
            assert obj.revision == size + 1
        session.flush()
        session.put_row(Versioned, Versioned.unit.to("s"), host=host, n=1)
        session.increment(Versioned, Versioned.hits.by(1), host=host, n=1)

    found = store.stored(Versioned, host=host, n=1)
    assert (found.revision, found.size, found.unit) == (5, 3, "s")
    assert found == Versioned.from_dict(found.to_dict()) or found.hits == 1


def test_a_stale_object_is_not_written(store: Store, host: str) -> None:
    store.put(Versioned(host=host, n=1, name="a", size=1))
    store.put(Versioned(host=host, n=2, name="a", size=1))

    with store.engine.session() as session, store.engine.session() as other:
        mine = session.get(Versioned, host=host, n=1)
        second = session.get(Versioned, host=host, n=2)
        theirs = other.get(Versioned, host=host, n=1)
        assert mine is not None
        assert theirs is not None
        assert second is not None
        theirs.size = 2
        other.flush()
        mine.size, second.size = 3, 3
        with pytest.raises(FlushConflictError) as caught:
            session.flush()
        error: Any = caught.value
        assert (error.loaded_version, error.stored_version) == (1, 2)
        assert error.row == row_key(mine)
        assert error.written == [(store.table(Versioned), row_key(second))]
        assert [(row, type(why)) for _, row, why in error.not_written] == [
            (row_key(mine), VersionConflictError)
        ]
        assert isinstance(error, FlushError)
        assert isinstance(error, VersionConflictError)
        assert isinstance(error, ConflictError)
        assert store.stored(Versioned, host=host, n=1).size == 2
        session.refresh(mine)
        mine.size = 4
        session.flush()

    assert store.stored(Versioned, host=host, n=1).size == 4


def test_a_stale_object_is_not_deleted_and_a_new_one_is_not_compared(
    store: Store, host: str
) -> None:
    store.put(Versioned(host=host, n=1, name="a", size=1))

    with store.engine.session() as session:
        mine = session.get(Versioned, host=host, n=1)
        assert mine is not None
        store.put(Versioned(host=host, n=1, name="b", size=1))
        session.delete(mine)
        with pytest.raises(FlushConflictError):
            session.flush()
        session.refresh(mine)
        session.delete(mine)

    assert store.stored(Versioned, host=host, n=1) is None


def test_a_row_made_anew_is_another_one_though_its_version_is_the_same(
    store: Store, host: str
) -> None:
    store.put(Versioned(host=host, n=1, name="a", size=1))

    with store.engine.session() as session:
        mine = session.get(Versioned, host=host, n=1)
        assert mine is not None
        with store.engine.session() as other:
            other.delete_row(Versioned, host=host, n=1)
            other.insert(Versioned(host=host, n=1, name="b", size=1))
        assert store.stored(Versioned, host=host, n=1).revision == mine.revision == 1
        mine.size = 7
        with pytest.raises(FlushConflictError):
            session.flush()
        session.expunge(mine)


def test_a_flush_whose_outcome_was_unknown_meets_its_own_write(store: Store, host: str) -> None:
    store.put(Versioned(host=host, n=1, name="a", size=1))
    is_cut = False

    def loses(operation: Operation[Any]) -> bool:
        nonlocal is_cut
        is_cut |= isinstance(operation, CheckAndMutate) and _is_guarded(operation)
        return is_cut

    cutting = LosesAnswers(store.sent.inner, loses)
    with store.through(cutting).session() as session:
        mine = session.get(Versioned, host=host, n=1)
        assert mine is not None
        mine.size = 2
        with pytest.raises(FlushError) as caught:
            session.flush()
        assert len(caught.value.unknown) == 1
        cutting.loses = lambda _: False
        session.flush()
        mine.size = 3
        session.flush()

    found = store.stored(Versioned, host=host, n=1)
    assert (found.size, mine.revision) == (3, found.revision)


def test_versions_are_compared_only_if_a_condition_says_so(store: Store, host: str) -> None:
    store.put(Versioned(host=host, n=1, name="a", size=1))

    with store.engine.session() as session:
        mine = session.get(Versioned, host=host, n=1)
        assert mine is not None
        store.put(Versioned(host=host, n=1, name="b", size=1))
        mine.unit = "s"
        assert not session.put_if(mine, Versioned.revision == mine.revision)
        assert session.put_if(mine, Versioned.size == 1)
        assert mine.revision == 3


# --- update ----------------------------------------------------------------------------------------


def test_update_reads_changes_and_writes(store: Store, guarded: Any, host: str) -> None:
    store.put(guarded(host=host, n=1, name="a", size=1, unit="s"))

    def grow(row: Any) -> None:
        row.size += 1
        row.unit = None

    with store.engine.session() as session:
        updated = session.update(guarded, grow, host=host, n=1)
        assert load(session, guarded, host=host, n=1) is updated
        assert session.flush().written == 0

    found = store.stored(guarded, host=host, n=1)
    assert (found.size, found.unit, updated.size, updated.unit) == (2, None, 2, None)


def test_updates_of_several_threads_all_count(store: Store, guarded: Any, host: str) -> None:
    store.put(guarded(host=host, n=1, name="a", size=0))

    def grow(row: Any) -> None:
        row.size += 1

    def work(_: int) -> None:
        with store.engine.session() as session:
            for _ in range(10):
                session.update(guarded, grow, host=host, n=1)

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(work, range(4)))

    assert store.stored(guarded, host=host, n=1).size == 40


def test_update_tells_of_absent_rows_and_of_errors_of_the_function(
    store: Store, guarded: Any, host: str
) -> None:
    store.put(guarded(host=host, n=1, name="a", size=1))

    with store.engine.session() as session:
        with pytest.raises(RowNotFoundError):
            session.update(guarded, lambda _: None, host=host, n=2)
        with pytest.raises(ZeroDivisionError):
            session.update(guarded, lambda _: 1 / 0, host=host, n=1)
        same = session.update(guarded, lambda _: None, host=host, n=1)

    assert same == guarded(host=host, n=1, name="a", size=1)


def test_update_refuses_plain_models(store: Store, host: str) -> None:
    store.sent.requests.clear()
    with (
        store.engine.session() as session,
        pytest.raises(
            QueryError,
            match="update cannot read and change a row of this model safely, because HBase checks only one column in a write",
        ) as caught,
    ):
        session.update(Plain, lambda _: None, host=host, n=1)

    assert "version" in caught.value.fix
    assert store.sent.requests == []


# --- ttl and timestamps ----------------------------------------------------------------------------


def test_a_ttl_and_a_timestamp_by_hand(store: Store, host: str) -> None:
    now_ms = store.engine._runtime.guard_context.now_ms()
    with store.engine.session() as session:
        session.add(Plain(host=host, n=1, name="a", size=1), timestamp_ms=now_ms - 5_000)
        session.add(Plain(host=host, n=2, name="a", size=1), ttl=timedelta(milliseconds=1_500))
        with session.bulk() as bulk:
            bulk.add(Plain(host=host, n=3, name="a", size=1), ttl=timedelta(milliseconds=1_500))
        session.flush()
        found = [load(session, Plain, host=host, n=n) for n in (1, 2, 3)]
        assert all(found)
        assert found[0].__state__.row.cells[b"d:n"].timestamp_ms == now_ms - 5_000
        session.delete(found[0], timestamp_ms=now_ms - 5_001)
        session.flush()
        assert store.stored(Plain, host=host, n=1) is not None
    deadline = time.monotonic() + 30
    while store.stored(Plain, host=host, n=2) or store.stored(Plain, host=host, n=3):
        assert time.monotonic() < deadline
        time.sleep(0.2)


# --- dynamic columns -------------------------------------------------------------------------------


def test_entries_of_dynamic_columns_are_written_by_key(
    store: Store, tagged: Any, host: str
) -> None:
    obj = tagged(host=host, name="a")
    obj.tags = {"rack": "r1", "row": "7"}
    store.put(obj)

    with store.engine.session() as session:
        session.put_row(
            tagged, tagged.tags["rack"].to("r2"), tagged.tags["row"].to(None), host=host
        )
        loaded = load(session, tagged, host=host)
        loaded.tags["mine"] = "x"
        assert session.put_if(loaded, tagged.tags["rack"] == "r2")
        assert not session.put_if(loaded, tagged.tags["rack"] == "r1")
        loaded.tags["lost"] = "x"
        session.refresh(loaded)
        assert loaded.tags == {"rack": "r2", "mine": "x"}
        with pytest.raises(ValidationError):
            session.put_row(tagged, tagged.tags["rack"].to(3), host=host)
        session.expunge(loaded)
        session.replace(tagged(host=host, name="b"))

    assert store.stored(tagged, host=host).tags == {}


def test_update_changes_entries(store: Store, host: str) -> None:
    obj = TaggedVersioned(host=host, name="a")
    obj.tags = {"rack": "r1"}
    store.put(obj)

    with store.engine.session() as session:
        updated = session.update(
            TaggedVersioned, lambda row: row.tags.update(rack="r2", x="y"), host=host
        )
        assert session.flush().written == 0

    assert updated.tags == {"rack": "r2", "x": "y"}
    assert store.stored(TaggedVersioned, host=host).tags == updated.tags


# --- on a real HBase alone --------------------------------------------------------------------------


@pytest.mark.only_on("hbase")
def test_thrift1_alone_says_what_is_missing(store: Store, host: str) -> None:
    obj = Plain(host=host, n=1, name="a", size=1)
    with (
        connect(thrift1_url(store.engine)) as engine,
        engine.session() as session,
    ):
        for write in (
            lambda: session.insert(obj),
            lambda: session.replace(obj),
            lambda: session.put_if(obj, Plain.size == 1),
            lambda: session.delete_if(obj, Plain.size == 1),
        ):
            with pytest.raises(FeatureMissingError, match="thrift2=host:9091"):
                write()
        with pytest.raises(ConfigurationError, match="thrift2=host:9091"):
            session.put_row(Versioned, Versioned.size.to(1), host=host, n=1)


@pytest.mark.only_on("hbase")
def test_thrift1_alone_writes_by_key(store: Store, host: str) -> None:
    store.put(Plain(host=host, n=1, name="a", size=1, unit="s"), Loose(host=host, a="x"))
    with (
        connect(thrift1_url(store.engine)) as engine,
        engine.session() as session,
    ):
        session.put_row(Plain, Plain.size.to(2), Plain.unit.to(None), host=host, n=1)
        assert session.append(Plain, Plain.name, "b", host=host, n=1) == "ab"
        session.delete_row(Loose, host=host)

    assert store.stored(Plain, host=host, n=1) == Plain(host=host, n=1, name="ab", size=2)
    assert store.stored(Loose, host=host) is None
