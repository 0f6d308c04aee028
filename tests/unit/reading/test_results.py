"""What statements give besides objects, in memory, and which cells are asked for."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, TypeVar

import pytest

from hbase_orm import (
    Engine,
    Family,
    Index,
    Key,
    Mapped,
    Model,
    Related,
    Select,
    codecs,
    column,
    connect,
    func,
    key,
    related,
    select,
)
from hbase_orm.errors import (
    ConnectionLostError,
    CorruptRowError,
    MissingCellError,
    MultipleRowsError,
    PageTokenError,
    QueryError,
)
from hbase_orm.index.catalog.catalog import CATALOG_TABLE
from hbase_orm.ops import FetchRows, GetRows, Operation
from tests.support.recording import RecordsRequests, gateway_of, through
from tests.support.selection_statements import (
    ANSWERS,
    NOON,
    Account,
    Bought,
    Daily,
    Draft,
    HitsPerHour,
    Named,
    Point,
    Reading,
    Record,
    Returned,
    Tagged,
    gets,
    load,
    put_cells,
    recorded,
    scans,
)

R = TypeVar("R")

KEYS_ALONE = b"FirstKeyOnlyFilter() AND KeyOnlyFilter()"
TAG_AND_FIRST = (
    b"(FamilyFilter(=, 'binary:d') AND QualifierFilter(=, 'binary:t:x')) OR FirstKeyOnlyFilter()"
)
TAG_IS_ONE = (
    b"SingleColumnValueFilter('d', 't:x', =, 'binary:\x80\x00\x00\x00\x00\x00\x00\x01', true, true)"
)
UNIT_AND_FIRST = (
    b"(FamilyFilter(=, 'binary:d') AND QualifierFilter(=, 'binary:u')) OR FirstKeyOnlyFilter()"
)
REASON_AND_FIRST = (
    b"(FamilyFilter(=, 'binary:d') AND QualifierFilter(=, 'binary:reason')) OR FirstKeyOnlyFilter()"
)
VIEWS_AND_FIRST = (
    b"(FamilyFilter(=, 'binary:c') AND QualifierFilter(=, 'binary:v')) OR FirstKeyOnlyFilter()"
)


@pytest.fixture(scope="module")
def engine() -> Engine:
    engine = connect("memory://")
    load(engine)
    return engine


def sent(engine: Engine, ask: Any) -> tuple[Any, Any]:
    """Return what `ask` answers for a session, and the requests that were sent."""
    other, recorder = recorded(engine)
    with other.session() as session:
        answer = ask(session)
    return answer, recorder.requests


@pytest.mark.parametrize("name", ANSWERS)
def test_a_statement_gives(engine: Engine, name: str) -> None:
    statement, expected = ANSWERS[name]
    with engine.session() as session:
        assert session.all(statement()) == expected
        assert session.count(statement()) == len(expected)
        assert session.exists(statement()) is bool(expected)
        assert session.first(statement()) == next(iter(expected), None)
        with session.stream(statement()) as found:
            assert list(found) == expected


@pytest.mark.parametrize("name", ANSWERS)
def test_pages_of_values_joined_are_the_values(engine: Engine, name: str) -> None:
    statement, expected = ANSWERS[name]
    stmt = statement()
    if stmt.is_aggregated or stmt.sort is not None:
        with (
            engine.session() as session,
            pytest.raises(QueryError, match="cannot be read in pages"),
        ):
            session.page(stmt, size=3)
        return
    items, token = [], None
    with engine.session() as session:
        while True:
            page = session.page(stmt, size=2, token=token)
            items += page.items
            token = page.token
            if token is None:
                break
    assert items == expected


def test_objects_are_sorted_too_and_belong_to_the_session(engine: Engine) -> None:
    stmt = select(Reading).sort_in_memory(Reading.value.desc(), max_rows=4).allow_full_scan()
    with engine.session() as session:
        found = session.all(stmt)

        assert [each.value for each in found] == [3.5, 1.0, 0.5, 0.5]
        assert [each.host for each in found] == ["c", "a", "a", "b"]  # alike: as the scan has them
        assert session.get(Reading, host="c", n=7) is found[0]


def test_objects_are_sorted_by_entries_of_dynamic_columns(engine: Engine) -> None:
    stmt = select(Tagged).sort_in_memory(Tagged.tags["y"].asc(), max_rows=9).allow_full_scan()
    with engine.session() as session:
        assert [each.host for each in session.all(stmt)] == ["c", "b", "a"]


@pytest.mark.parametrize(
    ("stmt", "results", "kept", "dropped"),
    [
        (select(Reading.n).where(Reading.value > 0.6), 2, 2, 0),
        (select(Reading.host, func.count()).group_by(Reading.host), 3, 4, 0),
        (select(func.count(Reading.n)).where((Reading.value > 9) | (Reading.n > 9)), 1, 0, 4),
        (select(Reading.n).sort_in_memory(Reading.n.asc(), max_rows=4).limit(1), 1, 4, 0),
        (select(Reading).sort_in_memory(Reading.n.asc(), max_rows=4).limit(1), 1, 4, 0),
    ],
)
def test_analysis_tells_rows_from_results(
    engine: Engine, stmt: Any, results: int, kept: int, dropped: int
) -> None:
    with engine.session() as session:
        measured = session.explain(stmt.allow_full_scan(), analyze=True).measured

    assert measured is not None
    assert (measured.results, measured.kept, measured.dropped) == (results, kept, dropped)


def test_more_rows_than_may_be_sorted_are_an_error_before_the_first(engine: Engine) -> None:
    stmt = select(Reading.n).sort_in_memory(Reading.n.asc(), max_rows=3).allow_full_scan()
    with (
        engine.session() as session,
        session.stream(stmt) as found,
        pytest.raises(QueryError, match="more rows match") as caught,
    ):
        next(found)
    assert caught.value.details["max_rows"] == 3
    with engine.session() as session, pytest.raises(QueryError, match="more rows match"):
        session.all(stmt.limit(1))


def test_one_gives_values(engine: Engine) -> None:
    with engine.session() as session:
        assert session.one(select(Reading.value).where(Reading.host == "c")) == 3.5
        assert session.one(select(func.count(Reading.n)).allow_full_scan()) == 4
        with pytest.raises(MultipleRowsError):
            session.one(select(Reading.value).where(Reading.host == "a"))


def test_a_token_of_objects_is_not_one_of_values(engine: Engine) -> None:
    objects: Select[Any] = select(Reading).where(Reading.host == "a")
    values = select(Reading.n).where(Reading.host == "a")
    others: Select[Any] = select(Reading.value).where(Reading.host == "a")
    with engine.session() as session:
        token = session.page(values, size=1).token

        assert session.page(values, size=1, token=token).items == [2]
        for other in (objects, others):
            with pytest.raises(PageTokenError, match="another statement"):
                session.page(other, size=1, token=token)


def test_a_required_cell_that_is_absent_is_an_error_where_it_is_given() -> None:
    engine = connect("memory://")
    engine.create_tables(Reading)
    put_cells(engine, Reading, {b"d:u": b"ms"}, host="a", n=1)
    with engine.session() as session:
        stmt = select(Reading.value, Reading.unit).where(Reading.host == "a")
        with pytest.raises(MissingCellError) as caught:
            session.all(stmt)

        assert caught.value.details["column"] == b"d:v"
        assert caught.value.details["row"] == Reading.encode_key(host="a", n=1)
        assert session.all(select(Reading.note, Reading.unit).where(Reading.host == "a")) == [
            ("-", "ms")
        ]
        assert session.all(stmt.where(Reading.value > 0)) == []
        compared = select(Reading.unit).where(Reading.host == "a", Reading.value != 9)
        assert session.all(compared) == ["ms"]


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        ([Reading.unit == None], [2, 3, 5]),  # noqa: E711 - a condition
        ([Reading.unit != "ms"], [2, 3, 5]),
        ([Reading.note == "-"], [2, 3, 4, 5]),
        ([Reading.unit == None, Reading.hits == 5], [2]),  # noqa: E711 - a condition
        ([~(Reading.value > 0) | (Reading.hits > 5)], [2, 3, 4]),
        ([Reading.unit == "ms"], [4]),
    ],
)
def test_rows_that_increments_made_count_as_they_do_for_objects(
    conditions: list[Any], expected: list[int]
) -> None:
    engine = connect("memory://")
    engine.create_tables(Reading)
    with engine.session() as session:
        session.add(Reading(host="a", n=5, value=1.0, big="b"))
        session.flush()
        session.increment(Reading, Reading.hits.by(5), host="a", n=2)
        session.increment(Reading, Reading.hits.by(7), host="a", n=3)
        put_cells(engine, Reading, {b"d:u": b"ms"}, host="a", n=4)
        stmt = select(Reading).where(Reading.host == "a", *conditions)
        keys = select(Reading.n).where(Reading.host == "a", *conditions)
        counted = select(func.count(Reading.n)).where(Reading.host == "a", *conditions)

        assert [each.n for each in session.all(stmt)] == expected
        assert session.count(stmt) == len(expected)
        assert session.exists(stmt)
        assert session.all(keys) == expected
        assert session.all(counted) == [len(expected)]
        by_value = keys.sort_in_memory(Reading.value.asc(), Reading.n.asc(), max_rows=9)
        assert sorted(session.all(by_value)) == expected
        for n in expected:
            one = stmt.where(Reading.n == n)
            assert (session.count(one), session.exists(one)) == (1, True)


def test_a_cell_that_does_not_decode_is_an_error_where_it_is_read() -> None:
    engine = connect("memory://")
    engine.create_tables(Reading)
    put_cells(engine, Reading, {b"d:v": b"no float", b"d:u": b"\xff"}, host="a", n=1)
    with engine.session() as session:
        assert session.all(select(Reading.n).where(Reading.host == "a")) == [1]
        with pytest.raises(CorruptRowError) as caught:
            session.all(select(Reading.unit).where(Reading.host == "a"))
    assert caught.value.details["field"] == "unit"


def test_default_factories_make_a_value_for_each_row() -> None:
    class Bag(Model, table="bags"):
        d = Family()
        n: Key[int] = key()
        kind: Mapped[str] = column(d)
        names: Mapped[list[str]] = column(d, codec=codecs.json(list), default_factory=list)

    engine = connect("memory://")
    engine.create_tables(Bag)
    for n in (1, 2):
        put_cells(engine, Bag, {b"d:kind": b"k"}, n=n)
    with engine.session() as session:
        first, second = session.all(select(Bag.names).allow_full_scan())

    assert first == second == []
    assert first is not second


class Ranked(Model, table="ranked"):
    d = Family()
    k: Key[int] = key()
    first: Mapped[int] = column(d)
    place: Mapped[int] = column(d)
    by_place = Index(place)


def test_an_index_that_nothing_compares_is_checked_against_the_rows() -> None:
    engine = connect("memory://")
    engine.create_tables(Ranked)
    with engine.session() as session:
        session.add_all(Ranked(k=k, first=k, place=9 - k) for k in range(3))
        session.flush()
        stmt = select(Ranked.first).using(Ranked.by_place).allow_full_scan()

        assert session.all(stmt) == [2, 1, 0]


def test_names_are_looked_up_a_page_at_a_time(engine: Engine) -> None:
    answer, requests = sent(engine, lambda s: s.all(select(Named.host, Named.n).allow_full_scan()))

    asked = [r.keys for r in requests if isinstance(r, GetRows) and r.table == "selected_names"]
    assert len(answer) == 4
    assert [len(keys) for keys in asked] == [2, 2]  # both numbers at once, then both names


class Order(Model, table="orders"):
    d = Family()
    k: Key[int] = key()
    before: Mapped[int | None] = column(d, default=None)
    size: Mapped[int] = column(d)
    previous: Related[Order] = related(k=before)


def test_sorted_objects_come_with_what_is_related_and_values_cannot() -> None:
    engine = connect("memory://")
    engine.create_tables(Order)
    with engine.session() as session:
        session.add_all(Order(k=k, before=k - 1, size=k % 3) for k in range(5))
        session.flush()
    stmt = select(Order).load_related(Order.previous).allow_full_scan().caching(2)
    with engine.session() as session:
        in_order = stmt.sort_in_memory(Order.size.desc(), Order.k.desc(), max_rows=5)
        with session.stream(in_order.limit(3)) as found:
            pairs = [(each.k, each.previous and each.previous.k) for each in found]

        assert pairs == [(2, 1), (4, 3), (1, 0)]
        with pytest.raises(QueryError, match="related"):
            session.all(select(Order.k).load_related(Order.previous).allow_full_scan())
        with pytest.raises(QueryError, match="whole rows"):
            session.delete_where(select(Order.k).allow_full_scan())
        assert session.count(stmt) == 5


# --- what is sent ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stmt", "columns", "filtered"),
    [
        (select(Reading.value), (b"d:v",), None),
        (select(Reading.unit), (b"d",), UNIT_AND_FIRST),
        (select(Reading.unit, Reading.value), (b"d:u", b"d:v"), None),
        (select(Reading.n), (b"d",), KEYS_ALONE),
        (select(func.count(Reading.host)), (b"d",), KEYS_ALONE),
        (select(Reading.n).where(Reading.host < "x"), (b"d",), KEYS_ALONE),
        (
            select(Reading.n).where(Reading.unit == "ms"),
            (b"d:u",),  # a row that matches has the cell: no other is needed
            b"SingleColumnValueFilter('d', 'u', =, 'binary:ms', true, true)",
        ),
        (
            select(Reading.n).where(Reading.unit != "ms"),
            (b"d",),  # a row that matches may have any cell
            b"SingleColumnValueFilter('d', 'u', !=, 'binary:ms', false, true)",
        ),
        (
            select(Reading.n).where(Reading.note == "n1"),
            (b"d",),  # without the cell the default may match
            b"SingleColumnValueFilter('d', 'note', =, 'binary:n1', true, true)",
        ),
        (
            select(Reading.n).sort_in_memory(Reading.unit.asc(), max_rows=9),
            (b"d",),
            UNIT_AND_FIRST,
        ),
        (select(HitsPerHour.site), (b"c",), KEYS_ALONE),
        (
            select(HitsPerHour.views),
            (b"c",),
            VIEWS_AND_FIRST,
        ),
        (select(Account.name), (b"d:age",), b"KeyOnlyFilter()"),
        (select(Account.bio), (b"d:bio", b"d:age"), None),
        (select(Draft.name), (b"d", b"e"), b"KeyOnlyFilter()"),
        (select(Draft.text), (b"d", b"e"), None),
        (select(Record.customer), (b"d",), KEYS_ALONE),
        (select(Record.amount), (b"d:amount",), None),
        (select(Returned.reason), (b"d",), REASON_AND_FIRST),
        (select(Bought.number), (b"d",), KEYS_ALONE),
        (select(Point.at), (b"p",), b"KeyOnlyFilter()"),
        (select(Point.value), (b"p",), None),
        (select(Named.n), (b"d",), KEYS_ALONE),
        (
            select(Tagged.tags["x"]),
            (b"d",),
            TAG_AND_FIRST,
        ),
        (
            select(Tagged.host).where(Tagged.tags["x"] == 1),
            (b"d:t:x",),
            TAG_IS_ONE,
        ),
    ],
)
def test_a_scan_reads_what_is_needed(
    engine: Engine, stmt: Any, columns: tuple[bytes, ...], filtered: bytes | None
) -> None:
    answer, requests = sent(engine, lambda session: session.all(stmt.allow_full_scan()))

    assert answer
    assert set(scans(requests)) == {(columns, filtered)}


@pytest.mark.parametrize(
    ("stmt", "columns"),
    [
        (select(Reading.unit).where(Reading.host == "a", Reading.n == 1), (b"d",)),
        (
            select(Reading.unit, Reading.value).where(Reading.host == "a", Reading.n == 1),
            (b"d:u", b"d:v"),
        ),
        (select(Account.age).where(Account.city == "Bonn"), (b"d:age", b"d:city")),
        (select(Account.name).where(Account.city == "Bonn"), (b"d:city", b"d:age")),
        (
            select(HitsPerHour.views).where(HitsPerHour.site == "x.org", HitsPerHour.hour == NOON),
            (b"c",),
        ),
        (select(Daily.n).where(Daily.user == "u", Daily.at == NOON), (b"d:n",)),
    ],
)
def test_a_get_reads_what_is_needed(engine: Engine, stmt: Any, columns: tuple[bytes, ...]) -> None:
    answer, requests = sent(engine, lambda session: session.all(stmt))

    assert answer
    assert columns in gets(requests)


class MeasuresValues(RecordsRequests):
    """Adds up the bytes of the values that reads bring."""

    value_bytes = 0
    rows = 0

    def execute(self, operation: Operation[R], /) -> R:
        answer = super().execute(operation)
        if isinstance(operation, GetRows) and operation.table == CATALOG_TABLE:
            return answer
        for row in answer if isinstance(answer, list) else ():
            self.rows += 1
            self.value_bytes += sum(len(cell.value) for cell in row.cells.values())
        return answer


@pytest.mark.parametrize("model", [Reading, Account, Draft, Point, HitsPerHour, Record, Named])
def test_a_count_is_that_of_the_objects_and_brings_no_values(engine: Engine, model: Any) -> None:
    stmt = select(model).allow_full_scan()
    measures = MeasuresValues(gateway_of(engine))
    with engine.session() as session:
        expected = len(session.all(stmt))

    with through(measures, engine).session() as session:
        assert session.count(stmt) == expected
        assert session.count(stmt.sort_in_memory(_any_field(model).asc(), max_rows=1)) == expected
        assert session.count(stmt.limit(1)) == 1

    assert measures.rows > expected > 1
    assert measures.value_bytes == 0


class CutsFetch(MeasuresValues):
    """Loses the connection once, in a fetch."""

    is_cut = False

    def execute(self, operation: Operation[R], /) -> R:
        if isinstance(operation, FetchRows) and not self.is_cut:
            self.is_cut = True
            raise ConnectionLostError("cut")
        return super().execute(operation)


@pytest.mark.parametrize(
    "stmt",
    [
        select(Reading.n).where(Reading.host == "a"),
        select(HitsPerHour.site).where(HitsPerHour.site == "x.org"),
        select(Draft.name).allow_full_scan(),
    ],
)
def test_keys_alone_come_also_after_a_lost_connection(engine: Engine, stmt: Any) -> None:
    cuts = CutsFetch(gateway_of(engine))
    with through(cuts, engine).session() as session:
        assert len(session.all(stmt)) > 1

    assert (cuts.is_cut, cuts.value_bytes) == (True, 0)


def _any_field(model: Any) -> Any:
    return next(iter(model.__schema__.fields.values()))


def test_exists_asks_for_one_row(engine: Engine) -> None:
    for stmt in (
        select(Reading).where(Reading.host == "a"),
        select(Reading.value).where(Reading.host == "a"),
        select(Reading).where(Reading.host == "a").sort_in_memory(Reading.n.asc(), max_rows=1),
    ):
        answer, requests = sent(engine, lambda session, stmt=stmt: session.exists(stmt))

        assert answer is True
        assert [r.count for r in requests if isinstance(r, FetchRows)] == [1]
        assert scans(requests) == [((b"d",), KEYS_ALONE)]


def test_a_group_exists_though_its_value_is_none(engine: Engine) -> None:
    with engine.session() as session:
        assert session.exists(select(func.min(Reading.n)).where(Reading.host == "nobody"))
        assert not session.exists(
            select(Reading.host).where(Reading.host == "nobody").group_by(Reading.host)
        )


# --- refusals -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stmt", "reason"),
    [
        (select(Reading.n, Account.age), "the field does not belong to the selected model"),
        (
            select(Reading.n).where(Account.age == 1),
            "the field does not belong to the selected model",
        ),
        (
            select(func.max(Reading.n), func.sum(Account.age)),
            "the field does not belong to the selected model",
        ),
        (
            select(Reading).where(func.count(Reading.n) > 1),
            "the field does not belong to the selected model",
        ),
        (
            select(Bought.customer).where(Returned.reason == "x"),
            "the field does not belong to the selected model",
        ),
        (
            select(Reading.n, func.count()),
            "a field that is selected beside an aggregate is missing in group_by",
        ),
        (
            select(Reading.n, func.count()).group_by(Reading.host),
            "a field that is selected beside an aggregate is missing in group_by",
        ),
        (select(Reading).group_by(Reading.host), "cannot select objects"),
        (
            select(func.count(Reading.n)).group_by(Reading.n),
            "the statement would not read the rows of a group one after another",
        ),
        (
            select(func.count(Reading.n)).group_by(Reading.value),
            "the statement would not read the rows of a group one after another",
        ),
        (
            select(func.count(Reading.n)).group_by(Account.age),
            "the field does not belong to the selected model",
        ),
        (
            select(func.count(Daily.n)).group_by(Daily.user),
            "the statement would not read the rows of a group one after another",
        ),
        (
            select(func.count(Record.amount)).group_by(Bought.number),
            "the field does not belong to the selected model",
        ),
        (select(func.sum(Reading.unit)), "the aggregate does not exist for values of this type"),
        (select(func.sum(Daily.at)), "the aggregate does not exist for values of this type"),
        (
            select(func.count(Reading.n)).sort_in_memory(Reading.n.asc(), max_rows=9),
            "a statement with aggregates cannot be sorted in memory",
        ),
        (
            select(Reading.n).sort_in_memory(Account.age.asc(), max_rows=9),
            "does not belong to the selected model",
        ),
        (
            select(Tagged.host).columns_between(Tagged.tags, "a", "z"),
            "works only for objects, and not with a sort in memory by dynamic columns",
        ),
        (
            select(Tagged)
            .columns_between(Tagged.tags, "a", "z")
            .sort_in_memory(Tagged.tags["x"].asc(), max_rows=9),
            "works only for objects, and not with a sort in memory by dynamic columns",
        ),
    ],
)
def test_what_cannot_be_is_refused_before_any_request(
    engine: Engine, stmt: Any, reason: str
) -> None:
    other, recorder = recorded(engine)
    if stmt.model is Daily:  # a full scan asks first which tables there are
        bounded = stmt.where(Daily.at.between(NOON, NOON + timedelta(days=1)))
    else:
        bounded = stmt.allow_full_scan()
    with other.session() as session, pytest.raises(QueryError, match=reason) as caught:
        session.all(bounded)

    assert caught.value.fix
    assert not recorder.requests
