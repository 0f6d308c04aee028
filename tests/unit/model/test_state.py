"""What the library keeps of an object beside its fields."""

from __future__ import annotations

import copy
import pickle

from hbase_orm import Family, Key, Mapped, Model, codecs, column, connect, key, rowkey
from hbase_orm.model.state import new_state
from hbase_orm.ops import Row
from hbase_orm.rowkey import Salt


class Article(Model, table="state_articles"):
    """An article, whose body is read on demand."""

    d = Family()
    slug: Key[str] = key()
    body: Mapped[str] = column(d, "b", deferred=True)


class Salted(Model, table="state_salted"):
    """A row under a random salt."""

    d = Family()
    number: Key[int] = key(codecs.uint64())
    text: Mapped[str] = column(d, "t", default="")
    __rowkey__ = rowkey(Salt(256), number)


def test_a_pickle_of_an_earlier_release_gives_fields_row_and_deferred_fields() -> None:
    obj = Article.__new__(Article)

    obj.__setstate__(
        ({"slug": "a", "_loaded_deferred": frozenset({"body"})}, Row(b"a", {}), "here")
    )

    state = obj.__state__
    assert (state.row, state.origin, state.deferred) == (Row(b"a", {}), "here", frozenset({"body"}))
    assert obj.__dict__ == {"slug": "a"}


def test_a_copy_keeps_the_key_under_its_random_salt() -> None:
    bound = connect("memory://")._bound_of(Salted)
    obj = Salted(number=7)
    key_of = bound.keys.known_of(obj)

    copies = [copy.copy(obj), pickle.loads(pickle.dumps(obj))]

    assert [bound.keys.known_of(each) for each in copies] == [key_of, key_of]


def test_objects_do_not_share_what_few_of_them_have() -> None:
    one, other = new_state(), new_state()

    one.deferred = frozenset({"body"})
    one.entry_range = "tags"
    one.is_stale = True

    assert (other.deferred, other.entry_range, other.salted_key) == (frozenset(), None, None)
    assert (one.is_stale, other.is_stale) == (True, False)
    one.is_stale = False
    assert not one.is_stale
    one.entry_range = None
    assert (one.deferred, one.entry_range) == (frozenset({"body"}), None)


def test_a_class_may_set_fields_before_it_makes_the_object() -> None:
    class Early(Model, table="state_early"):
        d = Family()
        slug: Key[str] = key()
        text: Mapped[str] = column(d, "t", default="")

        def __init__(self, slug: str) -> None:
            self.text = "early"
            super().__init__(slug=slug, text=self.text)

    assert Early("a").text == "early"
