"""Programs that lack an index of their table: the refusal of any write is a `SchemaError`."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from hbase_orm import Engine, Family, Index, Key, Mapped, Model, column, connect, key, select
from hbase_orm.errors import FlushSchemaError
from tests.support.recording import gateway_of, through


class Stale(Model, table="people"):
    d = Family()
    name: Key[str] = key()
    city: Mapped[str] = column(d)


class Person(Model, table="people"):
    d = Family()
    name: Key[str] = key()
    city: Mapped[str] = column(d)
    by_city = Index(city)


def flush(engine: Engine) -> None:
    session = engine.session()
    session.add(Stale(name="bob", city="Rome"))
    session.flush()


def write_in_bulk(engine: Engine) -> None:
    with engine.session() as session, session.bulk() as bulk:
        bulk.add(Stale(name="bob", city="Rome"))


def delete_rows(engine: Engine) -> None:
    engine.session().delete_where(select(Stale).where(Stale.name == "ann"))


@pytest.mark.parametrize("write", [flush, write_in_bulk, delete_rows])
def test_a_refused_write_of_a_stale_program_is_a_schema_error(
    write: Callable[[Engine], None],
) -> None:
    with connect("memory://") as engine:
        engine.create_tables(Person)
        with engine.session() as session:
            session.add(Person(name="ann", city="Oslo"))

        with pytest.raises(FlushSchemaError) as caught:
            write(through(gateway_of(engine), engine))

        assert caught.value.details["table"] == "people"
        assert len(caught.value.details["not_written"]) == 1
