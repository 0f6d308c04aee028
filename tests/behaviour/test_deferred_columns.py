"""What deferred columns promise; `store` keeps every value that it is sent.

Tests share the tables of `prepare`, so each works on rows of its own `host`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
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
    RecordType,
    Related,
    Salt,
    Session,
    Version,
    codecs,
    column,
    counter,
    dynamic,
    func,
    key,
    related,
    rowkey,
    select,
    version,
)
from hbase_orm.errors import MissingCellError, NotLoadedError, QueryError, ValidationError
from hbase_orm.ops import FetchRows, GetRows, MutateRows, Operation, Put, Row, RowMutation
from tests.support.recording import RecordsRequests
from tests.support.store import Store, load

BODY = b"the body"


class Doc(Model, table="deferred_docs"):
    """Plain and salted; what is deferred stands before, between and behind what is not."""

    d = Family(versions=3)
    e = Family()
    host: Key[str] = key()
    n: Key[int] = key(codecs.uint16())
    title: Mapped[str] = column(d, "m")
    body: Mapped[bytes] = column(d, "a", deferred=True)
    last: Mapped[bytes | None] = column(d, "z", default=None, deferred=True)
    note: Mapped[str | None] = column(e, "a", default=None)
    page: Mapped[bytes] = column(e, "m", default=b"none", deferred=True)
    hits: Counter = counter(e, "h")
    __rowkey__ = rowkey(Salt(3, of=[n]), host, n)


class Lone(Model, table="deferred_lone"):
    """Plain, without a column that every row has."""

    d = Family()
    e = Family()
    host: Key[str] = key()
    n: Key[int] = key(codecs.uint16())
    body: Mapped[bytes | None] = column(d, "a", default=None, deferred=True)
    note: Mapped[str | None] = column(d, "b", default=None)
    tags: Dynamic[str, str] = dynamic(e)


class Kept(Model, table="deferred_kept"):
    """Guarded, with a column that every row has."""

    d = Family()
    host: Key[str] = key()
    n: Key[int] = key(codecs.uint16())
    body: Mapped[bytes] = column(d, "a", deferred=True)
    title: Mapped[str] = column(d, "t")
    changes: Version = version(d, "v")
    by_title = Index(title)


class KeptLone(Model, table="deferred_kept_lone"):
    """Guarded, without one."""

    d = Family()
    host: Key[str] = key()
    n: Key[int] = key(codecs.uint16())
    body: Mapped[bytes | None] = column(d, "a", default=None, deferred=True)
    title: Mapped[str | None] = column(d, "t", default=None)
    by_title = Index(title, nulls=True)


class Before(Model, table="deferred_later"):
    """Guarded, and nothing of it is deferred yet."""

    d = Family()
    host: Key[str] = key()
    slug: Key[str] = key()
    body: Mapped[bytes] = column(d, "a")
    tag: Mapped[str | None] = column(d, "t", default=None)
    by_slug = Index(slug)
    by_tag = Index(tag, nulls=True)


class After(Model, table="deferred_later"):
    """The same, when its only required column is deferred."""

    d = Family()
    host: Key[str] = key()
    slug: Key[str] = key()
    body: Mapped[bytes] = column(d, "a", deferred=True)
    tag: Mapped[str | None] = column(d, "t", default=None)
    by_slug = Index(slug)
    by_tag = Index(tag, nulls=True)


class Paper(Model, table="deferred_papers"):
    d = Family()
    host: Key[str] = key()
    body: Mapped[bytes | None] = column(d, "a", default=None, deferred=True)
    __rowkey__ = rowkey(host, RecordType())


class Letter(Paper, record_type="l"):
    to: Mapped[str] = column(Paper.d)


class Memo(Paper, record_type="m"):
    scan: Mapped[bytes] = column(Paper.d, "s", deferred=True)


class Review(Model, table="deferred_reviews"):
    d = Family()
    host: Key[str] = key()
    n: Key[int] = key(codecs.uint16())
    text: Mapped[str] = column(d)
    doc: Related[Doc] = related(host=host, n=n)


MODELS = (Doc, Lone, Kept, KeptLone, Before, Paper, Review)


def prepare(engine: Engine) -> None:
    engine.create_tables(*MODELS)


class SeesValues(RecordsRequests):
    """Keeps the values of all cells that answers hold."""

    def __init__(self, inner: Any) -> None:
        super().__init__(inner)
        self.values: list[bytes] = []

    def execute(self, operation: Operation[Any], /) -> Any:
        answer = super().execute(operation)
        if isinstance(operation, (FetchRows, GetRows)):
            for row in answer:
                if isinstance(row, Row):
                    self.values += [cell.value for cell in row.cells.values()]
        return answer


@pytest.fixture(scope="module")
def store(engine: Engine) -> Store:
    """Return an engine with the tables of the module, and the values it is sent."""
    return Store.on(engine, SeesValues)


def travelled(store: Store) -> int:
    """Return how many values of deferred columns came since this was asked last."""
    assert isinstance(store.sent, SeesValues)
    found = sum(BODY in value for value in store.sent.values)
    store.sent.values.clear()
    return found


def doc(host: str, n: int = 1, **values: Any) -> Doc:
    given = {"title": "t", "body": BODY, "last": BODY, "page": BODY, **values}
    return Doc(host=host, n=n, **given)


def made(model: Any, host: str, n: int = 1) -> Any:
    """Return an object of any of the models, with a body."""
    if model is Doc:
        return doc(host, n)
    needed = {"title": f"t{host}"} if model is Kept else {}
    return model(host=host, n=n, body=BODY, **needed)


def is_unloaded(obj: Any, name: str) -> bool:
    try:
        getattr(obj, name)
    except NotLoadedError:
        return True
    return False


PLAIN_AND_GUARDED = (Doc, Lone, Kept, KeptLone)


@pytest.fixture(params=PLAIN_AND_GUARDED, ids=lambda model: model.__name__)
def model(request: pytest.FixtureRequest) -> Any:
    return request.param


Read = Callable[[Session, Any, str], Any]


def _page(session: Session, model: Any, host: str) -> Any:
    return session.page(select(model).where(model.host == host), size=5).items[0]


def _stream(session: Session, model: Any, host: str) -> Any:
    with session.stream(select(model).where(model.host == host)) as found:
        return next(found)


def _past(session: Session, model: Any, host: str) -> Any:
    later = datetime.now(UTC) + timedelta(days=1)
    return session.one(select(model).where(model.host == host).as_of(later))


def _checked(session: Session, model: Any, host: str) -> Any:
    """Read by a scan whose filter tests a column that is sent, for models with a note."""
    stmt = select(model).where(model.host == host)
    name = "note" if "note" in model.__schema__.fields else "title"
    return session.one(stmt.where(getattr(model, name) != "another"))


READS: dict[str, Read] = {
    "get": lambda session, model, host: session.get(model, host=host, n=1),
    "get_many": lambda session, model, host: session.get_many(model, [(host, 1), (host, 2)])[0],
    "all": lambda session, model, host: session.all(select(model).where(model.host == host))[0],
    "key": lambda session, model, host: session.one(
        select(model).where(model.host == host, model.n == 1)
    ),
    "reverse": lambda session, model, host: session.one(
        select(model).where(model.host == host).order_by(model.n.desc())
    ),
    "page": _page,
    "stream": _stream,
    "past": _past,
    "checked": _checked,
}


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_no_read_of_objects_fetches_a_deferred_cell(
    store: Store, model: Any, host: str, read: Read
) -> None:
    store.put(made(model, host))
    travelled(store)

    with store.engine.session() as session:
        obj = read(session, model, host)

    assert obj.host == host
    assert is_unloaded(obj, "body")
    assert travelled(store) == 0


def test_what_is_not_deferred_reads_as_it_was_written(store: Store, host: str) -> None:
    store.put(doc(host, title="one", note="two"))
    with store.engine.session() as session:
        session.increment(Doc, Doc.hits.by(3), host=host, n=1)

        got = load(session, Doc, host=host, n=1)
        session.expunge(got)
        scanned = session.one(select(Doc).where(Doc.host == host))

    shown = {"host": host, "n": 1, "title": "one", "note": "two", "hits": 3}
    assert got.to_dict() == scanned.to_dict() == shown


def test_an_index_look_up_and_a_related_read_leave_it_out(store: Store, host: str) -> None:
    store.put(made(Kept, host), doc(host), Review(host=host, n=1, text="good"))
    travelled(store)

    with store.engine.session() as session:
        kept = session.one(select(Kept).where(Kept.title == f"t{host}").using(Kept.by_title))
        review = session.one(select(Review).where(Review.host == host).load_related(Review.doc))

    assert is_unloaded(kept, "body")
    assert review.doc is not None
    assert is_unloaded(review.doc, "body")
    assert travelled(store) == 0


def test_record_types_leave_out_their_own_and_their_base_s(store: Store, host: str) -> None:
    store.put(Letter(host=host, to="you", body=BODY), Memo(host=host, body=BODY, scan=BODY))
    travelled(store)

    with store.engine.session() as session:
        letter, memo = session.all(select(Paper).where(Paper.host == host))
        alone = session.get(Memo, host=host)

    assert isinstance(letter, Letter)
    assert (letter.to, is_unloaded(letter, "body")) == ("you", True)
    assert isinstance(memo, Memo)
    assert (is_unloaded(memo, "scan"), is_unloaded(alone, "scan")) == (True, True)
    assert travelled(store) == 0


def test_the_error_names_field_row_and_what_reads_it(store: Store, host: str) -> None:
    store.put(doc(host))

    with store.engine.session() as session:
        obj = load(session, Doc, host=host, n=1)
    with pytest.raises(NotLoadedError) as caught:
        _ = obj.body

    details = caught.value.details
    assert (details["model"], details["field"]) == ("Doc", "body")
    assert details["row"] == Doc.encode_key(host=host, n=1)
    assert "session.refresh(obj, Doc.body)" in str(caught.value)


# --- reading it all the same -----------------------------------------------------------------------


def test_refresh_loads_the_fields_that_are_named(store: Store, host: str) -> None:
    store.put(doc(host, last=None))

    with store.engine.session() as session:
        obj = session.one(select(Doc).where(Doc.host == host))
        session.refresh(obj, Doc.body, Doc.last)

        assert (obj.body, obj.last) == (BODY, None)
        assert is_unloaded(obj, "page")
        session.put_row(Doc, Doc.body.to(b"new"), host=host, n=1)
        session.refresh(obj)
        assert obj.body == b"new"


def test_refresh_gives_defaults_and_tells_of_required_cells_that_are_missing(
    store: Store, host: str
) -> None:
    row = RowMutation(Doc.encode_key(host=host, n=1), (Put(b"d:m", b"t"),))
    store.sent.execute(MutateRows(store.table(Doc), (row,)))

    with store.engine.session() as session:
        obj = session.one(select(Doc).where(Doc.host == host))
        session.refresh(obj, Doc.body, Doc.page)

    assert obj.page == b"none"
    with pytest.raises(MissingCellError):
        _ = obj.body


def test_refresh_refuses_fields_of_other_models(store: Store, host: str) -> None:
    store.put(doc(host))

    with store.engine.session() as session:
        obj = session.one(select(Doc).where(Doc.host == host))
        store.forget()
        with pytest.raises(QueryError, match="the field belongs to another model"):
            session.refresh(obj, Kept.title)

    assert store.sent.requests == []


def test_the_values_alone_are_selected(store: Store, model: Any, host: str) -> None:
    store.put(made(model, host))

    with store.engine.session() as session:
        assert session.all(select(model.body).where(model.host == host)) == [BODY]
        pairs = session.all(select(model.n, model.body).where(model.host == host, model.n == 1))

    assert pairs == [(1, BODY)]


def test_reading_again_unloads_what_is_not_read(store: Store, host: str) -> None:
    """What was loaded would be old beside the fields that are new."""
    store.put(doc(host))

    with store.engine.session() as session:
        obj = session.one(select(Doc).where(Doc.host == host))
        session.refresh(obj, Doc.body, Doc.last)
        obj.last = b"mine"
        again = session.one(select(Doc).where(Doc.host == host))

    assert again is obj
    assert is_unloaded(obj, "body")
    assert obj.last == b"mine"


def test_a_condition_on_a_deferred_field_reads_it(store: Store, model: Any, host: str) -> None:
    store.put(made(model, host, 1), made(model, host, 2))
    with store.engine.session() as session:
        session.put_row(model, model.body.to(b"other"), host=host, n=2)
        stmt = select(model).where(model.host == host)

        same = session.one(stmt.where(model.body == BODY))
        others = session.all(stmt.where(model.body != BODY))
        counted = session.count(stmt.where(model.body == BODY))
        by_key = session.first(stmt.where(model.n == 2, model.body.startswith(b"oth")))

    assert (same.n, same.body) == (1, BODY)
    assert [other.n for other in others] == [2]
    assert counted == 1
    assert by_key is not None
    assert by_key.body == b"other"


def test_sorting_by_a_deferred_field_reads_it(store: Store, host: str) -> None:
    store.put(doc(host, 1, body=b"b"), doc(host, 2, body=b"a"))

    with store.engine.session() as session:
        stmt = select(Doc).where(Doc.host == host)
        found = session.all(stmt.sort_in_memory(Doc.body.asc(), max_rows=10))

    assert [(each.n, each.body) for each in found] == [(2, b"a"), (1, b"b")]


def test_is_null_on_a_deferred_field_finds_the_rows_without_it(store: Store, host: str) -> None:
    store.put(Lone(host=host, n=1), Lone(host=host, n=2, body=BODY))

    with store.engine.session() as session:
        found = session.all(select(Lone).where(Lone.host == host, Lone.body.is_null()))

    assert [(each.n, each.body) for each in found] == [(1, None)]


def test_a_range_of_entries_leaves_it_out(store: Store, host: str) -> None:
    lone = Lone(host=host, n=1, body=BODY)
    lone.tags = {"a": "1", "b": "2"}
    store.put(lone)
    travelled(store)

    with store.engine.session() as session:
        stmt = select(Lone).where(Lone.host == host).columns_between(Lone.tags, "b", "c")
        (found,) = session.all(stmt)
        assert travelled(store) == 0
        (compared,) = session.all(stmt.where(Lone.body == BODY))

    assert (found.tags, is_unloaded(found, "body")) == ({"b": "2"}, True)
    assert (compared.tags, compared.body) == ({"b": "2"}, BODY)


# --- rows that have nothing else -------------------------------------------------------------------


@pytest.mark.parametrize("name", ["get", "get_many", "all", "key", "page", "stream", "past"])
def test_a_row_with_nothing_but_a_deferred_cell_exists(store: Store, host: str, name: str) -> None:
    """Other programs write no marker; rows from before a column was deferred have none."""
    row = RowMutation(Lone.encode_key(host=host, n=1), (Put(b"d:a", BODY),))
    store.sent.execute(MutateRows(store.table(Lone), (row,)))

    with store.engine.session() as session:
        found = READS[name](session, Lone, host)
        assert (found.n, found.note, is_unloaded(found, "body")) == (1, None, True)
        session.add(found)
        session.refresh(found, Lone.body)
        assert found.body == BODY


@pytest.mark.parametrize("lone", [Lone, KeptLone])
def test_a_row_with_nothing_but_a_deferred_value_counts(store: Store, host: str, lone: Any) -> None:
    store.put(made(lone, host))
    travelled(store)

    with store.engine.session() as session:
        stmt = select(lone).where(lone.host == host)
        assert session.count(stmt) == 1
        assert session.exists(stmt)
        assert session.all(select(lone.n).where(lone.host == host)) == [1]
        name = lone.note if lone is Lone else lone.title
        assert session.all(select(name).where(lone.host == host)) == [None]
        assert session.one(select(func.count(lone.n)).where(lone.host == host)) == 1

    assert travelled(store) == 0


@pytest.mark.parametrize("index", [After.by_slug, After.by_tag])
def test_an_index_leads_to_rows_from_before_a_column_was_deferred(
    store: Store, host: str, index: Any
) -> None:
    store.put(Before(host=host, slug=host, body=BODY))

    with store.engine.session() as session:
        here = select(After).where(After.slug == host, After.host == host, After.tag.is_null())
        (found,) = session.all(here.using(index))
        assert is_unloaded(found, "body")
        values = select(After.slug, After.tag).where(After.slug == host, After.tag.is_null())
        assert session.all(values.using(index)) == [(host, None)]
        found.tag = host
        session.flush()
        (again,) = session.all(select(After).where(After.tag == host).using(After.by_tag))

    assert again is found
    with store.engine.session() as session:
        assert session.one(select(After.body).where(After.tag == host)) == BODY


def test_an_index_look_up_asks_no_more_of_rows_that_show_themselves(
    store: Store, host: str
) -> None:
    with store.engine.session() as session:
        kept: Any = session.explain(select(Kept).where(Kept.title == host).using(Kept.by_title))
        later: Any = session.explain(select(After).where(After.slug == host).using(After.by_slug))

    assert kept.families == ()
    assert later.families == ()  # the record has an anchor, which `After` defers


def test_an_absent_row_is_none(store: Store, model: Any, host: str) -> None:
    with store.engine.session() as session:
        assert session.get(model, host=host, n=1) is None
        assert session.first(select(model).where(model.host == host, model.n == 1)) is None


# --- writing ---------------------------------------------------------------------------------------


def body_of(store: Store, model: Any, host: str, n: int = 1) -> Any:
    with store.engine.session() as session:
        return session.one(select(model.body).where(model.host == host, model.n == n))


def test_what_was_not_loaded_is_left_alone(store: Store, model: Any, host: str) -> None:
    store.put(made(model, host))
    name = "note" if "note" in model.__schema__.fields else "title"

    with store.engine.session() as session:
        obj = session.get(model, host=host, n=1)
        setattr(obj, name, f"new {host}")
        store.forget()
        session.flush()
        again = session.one(select(getattr(model, name)).where(model.host == host))

    assert again == f"new {host}"
    assert body_of(store, model, host) == BODY


@pytest.mark.parametrize("value", [b"new", b""])
def test_what_is_set_is_written_though_it_was_not_loaded(
    store: Store, model: Any, host: str, value: bytes
) -> None:
    store.put(made(model, host))

    with store.engine.session() as session:
        obj = session.one(select(model).where(model.host == host))
        obj.body = value
        assert session.flush().written == 1
        assert obj.body == value
        assert session.flush().written == 0

    assert body_of(store, model, host) == value


@pytest.mark.parametrize("lone", [Lone, KeptLone])
def test_none_clears_what_was_not_loaded(store: Store, host: str, lone: Any) -> None:
    store.put(made(lone, host))

    with store.engine.session() as session:
        obj = session.one(select(lone).where(lone.host == host))
        obj.body = None
        assert session.flush().written == 1
        assert obj.body is None
        obj.body = None
        assert session.flush().written == 0

    assert body_of(store, lone, host) is None


def _get(session: Session, lone: Any, host: str) -> None:
    session.get(lone, host=host, n=1)


def _scan(session: Session, lone: Any, host: str) -> None:
    session.all(select(lone).where(lone.host == host))


def _compare(session: Session, lone: Any, host: str) -> None:
    assert session.all(select(lone).where(lone.host == host, lone.body == BODY))


def _compare_and_get(session: Session, lone: Any, host: str) -> None:
    _compare(session, lone, host)
    _get(session, lone, host)


@pytest.mark.parametrize("reread", [_get, _scan, _compare, _compare_and_get])
@pytest.mark.parametrize("value", [None, b"new", b""])
@pytest.mark.parametrize("lone", [Lone, KeptLone])
def test_what_is_set_outlives_another_read_of_the_row(
    store: Store, host: str, lone: Any, value: bytes | None, reread: Any
) -> None:
    store.put(made(lone, host))

    with store.engine.session() as session:
        obj = load(session, lone, host=host, n=1)
        obj.body = value
        reread(session, lone, host)
        assert obj.body == value
        assert session.flush().written == 1
        assert session.flush().written == 0

    assert body_of(store, lone, host) == value


def test_a_refresh_drops_what_is_set(store: Store, host: str) -> None:
    store.put(made(Lone, host))

    with store.engine.session() as session:
        obj = load(session, Lone, host=host, n=1)
        obj.body = None
        session.refresh(obj)
        assert is_unloaded(obj, "body")
        assert session.flush().written == 0

    assert body_of(store, Lone, host) == BODY


def test_what_was_loaded_and_not_changed_is_not_written(store: Store, host: str) -> None:
    store.put(doc(host))

    with store.engine.session() as session:
        obj = session.one(select(Doc).where(Doc.host == host))
        session.refresh(obj, Doc.body)
        obj.title = "new"
        store.forget()
        session.flush()

    (sent,) = store.sent.writes
    assert isinstance(sent, MutateRows)
    assert [put.column for put in sent.mutations[0].puts] == [b"d:m"]


def test_deleting_an_object_deletes_what_was_not_loaded(
    store: Store, model: Any, host: str
) -> None:
    store.put(made(model, host))

    with store.engine.session() as session:
        session.delete(load(session, model, host=host, n=1))
        session.flush()
        session.insert(made(model, host))
        session.delete_where(select(model).where(model.host == host))
        assert session.count(select(model).where(model.host == host)) == 0
        assert session.all(select(model.body).where(model.host == host)) == []


@pytest.mark.parametrize("write", ["replace", "insert"])
def test_a_whole_row_is_not_written_of_an_object_that_lacks_fields(
    store: Store, host: str, write: str
) -> None:
    store.put(doc(host))

    with store.engine.session() as session:
        obj = session.one(select(Doc).where(Doc.host == host))
        session.refresh(obj, Doc.body)
        obj.page = b"set"
        store.forget()
        with pytest.raises(ValidationError, match="without deferred fields") as caught:
            getattr(session, write)(obj)
        assert store.sent.writes == []

    assert caught.value.details["fields"] == ["last"]


def test_replace_takes_an_object_whose_fields_are_known(store: Store, host: str) -> None:
    store.put(doc(host, note="gone"))

    with store.engine.session() as session:
        obj = session.one(select(Doc).where(Doc.host == host))
        session.refresh(obj, Doc.body, Doc.last, Doc.page)
        obj.note = None
        session.replace(obj)
        assert is_unloaded(session.one(select(Doc).where(Doc.host == host)), "body")

    assert body_of(store, Doc, host) == BODY


def test_a_move_carries_what_was_not_loaded(store: Store, model: Any, host: str) -> None:
    store.put(made(model, host))

    with store.engine.session() as session:
        moved = session.move(load(session, model, host=host, n=1), n=2)
        assert is_unloaded(moved, "body")

    assert body_of(store, model, host, 2) == BODY


def test_a_move_that_was_made_already_is_found(store: Store, model: Any, host: str) -> None:
    store.put(made(model, host))

    with store.engine.session() as session, store.engine.session() as other:
        mine = load(session, model, host=host, n=1)
        other.move(load(other, model, host=host, n=1), n=2)
        moved = session.move(mine, n=2)

    assert moved.n == 2
    assert body_of(store, model, host, 2) == BODY


def test_a_bulk_insert_refuses_an_object_that_lacks_fields(store: Store, host: str) -> None:
    store.put(Lone(host=host, n=1, body=BODY), doc(host))

    with store.engine.session() as session:
        for obj in (load(session, Lone, host=host, n=1), load(session, Doc, host=host, n=1)):
            session.expunge(obj)
            with (
                session.bulk(insert_only=True) as bulk,
                pytest.raises(ValidationError, match="without deferred fields"),
            ):
                bulk.add(obj)

    assert body_of(store, Lone, host) == body_of(store, Doc, host) == BODY


def test_an_update_of_a_guarded_row_is_given_the_whole_of_it(store: Store, host: str) -> None:
    store.put(made(Kept, host))

    def grow(kept: Kept) -> None:
        kept.body += b"!"

    with store.engine.session() as session:
        updated = session.update(Kept, grow, host=host, n=1)

    assert updated.body == body_of(store, Kept, host) == BODY + b"!"


def test_conditional_writes_compare_deferred_fields(store: Store, model: Any, host: str) -> None:
    store.put(made(model, host))

    with store.engine.session() as session:
        obj = load(session, model, host=host, n=1)
        assert session.put_if(obj, model.body == BODY)
        obj.body = b"new"
        assert not session.put_if(obj, model.body == b"other")
        assert session.put_if(obj, model.body == BODY)
        assert not session.delete_if(obj, model.body == BODY)

    assert body_of(store, model, host) == b"new"


def test_bulk_writes_changes_of_objects_that_lack_fields(store: Store, host: str) -> None:
    store.put(made(Lone, host, 1))

    with store.engine.session() as session:
        obj = session.one(select(Lone).where(Lone.host == host))
        session.expunge(obj)
        obj.note = "new"
        with session.bulk() as bulk:
            bulk.add_all([obj, made(Lone, host, 2)])
        assert session.get(Lone, host=host, n=1).note == "new"  # type: ignore[union-attr]  # it is there

    assert (body_of(store, Lone, host, 1), body_of(store, Lone, host, 2)) == (BODY, BODY)


@pytest.mark.parametrize(("kind", "lacking"), [(Doc, ["body", "page"]), (Kept, ["body"])])
def test_bulk_refuses_objects_that_lack_required_fields(
    store: Store, host: str, kind: Any, lacking: list[str]
) -> None:
    """It may write to another table, where the row would be without them."""
    store.put(made(kind, host))
    store.forget()

    with (
        store.engine.session() as session,
        session.stream(select(kind).where(kind.host == host)) as found,
        session.bulk() as bulk,
        pytest.raises(ValidationError, match="every row is written with") as caught,
    ):
        bulk.add_all(found)

    assert caught.value.details["fields"] == lacking
    assert caught.value.details["row"] is not None
    assert store.sent.writes == []


def test_bulk_takes_objects_whose_required_fields_are_known(store: Store, host: str) -> None:
    store.put(doc(host))

    with store.engine.session() as session:
        obj = load(session, Doc, host=host, n=1)
        session.refresh(obj, Doc.body, Doc.page)
        with session.bulk() as bulk:
            bulk.add(obj)

    assert body_of(store, Doc, host) == BODY


def test_an_object_of_a_deleted_row_makes_no_row_without_its_fields(
    store: Store, model: Any, host: str
) -> None:
    store.put(made(model, host))

    with store.engine.session() as session:
        obj = load(session, model, host=host, n=1)
        session.delete(obj)
        session.flush()
        store.forget()
        session.add(obj)
        with pytest.raises(ValidationError, match="its row would lose") as caught:
            session.flush()
        with session.bulk() as bulk, pytest.raises(ValidationError, match="its row would lose"):
            bulk.add(obj)
        assert store.sent.writes == []
        obj.body = b"new"
        for name in ("last", "page"):
            if name in model.__schema__.fields:
                setattr(obj, name, b"new")
        session.flush()

    assert "body" in caught.value.details["fields"]
    assert body_of(store, model, host) == b"new"


def test_an_object_of_the_past_makes_no_torn_row(store: Store, model: Any, host: str) -> None:
    store.put(made(model, host))

    with store.engine.session() as session:
        then = _past(session, model, host)
        store.forget()
        session.add(then)
        with pytest.raises(ValidationError, match="its row would lose") as caught:
            session.flush()
        session.expunge(then)
        assert store.sent.writes == []

    assert "body" in caught.value.details["fields"]
    assert "refresh" not in str(caught.value)
    assert f"select({model.__name__}.body" in str(caught.value)
    assert ".as_of(time)" in str(caught.value)


def test_a_row_of_the_past_is_put_with_its_deferred_values(store: Store, host: str) -> None:
    store.put(doc(host, title="old"))

    with store.engine.session() as session:
        then = _past(session, Doc, host)
        with pytest.raises(NotLoadedError) as caught:
            _ = then.body
        later = datetime.now(UTC) + timedelta(days=1)
        values = select(Doc.body, Doc.last, Doc.page).where(Doc.host == host)
        then.body, then.last, then.page = session.one(values.as_of(later))
        session.put_row(Doc, Doc.title.to("new"), Doc.body.to(b"new"), host=host, n=1)
        session.add(then)
        session.flush()
        titles = session.all(select(Doc.title).where(Doc.host == host))

    assert "refresh" not in str(caught.value)
    assert "select(Doc.body); a past value with the same .as_of(time)" in str(caught.value)
    assert titles == ["old"]
    assert body_of(store, Doc, host) == BODY


# --- with other tools ------------------------------------------------------------------------------


def test_objects_that_know_different_fields_are_not_equal(store: Store, host: str) -> None:
    new = doc(host)
    store.put(new)

    with store.engine.session() as session:
        obj = session.one(select(Doc).where(Doc.host == host))
        assert obj != new
        session.refresh(obj, Doc.body, Doc.last, Doc.page)

    assert obj == new


def test_a_repr_shows_what_is_loaded(store: Store, host: str) -> None:
    store.put(doc(host))

    with store.engine.session() as session:
        obj = session.one(select(Doc).where(Doc.host == host))

    assert repr(obj) == f"Doc(host={host!r}, n=1, title='t', note=None, hits=0)"


def test_explain_says_what_is_left_out(store: Store, host: str) -> None:
    with store.engine.session() as session:
        scan = session.explain(select(Doc).where(Doc.host == host))
        got = session.explain(select(Doc).where(Doc.host == host, Doc.n == 1))
        compared = session.explain(select(Doc).where(Doc.host == host, Doc.body == BODY))

    assert "columns: all but d:a, d:z, e:m" in str(scan)
    assert got.to_dict()["columns"] == ["d:m", "e:a", "e:h"]
    assert "columns: all but d:z, e:m" in str(compared)


def test_a_scan_cut_off_in_its_filter_still_leaves_it_out(store: Store, host: str) -> None:
    """After a lost connection a scan goes on without conditions."""
    store.put(doc(host))
    with store.engine.session() as session:
        plan: Any = session.explain(select(Doc).where(Doc.host == host, Doc.note != "x"))

    again = replace(plan, filter=plan.unconditional)

    assert again.mask is not None
    assert b"KeyOnlyFilter" in again.mask
