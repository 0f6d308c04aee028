"""What a row that is read again does to unflushed changes, on the in-process gateway."""

from __future__ import annotations

import sys

import pytest

from hbase_orm import connect, select

pytest.register_assert_rewrite("tests.rereading_cases", "tests.session_cases")

from tests.rereading_cases import *  # noqa: E402, F403  # the cases are shared with the real HBase
from tests.rereading_cases import (  # noqa: E402  # after the rewriting is registered
    MODELS,
    Order,
    contents,
    order_of,
)
from tests.session_cases import Store, put, stored  # noqa: E402  # as above


@pytest.fixture
def store() -> Store:
    return Store.make(connect("memory://"), MODELS)


def test_where_references_are_not_counted_exactly_objects_are_held_until_the_session_ends(
    store: Store, host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "_is_gil_enabled", lambda: False, raising=False)
    put(store, *(order_of(f"{host}{n}") for n in range(3)))
    ours = select(Order).where(Order.host >= host, Order.host < f"{host}9")

    with store.engine.session() as session:
        amounts = session.all(ours)[0].line.amounts
        session.flush()
        held = len(session._watched), len(session._identity)
        session.expunge(session.all(ours)[1])
        after = len(session._watched)
        amounts.append(9)
    end = len(session._watched), len(session._identity)

    assert (held, after, end) == ((3, 3), 2, (0, 0))
    assert contents(stored(store, Order, host=f"{host}0"))[0].amounts == [1, 9]
