"""Tables dropped, whatever the catalog keeps of their models, and made while answers are lost."""

from __future__ import annotations

import pytest

from hbase_orm import (
    Family,
    Index,
    Key,
    Mapped,
    Model,
    Version,
    codecs,
    column,
    connect,
    key,
    version,
)
from hbase_orm.errors import ConnectionLostError
from hbase_orm.ops import CreateTable, ListTables
from tests.support.recording import LosesAnswers, gateway_of, through


class Draft(Model, table="drafts"):
    d = Family()
    number: Key[int] = key(codecs.uint32())
    text: Mapped[str] = column(d)
    edition: Version = version(d)


class IndexedDraft(Model, table="indexed_drafts"):
    d = Family()
    number: Key[int] = key(codecs.uint32())
    text: Mapped[str] = column(d)
    edition: Version = version(d)
    by_text = Index(text)


@pytest.mark.parametrize("model", [Draft, IndexedDraft])
def test_a_model_with_a_version_is_dropped_and_made_anew(model: type[Draft | IndexedDraft]) -> None:
    with connect("memory://") as engine:
        made = engine.create_tables(model)
        with engine.session() as session:
            session.add(model(number=1, text="a"))

        dropped = engine.drop_tables(model)

        assert sorted(dropped) == sorted(set(made) - {"hbase_orm_catalog"})
        assert gateway_of(engine).execute(ListTables()) == ["hbase_orm_catalog"]
        engine.create_tables(model)
        with engine.session() as session:
            assert session.get(model, number=1) is None


def test_that_nobody_knows_whether_a_table_was_made_is_told() -> None:
    with connect("memory://") as engine:
        lossy = through(
            LosesAnswers(gateway_of(engine), lambda asked: isinstance(asked, CreateTable)), engine
        )

        with pytest.raises(ConnectionLostError):
            lossy.create_tables(Draft)

        assert engine.create_tables(Draft) == ["drafts"]
