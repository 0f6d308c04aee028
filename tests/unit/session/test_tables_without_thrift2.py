"""Which tables `create_tables` makes with Thrift1 alone."""

from __future__ import annotations

import pytest

from hbase_orm import Engine, Family, Key, Mapped, Model, Table, column, key
from hbase_orm.binding.url import EngineOptions
from hbase_orm.errors import FeatureMissingError
from hbase_orm.gateway.memory.gateway import MemoryGateway
from tests.support.recording import gateway_of
from tests.support.thrift1_only import Account, DoesWhatThrift1Does, engine_without_thrift2


class Note(Model, table="notes"):
    d = Family()
    name: Key[str] = key()
    text: Mapped[str] = column(d)


class SplitNote(Model, table=Table("split_notes", splits=[b"m"])):
    d = Family()
    name: Key[str] = key()
    text: Mapped[str] = column(d)


@pytest.mark.parametrize("model", [Note, SplitNote])
def test_a_table_that_needs_thrift2_is_refused_before_any_is_created(model: type[Model]) -> None:
    engine, _ = engine_without_thrift2()

    with pytest.raises(FeatureMissingError, match="only Thrift2 gateways create") as caught:
        engine.create_tables(Account, model)

    assert caught.value.model == model.__name__
    assert caught.value.table == model.__schema__.table
    assert "thrift2=" in (caught.value.fix or "")
    assert engine.tables() == []


def test_tables_of_indexes_without_guards_are_created() -> None:
    engine, _ = engine_without_thrift2()

    assert "account" in engine.create_tables(Account)


def test_an_existing_table_is_used_without_thrift2() -> None:
    memory = MemoryGateway()
    Engine(memory, EngineOptions(scheme="memory")).create_tables(Note)
    engine = Engine(DoesWhatThrift1Does(memory), EngineOptions(scheme="memory"))

    assert engine.create_tables(Note) == []
    with engine.session() as session:
        session.add(Note(name="a", text="b"))
    assert gateway_of(engine).features == frozenset()
