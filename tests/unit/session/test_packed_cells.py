"""Objects that are cells: the qualifier of the one column is an offset of a time."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from hbase_orm import (
    Counter,
    Engine,
    Family,
    Index,
    Key,
    Mapped,
    Model,
    Offset,
    Period,
    codecs,
    column,
    connect,
    counter,
    key,
    rowkey,
    select,
)
from hbase_orm.errors import CorruptRowError, SchemaError
from hbase_orm.ops import MutateRows, Put, RowMutation
from tests.support.recording import RecordsRequests, gateway_of, through
from tests.support.time_series import EIGHT, Point, after, check_reading, check_writing, load


@pytest.fixture
def engine() -> Engine:
    engine = connect("memory://")
    load(engine)
    return engine


def test_cells_are_found_one_by_one(engine: Engine) -> None:
    check_reading(engine)


def test_cells_are_changed_and_deleted_one_by_one(engine: Engine) -> None:
    check_writing(engine)


def test_the_row_key_ends_with_the_period() -> None:
    class Packed(Model, table="packed"):
        d = Family()
        host: Key[str] = key()
        at: Key[datetime] = key(codecs.millis())
        value: Mapped[int] = column(d, Offset("day", of=at))
        __rowkey__ = rowkey(host, Period("day", of=at, codec=codecs.strftime("%Y%m%d")))

    row = Packed.encode_key(host="web", at=EIGHT)

    assert row == b"web\x00\x0120260131"
    assert Packed.decode_key(row) == {"host": "web"}
    assert Packed.describe_key() == "[host text][day of at strftime]"


def test_one_range_of_rows_is_read_and_one_write_a_row_sent() -> None:
    recorded = RecordsRequests(gateway_of(connect("memory://")))
    engine = through(recorded, connect("memory://"))
    load(engine)
    (batch,) = [r for r in recorded.requests if isinstance(r, MutateRows) and r.table == "tsdb"]

    rows = [mutation.row for mutation in batch.mutations]

    assert len(rows) == len(set(rows)) == 4
    assert [len(mutation.puts) for mutation in batch.mutations] == [2, 2, 1, 1]


def test_a_foreign_qualifier_is_corrupt(engine: Engine) -> None:
    foreign = RowMutation(
        Point.__schema__.row_layout.encode(
            {"metric": "cpu", "at": after(0), "metric in tsdb_uid": 1}
        ),
        puts=(Put(b"t:long", b""),),
    )
    gateway_of(engine).execute(MutateRows("tsdb", (foreign,)))

    with (
        engine.session() as session,
        pytest.raises(
            CorruptRowError, match="a qualifier is not an offset as the model declares it"
        ) as caught,
    ):
        session.all(select(Point).where(Point.metric == "cpu"))

    assert caught.value.column == b"t:long"


class Base(Model, abstract=True):
    d = Family()
    host: Key[str] = key()
    at: Key[datetime] = key(codecs.millis())


HOUR = Period("hour", of=Base.at)


def with_another_column() -> None:
    class Bad(Base, table="bad"):
        value: Mapped[int] = column(Base.d, Offset("hour", of=Base.at))
        unit: Mapped[str] = column(Base.d)
        __rowkey__ = rowkey(Base.host, HOUR)


def with_a_counter() -> None:
    class Bad(Base, table="bad"):
        value: Mapped[int] = column(Base.d, Offset("hour", of=Base.at))
        hits: Counter = counter(Base.d)
        __rowkey__ = rowkey(Base.host, HOUR)


def with_an_index() -> None:
    class Bad(Base, table="bad"):
        value: Mapped[int] = column(Base.d, Offset("hour", of=Base.at))
        by_value = Index(value)
        __rowkey__ = rowkey(Base.host, HOUR)


def with_none() -> None:
    class Bad(Base, table="bad"):
        value: Mapped[int | None] = column(Base.d, Offset("hour", of=Base.at), default=None)
        __rowkey__ = rowkey(Base.host, HOUR)


def with_a_varying_width() -> None:
    class Bad(Base, table="bad"):
        value: Mapped[int] = column(
            Base.d, Offset("hour", of=Base.at, codec=codecs.get("phoenix.decimal"))
        )
        __rowkey__ = rowkey(Base.host, HOUR)


def with_another_unit() -> None:
    class Bad(Base, table="bad"):
        value: Mapped[int] = column(Base.d, Offset("day", of=Base.at))
        __rowkey__ = rowkey(Base.host, HOUR)


def with_a_stored_key_field() -> None:
    class Bad(Model, table="bad"):
        d = Family()
        host: Key[str] = key(family=d)
        at: Key[datetime] = key(codecs.millis())
        value: Mapped[int] = column(d, Offset("hour", of=at))
        __rowkey__ = rowkey(host, Period("hour", of=at))


@pytest.mark.parametrize(
    "declare",
    [
        with_another_column,
        with_a_counter,
        with_an_index,
        with_none,
        with_a_varying_width,
        with_another_unit,
        with_a_stored_key_field,
    ],
)
def test_what_cannot_be_packed_is_refused(declare: Any) -> None:
    with pytest.raises(SchemaError) as caught:
        declare()

    assert caught.value.fix
    assert caught.value.model == "Bad"
