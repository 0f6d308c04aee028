"""What reads of the past promise. Times are stamped by hand, minutes apart."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
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
    Version,
    column,
    connect,
    counter,
    key,
    select,
    version,
)
from hbase_orm.errors import FeatureMissingError, QueryError
from tests.support.backends import thrift1_url


class Config(Model, table="configs"):
    d = Family(versions=5, min_versions=1, ttl=timedelta(days=90), keep_deleted_cells=True)
    group: Key[str] = key()
    name: Key[str] = key()
    value: Mapped[str] = column(d, "v")
    unit: Mapped[str | None] = column(d, "u", default=None)
    hits: Counter = counter(d, "h")


class Guarded(Model, table="guarded_configs"):
    d = Family(versions=5, keep_deleted_cells=True)
    group: Key[str] = key()
    name: Key[str] = key()
    value: Mapped[str] = column(d, "v")
    revision: Version = version(d)
    by_value = Index(value)


MODELS = (Config, Guarded)


def prepare(engine: Engine) -> None:
    engine.create_tables(*MODELS)


NOW = datetime.now(UTC).replace(microsecond=0)


def at(minute: int) -> datetime:
    """Return a time in the last hour."""
    return NOW - timedelta(minutes=60 - minute)


def ms(minute: int) -> int:
    return int(at(minute).timestamp() * 1000)


@pytest.fixture
def group() -> str:
    return uuid4().hex


def write(engine: Engine, group: str, minute: int, name: str = "a", **values: Any) -> None:
    with engine.session() as session:
        session.add(Config(group=group, name=name, **values), timestamp_ms=ms(minute))


def delete(engine: Engine, group: str, minute: int, name: str = "a") -> None:
    with engine.session() as session:
        session.delete(Config(group=group, name=name, value=""), timestamp_ms=ms(minute))


def values(engine: Engine, statement: Any) -> list[tuple[str, str, str | None]]:
    with engine.session() as session:
        return [(obj.name, obj.value, obj.unit) for obj in session.all(statement)]


def of(group: str) -> Any:
    return select(Config).where(Config.group == group)


def test_rows_are_read_as_they_were(engine: Engine, group: str) -> None:
    write(engine, group, 10, value="1", unit="x")
    write(engine, group, 20, value="2")
    write(engine, group, 20, name="b", value="b")

    assert values(engine, of(group).as_of(at(9))) == []
    assert values(engine, of(group).as_of(at(10))) == [("a", "1", "x")]
    assert values(engine, of(group).as_of(at(20) - timedelta(microseconds=1))) == [("a", "1", "x")]
    assert values(engine, of(group).as_of(at(20))) == [("a", "2", "x"), ("b", "b", None)]
    one = of(group).where(Config.name == "a").as_of(at(15))
    assert values(engine, one) == [("a", "1", "x")]
    assert values(engine, of(group).where(Config.value == "1").as_of(at(15))) == [("a", "1", "x")]
    assert values(engine, of(group).where(Config.value == "1").as_of(at(25))) == []


def test_rows_are_read_as_of_a_time_before_their_delete(engine: Engine, group: str) -> None:
    write(engine, group, 10, value="1")
    delete(engine, group, 20)

    assert values(engine, of(group)) == []
    assert values(engine, of(group).as_of(at(19))) == [("a", "1", None)]
    assert values(engine, of(group).as_of(at(20))) == []
    write(engine, group, 30, value="2")
    assert values(engine, of(group)) == [("a", "2", None)]
    assert values(engine, of(group).as_of(at(19))) == [("a", "1", None)]


def test_cells_between_two_times(engine: Engine, group: str) -> None:
    write(engine, group, 10, value="1", unit="x")
    write(engine, group, 20, value="2")
    write(engine, group, 30, value="3")

    assert values(engine, of(group).between_timestamps(at(10), at(20))) == [("a", "1", "x")]
    assert values(engine, of(group).between_timestamps(at(20), at(30))) == [("a", "2", None)]
    assert values(engine, of(group).between_timestamps(at(31), at(40))) == []
    one = of(group).where(Config.name == "a").between_timestamps(at(11), at(31))
    assert values(engine, one) == [("a", "3", None)]


def test_what_was_is_no_object_of_the_session(engine: Engine, group: str) -> None:
    write(engine, group, 10, value="1", unit="x")
    write(engine, group, 20, value="2", unit="y")

    with engine.session() as session:
        now = session.get(Config, group=group, name="a")
        before = session.one(of(group).as_of(at(15)))
        assert now is not None
        assert now is not before
        assert (now.value, before.value) == ("2", "1")
        before.value = "changed"
        assert session.flush().written == 0
        assert session.count(of(group).as_of(at(15))) == 1
        assert session.all(select(Config.value).where(Config.group == group).as_of(at(15))) == ["1"]
        session.expunge(now)
        session.add(before)  # restores what was, as new cells

    assert values(engine, of(group)) == [("a", "changed", "x")]


def test_pages_of_the_past_go_on_in_the_past(engine: Engine, group: str) -> None:
    for number in range(5):
        write(engine, group, 10, name=f"n{number}", value="old")
        write(engine, group, 20, name=f"n{number}", value="new")

    statement = of(group).as_of(at(15))
    with engine.session() as session:
        page = session.page(statement, size=3)
        rest = session.page(statement, size=3, token=page.token)
        assert [obj.value for obj in (*page.items, *rest.items)] == ["old"] * 5
        with pytest.raises(QueryError):
            session.page(of(group).as_of(at(25)), size=3, token=page.token)


def test_guarded_rows_are_read_by_their_keys(engine: Engine, group: str) -> None:
    with engine.session() as session:
        session.insert(Guarded(group=group, name="a", value="1"))
        first = session.history(Guarded(group=group, name="a", value=""), Guarded.value, limit=1)
        then = datetime.fromtimestamp(first[0].timestamp_ms / 1000, UTC)
        session.put_row(Guarded, Guarded.value.to("2"), group=group, name="a")
        session.delete_row(Guarded, group=group, name="a")
        statement = select(Guarded).where(Guarded.group == group)
        found = session.one(statement.as_of(then))
        assert (found.value, found.revision) == ("1", 1)
        assert session.all(statement) == []
        indexed = select(Guarded).where(Guarded.value == "1")
        with pytest.raises(QueryError, match="present"):
            session.all(indexed.using(Guarded.by_value).as_of(then))
        with pytest.raises(QueryError, match="allow_full_scan"):
            session.all(indexed.as_of(then))


def test_the_history_of_a_field(engine: Engine, group: str) -> None:
    for minute in (10, 20, 30):
        write(engine, group, minute, value=str(minute), unit="x" if minute == 20 else None)
    obj = Config(group=group, name="a", value="")

    with engine.session() as session:
        session.increment(Config, Config.hits.by(3), group=group, name="a")
        found = session.history(obj, Config.value, limit=2)
        assert [(each.value, each.timestamp_ms) for each in found] == [
            ("30", ms(30)),
            ("20", ms(20)),
        ]
        assert [each.value for each in session.history(obj, Config.unit, limit=9)] == ["x"]
        assert [each.value for each in session.history(obj, Config.hits, limit=9)] == [3]
        for field, limit in ((Config.name, 5), (Guarded.value, 5), (Config.value, 0)):
            with pytest.raises(QueryError):
                session.history(obj, field, limit=limit)


def test_what_is_stored_shows_deleted_cells_and_tombstones(engine: Engine, group: str) -> None:
    write(engine, group, 10, value="1")
    delete(engine, group, 20)
    write(engine, group, 15, value="masked")

    with engine.session() as session:
        found = session.stored_cells(Config, group=group, name="a")

    assert {(each.kind, each.timestamp_ms, each.value) for each in found} == {
        ("delete_family", ms(20), b""),
        ("put", ms(15), b"masked"),
        ("put", ms(10), b"1"),
    }


@pytest.mark.parametrize(
    "ask",
    [
        lambda: select(Config).as_of(datetime(2026, 1, 1)),  # noqa: DTZ001 - the point
        lambda: select(Config).as_of("2026"),  # type: ignore[arg-type]  # the point
        lambda: select(Config).as_of(datetime(1960, 1, 1, tzinfo=UTC)),
        lambda: select(Config).between_timestamps(NOW, NOW),
        lambda: select(Config).between_timestamps(NOW, NOW - timedelta(days=1)),
    ],
)
def test_times_are_checked_when_they_are_given(ask: Any) -> None:
    with pytest.raises(QueryError) as caught:
        ask()

    assert caught.value.fix


def test_the_past_is_neither_deleted_nor_planned_without_saying_so(
    engine: Engine, group: str
) -> None:
    with engine.session() as session:
        with pytest.raises(QueryError, match="their state in the past"):
            session.delete_where(of(group).as_of(NOW))
        assert f"timestamps [0, {int(NOW.timestamp() * 1000) + 1})" in str(
            session.explain(of(group).as_of(NOW))
        )


@pytest.mark.only_on("hbase")
def test_thrift1_alone_reads_up_to_a_time_but_not_from_one_on(engine: Engine, group: str) -> None:
    write(engine, group, 10, value="1")
    write(engine, group, 20, value="2")
    with connect(thrift1_url(engine)) as thrift1:
        assert values(thrift1, of(group).as_of(at(15))) == [("a", "1", None)]
        with pytest.raises(FeatureMissingError):
            values(thrift1, of(group).between_timestamps(at(5), at(15)))
        with thrift1.session() as session:
            obj = Config(group=group, name="a", value="")
            found = session.history(obj, Config.value, limit=5)
            assert [each.value for each in found] == ["2", "1"]
            with pytest.raises(FeatureMissingError):
                session.stored_cells(Config, group=group, name="a")
