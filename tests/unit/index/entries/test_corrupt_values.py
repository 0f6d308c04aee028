"""Rows whose bytes no program can know are corrected and deleted, also under a copying index."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum, IntEnum
from typing import Any

import pytest

from hbase_orm import (
    Engine,
    Family,
    Index,
    Key,
    Mapped,
    Model,
    codecs,
    column,
    connect,
    func,
    key,
    select,
)
from hbase_orm.errors import CorruptRowError
from hbase_orm.ops import MutateRow, Put, RowMutation
from tests.support.recording import gateway_of


class State(Enum):
    NEW = "new"


class Level(IntEnum):
    LOW = 1


class OfState(Model, table="rows"):
    d = Family()
    name: Key[str] = key()
    city: Mapped[str] = column(d)
    value: Mapped[State] = column(d, "v")
    by_value = Index(value, include=[city])


class OfLevel(Model, table="rows"):
    d = Family()
    name: Key[str] = key()
    city: Mapped[str] = column(d)
    value: Mapped[Level] = column(d, "v")
    by_value = Index(value, include=[city])


class OfCode(Model, table="rows"):
    d = Family()
    name: Key[str] = key()
    city: Mapped[str] = column(d)
    value: Mapped[str] = column(d, "v", codec=codecs.code({"a": b"1"}))
    by_value = Index(value, include=[city])


class OfList(Model, table="rows"):
    d = Family()
    name: Key[str] = key()
    city: Mapped[str] = column(d)
    value: Mapped[list[str]] = column(d, "v", codec=codecs.json(list[str]))
    by_value = Index(func.each(value), include=[city])


CORRUPT = [
    (OfState, State.NEW, b"\xff\xfe"),
    (OfLevel, Level.LOW, b"\x01"),
    (OfCode, "a", b"zz"),
    (OfList, ["x"], b"{bad"),
]


def stored(model: Any, value: Any, data: bytes) -> Engine:
    """Return an engine with a row in which other bytes have taken the place of a value."""
    engine = connect("memory://")
    engine.create_tables(model)
    with engine.session() as session:
        session.add(model(name="a", city="Oslo", value=value))
    mutation = RowMutation(b"a", puts=(Put(b"d:v", data),))
    gateway_of(engine).execute(MutateRow("rows", mutation))
    return engine


def delete(session: Any, model: Any, _: Any) -> None:
    session.delete_row(model, name="a")


def replace(session: Any, model: Any, value: Any) -> None:
    session.replace(model(name="a", city="Rome", value=value))


def add(session: Any, model: Any, value: Any) -> None:
    session.add(model(name="a", city="Rome", value=value))
    session.flush()


@pytest.mark.parametrize("write", [delete, replace, add])
@pytest.mark.parametrize(("model", "value", "data"), CORRUPT)
def test_a_row_with_bytes_that_are_no_value_is_written(
    model: Any, value: Any, data: bytes, write: Callable[[Any, Any, Any], None]
) -> None:
    with stored(model, value, data) as engine:
        with engine.session() as session:
            write(session, model, value)
        with engine.session() as session:
            rows = session.all(select(model).allow_full_scan())

    assert [row.city for row in rows] == ([] if write is delete else ["Rome"])


def test_a_row_with_a_value_of_a_newer_version_is_not_written() -> None:
    newer = b'{"v":2,"d":["x"]}'
    with (
        stored(OfList, ["x"], newer) as engine,
        engine.session() as session,
        pytest.raises(CorruptRowError, match="does not decode"),
    ):
        session.delete_row(OfList, name="a")
