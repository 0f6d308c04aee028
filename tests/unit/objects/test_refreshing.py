"""Objects that are read again, on interpreters that do not count references exactly."""

from __future__ import annotations

import sys
from uuid import uuid4

import pytest

from hbase_orm import connect, select
from tests.behaviour.test_reread_rows import Order, contents, order_of, prepare
from tests.support.store import Store


@pytest.fixture
def store() -> Store:
    engine = connect("memory://")
    prepare(engine)
    return Store.on(engine)


@pytest.fixture
def host() -> str:
    return uuid4().hex


def test_where_references_are_not_counted_exactly_objects_are_held_until_the_session_ends(
    store: Store, host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "_is_gil_enabled", lambda: False, raising=False)
    store.put(*(order_of(f"{host}{n}") for n in range(3)))
    ours = select(Order).where(Order.host >= host, Order.host < f"{host}9")

    with store.engine.session() as session:
        amounts = session.all(ours)[0].line.amounts
        session.flush()
        held = len(session._state.tracker), len(session._state.identity)
        session.expunge(session.all(ours)[1])
        after = len(session._state.tracker)
        amounts.append(9)
    end = len(session._state.tracker), len(session._state.identity)

    assert (held, after, end) == ((3, 3), 2, (0, 0))
    assert contents(store.stored(Order, host=f"{host}0"))[0].amounts == [1, 9]
