"""Dictionaries that are named without a namespace: the record says which one a table's keys use."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from hbase_orm import (
    Engine,
    Family,
    Key,
    Mapped,
    Model,
    RecordType,
    Substitute,
    column,
    connect,
    key,
    rowkey,
    select,
)
from hbase_orm.errors import SchemaDriftError
from hbase_orm.index.catalog.catalog import read_cells
from hbase_orm.record.declaration import TableRecord
from hbase_orm.record.store import replace_record
from tests.support.recording import gateway_of


def person(table: str, dictionary: str) -> Any:
    class Person(Model, table=table):
        d = Family()
        name: Key[str] = key()
        city: Mapped[str] = column(d)
        __rowkey__ = rowkey(Substitute(of=name, dictionary=dictionary))

    return Person


def typed(table: str, dictionary: str) -> Any:
    """Return a record type whose rows have the number of a name."""

    class Base(Model, table=table):
        d = Family()
        kind: Key[str] = key()
        __rowkey__ = rowkey(RecordType(), kind)

    class Person(Base, record_type="p"):
        d = Base.d
        name: Key[str] = key()
        city: Mapped[str] = column(d)
        __rowkey__ = rowkey(RecordType(), Base.kind, Substitute(of=name, dictionary=dictionary))

    return Person


def in_namespace(engine: Engine, namespace: str) -> Engine:
    """Return the engine of another program that has a namespace."""
    return Engine(
        gateway_of(engine), replace(engine.options, namespace=namespace), engine._connections
    )


def write(engine: Engine, model: Any, **values: str) -> None:
    with engine.session() as session:
        session.add(model(city="Oslo", **values))


@pytest.mark.parametrize(
    ("declare", "others"), [(person, {}), (typed, {"kind": "x"})], ids=["model", "record type"]
)
def test_one_name_of_a_dictionary_in_two_namespaces_is_a_contradiction(
    declare: Any, others: dict[str, str]
) -> None:
    model = declare("shared:people", "names")
    with connect("memory://") as engine:
        one, two = in_namespace(engine, "one"), in_namespace(engine, "two")
        one.create_tables(model)
        write(one, model, name="ann", **others)

        for other in (two, in_namespace(engine, "")):
            other.create_tables(person("mine", "names"))  # whose dictionary is another one
            with pytest.raises(SchemaDriftError, match="one:names"):
                other.create_tables(model)
            with pytest.raises(SchemaDriftError, match="one:names"):
                other.session().all(select(model).allow_full_scan())
        assert one.session().get(model, name="ann", **others) is not None


def test_a_dictionary_may_be_named_with_or_without_its_namespace() -> None:
    with connect("memory://") as engine:
        named = person("ns:people", "ns:names")
        engine.create_tables(named)
        write(engine, named, name="ann")

        found = in_namespace(engine, "ns").session().get(person("people", "names"), name="ann")

        assert found is not None


def test_a_record_with_the_declared_name_of_a_dictionary_goes_on_working() -> None:
    model = person("shared:people", "names")
    with connect("memory://") as engine:
        one = in_namespace(engine, "one")
        one.create_tables(model)
        write(one, model, name="ann")
        _, stored = one._runtime.run(read_cells("shared:people"))
        early = stored.replace(b'"one:names"', b'"names"')
        assert early != stored
        record = TableRecord.decode(early)
        one._runtime.run(replace_record("shared:people", stored, record))

        program = in_namespace(engine, "one")
        program.create_tables(model)

        assert program.session().get(model, name="ann") is not None
        assert program._runtime.run(read_cells("shared:people"))[1] == early
