"""What reads with timeline consistency promise, of regions that answer and of replicas that lag."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, TypeGuard

import pytest

from hbase_orm import (
    Dynamic,
    Engine,
    Family,
    Index,
    Key,
    Mapped,
    Model,
    Offset,
    Period,
    Related,
    Salt,
    Select,
    Session,
    Table,
    TablePerPeriod,
    Version,
    codecs,
    column,
    connect,
    dynamic,
    func,
    is_stale,
    key,
    related,
    rowkey,
    select,
    version,
)
from hbase_orm.errors import (
    FeatureMissingError,
    FlushConflictError,
    PageTokenError,
    QueryError,
    UnboundedScanError,
    ValidationError,
)
from hbase_orm.ops import GetRows, OpenScanner
from tests.support.backends import thrift1_url
from tests.support.replicas import LagsBehind
from tests.support.store import Store, load

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)


class Site(Model, table="tl_sites"):
    d = Family()
    name: Key[str] = key()
    town: Mapped[str | None] = column(d, default=None)


class Reading(Model, table=Table("tl_readings", region_replication=2)):
    """Salted rows, of a table with replicas."""

    d = Family()
    host: Key[str] = key()
    n: Key[int] = key(codecs.uint8())
    value: Mapped[int] = column(d, codec=codecs.int64())
    note: Mapped[str | None] = column(d, default=None)
    site: Mapped[str | None] = column(d, default=None)
    labels: Mapped[list[str] | None] = column(d, codec=codecs.json(list[str]), default=None)
    __rowkey__ = rowkey(Salt(4, of=[host, n]), host, n)
    at_site: Related[Site] = related(name=site)


class Account(Model, table="tl_accounts"):
    d = Family()
    host: Key[str] = key()
    n: Key[int] = key(codecs.uint8())
    email: Mapped[str] = column(d)
    points: Mapped[int] = column(d, codec=codecs.int64(), default=0)
    revision: Version = version(d)
    by_email = Index(email)
    by_points = Index(points, include=[email], covering=True)


class Listed(Model, table="tl_listed"):
    d = Family()
    host: Key[str] = key()
    note: Mapped[str | None] = column(d, default=None)
    items: Dynamic[int, str] = dynamic(d, prefix="i:", name=codecs.uint64())


class Daily(Model, table=TablePerPeriod("tl_daily_%Y%m%d", of="at", period="day")):
    d = Family()
    host: Key[str] = key()
    at: Key[datetime] = key(codecs.seconds())
    note: Mapped[str | None] = column(d, default=None)
    items: Dynamic[int, str] = dynamic(d, prefix="i:", name=codecs.uint64())
    __rowkey__ = rowkey(host, Offset("day", of=at))


class Packed(Model, table="tl_packed"):
    d = Family()
    host: Key[str] = key()
    at: Key[datetime] = key(codecs.seconds())
    value: Mapped[int] = column(d, Offset("hour", of=at), codec=codecs.uint8())
    __rowkey__ = rowkey(host, Period("hour", of=at))


MODELS = (Site, Reading, Account, Listed, Packed)


def prepare(engine: Engine) -> None:
    engine.create_tables(*MODELS)
    engine.create_tables(Daily, periods=(NOON, NOON + timedelta(hours=1)))


class Lagging:
    """A store whose replicas can fall behind, and the engine that reads through it."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.sent = LagsBehind(store.sent.inner)
        self.engine = store.through(self.sent)

    def behind(self, *models: type[Model], lags: Callable[[bytes], bool] | None = None) -> None:
        """Let the replicas of these models' tables stay at what is written now."""
        tables = [self.store.table(model) for model in models]
        self.sent.fall_behind(*tables, **({} if lags is None else {"lags": lags}))

    def session(self) -> Session:
        return self.engine.session()


@pytest.fixture
def lagging(store: Store) -> Lagging:
    return Lagging(store)


def readings(host: str, *more: Any) -> Select[Reading]:
    return select(Reading).where(Reading.host == host, *more).consistency("timeline")


def accounts(host: str) -> Select[Account]:
    return select(Account).where(Account.host == host).consistency("timeline")


def put_readings(store: Store, host: str, value: int, count: int = 3) -> None:
    store.put(*(Reading(host=host, n=n, value=value) for n in range(count)))


def with_items(obj: Any) -> Any:
    obj.items = {1: "a", 2: "b", 3: "c"}
    return obj


# --- regions that answer --------------------------------------------------------------------------


@pytest.mark.parametrize("model", [Reading, Account])
def test_a_timeline_read_of_regions_that_answer_is_a_strong_one_and_not_stale(
    store: Store, host: str, model: Any
) -> None:
    values = {"value": 7} if model is Reading else {"email": "a@x"}
    store.put(*(model(host=host, n=n, **values) for n in range(3)))
    strong = select(model).where(model.host == host)
    statement = strong.consistency("timeline")

    with store.engine.session() as session:
        objects = session.all(statement)
        page = session.page(statement, size=2)
        with session.stream(statement) as stream:
            streamed = list(stream)
        one = session.one(statement.where(model.n == 1))
        counts = session.count(statement), session.exists(statement)
        expected = session.all(strong)

    assert objects == streamed == expected
    assert (one, counts) == (expected[1], (3, True))
    assert not any(map(is_stale, [*objects, *streamed, *page.items, one]))
    assert (page.stale, stream.stale) == (False, False)


def test_strong_is_what_a_statement_is_without_asking(store: Store, host: str) -> None:
    put_readings(store, host, 1)
    statement = readings(host, Reading.n == 1)

    with store.engine.session() as session:
        session.all(statement.consistency("strong"))
        session.all(statement)

    reads = [each for each in store.sent.requests if isinstance(each, GetRows)]
    assert [each.is_timeline for each in reads if "readings" in each.table] == [False, True]


@pytest.mark.parametrize("level", ["eventual", "", None, "TIMELINE", []])
def test_other_levels_are_refused(level: Any) -> None:
    with pytest.raises(QueryError, match="level of consistency") as caught:
        select(Reading).consistency(level)

    assert caught.value.fix


# --- replicas that lag ----------------------------------------------------------------------------


def test_every_verb_shows_that_a_replica_answered(
    store: Store, lagging: Lagging, host: str
) -> None:
    put_readings(store, host, 1)
    lagging.behind(Reading)
    put_readings(store, host, 2, count=4)
    statement = readings(host)

    with lagging.session() as session:
        objects = session.all(statement)
        first = session.first(statement)
        one = session.one(statement.where(Reading.n == 1))
        page = session.page(statement, size=2)
        rest = session.page(statement, size=2, token=page.token)
        with session.stream(statement) as stream:
            streamed = list(stream)
        count = session.count(statement)
        now = session.all(statement.consistency("strong"))

    old = [*objects, first, one, *page.items, *rest.items, *streamed]
    assert {obj.value for obj in old if obj} == {1}
    assert all(obj is not None and is_stale(obj) for obj in old)
    assert (page.stale, rest.stale, stream.stale) == (True, True, True)
    assert (len(objects), len(streamed), count) == (3, 3, 3)
    assert [obj.value for obj in now] == [2] * 4
    assert not any(map(is_stale, now))


def test_gets_are_strong(store: Store, lagging: Lagging, host: str) -> None:
    put_readings(store, host, 1)
    lagging.behind(Reading)
    put_readings(store, host, 2)

    with lagging.session() as session:
        got = [session.get(Reading, host=host, n=0), *session.get_many(Reading, [(host, 1)])]

    assert [(obj.value, is_stale(obj)) for obj in got if obj] == [(2, False)] * 2


def test_streams_and_pages_of_values_show_it(store: Store, lagging: Lagging, host: str) -> None:
    put_readings(store, host, 1)
    lagging.behind(Reading)
    put_readings(store, host, 2, count=4)
    mine = Reading.host == host
    values = select(Reading.value).where(mine).consistency("timeline")
    total = select(func.count(), func.sum(Reading.value)).where(mine).consistency("timeline")

    with lagging.session() as session:
        page = session.page(values, size=9)
        with session.stream(values.sort_in_memory(Reading.n.desc(), max_rows=9)) as ordered:
            assert list(ordered) == [1, 1, 1]
        with session.stream(total) as totals:
            assert list(totals) == [(3, 3)]

    assert page.items == [1, 1, 1]
    assert (page.stale, ordered.stale, totals.stale) == (True, True, True)


def test_a_row_that_a_replica_lacks_is_none_and_shows(
    store: Store, lagging: Lagging, host: str
) -> None:
    lagging.behind(Reading)
    put_readings(store, host, 1, count=1)
    statement = readings(host, Reading.n == 0)

    with lagging.session() as session:
        with session.stream(statement) as stream:
            assert list(stream) == []
        page = session.page(statement, size=2)
        assert session.first(statement) is None

    assert (stream.stale, page.stale, page.items) == (True, True, [])


@pytest.mark.parametrize("is_scan", [True, False])
def test_only_the_rows_of_replicas_are_stale(
    store: Store, lagging: Lagging, host: str, *, is_scan: bool
) -> None:
    put_readings(store, host, 1, count=40)  # in all buckets, but for one run in 10^11
    lagging.behind(Reading, lags=lambda row_key: row_key[0] % 2 == 1)
    statement = readings(host) if is_scan else readings(host, Reading.n.in_(range(40)))

    with lagging.session() as session:
        kind = session.explain(statement).kind
        objects = session.all(statement)
        even = next(obj for obj in objects if not is_stale(obj))
        with session.stream(readings(host, Reading.n == even.n)) as stream:
            assert list(stream) == [even]

    keys = {obj.n: Reading.encode_key(host=host, n=obj.n) for obj in objects}
    assert kind == ("SaltedScan" if is_scan else "Get")
    assert {is_stale(obj) for obj in objects} == {True, False}
    assert all(is_stale(obj) is (keys[obj.n][0] % 2 == 1) for obj in objects)
    assert not stream.stale


def test_cells_of_packed_rows_and_rows_of_periods_and_ranges_of_entries_show_it(
    store: Store, lagging: Lagging, host: str
) -> None:
    store.put(
        *(Packed(host=host, at=NOON + timedelta(seconds=n), value=n) for n in range(3)),
        with_items(Daily(host=host, at=NOON)),
        with_items(Listed(host=host)),
    )
    table = lagging.engine._bound_of(Daily).with_table_of({"at": NOON}).schema.table
    lagging.sent.fall_behind(table, *map(store.table, (Packed, Listed)))
    mine: list[Select[Any]] = [
        select(Packed).where(Packed.host == host),
        select(Packed).where(Packed.host == host, Packed.at == NOON),
        select(Daily).where(Daily.host == host, Daily.at >= NOON, Daily.at <= NOON),
        select(Daily).where(Daily.host == host, Daily.at == NOON),
        select(Daily)
        .where(Daily.host == host, Daily.at == NOON)
        .columns_between(Daily.items, 1, 3),
        select(Listed).where(Listed.host == host).columns_between(Listed.items, 1, 3),
        select(Listed).where(Listed.host.startswith(host)).columns_between(Listed.items, 1, 3),
    ]

    with lagging.session() as session:
        for statement in mine:
            with session.stream(statement.consistency("timeline")) as stream:
                objects = list(stream)
            assert objects
            assert all(map(is_stale, objects)), statement
            assert stream.stale
            assert not any(map(is_stale, session.all(statement)))


@pytest.mark.parametrize("is_noted", [True, False])
@pytest.mark.parametrize("kind", ["Get", "Scan", "Tables"])
def test_all_requests_for_rows_with_a_range_of_entries_are_timeline_reads(
    store: Store, lagging: Lagging, host: str, kind: str, *, is_noted: bool
) -> None:
    model: Any = Daily if kind == "Tables" else Listed
    key: dict[str, Any] = {"host": host} | ({"at": NOON} if kind == "Tables" else {})
    table = store.engine._bound_of(model).with_table_of(key).schema.table
    if is_noted:
        store.put(model(**key, note="noted"))
    else:
        store.write_raw(table, model.encode_key(**key), other=b"1")  # any cell makes a row
    lagging.sent.fall_behind(table)
    conditions = [getattr(model, name) == value for name, value in key.items()]
    mine = [Listed.host.startswith(host)] if kind == "Scan" else conditions
    statement = select(model).where(*mine).columns_between(model.items, 7, 9)

    with lagging.session() as session:
        session.exists(statement)
        lagging.sent.requests.clear()
        obj = session.one(statement.consistency("timeline"))
        assert session.explain(statement).kind == kind

    sent = lagging.sent.requests
    reads = [each if isinstance(each, GetRows) else each.scan for each in sent if _is_read(each)]
    assert (obj.note, obj.items, is_stale(obj)) == ("noted" if is_noted else None, {}, True)
    assert reads
    assert all(each.is_timeline for each in reads)


def _is_read(request: Any) -> TypeGuard[GetRows | OpenScanner]:
    return isinstance(request, GetRows | OpenScanner)


@pytest.mark.parametrize("kind", [GetRows, OpenScanner])
def test_an_object_is_stale_if_one_of_its_requests_was_answered_by_a_replica(
    store: Store, lagging: Lagging, host: str, kind: type[Any]
) -> None:
    store.put(with_items(Listed(host=host, note="noted")))
    mine = select(Listed).where(Listed.host.startswith(host)).columns_between(Listed.items, 7, 9)

    def lags(row_key: bytes) -> bool:
        del row_key
        return [each for each in lagging.sent.requests if _is_read(each)][-1].__class__ is kind

    lagging.behind(Listed, lags=lags)

    with lagging.session() as session:
        obj = session.one(mine.consistency("timeline"))

    assert (obj.note, is_stale(obj)) == ("noted", True)


def test_a_range_of_entries_from_a_replica_makes_its_object_stale(
    store: Store, lagging: Lagging, host: str
) -> None:
    store.put(with_items(Listed(host=host)))
    statement = select(Listed).where(Listed.host == host).columns_between(Listed.items, 1, 3)

    def lags(row_key: bytes) -> bool:
        del row_key
        return any(isinstance(each, OpenScanner) for each in lagging.sent.requests)

    lagging.behind(Listed, lags=lags)  # only after the row itself was read

    with lagging.session() as session:
        obj = session.one(statement.consistency("timeline"))

    assert (obj.items, is_stale(obj)) == ({1: "a", 2: "b"}, True)


def test_related_rows_are_read_strongly(store: Store, lagging: Lagging, host: str) -> None:
    store.put(Site(name=host, town="old"), Reading(host=host, n=1, value=1, site=host))
    lagging.behind(Reading, Site)
    store.put(Site(name=host, town="new"))

    with lagging.session() as session:
        obj = session.one(readings(host).load_related(Reading.at_site))
        page = session.page(readings(host).load_related(Reading.at_site), size=2)
        assert obj.at_site is session.get(Site, name=host)

    assert obj.at_site is not None
    assert (obj.at_site.town, is_stale(obj), is_stale(obj.at_site)) == ("new", True, False)
    assert page.stale


# --- objects and the session ----------------------------------------------------------------------


def test_the_sessions_objects_stay_as_they_are(store: Store, lagging: Lagging, host: str) -> None:
    store.put(Reading(host=host, n=1, value=1, labels=["old"]))
    lagging.behind(Reading)
    put_readings(store, host, 2)

    with lagging.session() as session:
        held = load(session, Reading, host=host, n=1)
        held.note = "mine"
        held.labels = ["new"]
        (old,) = session.all(readings(host))
        page = session.page(readings(host), size=2)
        assert old is not held
        assert page.items == [old]
        assert (held.value, held.note, held.labels, is_stale(held)) == (2, "mine", ["new"], False)
        assert (old.value, old.labels, is_stale(old)) == (1, ["old"], True)
        with pytest.raises(ValidationError, match="another object of this row"):
            session.add(old)
        session.flush()
        assert session.one(readings(host)).value == 1
        assert (held.value, held.note) == (2, "mine")

    assert store.stored(Reading, host=host, n=1).note == "mine"


def test_a_changed_stale_object_is_not_written_unless_it_is_added(
    store: Store, lagging: Lagging, host: str
) -> None:
    put_readings(store, host, 1, count=1)
    lagging.behind(Reading)
    put_readings(store, host, 2, count=1)

    with lagging.session() as session:
        obj = session.one(readings(host))
        obj.note = "changed"
        assert session.flush().written == 0
        session.add(obj)
        assert session.flush().written == 1
        assert is_stale(obj)  # its other fields still are what the replica had

    stored = store.stored(Reading, host=host, n=0)
    assert (stored.value, stored.note) == (2, "changed")


@pytest.mark.parametrize("change", ["email", "delete"])
def test_a_stale_object_of_a_versioned_model_is_refused_by_its_version(
    store: Store, lagging: Lagging, host: str, change: str
) -> None:
    store.put(Account(host=host, n=1, email="old@x"))
    lagging.behind(Account)
    with store.engine.session() as session:
        load(session, Account, host=host, n=1).email = "new@x"

    with lagging.session() as session:
        obj = session.one(accounts(host))
        assert (obj.email, obj.revision, is_stale(obj)) == ("old@x", 1, True)
        obj.email = "stale@x"
        session.add(obj) if change == "email" else session.delete(obj)
        with pytest.raises(FlushConflictError):
            session.flush()
        session.refresh(obj)
        assert (obj.email, obj.revision, is_stale(obj)) == ("new@x", 2, False)

    by_email = select(Account).where(Account.email == "new@x", Account.host == host)
    with store.engine.session() as session:
        assert [obj.email for obj in session.all(by_email.using(Account.by_email))] == ["new@x"]
        assert store.engine.verify_index(Account, Account.by_email).is_sound


def test_the_flag_ends_with_the_next_strong_read_of_the_object(
    store: Store, lagging: Lagging, host: str
) -> None:
    put_readings(store, host, 1, count=1)
    lagging.behind(Reading)
    put_readings(store, host, 2, count=1)

    with lagging.session() as session:
        obj = session.one(readings(host))
        for copied in (copy.copy(obj), copy.deepcopy(obj), pickle.loads(pickle.dumps(obj))):
            assert (copied, is_stale(copied)) == (obj, True)
        obj.note = "added"
        session.add(obj)
        session.flush()
        assert is_stale(obj)
        assert session.get(Reading, host=host, n=0) is obj

    assert (obj.value, obj.note, is_stale(obj)) == (2, "added", False)


@pytest.mark.parametrize("other", [None, 5, Reading, "x", (1, 2)])
def test_only_objects_of_models_are_stale_or_not(other: Any) -> None:
    with pytest.raises(ValidationError, match="not an object"):
        is_stale(other)


def test_new_objects_are_not_stale(host: str) -> None:
    assert not is_stale(Reading(host=host, n=1, value=1))


# --- indexes and repairs --------------------------------------------------------------------------


def test_a_timeline_read_uses_no_index_and_repairs_nothing(
    store: Store, lagging: Lagging, host: str
) -> None:
    store.put(*(Account(host=host, n=n, email=f"{host}{n}@x", points=n) for n in range(3)))
    lagging.behind(Account)
    with store.engine.session() as session:
        load(session, Account, host=host, n=1).email = f"{host}-new@x"
    by_email = select(Account).where(Account.email == f"{host}-new@x")

    with lagging.session() as session:
        lagging.sent.requests.clear()
        for indexed in (by_email.using(Account.by_email), by_email.using(Account.by_points)):
            with pytest.raises(QueryError, match="cannot use an index"):
                session.all(indexed.consistency("timeline"))
        with pytest.raises(UnboundedScanError) as caught:
            session.all(by_email.consistency("timeline"))
        assert session.all(accounts(host).where(Account.email == f"{host}-new@x")) == []
        assert session.one(accounts(host).where(Account.email == f"{host}1@x")).points == 1
        assert session.all(by_email) == [session.get(Account, host=host, n=1)]

    assert 'without .consistency("timeline")' in (caught.value.fix or "")
    assert lagging.sent.writes == []
    assert store.engine.verify_index(Account, Account.by_email).is_sound


def test_an_order_that_only_an_index_has_is_refused_without_the_advice_to_declare_one(
    store: Store,
) -> None:
    statement = select(Account).order_by(Account.points.asc()).where(Account.host == "a")

    with store.engine.session() as session, pytest.raises(QueryError, match="order") as caught:
        session.all(statement.consistency("timeline"))

    assert "Index" not in (caught.value.fix or "")


def test_deleting_by_what_replicas_return_is_refused(store: Store, host: str) -> None:
    put_readings(store, host, 1)

    with store.engine.session() as session:
        with pytest.raises(QueryError, match="replicas") as caught:
            session.delete_where(readings(host))
        assert session.count(readings(host)) == 3

    assert caught.value.fix == 'leave .consistency("timeline") out'


# --- statements -----------------------------------------------------------------------------------


def test_a_page_token_belongs_to_its_consistency(store: Store, lagging: Lagging, host: str) -> None:
    put_readings(store, host, 1, count=5)
    lagging.behind(Reading)
    put_readings(store, host, 2, count=5)
    statement = readings(host)

    with lagging.session() as session:
        page = session.page(statement, size=3)
        rest = session.page(statement, size=3, token=page.token)
        with pytest.raises(PageTokenError):
            session.page(statement.consistency("strong"), size=3, token=page.token)
        strong = session.page(statement.consistency("strong"), size=3)
        with pytest.raises(PageTokenError):
            session.page(statement, size=3, token=strong.token)

    assert [obj.value for obj in (*page.items, *rest.items)] == [1] * 5
    assert (rest.stale, rest.reason, strong.stale) == (True, "exhausted", False)


def test_explain_shows_the_consistency(store: Store, lagging: Lagging, host: str) -> None:
    put_readings(store, host, 1)
    lagging.behind(Reading)
    strong = select(Reading).where(Reading.host == host)

    with lagging.session() as session:
        plan = session.explain(readings(host))
        measured = session.explain(readings(host, Reading.n == 1), analyze=True)
        usual = session.explain(strong)

    assert "consistency: timeline, replicas may answer with older rows" in str(plan)
    assert plan.to_dict()["consistency"] == "timeline"
    assert measured.measured is not None
    assert measured.measured.results == 1
    assert "consistency" not in str(usual)
    assert "consistency" not in usual.to_dict()


def test_the_past_can_be_read_from_replicas(store: Store, lagging: Lagging, host: str) -> None:
    put_readings(store, host, 1, count=1)
    later = datetime.now(UTC) + timedelta(days=1)
    lagging.behind(Reading)

    with lagging.session() as session:
        obj = session.one(readings(host).as_of(later))

    assert (obj.value, is_stale(obj), obj.__state__.row) == (1, True, None)


def test_plans_that_are_kept_for_a_shape_are_of_both_consistencies(
    store: Store, lagging: Lagging, host: str
) -> None:
    put_readings(store, host, 1)
    lagging.behind(Reading)
    put_readings(store, host, 2)
    strong = select(Reading).where(Reading.host == host)

    with lagging.session() as session:
        values = [
            [obj.value for obj in session.all(statement)]
            for statement in (strong, readings(host), strong.using(None), readings(host), strong)
        ]

    assert values == [[2] * 3, [1] * 3, [2] * 3, [1] * 3, [2] * 3]


def test_without_thrift2_a_timeline_read_is_refused_before_anything_is_sent(
    store: Store, host: str
) -> None:
    program = store.without_thrift2()
    statement = readings(host)

    with program.engine.session() as session:
        verbs: list[Callable[[], Any]] = [
            lambda: session.all(statement),
            lambda: session.first(statement),
            lambda: session.one(statement),
            lambda: session.stream(statement),
            lambda: session.page(statement, size=2),
            lambda: session.count(statement),
            lambda: session.exists(statement),
            lambda: session.explain(statement),
            lambda: session.explain(statement, analyze=True),
        ]
        for verb in verbs:
            with pytest.raises(FeatureMissingError, match="thrift2=host:port"):
                verb()

    assert program.sent.requests == []


@pytest.mark.only_on("hbase")
def test_thrift1_alone_refuses_timeline_reads(engine: Engine, host: str) -> None:
    with connect(thrift1_url(engine)) as thrift1, thrift1.session() as session:
        with pytest.raises(FeatureMissingError):
            session.all(readings(host))
        assert session.all(select(Reading).where(Reading.host == host)) == []
