"""The records that `create_tables` writes."""

from __future__ import annotations

import pytest

from hbase_orm import Family, Index, Key, Mapped, Model, column, connect, key
from hbase_orm.errors import SchemaDriftError
from hbase_orm.record.store import read_record


class Page(Model, table="pages"):
    d = Family()
    name: Key[str] = key()
    text: Mapped[str] = column(d)


class Linked(Model, table="pages"):
    """A view with a family that the existing table lacks."""

    other = Family()
    name: Key[str] = key()
    links: Mapped[str] = column(other)


class Indexed(Model, table="pages"):
    d = Family()
    name: Key[str] = key()
    text: Mapped[str] = column(d)
    by_text = Index(text)


def test_a_plain_table_is_recorded_where_a_guarded_one_was_dropped() -> None:
    with connect("memory://") as engine:
        engine.create_tables(Indexed)
        engine.drop_tables(Indexed)

        assert engine.create_tables(Page) == ["pages"]
        record = engine._runtime.run(read_record("pages"))

    assert record is not None
    assert not record.current.is_guarded


def test_a_family_that_the_table_lacks_is_refused_and_not_recorded() -> None:
    with connect("memory://") as engine:
        engine.create_tables(Page)
        with engine.session() as session:
            session.add(Page(name="a", text="x"))

        with pytest.raises(SchemaDriftError, match="family other"):
            engine.create_tables(Linked)
        record = engine._runtime.run(read_record("pages"))

        assert record is not None
        assert [*record.current.families] == [b"d"]
        with engine.session() as session:
            assert session.get(Page, name="a") is not None
