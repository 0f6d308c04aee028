"""What becomes of objects of other engines and other sessions.

`store` and `other` are engines with tables of their own, `again` is another engine with the tables of
`store`. Tests share the tables, so each works on rows of its own `host`.
"""

from __future__ import annotations

import copy
import pickle
from datetime import UTC, datetime
from typing import Any

import pytest

from hbase_orm import (
    Dynamic,
    Engine,
    Family,
    Key,
    Mapped,
    Model,
    RandomSalt,
    Session,
    Substitute,
    TablePerPeriod,
    Version,
    codecs,
    column,
    dynamic,
    key,
    rowkey,
    select,
    version,
)
from hbase_orm.errors import ConfigurationError, ValidationError
from tests.support.backends import Backend


class Plain(Model, table="foreign_plain"):
    d = Family()
    e = Family()
    host: Key[str] = key()
    name: Mapped[str] = column(d)
    note: Mapped[str | None] = column(d, default=None)
    body: Mapped[str | None] = column(d, default=None, deferred=True)
    tags: Dynamic[str, str] = dynamic(e)


class Versioned(Model, table="foreign_versioned"):
    d = Family()
    e = Family()
    host: Key[str] = key()
    name: Mapped[str] = column(d)
    note: Mapped[str | None] = column(d, default=None)
    body: Mapped[str | None] = column(d, default=None, deferred=True)
    tags: Dynamic[str, str] = dynamic(e)
    revision: Version = version(d)


class Daily(Model, table=TablePerPeriod("foreign_daily_%Y%m%d", of="at", period="day")):
    d = Family()
    host: Key[str] = key()
    at: Key[datetime] = key(codecs.millis())
    name: Mapped[str] = column(d)


class Drawn(Model, table="foreign_drawn"):
    """The row key has a drawn salt and the number of a name."""

    d = Family()
    host: Key[str] = key()
    name: Mapped[str] = column(d)
    __rowkey__ = rowkey(RandomSalt(4), Substitute(of=host, dictionary="foreign_hosts"))


AT = datetime(2024, 5, 6, tzinfo=UTC)
MODELS = (Plain, Versioned, Drawn)


def prepare(engine: Engine) -> None:
    engine.create_tables(*MODELS)
    engine.create_tables(Daily, periods=(AT, datetime(2024, 5, 7, tzinfo=UTC)))


@pytest.fixture(scope="module")
def store(engine: Engine) -> Engine:
    return engine


@pytest.fixture(scope="module")
def other(backend: Backend) -> Engine:
    made = backend.engine()
    prepare(made)
    return made


@pytest.fixture(scope="module")
def again(backend: Backend, store: Engine) -> Engine:
    return backend.another(store)


@pytest.fixture(params=[Plain, Versioned], ids=["plain", "versioned"])
def model(request: pytest.FixtureRequest) -> Any:
    return request.param


def made(model: Any, host: str) -> Any:
    obj = model(host=host, name="a", note="n", body="b")
    obj.tags = {"rack": "r"}
    return obj


def put(engine: Engine, *objects: Model) -> None:
    with engine.session() as session:
        session.add_all(objects)


def read(engine: Engine, model: Any, host: str, *fields: Any) -> Any:
    """Return a row's object of a session that is closed."""
    with engine.session() as session:
        found = load(session, model, host)
        if found is not None and fields:
            session.refresh(found, *fields)
        return found


def load(session: Session, model: Any, host: str) -> Any:
    return session.get(model, host=host)


# --- another engine --------------------------------------------------------------------------------


@pytest.mark.parametrize("is_changed", [False, True])
@pytest.mark.parametrize("verb", ["add", "delete", "put_if", "delete_if", "move"])
def test_an_object_of_another_engine_is_refused(
    store: Engine, other: Engine, model: Any, host: str, verb: str, *, is_changed: bool
) -> None:
    put(store, made(model, host))
    found = read(store, model, host, model.body)
    if is_changed:
        found.note = "changed"
    arguments: dict[str, Any] = {"move": {"host": "elsewhere"}}.get(verb, {})
    conditions = (model.name == "a",) if verb in {"put_if", "delete_if"} else ()

    with other.session() as session:
        with pytest.raises(ValidationError, match="another engine") as caught:
            getattr(session, verb)(found, *conditions, **arguments)
        assert "from_dict" in caught.value.fix
        assert session.flush().written == 0

    assert read(other, model, host) is None


def test_a_copy_of_an_object_of_another_engine_is_written_whole(
    store: Engine, other: Engine, model: Any, host: str
) -> None:
    put(store, made(model, host))
    found = read(store, model, host, model.body)

    put(other, model.from_dict(found.to_dict()))

    copied = read(other, model, host, model.body)
    assert copied == found == made(model, host)


@pytest.mark.parametrize("verb", ["insert", "replace"])
def test_writes_of_whole_rows_take_objects_of_another_engine(
    store: Engine, other: Engine, model: Any, host: str, verb: str
) -> None:
    put(store, made(model, host))
    whole, part = read(store, model, host, model.body), read(store, model, host)

    with other.session() as session:
        with pytest.raises(ValidationError, match="without deferred fields"):
            getattr(session, verb)(part)
        getattr(session, verb)(whole)
        whole.note = "changed"  # it is the other engine's object from now on

    assert read(other, model, host, model.body) == whole
    assert read(store, model, host).note == "n"


def test_a_bulk_writes_objects_of_another_engine_whole_or_not(
    store: Engine, other: Engine, model: Any, host: str
) -> None:
    put(store, made(model, host))
    whole = read(store, model, host, model.body)
    with store.session() as session, session.stream(select(model).where(model.host == host)) as s:
        (part,) = s
    with store.session() as session:
        stmt = select(model).where(model.host == host).columns_between(model.tags, "a", "b")
        (sliced,) = session.all(stmt)

    with other.session() as session, session.bulk() as bulk:
        with pytest.raises(ValidationError, match="without deferred fields"):
            bulk.add(part)
        with pytest.raises(ValidationError, match="read in part"):
            bulk.add(sliced)
        assert read(other, model, host) is None
        bulk.add(whole)

    assert read(other, model, host, model.body) == made(model, host)


def test_a_bulk_of_the_same_engine_leaves_alone_what_an_object_was_read_without(
    store: Engine, model: Any, host: str
) -> None:
    put(store, made(model, host))
    found = read(store, model, host)
    found.note = "changed"

    with store.session() as session, session.bulk() as bulk:
        bulk.add(found)

    after = read(store, model, host, model.body)
    assert (after.note, after.body) == ("changed", "b")


@pytest.mark.parametrize("remake", [copy.deepcopy, lambda obj: pickle.loads(pickle.dumps(obj))])
def test_a_copy_and_a_pickle_know_where_they_were_read(
    store: Engine, other: Engine, again: Engine, host: str, remake: Any
) -> None:
    put(store, made(Plain, host))
    found = remake(read(store, Plain, host))

    with other.session() as session, pytest.raises(ValidationError, match="another engine"):
        session.add(found)
    found.note = "changed"
    put(again, found)

    assert read(store, Plain, host).note == "changed"


def test_an_engine_with_the_same_tables_takes_the_objects(
    store: Engine, again: Engine, model: Any, host: str
) -> None:
    put(store, made(model, host))
    found = read(store, model, host)
    found.note = "changed"

    put(again, found)

    after = read(store, model, host, model.body)
    assert (after.note, after.body, after.tags) == ("changed", "b", {"rack": "r"})


def test_a_new_object_added_to_two_engines_is_not_half_written(
    store: Engine, other: Engine, model: Any, host: str
) -> None:
    obj = made(model, host)

    with store.session() as first:
        second = other.session()
        first.add(obj)
        second.add(obj)
        first.flush()
        with pytest.raises(ValidationError, match="another session"):
            second.flush()
    with pytest.raises(ValidationError, match="another engine"):
        second.flush()
    second.expunge(obj)
    second.insert(obj)

    assert read(other, model, host, model.body) == made(model, host)


def test_a_table_for_each_period_belongs_to_its_engine(
    store: Engine, other: Engine, again: Engine, host: str
) -> None:
    put(store, Daily(host=host, at=AT, name="a"))
    with store.session() as session:
        found = session.one(select(Daily).where(Daily.host == host, Daily.at == AT))

    with other.session() as session, pytest.raises(ValidationError, match="another engine"):
        session.add(found)
    found.name = "b"
    put(again, found)

    with store.session() as session:
        stmt = select(Daily).where(Daily.host == host, Daily.at == AT)
        assert session.one(stmt).name == "b"


def test_a_row_key_with_numbers_of_names_is_made_of_the_engines_own(
    store: Engine, other: Engine, host: str
) -> None:
    put(other, *(Drawn(host=f"{host}{n}", name="x") for n in range(3)))  # other numbers there
    put(store, Drawn(host=host, name="a"))
    found = read(store, Drawn, host)

    with other.session() as session:
        session.insert(found)

    assert read(other, Drawn, host) == found


def test_refreshing_an_object_of_another_engine_makes_it_this_ones(
    store: Engine, other: Engine, model: Any, host: str
) -> None:
    put(store, made(model, host))
    put(other, model(host=host, name="theirs"))
    found = read(store, model, host)

    with other.session() as session:
        session.refresh(found)
        found.note = "changed"

    after = read(other, model, host)
    assert (after.name, after.note, after.tags) == ("theirs", "changed", {})
    assert read(store, model, host).note == "n"


# --- another session of the engine -----------------------------------------------------------------


@pytest.mark.parametrize(
    "verb", ["add", "delete", "insert", "replace", "put_if", "delete_if", "refresh", "move"]
)
def test_an_object_of_an_open_session_is_refused_by_others(
    store: Engine, model: Any, host: str, verb: str
) -> None:
    put(store, made(model, host))
    arguments: dict[str, Any] = {"move": {"host": "elsewhere"}}.get(verb, {})
    conditions = (model.name == "a",) if verb in {"put_if", "delete_if"} else ()

    with store.session() as owner, store.session() as second:
        found = load(owner, model, host)
        with pytest.raises(ValidationError, match="another session") as caught:
            getattr(second, verb)(found, *conditions, **arguments)
        assert "expunge" in caught.value.fix
        second.expunge(found)  # it has nothing of it
        found.note = "changed"

    assert read(store, model, host).note == "changed"


def test_an_object_goes_from_session_to_session_by_expunge_or_close(
    store: Engine, model: Any, host: str
) -> None:
    put(store, made(model, host))

    owner = store.session()
    found = load(owner, model, host)
    with store.session() as second:
        owner.expunge(found)
        second.add(found)
        found.note = "changed"
        second.flush()
    owner.close()
    with store.session() as third:
        third.add(found)
        found.note += " again"

    assert read(store, model, host).note == "changed again"


def test_a_new_object_is_written_by_one_session(store: Engine, model: Any, host: str) -> None:
    obj = made(model, host)

    with store.session() as first:
        second = store.session()
        first.add(obj)
        second.add(obj)
        first.flush()
        with pytest.raises(ValidationError, match="another session"):
            second.flush()
        second.close()
        obj.note = "changed"  # the first session still sees it

    assert read(store, model, host).note == "changed"


# --- a plain row that was deleted meanwhile --------------------------------------------------------


def test_a_change_of_a_deleted_plain_row_leaves_its_cells_alone(store: Engine, host: str) -> None:
    put(store, made(Plain, host))

    with store.session() as session:
        mine = load(session, Plain, host)
        with store.session() as other:
            other.delete_row(Plain, host=host)
        mine.note = "changed"

    left = read(store, Plain, host)
    assert left.to_dict() == {"host": host, "note": "changed", "tags": {}}


def test_a_condition_on_a_required_field_writes_no_deleted_row(store: Engine, host: str) -> None:
    put(store, made(Plain, host))

    with store.session() as session:
        mine = load(session, Plain, host)
        with store.session() as other:
            other.delete_row(Plain, host=host)
        mine.note = "changed"
        is_written = session.put_if(mine, Plain.name == mine.name)
        session.expunge(mine)

    assert not is_written
    assert read(store, Plain, host) is None


# --- what is no model ------------------------------------------------------------------------------


def test_an_object_or_anything_else_in_place_of_a_model_is_refused(
    store: Engine, model: Any, host: str
) -> None:
    put(store, made(model, host))

    with store.session() as session:
        found = load(session, model, host)
        for wrong in (found, None, "Plain", 5, [model], Model, select(model), int):
            for call in (
                lambda wrong=wrong: session.get(wrong, host=host),
                lambda wrong=wrong: session.get_many(wrong, [{"host": host}]),
                lambda wrong=wrong: session.delete_row(wrong, host=host),
                lambda wrong=wrong: session.stored_cells(wrong, host=host),
                lambda wrong=wrong: store.table_state(wrong),
                lambda wrong=wrong: store.create_tables(wrong),
                lambda wrong=wrong: store.row_keys(wrong, host=host),
                lambda wrong=wrong: store.decode_key(wrong, b"a"),
            ):
                with pytest.raises(ConfigurationError, match="not a model") as caught:
                    call()
                assert caught.value.fix

    assert read(store, model, host).note == "n"
