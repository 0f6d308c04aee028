"""What a move promises."""

from __future__ import annotations

from typing import Any

import pytest

from hbase_orm import Engine, select
from hbase_orm.errors import (
    ConnectionLostError,
    DuplicateRowError,
    HBaseORMError,
    RowKeyError,
    RowNotFoundError,
    ValidationError,
)
from hbase_orm.ops import CheckAndMutate, MutateRow, MutateRows, Operation
from tests.behaviour.test_immediate_writes import Indexed, Plain, Tagged, TaggedVersioned, Versioned
from tests.support.recording import FailsBeforeSending, LosesAnswers
from tests.support.store import Store, load, row_key

WRITES = (CheckAndMutate, MutateRow, MutateRows)


def prepare(engine: Engine) -> None:
    engine.create_tables(Tagged, TaggedVersioned, Plain, Indexed, Versioned)


@pytest.fixture(params=[Plain, Indexed, Versioned], ids=["plain", "indexed", "versioned"])
def model(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture(params=[Tagged, TaggedVersioned], ids=["plain", "versioned"])
def tagged(request: pytest.FixtureRequest) -> Any:
    return request.param


def test_a_move_takes_every_cell_to_the_new_key(store: Store, model: Any, host: str) -> None:
    store.put(model(host=host, n=1, name="a", size=5, unit="s", port=80))

    with store.engine.session() as session:
        session.increment(model, model.hits.by(7), host=host, n=1)
        old = load(session, model, host=host, n=1)
        moved = session.move(old, n=2)
        assert moved.hits == 7
        assert load(session, model, host=host, n=2) is moved
        assert load(session, model, host=host, n=1) is None
        moved.size = 6
        session.flush()
        assert session.increment(model, model.hits.by(1), host=host, n=2) == [8]

    found = store.stored(model, host=host, n=2)
    assert (found.name, found.size, found.unit, found.port, found.hits) == ("a", 6, "s", 80, 8)
    assert store.cells(model(host=host, n=1, name="", size=0)) == {}


def test_entries_of_dynamic_columns_move_along(store: Store, tagged: Any, host: str) -> None:
    obj = tagged(host=host, name="a")
    obj.tags = {"rack": "r1"}
    store.put(obj)

    with store.engine.session() as session:
        moved = session.move(load(session, tagged, host=host), host=f"{host}2")

    assert moved.tags == {"rack": "r1"}
    assert store.stored(tagged, host=f"{host}2").tags == {"rack": "r1"}


def test_index_entries_follow_a_move(store: Store, host: str) -> None:
    unit = f"u{host}"
    store.put(Indexed(host=host, n=1, name="a", size=5, unit=unit))

    with store.engine.session() as session:
        session.move(load(session, Indexed, host=host, n=1), n=2)
        found = session.all(select(Indexed).where(Indexed.unit == unit))

    assert [obj.n for obj in found] == [2]


def test_a_move_onto_another_row_is_refused(store: Store, model: Any, host: str) -> None:
    one = model(host=host, n=1, name="a", size=5)
    other = model(host=host, n=2, name="b", size=5)
    store.put(one, other)

    with store.engine.session() as session:
        with pytest.raises(DuplicateRowError) as caught:
            session.move(load(session, model, host=host, n=1), n=2)
        assert (caught.value.model, caught.value.row) == (model.__name__, row_key(other))

    assert (store.stored(model, host=host, n=1), store.stored(model, host=host, n=2)) == (
        one,
        other,
    )


def test_what_cannot_be_moved_is_said_before_anything_is_written(
    store: Store, model: Any, host: str
) -> None:
    store.put(model(host=host, n=1, name="a", size=5))

    with store.engine.session() as session:
        obj = load(session, model, host=host, n=1)
        for wrong in ({"n": -1}, {"name": "x"}, {"m": 1}, {"n": 1}, {}):
            with pytest.raises((RowKeyError, ValidationError)):
                session.move(obj, **wrong)
        with pytest.raises(RowNotFoundError):
            session.move(model(host=host, n=8, name="a", size=5), n=9)
        obj.size = 6
        with pytest.raises(ValidationError, match="not flushed"):
            session.move(obj, n=2)
        session.expunge(obj)

    assert store.stored(model, host=host, n=2) is None


@pytest.mark.parametrize("is_sent", [False, True], ids=["not sent", "answer lost"])
def test_a_move_that_is_cut_anywhere_is_finished_by_moving_again(
    store: Store,
    model: Any,
    host: str,
    is_sent: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    has_failed = True
    for number in range(12):
        if not has_failed:
            break
        store.put(model(host=host, n=number, name="a", size=5, unit=f"u{host}"))
        has_failed = _cut_and_move_again(store, model, host, number, is_sent=is_sent)
        assert store.stored(model, host=host, n=number) is None
        found = store.stored(model, host=host, n=100 + number)
        assert (found.name, found.size, found.unit) == ("a", 5, f"u{host}")
    assert not has_failed
    assert number > 1


def _cut_and_move_again(store: Store, model: Any, host: str, number: int, *, is_sent: bool) -> bool:
    """Cut the connection for good from the write `number` on; then move again on a whole one."""
    writes: list[Operation[Any]] = []
    is_whole = False

    def is_cut(operation: Operation[Any]) -> bool:
        if isinstance(operation, WRITES) and "catalog" not in str(operation):
            writes.append(operation)
        return len(writes) > number and not is_whole

    def error_of(operation: Operation[Any]) -> Exception | None:
        return ConnectionLostError("cut") if is_cut(operation) else None

    inner = store.sent.inner
    gateway = LosesAnswers(inner, is_cut) if is_sent else FailsBeforeSending(inner, error_of)
    with store.through(gateway).session() as session:
        obj = load(session, model, host=host, n=number)
        writes.clear()
        try:
            session.move(obj, n=100 + number)
        except HBaseORMError:
            is_whole = True
            session.move(obj, n=100 + number)
            return True
    return False


def test_what_others_clear_while_a_row_moves_is_cleared(
    store: Store, model: Any, host: str
) -> None:
    store.put(model(host=host, n=1, name="a", size=5, unit="s", port=80))
    writes: list[Operation[Any]] = []

    def clears_once(operation: Operation[Any]) -> Exception | None:
        if isinstance(operation, WRITES) and "catalog" not in str(operation):
            writes.append(operation)
            if len(writes) == 1:
                with store.engine.session() as other:
                    other.put_row(model, model.port.to(None), host=host, n=1)
        return None

    engine = store.through(FailsBeforeSending(store.sent.inner, clears_once))
    with engine.session() as session:
        obj = load(session, model, host=host, n=1)
        writes.clear()
        session.move(obj, n=2)

    found = store.stored(model, host=host, n=2)
    assert (found.unit, found.port) == ("s", None)


@pytest.mark.parametrize("when", [1, 2, 3])
def test_what_others_write_while_a_row_moves_is_not_lost(
    store: Store, model: Any, host: str, when: int
) -> None:
    store.put(model(host=host, n=1, name="a", size=5, unit="s"))
    writes: list[Operation[Any]] = []

    def writes_between(operation: Operation[Any]) -> Exception | None:
        if isinstance(operation, WRITES) and "catalog" not in str(operation):
            writes.append(operation)
            if len(writes) == when:
                with store.engine.session() as other:
                    other.put_row(model, model.size.to(6), host=host, n=1)
        return None

    engine = store.through(FailsBeforeSending(store.sent.inner, writes_between))
    with engine.session() as session:
        obj = load(session, model, host=host, n=1)
        writes.clear()
        moved = session.move(obj, n=2)

    found = store.stored(model, host=host, n=2)
    assert (moved.name, found.name, found.unit) == ("a", "a", "s")
    # Before a write that a model's move does not make, nobody wrote.
    assert found.size == (6 if len(writes) >= when else 5)
    assert store.stored(model, host=host, n=1) is None
