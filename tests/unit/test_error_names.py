"""Errors about bad values name the model and the field that the value was for."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from hbase_orm import (
    Counter,
    Family,
    HashPrefix,
    Key,
    Mapped,
    Model,
    Salt,
    Session,
    Substitute,
    TablePerPeriod,
    codecs,
    column,
    connect,
    counter,
    key,
    rowkey,
    select,
)
from hbase_orm.errors import CorruptRowError, HBaseORMError
from hbase_orm.ops import MutateRows, Put, RowMutation
from tests.support.recording import gateway_of

NOON = datetime(2024, 1, 5, 12, tzinfo=UTC)


class Named(Model, table="named"):
    d = Family()
    host: Key[str] = key(codecs.text(separator=b"\x00"))
    n: Key[int] = key(codecs.uint16())
    level: Mapped[int | None] = column(d, codec=codecs.uint8(), default=None)
    hits: Counter = counter(d)
    __rowkey__ = rowkey(Salt(4, of=[host]), host, n)


class Hashed(Model, table="named_hashed"):
    d = Family()
    host: Key[str] = key()
    n: Key[int] = key(codecs.uint8())
    __rowkey__ = rowkey(HashPrefix(2, of=host), host, n)


class Monthly(Model, table=TablePerPeriod("named_%Y%m", of="at", period="month")):
    d = Family()
    host: Key[str] = key()
    at: Key[datetime] = key()


class Numbered(Model, table="named_numbered"):
    d = Family()
    host: Key[str] = key()
    n: Key[int] = key(codecs.uint8())
    __rowkey__ = rowkey(Substitute(of=host, dictionary="named_hosts"), n)


Act = Callable[[Session], Any]

BAD: dict[str, tuple[Act, str, str]] = {
    "type": (lambda s: s.get(Named, host="a", n="x"), "Named", "n"),
    "range": (lambda s: s.get(Named, host="a", n=-1), "Named", "n"),
    "tuple": (lambda s: s.get_many(Named, [("a", 70_000)]), "Named", "n"),
    "separator": (lambda s: s.get(Named, host="a\x00b", n=1), "Named", "host"),
    "encode": (lambda _: Named.encode_key(host="a", n="x"), "Named", "n"),
    "put_row": (lambda s: s.put_row(Named, Named.level.to(3), host=3, n=1), "Named", "host"),
    "value": (lambda s: s.put_row(Named, Named.level.to(300), host="a", n=1), "Named", "level"),
    "amount": (lambda _: Named.hits.by(1 << 70), "Named", "hits"),
    "increment": (
        lambda s: s.increment(Named, Named.hits.by(1), host="a", n=None),
        "Named",
        "n",
    ),
    "delete_row": (lambda s: s.delete_row(Named, host="a", n="x"), "Named", "n"),
    "flush": (lambda s: s.insert(Named(host="a", n=70_000)), "Named", "n"),
    "hash": (lambda s: s.get(Hashed, host=3, n=1), "Hashed", "host"),
    "behind a hash": (lambda s: s.get(Hashed, host="a", n=300), "Hashed", "n"),
    "period": (lambda s: s.get(Monthly, host="a", at="x"), "Monthly", "at"),
    "name": (lambda s: s.get(Numbered, host=3, n=1), "Numbered", "host"),
    "beside a name": (lambda s: s.get(Numbered, host="a", n=300), "Numbered", "n"),
}


@pytest.fixture
def session() -> Any:
    engine = connect("memory://")
    engine.create_tables(Named, Hashed, Numbered)
    session = engine.session()
    yield session
    session.close()


@pytest.mark.parametrize(("act", "model", "field"), BAD.values(), ids=BAD)
def test_a_bad_value_is_named(session: Session, act: Act, model: str, field: str) -> None:
    with pytest.raises(HBaseORMError) as caught:
        act(session)

    assert (caught.value.details["model"], caught.value.details["field"]) == (model, field)


@pytest.mark.parametrize(
    ("act", "fields"),
    [
        (lambda s: s.get(Hashed, host="h" * 40_000, n=1), ("host", "n")),
        (lambda s: s.get(Monthly, host="h" * 40_000, at=NOON), ("host", "at")),
    ],
)
def test_a_key_that_is_too_long_is_named(
    session: Session, act: Act, fields: tuple[str, ...]
) -> None:
    with pytest.raises(HBaseORMError, match="longer than HBase") as caught:
        act(session)

    assert caught.value.details["fields"] == fields
    assert caught.value.details["model"] in {"Hashed", "Monthly"}


def test_a_row_key_that_does_not_decode_is_named() -> None:
    bad = b"\x01\x02web\x00"
    with connect("memory://") as engine:
        engine.create_tables(Named)
        row = RowMutation(bad, (Put(b"d:level", b"x"),))
        gateway_of(engine).execute(MutateRows("named", (row,)))

        with engine.session() as session, pytest.raises(CorruptRowError) as caught:
            session.all(select(Named).allow_full_scan())

    details = caught.value.details
    assert (details["model"], details["field"], details["row"]) == ("Named", "n", bad)
