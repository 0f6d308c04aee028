"""What queries by an index are told where the catalog cannot be read."""

from __future__ import annotations

from typing import Any

import pytest

from hbase_orm import Engine, Family, Index, Key, Mapped, Model, column, connect, key, select
from hbase_orm.errors import AccessDeniedError, QueryError, UnboundedScanError
from hbase_orm.index.catalog.catalog import CATALOG_TABLE
from hbase_orm.ops import Operation
from tests.support.recording import FailsBeforeSending, gateway_of, through


class Person(Model, table="people"):
    d = Family()
    name: Key[str] = key()
    city: Mapped[str] = column(d)
    by_city = Index(city)


def denied(operation: Operation[Any]) -> Exception | None:
    if getattr(operation, "table", None) != CATALOG_TABLE:
        return None
    return AccessDeniedError("access is denied", table=CATALOG_TABLE)


def without_permission(engine: Engine) -> Engine:
    return through(FailsBeforeSending(gateway_of(engine), denied), engine)


def test_a_query_names_the_refusal_and_not_a_missing_entry() -> None:
    with connect("memory://") as engine:
        engine.create_tables(Person)

        with pytest.raises(UnboundedScanError) as refused:
            without_permission(engine).session().all(select(Person).where(Person.city == "x"))

    unreadable = refused.value.details["unreadable"]
    assert unreadable == {"by_city": "the catalog cannot be read: access is denied"}
    assert "permission" in str(refused.value.fix)


def test_a_query_that_names_the_index_is_refused_with_the_same_reason() -> None:
    statement = select(Person).where(Person.city == "x").using(Person.by_city)
    with connect("memory://") as engine:
        engine.create_tables(Person)

        with pytest.raises(QueryError, match="cannot be read now") as refused:
            without_permission(engine).session().all(statement)

    assert "permission" in str(refused.value.fix)
