"""What reading ranges of wide rows promises.

Tests share the tables of `prepare`, so each works on rows of its own `host`.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from hbase_orm import (
    Dynamic,
    Engine,
    Family,
    Index,
    Key,
    Mapped,
    Model,
    RecordType,
    Salt,
    Version,
    codecs,
    column,
    dynamic,
    key,
    rowkey,
    select,
    version,
)
from hbase_orm.errors import NotLoadedError, QueryError, ValidationError
from hbase_orm.ops import FetchRows, GetRows, MutateRows, Operation, Put, Row, RowMutation
from tests.support.recording import RecordsRequests
from tests.support.store import Store, load

WIDE = 20_000
NOON = datetime(2024, 5, 6, 12, tzinfo=UTC)


class Listed(Model, table="list_wide"):
    """One row a user, value ids as qualifiers, read by column pages."""

    d = Family()
    user: Key[str] = key()
    items: Dynamic[int, bytes] = dynamic(d, name=codecs.uint64(), codec=codecs.raw())


class Feed(Model, table="feeds"):
    """An anchor, a nullable column, a second map, names newest first, in salted rows."""

    d = Family()
    e = Family()
    host: Key[str] = key()
    n: Key[int] = key(codecs.uint16())
    title: Mapped[str] = column(d, "t")
    note: Mapped[str | None] = column(e, "n", default=None)
    posts: Dynamic[datetime, str] = dynamic(d, prefix="p:", name=codecs.millis(desc=True))
    tags: Dynamic[str, str] = dynamic(e, prefix="")
    __rowkey__ = rowkey(Salt(3, of=[n]), host, n)


class FeedIndexed(Model, table="feeds_indexed"):
    d = Family()
    host: Key[str] = key()
    title: Mapped[str | None] = column(d, "t", default=None)
    tags: Dynamic[str, str] = dynamic(d)
    changes: Version = version(d, "v")
    by_title = Index(title)


class Base(Model, table="wide_records"):
    d = Family()
    host: Key[str] = key()
    tags: Dynamic[str, str] = dynamic(d, prefix="t:")
    __rowkey__ = rowkey(host, RecordType())


class One(Base, record_type="1"):
    one: Mapped[str] = column(Base.d)


class Two(Base, record_type="2"):
    two: Mapped[str | None] = column(Base.d)


MODELS = (Listed, Feed, FeedIndexed, Base)


def prepare(engine: Engine) -> None:
    engine.create_tables(*MODELS)


class CountsCells(RecordsRequests):
    """Counts the cells that travel in answers."""

    cells = 0

    def execute(self, operation: Operation[Any], /) -> Any:
        answer = super().execute(operation)
        if isinstance(operation, (FetchRows, GetRows)):
            self.cells += sum(len(row.cells) for row in answer if isinstance(row, Row))
        return answer


def listed(user: str, *names: int) -> Listed:
    made = Listed(user=user)
    made.items = {name: b"%d" % name for name in names}
    return made


def feed(host: str, n: int = 0, hours: int = 0, **tags: str) -> Feed:
    made = Feed(host=host, n=n, title=f"feed {n}", note="x")
    made.posts = {NOON + timedelta(hours=hour): f"post {hour}" for hour in range(hours)}
    made.tags = tags
    return made


def read(store: Store, stmt: Any) -> list[Any]:
    """Return what a statement gives in a session of its own."""
    with store.engine.session() as session:
        return session.all(stmt)


def items(store: Store, user: str, start: int, stop: int, limit: int | None = None) -> list[int]:
    (found,) = read(
        store,
        select(Listed)
        .where(Listed.user == user)
        .columns_between(Listed.items, start, stop, limit=limit),
    )
    return list(found.items)


# --- which entries --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ends", "limit", "expected"),
    [
        ((3, 7), None, [3, 5]),
        ((2, 8), None, [3, 5, 7]),
        ((3, 3), None, []),
        ((7, 3), None, []),
        ((8, 2**63), None, [9]),
        ((0, 2**64), None, [1, 3, 5, 7, 9]),
        ((-5, 2), None, [1]),
        ((2**64, 2**65), None, []),
        ((2, 2**63), 2, [3, 5]),
        ((0, 2**64), 1, [1]),
        ((0, 2**64), 9, [1, 3, 5, 7, 9]),
    ],
)
def test_the_start_is_included_and_the_stop_is_not(
    store: Store, host: str, ends: tuple[int, int], limit: int | None, expected: list[int]
) -> None:
    store.put(listed(host, 1, 3, 5, 7, 9))

    assert items(store, host, *ends, limit) == expected


def test_names_stored_newest_first_come_newest_first(store: Store, host: str) -> None:
    store.put(feed(host, hours=10))
    stmt = select(Feed).where(Feed.host == host, Feed.n == 0)
    start, stop = NOON + timedelta(hours=2), NOON + timedelta(hours=6)

    (whole,) = read(store, stmt.columns_between(Feed.posts, start, stop))
    (newest,) = read(store, stmt.columns_between(Feed.posts, start, stop, limit=2))
    (between,) = read(
        store,
        stmt.columns_between(Feed.posts, start - timedelta(minutes=1), start + timedelta(0, 1)),
    )

    assert list(whole.posts.values()) == ["post 5", "post 4", "post 3", "post 2"]
    assert list(newest.posts.values()) == ["post 5", "post 4"]
    assert list(between.posts.values()) == ["post 2"]


def test_declared_columns_and_the_marker_do_not_count_as_entries(store: Store, host: str) -> None:
    made = FeedIndexed(host=host, title="x")
    made.tags = {name: name for name in ("", "^", "a", "s", "u", "w", "\U0010ffff")}
    store.put(made)
    stmt = select(FeedIndexed).where(FeedIndexed.host == host)

    (some,) = read(store, stmt.columns_between(FeedIndexed.tags, "^", "w", limit=4))
    (every,) = read(store, stmt.columns_between(FeedIndexed.tags, "", "\U0010ffff"))
    (none,) = read(store, stmt.columns_between(FeedIndexed.tags, "", ""))
    (empty,) = read(store, stmt.columns_between(FeedIndexed.tags, "", "\x00"))

    assert (list(some.tags), some.changes) == (["^", "a", "s", "u"], 1)
    assert list(every.tags) == ["", "^", "a", "s", "u", "w"]
    assert (list(none.tags), list(empty.tags)) == ([], [""])


# --- which rows, and what else of them ------------------------------------------------------------


def test_a_row_without_an_entry_in_the_range_counts(store: Store, host: str) -> None:
    store.put(listed(host, 1), feed(host))

    (found,) = read(
        store,
        select(Feed)
        .where(Feed.host == host)
        .columns_between(Feed.posts, NOON, NOON + timedelta(1)),
    )

    assert items(store, host, 5, 9) == []
    assert (found.posts, found.title, found.note) == ({}, "feed 0", "x")


def test_a_row_that_does_not_exist_is_not_found(store: Store, host: str) -> None:
    assert (
        read(store, select(Listed).where(Listed.user == host).columns_between(Listed.items, 0, 9))
        == []
    )


@pytest.mark.parametrize("by_scan", [False, True])
def test_a_row_that_another_program_wrote_counts(store: Store, host: str, *, by_scan: bool) -> None:
    cell = Put(b"d:" + codecs.uint64().encode(7), b"7")
    row = RowMutation(Listed.encode_key(user=host), puts=(cell,))
    store.sent.execute(MutateRows(store.table(Listed), (row,)))
    where = Listed.user.startswith(host) if by_scan else Listed.user == host
    stmt = select(Listed).where(where)

    found = [
        [list(one.items) for one in read(store, stmt.columns_between(Listed.items, *ends))]
        for ends in ((0, 5), (5, 9))
    ]

    assert found == [[[]], [[7]]]


def test_rows_of_a_scan_come_in_order_each_with_its_range(store: Store, host: str) -> None:
    store.put(*(feed(host, n, hours=n, lang=str(n)) for n in range(12)))
    stmt = (
        select(Feed)
        .where(Feed.host == host, Feed.note == "x")
        .columns_between(Feed.posts, NOON + timedelta(hours=1), NOON + timedelta(hours=3))
    )

    found = read(store, stmt.order_by(Feed.n.desc()).limit(10))

    assert [(one.n, len(one.posts)) for one in found] == [
        (n, min(2, max(0, n - 1))) for n in reversed(range(2, 12))
    ]


def test_scanned_rows_without_an_anchor_come_with_their_ranges(store: Store, host: str) -> None:
    store.put(*(listed(f"{host}{n:03}", *range(n)) for n in range(130)))
    stmt = select(Listed).where(Listed.user.startswith(host)).columns_between(Listed.items, 5, 7)

    found = read(store, stmt)

    assert [len(one.items) for one in found] == [min(2, max(0, n - 5)) for n in range(130)]


def test_conditions_on_entries_choose_rows_whatever_range_is_read(store: Store, host: str) -> None:
    store.put(feed(host, 0, 3, lang="de", rack="1"), feed(host, 1, 3, lang="en", rack="2"))
    stmt = select(Feed).where(Feed.host == host, Feed.tags["lang"] == "en")

    (by_other,) = read(store, stmt.columns_between(Feed.posts, NOON, NOON + timedelta(hours=2)))
    (by_own,) = read(store, stmt.columns_between(Feed.tags, "r", "s"))
    (got,) = read(store, stmt.where(Feed.n == 1).columns_between(Feed.tags, "r", "s"))

    assert (by_other.n, len(by_other.posts)) == (1, 2)
    assert (by_own.n, by_own.tags) == (got.n, got.tags) == (1, {"rack": "2"})


def test_rows_found_through_an_index_come_with_their_range(store: Store, host: str) -> None:
    made = FeedIndexed(host=host, title=host)
    made.tags = {"a": "1", "b": "2"}
    store.put(made)
    stmt = select(FeedIndexed).where(FeedIndexed.title == host).using(FeedIndexed.by_title)

    (found,) = read(store, stmt.columns_between(FeedIndexed.tags, "b", "c"))

    assert (found.tags, found.title) == ({"b": "2"}, host)


def test_record_types_come_with_their_columns_and_range(store: Store, host: str) -> None:
    one, two = One(host=host, one="1"), Two(host=host, two=None)
    one.tags = two.tags = {"a": "1", "b": "2"}
    store.put(one, two)

    found = read(store, select(Base).where(Base.host == host).columns_between(Base.tags, "b", "c"))

    assert [type(each).__name__ for each in found] == ["One", "Two"]
    assert [each.tags for each in found] == [{"b": "2"}, {"b": "2"}]


def test_pages_and_streams_read_ranges_too(store: Store, host: str) -> None:
    store.put(*(feed(host, n, 3) for n in range(5)))
    stmt = (
        select(Feed)
        .where(Feed.host == host)
        .columns_between(Feed.posts, NOON, NOON + timedelta(hours=1))
    )

    with store.engine.session() as session:
        page = session.page(stmt, size=3)
        rest = session.page(stmt, size=3, token=page.token)
        with session.stream(stmt) as stream:
            streamed = [(one.n, len(one.posts)) for one in stream]
        counted, exists = session.count(stmt), session.exists(stmt)

    assert [(one.n, len(one.posts)) for one in (*page.items, *rest.items)] == streamed
    assert (streamed, counted, exists) == ([(n, 1) for n in range(5)], 5, True)


# --- what a program may do with such objects ------------------------------------------------------


def test_other_dynamic_columns_are_not_loaded(store: Store, host: str) -> None:
    store.put(feed(host, 0, 1, lang="de"))

    (found,) = read(
        store, select(Feed).where(Feed.host == host).columns_between(Feed.posts, NOON, NOON)
    )

    with pytest.raises(NotLoadedError):
        _ = found.tags


def test_a_flush_leaves_the_entries_that_were_not_read(store: Store, host: str) -> None:
    store.put(listed(host, *range(10)), feed(host, 0, 4, lang="de"))
    ranges = (
        select(Listed).where(Listed.user == host).columns_between(Listed.items, 3, 6),
        select(Feed)
        .where(Feed.host == host)
        .columns_between(Feed.posts, NOON, NOON + timedelta(hours=1)),
    )

    with store.engine.session() as session:
        (row,), (post,) = (session.all(stmt) for stmt in ranges)
        session.add_all([row, post])
        row.items = {4: b"new", 99: b"more"}
        post.posts.clear()
        post.note = None

    assert store.stored(Listed, user=host).items == {
        **{n: b"%d" % n for n in (0, 1, 2, 6, 7, 8, 9)},
        4: b"new",
        99: b"more",
    }
    after = store.stored(Feed, host=host, n=0)
    assert list(after.posts.values()) == ["post 3", "post 2", "post 1"]
    assert (after.tags, after.note, after.title) == ({"lang": "de"}, None, "feed 0")


def test_an_object_read_in_part_becomes_whole_when_its_row_is_read_again(
    store: Store, host: str
) -> None:
    store.put(listed(host, *range(10)))

    with store.engine.session() as session:
        (row,) = session.all(
            select(Listed).where(Listed.user == host).columns_between(Listed.items, 3, 6)
        )
        session.add(row)
        session.flush()
        del row.items[4]
        again = load(session, Listed, user=host)
        names = sorted(row.items)

    assert (again is row, names) == (True, [0, 1, 2, 3, 5, 6, 7, 8, 9])
    assert sorted(store.stored(Listed, user=host).items) == names


def test_an_object_read_in_part_is_none_of_the_sessions(store: Store, host: str) -> None:
    store.put(listed(host, *range(10)))

    with store.engine.session() as session:
        whole = load(session, Listed, user=host)
        (part,) = session.all(
            select(Listed).where(Listed.user == host).columns_between(Listed.items, 3, 6)
        )
        part.items[3] = b"changed"
        session.flush()

    assert (len(whole.items), len(part.items)) == (10, 3)
    assert store.sent.writes == []


def test_an_object_read_in_part_does_not_replace_its_row(store: Store, host: str) -> None:
    store.put(listed(host, *range(10)))

    with store.engine.session() as session:
        (part,) = session.all(
            select(Listed).where(Listed.user == host).columns_between(Listed.items, 3, 6)
        )
        with pytest.raises(ValidationError, match="read in part") as caught:
            session.replace(part)
        session.add(part)
        session.flush()
        whole = load(session, Listed, user=host)
        whole.items = {1: b"one"}
        session.replace(whole)

    assert caught.value.fix
    assert store.stored(Listed, user=host).items == {1: b"one"}


def test_moving_an_object_read_in_part_moves_the_whole_row(store: Store, host: str) -> None:
    store.put(listed(host, *range(10)))

    with store.engine.session() as session:
        (part,) = session.all(
            select(Listed).where(Listed.user == host).columns_between(Listed.items, 3, 6)
        )
        moved = session.move(part, user=f"{host}2")
        moved.items[4] = b"new"

    assert store.stored(Listed, user=host) is None
    assert sorted(store.stored(Listed, user=f"{host}2").items) == list(range(10))


# --- how much travels -----------------------------------------------------------------------------


def test_a_wide_row_is_paged_without_reading_it_whole(store: Store, host: str) -> None:
    names = range(0, WIDE * 3, 3)
    with store.engine.session() as session:
        session.add(listed(host, *names))
    counting = CountsCells(store.sent)
    paged = Store(store.engine, counting)
    engine = paged_engine(paged)

    found: list[int] = []
    pages = 0
    after = -1
    with engine.session() as session:
        while pages < 4:
            row = session.one(
                select(Listed)
                .where(Listed.user == host)
                .columns_between(Listed.items, after + 1, 2**63, limit=30)
            )
            found += row.items
            after = found[-1]
            pages += 1

    assert found == list(names[:120])
    assert counting.cells <= 4 * 31 + 1  # and the record of the table


def test_the_last_entries_of_a_wide_row_are_found(store: Store, host: str) -> None:
    with store.engine.session() as session:
        session.add(listed(host, *range(WIDE)))

    assert items(store, host, WIDE - 5, 2**63, 30) == list(range(WIDE - 5, WIDE))
    assert len(store.stored(Listed, user=host).items) == WIDE


def paged_engine(store: Store) -> Any:
    from tests.support.recording import through  # noqa: PLC0415 - one test's alone

    return through(store.sent, store.engine)


# --- what is refused, what is shown ---------------------------------------------------------------


class Unsorted(Model, table="unsorted"):
    d = Family()
    host: Key[str] = key()
    tags: Dynamic[int, str] = dynamic(d, name=codecs.get("bytes.int32"))


@pytest.mark.parametrize(
    ("field", "ends", "limit", "text"),
    [
        (Listed.items, ("1", 2), None, "another type"),
        (Listed.items, (1, None), None, "another type"),
        (Listed.items, (1, 2), 0, "positive"),
        (Listed.items, (1, 2), True, "positive"),
        (Listed.user, ("1", "2"), None, "the argument is not a field of dynamic columns"),
        (Feed.tags, ("1", "2"), None, "selected model"),
    ],
)
def test_a_range_that_cannot_be_read_is_refused_at_once(
    field: Any, ends: tuple[Any, Any], limit: int | None, text: str
) -> None:
    with pytest.raises(QueryError, match=text) as caught:
        select(Listed).columns_between(field, *ends, limit=limit)

    assert caught.value.fix


def test_names_that_do_not_sort_as_they_are_stored_have_no_range() -> None:
    with pytest.raises(
        QueryError, match="names whose bytes sort like the names themselves"
    ) as caught:
        select(Unsorted).columns_between(Unsorted.tags, 1, 2)

    assert caught.value.fix


def test_ranges_are_not_deleted(store: Store, host: str) -> None:
    stmt = select(Listed).where(Listed.user == host).columns_between(Listed.items, 1, 2)

    with store.engine.session() as session, pytest.raises(QueryError, match="only whole rows"):
        session.delete_where(stmt)


def test_the_plan_shows_the_range(store: Store, host: str) -> None:
    stmt = select(Listed).where(Listed.user == host).columns_between(Listed.items, 1, 2, limit=3)

    with store.engine.session() as session:
        shown = str(session.explain(stmt))

    assert "of each row that matches: columns_between(Listed.items, 1, 2, limit=3)" in shown
