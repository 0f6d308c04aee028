"""Dictionaries of substitutes: what they have room for, and when they are made again."""

from __future__ import annotations

import pytest

from hbase_orm import Engine, Family, Key, Model, Substitute, codecs, key, rowkey, select
from hbase_orm.errors import CodecError
from hbase_orm.ops import DropTable
from tests.support.store import Store


class Small(Model, table="small"):
    d = Family()
    tag: Key[str] = key()
    __rowkey__ = rowkey(Substitute(of=tag, dictionary="small_names", codec=codecs.uint8()))


def prepare(engine: Engine) -> None:
    engine.create_tables(Small)


def test_a_name_that_the_key_has_no_room_for_is_refused_and_nothing_written(store: Store) -> None:
    tags = [f"tag {n}" for n in range(255)]
    store.put(*(Small(tag=tag) for tag in tags))
    session = store.engine.session()
    session.add_all([Small(tag="tag 3"), Small(tag="one too many")])

    with pytest.raises(CodecError) as caught:
        session.flush()

    assert (caught.value.max_number, set(store.taken())) == (255, {"GetRows"})
    assert "wider codec" in caught.value.fix
    assert session.get(Small, tag="one too many") is None
    found = store.another().engine.session().all(select(Small).allow_full_scan())
    assert sorted(row.tag for row in found) == sorted(tags)


def test_a_dictionary_that_is_made_anew_starts_without_the_names_of_the_old(store: Store) -> None:
    class Lone(Model, table="lone"):
        d = Family()
        name: Key[str] = key()
        __rowkey__ = rowkey(Substitute(of=name, dictionary="lone_names"))

    made = store.engine.create_tables(Lone)
    store.put(Lone(name="a"), Lone(name="b"))
    store.engine.drop_tables(Lone)
    store.sent.inner.execute(DropTable(store.named("lone_names")))

    again = store.engine.create_tables(Lone)
    store.put(Lone(name="b"))

    assert made == again == [store.named("lone_names"), store.named("lone")]
    (found,) = store.another().engine.session().all(select(Lone).allow_full_scan())
    assert (found.name, store.engine.drop_tables(Lone)) == ("b", [store.named("lone")])
