"""Names in row keys: values that are none, and a cache that keeps none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from hbase_orm import (
    Counter,
    Engine,
    Family,
    Key,
    Mapped,
    Model,
    Substitute,
    codecs,
    column,
    connect,
    counter,
    key,
    rowkey,
    select,
)
from hbase_orm.errors import CodecError, QueryError, RowKeyError, SchemaError, ValidationError
from hbase_orm.numbering.cache import DictionaryCache
from hbase_orm.ops import DropTable, ListTables
from hbase_orm.session.session import Session
from tests.support.store import Store


class Named(Model, table="named"):
    d = Family()
    host: Key[str] = key()
    event: Key[str] = key()
    n: Key[int] = key(codecs.uint16())
    value: Mapped[int] = column(d, "v", codec=codecs.uint8(), default=0)
    hits: Counter = counter(d, "h")
    __rowkey__ = rowkey(
        Substitute(of=host, dictionary="names"), Substitute(of=event, dictionary="names"), n
    )


def engine_of() -> Engine:
    engine = connect("memory://")
    engine.create_tables(Named)
    return engine


def add(session: Session, host: Any) -> None:
    session.add(Named(host=host, event="e", n=1))
    session.flush()


def delete(session: Session, host: Any) -> None:
    session.delete(Named(host=host, event="e", n=1))
    session.flush()


def bulk(session: Session, host: Any) -> None:
    with session.bulk() as rows:
        rows.add_all([Named(host=host, event="e", n=1)])


CALLS: list[Callable[[Session, Any], Any]] = [
    add,
    bulk,
    lambda session, host: session.get(Named, host=host, event="e", n=1),
    lambda session, host: session.get_many(Named, [(host, "e", 1)]),
    delete,
    lambda session, host: session.increment(Named, Named.hits.by(1), host=host, event="e", n=1),
    lambda session, host: session.all(select(Named).where(Named.host == host)),
    lambda session, host: session.all(select(Named).where(Named.host.in_([host]))),
]


@pytest.mark.parametrize("wrong", [["a"], {"a": 1}, {"a"}, 5, b"a"])
@pytest.mark.parametrize("call", CALLS)
def test_a_name_that_is_no_text_is_refused_before_anything_is_sent(
    call: Callable[[Session, Any], Any], wrong: Any
) -> None:
    store = Store.on(engine_of())
    store.put(Named(host="known", event="e", n=1))

    with pytest.raises((RowKeyError, ValidationError, CodecError, QueryError)) as caught:
        call(store.engine.session(), wrong)

    assert caught.value.fix
    assert store.taken() == {}


def test_the_keys_of_a_name_that_is_no_text_are_refused() -> None:
    wrong: Any = ["a"]

    with pytest.raises(RowKeyError) as caught:
        engine_of().row_keys(Named, host=wrong, event="e", n=1)

    assert caught.value.field == "host"


def test_a_cache_that_keeps_a_single_name_makes_the_same_keys(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    engine = engine_of()
    monkeypatch.setattr(engine._dictionaries, "_cache", DictionaryCache(max_names=1))

    with engine.session() as session:
        session.add_all(Named(host=f"h{n}", event=f"e{n}", n=n, value=n) for n in range(3))
        session.flush()
        with session.bulk() as rows:
            rows.add_all(Named(host=f"h{n}", event="e0", n=n, value=n) for n in range(3, 6))

    found = Store.on(engine).another().engine.session().all(select(Named).allow_full_scan())
    assert sorted((each.host, each.event, each.value) for each in found) == [
        ("h0", "e0", 0),
        ("h1", "e1", 1),
        ("h2", "e2", 2),
        ("h3", "e0", 3),
        ("h4", "e0", 4),
        ("h5", "e0", 5),
    ]


def one_name_at_a_time(monkeypatch: pytest.MonkeyPatch) -> Engine:
    """Return an engine on three rows, whose cache keeps a single name."""
    engine = engine_of()
    with engine.session() as session:
        session.add_all(Named(host=f"h{n}", event=f"e{n}", n=n, value=n) for n in range(3))
    later = Store.on(engine).another().engine
    monkeypatch.setattr(later._dictionaries, "_cache", DictionaryCache(max_names=1))
    return later


@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_a_cache_that_keeps_a_single_name_reads_the_same_rows(
    monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    session = one_name_at_a_time(monkeypatch).session()

    objects = session.all(select(Named).allow_full_scan().caching(size))

    assert [(each.host, each.event) for each in objects] == [(f"h{n}", f"e{n}") for n in range(3)]


def test_a_cache_that_keeps_a_single_name_decodes_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = one_name_at_a_time(monkeypatch)
    (row,) = Store.on(engine).another().engine.row_keys(Named, host="h0", event="e2", n=7)

    assert engine.decode_key(Named, row) == {"host": "h0", "event": "e2", "n": 7}


class AlsoNamed(Model, table="also_named"):
    d = Family()
    host: Key[str] = key()
    value: Mapped[int] = column(d, "v", codec=codecs.uint8(), default=0)
    __rowkey__ = rowkey(Substitute(of=host, dictionary="names"))


@pytest.mark.parametrize("models", [(Named,), (AlsoNamed, Named)])
def test_a_dictionary_that_was_lost_is_not_made_anew_for_rows_that_have_its_numbers(
    models: tuple[type[Model], ...],
) -> None:
    """Another name would get the number of the first, and with it its rows."""
    engine = engine_of()
    add(engine.session(), "first")
    engine._runtime.execute(DropTable("names"))
    later = Engine(engine._runtime.gateway, engine.options)

    with pytest.raises(SchemaError, match="other names") as caught:
        later.create_tables(*models)

    assert (caught.value.dictionary, caught.value.table) == ("names", "named")
    assert engine._runtime.execute(ListTables()) == ["hbase_orm_catalog", "named"]


def test_a_dictionary_that_was_lost_is_made_again_for_a_table_without_rows() -> None:
    engine = engine_of()
    engine._runtime.execute(DropTable("names"))

    assert engine.create_tables(Named) == ["names"]
