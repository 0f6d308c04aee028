"""What dynamic columns promise.

Tests share the tables of `prepare`, so each works on rows of its own `host`.
"""

from __future__ import annotations

import gc
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
    counter,
    dynamic,
    key,
    select,
    version,
)
from hbase_orm.errors import FlushError, ValidationError, VersionConflictError
from hbase_orm.ops import Delete, MutateRows, Put, RowMutation
from tests.support.store import Store, load


class Tagged(Model, table="tagged"):
    d = Family()
    host: Key[str] = key()
    n: Key[int] = key(codecs.uint32())
    unit: Mapped[str] = column(d, "u", default="ms")
    hits: Counter = counter(d, "h")
    tags: Dynamic[str, str] = dynamic(d, prefix="t:")
    levels: Dynamic[int, int] = dynamic(d, prefix="l:", name=codecs.uint16())


class TaggedIndexed(Model, table="tagged_indexed"):
    d = Family()
    host: Key[str] = key()
    n: Key[int] = key(codecs.uint32())
    unit: Mapped[str] = column(d, "u", default="ms")
    hits: Counter = counter(d, "h")
    tags: Dynamic[str, str] = dynamic(d, prefix="t:")
    levels: Dynamic[int, int] = dynamic(d, prefix="l:", name=codecs.uint16())
    by_unit = Index(unit)


class Bare(Model, table="bare"):
    d = Family()
    host: Key[str] = key()
    unit: Mapped[str | None] = column(d, "u", default=None)
    items: Dynamic[bytes, bytes] = dynamic(d)


class BareIndexed(Model, table="bare_indexed"):
    d = Family()
    host: Key[str] = key()
    unit: Mapped[str | None] = column(d, "u", default=None)
    items: Dynamic[bytes, bytes] = dynamic(d)
    by_unit = Index(unit)


class Listed(Model, table="listed"):
    d = Family()
    host: Key[str] = key()
    lines: Mapped[list[int]] = column(d, codec=codecs.json(list[int]), default_factory=list[int])
    note: Mapped[str | None] = column(d, default=None)


class Locked(Model, table="locked"):
    d = Family()
    host: Key[str] = key()
    tags: Dynamic[str, str] = dynamic(d)
    changes: Version = version(d)


class Foreign(Model, table="foreign"):
    d = Family()
    host: Key[str] = key()
    tags: Dynamic[str, str] = dynamic(d, codec=codecs.get("phoenix.varchar"))


MODELS = (Foreign, Tagged, TaggedIndexed, Bare, BareIndexed, Listed, Locked)


def prepare(engine: Engine) -> None:
    engine.create_tables(*MODELS)


@pytest.fixture(params=[Tagged, TaggedIndexed], ids=["plain", "indexed"])
def tagged(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture(params=[Bare, BareIndexed], ids=["plain", "indexed"])
def bare(request: pytest.FixtureRequest) -> Any:
    return request.param


def with_tags(model: Any, host: str, n: int = 0, **tags: str) -> Any:
    made = model(host=host, n=n)
    made.tags = tags
    return made


def sent_cells(store: Store) -> list[bytes]:
    """Return the columns that were put or deleted in the tagged tables, guards left out."""
    rows = [
        row
        for request in store.sent.writes
        for row in getattr(request, "mutations", None) or (request.mutation,)  # type: ignore[attr-defined]  # a MutateRow
    ]
    return sorted(change.column for row in rows for change in (*row.puts, *row.deletes))


# --- writing --------------------------------------------------------------------------------------


def test_entries_are_read_back_after_the_flush(store: Store, tagged: Any, host: str) -> None:
    made = with_tags(tagged, host, rack="r7", empty="")
    made.levels[0] = -5
    made.levels[65_535] = 5

    store.put(made)

    found = store.stored(tagged, host=host, n=0)
    assert found == made
    assert (found.tags, found.levels) == ({"rack": "r7", "empty": ""}, {0: -5, 65_535: 5})


def test_a_new_object_leaves_the_other_entries_of_its_row(
    store: Store, tagged: Any, host: str
) -> None:
    store.put(with_tags(tagged, host, a="1", b="2"))

    store.put(with_tags(tagged, host, b="3"))

    assert store.stored(tagged, host=host, n=0).tags == {"a": "1", "b": "3"}


def test_one_changed_entry_sends_one_cell(store: Store, host: str) -> None:
    store.put(with_tags(Tagged, host, a="1", b="2"))

    with store.engine.session() as session:
        load(session, Tagged, host=host, n=0).tags["a"] = "5"
        store.forget()

    assert sent_cells(store) == [b"d:t:a"]
    assert store.stored(Tagged, host=host, n=0).tags == {"a": "5", "b": "2"}


def test_an_entry_deleted_or_set_to_none_deletes_its_cell(
    store: Store, tagged: Any, host: str
) -> None:
    store.put(with_tags(tagged, host, a="1", b="2", c="3"))

    with store.engine.session() as session:
        found = load(session, tagged, host=host, n=0)
        del found.tags["a"]
        found.tags["b"] = None
        session.flush()
        after = dict(found.tags)

    assert after == {"c": "3"}
    assert store.stored(tagged, host=host, n=0).tags == {"c": "3"}


def test_a_map_that_is_set_deletes_the_entries_it_lacks(
    store: Store, tagged: Any, host: str
) -> None:
    store.put(with_tags(tagged, host, a="1", b="2"))

    with store.engine.session() as session:
        load(session, tagged, host=host, n=0).tags = {"b": "2", "c": "3"}

    assert store.stored(tagged, host=host, n=0).tags == {"b": "2", "c": "3"}


def test_puts_and_deletes_of_entries_go_together(store: Store, tagged: Any, host: str) -> None:
    store.put(with_tags(tagged, host, a="1"))

    with store.engine.session() as session:
        found = load(session, tagged, host=host, n=0)
        found.tags = {"b": "2"}
        found.levels[1] = 1
        found.unit = "s"

    found = store.stored(tagged, host=host, n=0)
    assert (found.tags, found.levels, found.unit) == ({"b": "2"}, {1: 1}, "s")


def test_what_is_unchanged_sends_nothing(store: Store, tagged: Any, host: str) -> None:
    store.put(with_tags(tagged, host, a="1"))

    with store.engine.session() as session:
        found = load(session, tagged, host=host, n=0)
        found.tags["b"] = "2"
        del found.tags["b"]
        report = session.flush()

    assert (report.written, store.sent.writes) == (0, [])


def test_changes_are_not_lost_with_the_object(store: Store, tagged: Any, host: str) -> None:
    store.put(*(with_tags(tagged, host, n, a="1") for n in range(3)))

    with store.engine.session() as session:
        for found in session.all(select(tagged).where(tagged.host == host)):
            found.tags["a"] = f"new {found.n}"
        del found
        gc.collect()

    now = [store.stored(tagged, host=host, n=n).tags["a"] for n in range(3)]
    assert now == ["new 0", "new 1", "new 2"]


def test_changes_after_a_flush_are_found_by_the_next(store: Store, tagged: Any, host: str) -> None:
    with store.engine.session() as session:
        made = with_tags(tagged, host, a="1")
        session.add(made)
        session.flush()
        made.tags["a"] = "2"
        session.flush()
        made.tags["b"] = "3"

    assert store.stored(tagged, host=host, n=0).tags == {"a": "2", "b": "3"}


def test_the_map_alone_may_be_held(store: Store, host: str) -> None:
    store.put(with_tags(Tagged, host, a="1"))

    with store.engine.session() as session:
        tags = load(session, Tagged, host=host, n=0).tags
        for _ in range(3):  # each lets go of what nobody holds
            session.flush()
        tags["a"] = "2"

    assert store.stored(Tagged, host=host, n=0).tags == {"a": "2"}


def test_objects_that_nobody_holds_are_let_go(store: Store, host: str) -> None:
    store.put(*(with_tags(Tagged, host, n, a="1") for n in range(20)))

    with store.engine.session() as session:
        held = session.all(select(Tagged).where(Tagged.host == host))[3]
        session.flush()
        watched, loaded = len(session._state.tracker), len(session._state.identity)

    assert (watched, loaded, held.n) == (1, 1, 3)


def test_a_session_that_only_reads_does_not_grow(store: Store, host: str) -> None:
    store.put(*(with_tags(Tagged, host, n) for n in range(50)))

    with store.engine.session() as session:
        for _ in range(50):
            session.all(select(Tagged).where(Tagged.host == host))
        for n in range(2_000):
            session._state.tracker.add(store.engine._bound_of(Tagged), Tagged(host=host, n=n))
        watched = len(session._state.tracker)

    assert watched <= 1_100


def test_an_expunged_object_is_not_written(store: Store, host: str) -> None:
    store.put(with_tags(Tagged, host, a="1"))

    with store.engine.session() as session:
        found = load(session, Tagged, host=host, n=0)
        session.expunge(found)
        found.tags["a"] = "2"

    assert store.sent.writes == []


def test_an_entry_that_does_not_fit_is_named_and_nothing_is_sent(
    store: Store, tagged: Any, host: str
) -> None:
    store.put(with_tags(tagged, host, a="1"))

    with store.engine.session() as session:
        found = load(session, tagged, host=host, n=0)
        found.tags["rack"] = 5
        with pytest.raises(ValidationError, match="the wrong type") as caught:
            session.flush()
        session.expunge(found)

    details = caught.value.details
    assert (details["model"], details["field"], details["name"]) == (
        tagged.__name__,
        "tags",
        "rack",
    )
    assert store.sent.writes == []


def test_lists_that_change_in_place_are_found_too(store: Store, host: str) -> None:
    store.put(Listed(host=host, lines=[1]))

    with store.engine.session() as session:
        load(session, Listed, host=host).lines.append(2)

    assert store.stored(Listed, host=host).lines == [1, 2]


def test_other_bytes_of_an_equal_value_are_no_change(store: Store, host: str) -> None:
    store.put(Listed(host=host, lines=[1]))
    table, row = store.table(Listed), Listed.encode_key(host=host)
    blanks = RowMutation(row, puts=(Put(b"d:lines", b'{"v": 1, "d": [1]}'),))
    store.sent.execute(MutateRows(table, (blanks,)))

    with store.engine.session() as session:
        found = load(session, Listed, host=host)
        store.forget()
        report = session.flush()
        found.note = "x"

    assert (report.written, found.lines, sent_cells(store)) == (0, [1], [b"d:note"])


def test_what_the_codec_reads_and_would_not_write_is_no_change(store: Store, host: str) -> None:
    puts = (Put(b"d:a", b"with NUL: \x00"), Put(b"d:b", b"without"))
    row = RowMutation(Foreign.encode_key(host=host), puts=puts)
    store.sent.execute(MutateRows(store.table(Foreign), (row,)))

    with store.engine.session() as session:
        found = load(session, Foreign, host=host)
        store.forget()
        untouched = session.flush()
        found.tags["b"] = "changed"
        with pytest.raises(ValidationError, match="NUL") as caught:
            session.flush()
        session.expunge(found)

    assert (untouched.written, store.sent.writes) == (0, [])
    assert caught.value.details["name"] == "a"


def test_a_map_that_is_taken_off_an_object_deletes_nothing(store: Store, host: str) -> None:
    store.put(with_tags(Tagged, host, a="1"))

    with store.engine.session() as session:
        found = load(session, Tagged, host=host, n=0)
        del found.tags
        found.unit = "s"

    after = store.stored(Tagged, host=host, n=0)
    assert (after.tags, after.unit) == ({"a": "1"}, "s")


# --- which rows exist -----------------------------------------------------------------------------


def test_a_row_without_entries_exists_and_does_not_show_its_marker(
    store: Store, bare: Any, host: str
) -> None:
    store.put(bare(host=host))

    found = store.stored(bare, host=host)

    assert (found.items, found.unit) == ({}, None)


def test_a_row_outlives_its_entries(store: Store, bare: Any, host: str) -> None:
    made = bare(host=host)
    made.items = {b"a": b"1", b"": b"2"}
    store.put(made)

    with store.engine.session() as session:
        load(session, bare, host=host).items.clear()

    assert store.stored(bare, host=host).items == {}


def test_a_declared_column_of_the_family_is_no_entry(store: Store, bare: Any, host: str) -> None:
    store.put(bare(host=host, unit="ms"))

    found = store.stored(bare, host=host)

    assert (found.items, found.unit) == ({}, "ms")


def test_what_another_program_writes_is_an_entry_of_a_row(store: Store, host: str) -> None:
    put_one = RowMutation(Bare.encode_key(host=host), puts=(Put(b"d:x", b"1"),))
    store.sent.execute(MutateRows(store.table(Bare), (put_one,)))

    assert store.stored(Bare, host=host).items == {b"x": b"1"}


def test_any_bytes_are_names_and_values(store: Store, bare: Any, host: str) -> None:
    made = bare(host=host)
    made.items = {bytes((n, 7)): bytes((n, 0)) for n in range(256)} | {b"a:b": b"", b"": b":"}

    store.put(made)

    assert store.stored(bare, host=host).items == made.items


def test_deleting_a_row_deletes_its_entries(store: Store, tagged: Any, host: str) -> None:
    store.put(with_tags(tagged, host, a="1", b="2"))
    with store.engine.session() as session:
        session.increment(tagged, tagged.hits.by(1), host=host, n=0)
        session.delete(load(session, tagged, host=host, n=0))

    gone = store.stored(tagged, host=host, n=0)
    store.put(with_tags(tagged, host, c="3"))

    assert gone is None
    assert store.stored(tagged, host=host, n=0).tags == {"c": "3"}


# --- together with others -------------------------------------------------------------------------


def test_reading_again_keeps_the_entries_that_the_program_changed(
    store: Store, tagged: Any, host: str
) -> None:
    store.put(with_tags(tagged, host, a="1", b="2", c="3"))

    with store.engine.session() as session:
        found = load(session, tagged, host=host, n=0)
        tags = found.tags
        tags["a"] = "mine"
        del tags["b"]
        store.put(with_tags(tagged, host, a="theirs", b="theirs", c="theirs", d="new"))
        load(session, tagged, host=host, n=0)
        seen = dict(tags)

    assert seen == {"a": "mine", "c": "theirs", "d": "new"}
    assert store.stored(tagged, host=host, n=0).tags == seen


def test_writers_of_different_entries_do_not_undo_each_other(
    store: Store, tagged: Any, host: str
) -> None:
    store.put(with_tags(tagged, host, a="1"))

    with store.engine.session() as session:
        found = load(session, tagged, host=host, n=0)
        store.put(with_tags(tagged, host, b="2"))
        found.tags["c"] = "3"

    assert store.stored(tagged, host=host, n=0).tags == {"a": "1", "b": "2", "c": "3"}


@pytest.mark.parametrize("insert_only", [False, True])
def test_bulk_writes_entries(store: Store, tagged: Any, host: str, *, insert_only: bool) -> None:
    with (
        store.engine.session() as session,
        session.bulk(insert_only=insert_only) as bulk,
    ):
        bulk.add_all(with_tags(tagged, host, n, a=str(n)) for n in range(30))

    with store.engine.session() as session:
        found = session.all(select(tagged).where(tagged.host == host))
    assert [each.tags for each in found] == [{"a": str(n)} for n in range(30)]


def test_a_version_counts_changes_of_entries_and_is_none(store: Store, host: str) -> None:
    made = Locked(host=host)
    made.tags = {"a": "1"}
    store.put(made)

    with store.engine.session() as session:
        late = load(session, Locked, host=host)
        with store.engine.session() as other:
            load(other, Locked, host=host).tags["b"] = "2"
        late.tags["c"] = "3"
        with pytest.raises(FlushError) as caught:
            session.flush()
        session.expunge(late)

    found = store.stored(Locked, host=host)
    assert (found.tags, found.changes) == ({"a": "1", "b": "2"}, 2)
    ((_, _, reason),) = caught.value.not_written
    assert isinstance(reason, VersionConflictError)


def test_rows_are_found_by_their_entries(store: Store, tagged: Any, host: str) -> None:
    store.put(
        with_tags(tagged, host, 0, lang="de", rack="r1"),
        with_tags(tagged, host, 1, lang="en"),
        with_tags(tagged, host, 2),
    )
    lang = tagged.tags["lang"]
    asked = {
        "==": lang == "de",
        "!=": lang != "de",
        "in": lang.in_(["en", None]),
        "null": lang.is_null(),
        "<": lang < "e",
        "between": lang.between("a", "z"),
        "startswith": lang.startswith("e"),
        "or": (lang == "en") | (tagged.tags["rack"] == "r1"),
        "not": ~(lang >= "a"),
    }

    with store.engine.session() as session:
        found = {
            name: [each.n for each in session.all(select(tagged).where(tagged.host == host, one))]
            for name, one in asked.items()
        }

    assert found == {
        "==": [0],
        "!=": [1, 2],
        "in": [1, 2],
        "null": [2],
        "<": [0],
        "between": [0, 1],
        "startswith": [1],
        "or": [0, 1],
        "not": [2],
    }


def test_rows_found_through_an_index_carry_their_entries(store: Store, host: str) -> None:
    made = with_tags(TaggedIndexed, host, a="1")
    made.unit = host
    store.put(made)

    with store.engine.session() as session:
        found = session.all(
            select(TaggedIndexed).where(TaggedIndexed.unit == host, TaggedIndexed.tags["a"] == "1")
        )

    assert found == [made]


def test_one_cell_is_deleted_for_one_entry(store: Store, host: str) -> None:
    store.put(with_tags(Tagged, host, a="1", b="2"))

    with store.engine.session() as session:
        del load(session, Tagged, host=host, n=0).tags["a"]

    row = Tagged.encode_key(host=host, n=0)
    (sent,) = store.sent.writes
    assert sent == MutateRows(store.table(Tagged), (RowMutation(row, deletes=(Delete(b"d:t:a"),)),))
