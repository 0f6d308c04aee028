"""A model's table is not made where a dictionary or the sequences are."""

from __future__ import annotations

import pytest

from hbase_orm import Family, Key, Mapped, Model, Substitute, column, connect, key, rowkey
from hbase_orm.errors import SchemaError


class Named(Model, table="named"):
    d = Family()
    host: Key[str] = key()
    __rowkey__ = rowkey(Substitute(of=host, dictionary="names"))


class OnDictionary(Model, table="names"):
    d = Family()
    host: Key[str] = key()
    value: Mapped[str] = column(d, default="")


class OnSequences(Model, table="hbase_orm_sequences"):
    d = Family()
    host: Key[str] = key()
    value: Mapped[str] = column(d, default="")


@pytest.mark.parametrize("model", [OnDictionary, OnSequences])
def test_a_table_of_names_or_numbers_is_refused(model: type[Model]) -> None:
    engine = connect("memory://")
    engine.create_tables(Named)
    engine.sequence("orders")()

    with pytest.raises(SchemaError, match="belongs to a dictionary or to sequences") as caught:
        engine.create_tables(model)

    assert caught.value.table == model.__schema__.table
    assert caught.value.model == model.__name__
    assert "another table" in caught.value.fix
