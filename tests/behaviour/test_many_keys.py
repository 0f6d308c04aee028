"""Rows of many keys: keys as tuples and as mappings are the same, and parts are read side by side."""

from __future__ import annotations

from typing import Any

import pytest

from hbase_orm import Engine, Family, Key, Mapped, Model, Salt, codecs, column, connect, key, rowkey
from hbase_orm.errors import RowKeyError
from hbase_orm.reading.by_key import GET_MANY_ROWS
from hbase_orm.testing import assert_requests


class Reading(Model, table="readings_by_key"):
    d = Family()
    host: Key[str] = key(codecs.text(separator=b"\x00"))
    at: Key[int] = key(codecs.uint32())
    value: Mapped[int] = column(d)

    __rowkey__ = rowkey(Salt(4, of=host), host, at)


COUNT = 5 * GET_MANY_ROWS + 7
KEYS = [(f"h{number % 13}", number) for number in range(COUNT)]


@pytest.fixture
def engine() -> Any:
    with connect("memory://") as engine:
        engine.create_tables(Reading)
        with engine.session() as session, session.bulk() as bulk:
            bulk.add_all(Reading(host=host, at=at, value=at) for host, at in KEYS[::2])
        yield engine


def test_objects_come_in_the_order_of_the_keys_whatever_form_these_have(engine: Engine) -> None:
    expected = [None if at % 2 else at for _, at in KEYS]
    for keys in (KEYS, [{"host": host, "at": at} for host, at in KEYS]):
        objects = engine.session().get_many(Reading, keys)

        assert [each and each.value for each in objects] == expected


def test_without_keys_nothing_is_sent() -> None:
    with connect("memory://") as engine, assert_requests(engine, max=0):
        assert engine.session().get_many(Reading, []) == []


def test_a_key_that_is_given_twice_is_one_object(engine: Engine) -> None:
    first, again, other = engine.session().get_many(Reading, [KEYS[0], KEYS[0], KEYS[2]])

    assert first is again
    assert other is not None
    assert other.value == 2


@pytest.mark.parametrize("bad", [("h1", -1), ("h1", 2**32), (3, 1), ("h\x00", 1), (None, 1)])
def test_a_tuple_that_does_not_fit_has_the_error_of_the_mapping(
    engine: Engine, bad: tuple[Any, Any]
) -> None:
    texts = []
    for wrong in (bad, dict(zip(("host", "at"), bad, strict=True))):
        with assert_requests(engine, max=0), pytest.raises(RowKeyError) as caught:
            engine.session().get_many(Reading, [*KEYS, wrong])
        texts.append(str(caught.value))

    assert texts[0] == texts[1]
    assert "Reading" in texts[0]
