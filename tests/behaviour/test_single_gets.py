"""A get of one row, and a statement of a whole key: one request, and what every read promises."""

from __future__ import annotations

from typing import Any

import pytest

from hbase_orm import (
    Engine,
    Family,
    Key,
    Mapped,
    Model,
    RandomSalt,
    Salt,
    codecs,
    column,
    key,
    rowkey,
    select,
)
from hbase_orm.errors import CorruptRowError, MultipleRowsError, RowKeyError, RowNotFoundError
from hbase_orm.ops import GetRows, MutateRow, Put, RowMutation
from tests.support.store import Store


class _Sample(Model, abstract=True):
    d = Family()
    host: Key[str] = key(codecs.text(separator=b"\x00"))
    at: Key[int] = key(codecs.uint32())
    value: Mapped[int] = column(d, "v", codec=codecs.uint32())


class Plain(_Sample, table="single_plain"):
    pass


class Salted(_Sample, table="single_salted"):
    __rowkey__ = rowkey(Salt(4), _Sample.host, _Sample.at)


class Random(_Sample, table="single_random"):
    __rowkey__ = rowkey(RandomSalt(2), _Sample.host, _Sample.at)


class Deferred(_Sample, table="single_deferred"):
    body: Mapped[bytes | None] = column(_Sample.d, "b", default=None, deferred=True)


MODELS = (Plain, Salted, Random, Deferred)
COMPUTED = (Plain, Salted)


def prepare(engine: Engine) -> None:
    engine.create_tables(*MODELS)


def _whole_key(model: Any, host: str, at: int = 1) -> Any:
    return select(model).where(model.host == host, model.at == at)


@pytest.mark.parametrize("model", MODELS)
def test_a_row_is_got_by_its_key_and_by_a_statement(store: Store, host: str, model: Any) -> None:
    store.put(model(host=host, at=1, value=7), model(host=host, at=2, value=8))

    with store.engine.session() as session:
        read = [
            session.get(model, host=host, at=1),
            session.first(_whole_key(model, host)),
            session.one(_whole_key(model, host)),
            *session.all(_whole_key(model, host)),
        ]

    assert [(each.at, each.value) for each in read] == [(1, 7)] * 4


@pytest.mark.parametrize("model", MODELS)
def test_a_missing_row_is_none_or_an_error(store: Store, host: str, model: Any) -> None:
    with store.engine.session() as session:
        assert session.get(model, host=host, at=1) is None
        assert session.first(_whole_key(model, host)) is None
        with pytest.raises(RowNotFoundError):
            session.one(_whole_key(model, host))


@pytest.mark.parametrize("model", COMPUTED)
def test_each_read_of_one_row_is_one_request(store: Store, host: str, model: Any) -> None:
    store.put(model(host=host, at=1, value=7))
    with store.engine.session() as session:
        session.get(model, host=host, at=1)  # compares the model with its table
        store.forget()
        session.get(model, host=host, at=1)
        session.first(_whole_key(model, host))
        session.one(_whole_key(model, host))

        assert [type(request) for request in store.sent.requests] == [GetRows] * 3
        assert all(len(request.keys) == 1 for request in store.sent.requests)  # type: ignore[attr-defined]


@pytest.mark.parametrize("model", MODELS)
def test_a_row_has_one_object_in_a_session_which_keeps_its_changes(
    store: Store, host: str, model: Any
) -> None:
    store.put(model(host=host, at=1, value=7))

    with store.engine.session() as session:
        first: Any = session.get(model, host=host, at=1)
        first.value = 9
        again = session.get(model, host=host, at=1)
        found = session.first(_whole_key(model, host))

    assert first is again is found
    stored = store.stored(model, host=host, at=1)
    assert stored is not None
    assert stored.value == 9


@pytest.mark.parametrize("model", MODELS)
def test_further_conditions_are_checked(store: Store, host: str, model: Any) -> None:
    store.put(model(host=host, at=1, value=7))

    with store.engine.session() as session:
        assert session.first(_whole_key(model, host).where(model.value == 8)) is None
        assert session.first(_whole_key(model, host).where(model.value == 7)) is not None


def test_several_rows_of_a_key_with_a_random_salt_are_an_error(store: Store, host: str) -> None:
    store.put(Random(host=host, at=1, value=7))
    for row_key in store.engine.row_keys(Random, host=host, at=1):
        put = Put(b"d:v", (1).to_bytes(4, "big"))
        store.run(MutateRow(store.table(Random), RowMutation(row_key, (put,))))

    with store.engine.session() as session, pytest.raises(MultipleRowsError):
        session.get(Random, host=host, at=1)


@pytest.mark.parametrize(
    "key_fields", [{}, {"at": 1}, {"host": "h", "at": -1}, {"host": 1, "at": 1}]
)
@pytest.mark.parametrize("model", MODELS)
def test_a_wrong_key_sends_nothing(store: Store, model: Any, key_fields: dict[str, Any]) -> None:
    with store.engine.session() as session:
        session.get(model, host="h", at=1)
        store.forget()
        for wrong in (key_fields, {"host": "h", "at": 1, "other": 2}):
            with pytest.raises(RowKeyError):
                session.get(model, **wrong)

    assert not store.sent.requests


def test_a_corrupt_row_is_an_error_of_a_get_and_of_a_statement(store: Store, host: str) -> None:
    store.put(Plain(host=host, at=1, value=7))
    (row_key,) = store.engine.row_keys(Plain, host=host, at=1)
    store.run(MutateRow(store.table(Plain), RowMutation(row_key, (Put(b"d:v", b"short"),))))

    with store.engine.session() as session:
        with pytest.raises(CorruptRowError):
            session.get(Plain, host=host, at=1)
        with pytest.raises(CorruptRowError):
            session.first(_whole_key(Plain, host))
        assert session.first(_whole_key(Plain, host).on_corrupt("skip")) is None
