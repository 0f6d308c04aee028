"""Random ranges of random maps give what a plain dict's names between the ends are."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from hbase_orm import (
    Dynamic,
    Family,
    Key,
    Mapped,
    Model,
    codecs,
    column,
    connect,
    dynamic,
    key,
    select,
)

EXAMPLES = 400

# Short names of few letters, the marker's and a column's among them: ends meet them.
NAMES = st.text("\x00_0bc\uffff", max_size=3)


class Row(Model, table="drawn"):
    d = Family()
    e = Family()
    k: Key[str] = key()
    note: Mapped[str | None] = column(d, "b", default=None)
    texts: Dynamic[str, str] = dynamic(d)
    prefixed: Dynamic[str, str] = dynamic(e, prefix="\x7fp", codec=codecs.text())
    falling: Dynamic[int, str] = dynamic(e, prefix="f", name=codecs.uint8(desc=True))


FIELDS: dict[str, tuple[Any, st.SearchStrategy[Any], st.SearchStrategy[Any]]] = {
    "texts": (Row.texts, NAMES.filter(lambda name: name not in {"_0", "b"}), NAMES),
    "prefixed": (Row.prefixed, NAMES, NAMES),
    "falling": (Row.falling, st.integers(0, 20), st.integers(-3, 23)),
}


@settings(max_examples=EXAMPLES, deadline=None)
@given(data=st.data())
def test_a_range_gives_the_first_entries_between_its_ends(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(FIELDS)))
    field, names, ends = FIELDS[name]
    drawn = data.draw(st.dictionaries(names, st.text("x", max_size=1)))
    start, stop = data.draw(ends), data.draw(ends)
    limit = data.draw(st.none() | st.integers(1, 4))
    made: Any = Row(k="a", note="n")
    setattr(made, name, drawn)

    with connect("memory://") as engine:
        engine.create_tables(Row)
        with engine.session() as session:
            session.add(made)
            session.flush()
            found = session.one(
                select(Row).where(Row.k == "a").columns_between(field, start, stop, limit=limit)
            )

    inside = sorted((each for each in drawn if start <= each < stop), reverse=name == "falling")[
        :limit
    ]
    assert list(getattr(found, name).items()) == [(each, drawn[each]) for each in inside]
    assert found.note == "n"
