"""What a statement may ask: numbers and nesting that would end a server or Python's parser."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from hbase_orm import Condition, Family, Key, Mapped, Model, Session, column, connect, key, select
from hbase_orm.errors import MultipleRowsError, QueryError
from hbase_orm.query.statements.statement import MAX_CACHING_ROWS, MAX_DEPTH


class Item(Model, table="items"):
    d = Family()
    n: Key[int] = key()
    a: Mapped[int] = column(d)


ALL = select(Item).allow_full_scan()


@pytest.fixture
def session() -> Iterator[Session]:
    with connect("memory://") as engine:
        engine.create_tables(Item)
        with engine.session() as session:
            session.add_all([Item(n=1, a=1), Item(n=2, a=2)])
            session.flush()
            yield session


def nested(depth: int) -> Condition:
    """Return a condition that holds for a == 1, so many brackets deep."""
    condition: Condition = Item.a == 1
    for level in range(depth):
        condition = (Item.n == 9) | condition if level % 2 else (Item.a < 5) & condition
    return condition


def test_a_fetch_of_more_rows_than_a_gateway_has_room_for_is_refused() -> None:
    assert ALL.caching(MAX_CACHING_ROWS).caching_rows == MAX_CACHING_ROWS
    with pytest.raises(QueryError, match="too large"):
        ALL.caching(MAX_CACHING_ROWS + 1)


def test_a_limit_beyond_what_python_counts_is_refused() -> None:
    with pytest.raises(QueryError, match="too large"):
        ALL.limit(2**63)


def test_conditions_as_deep_as_allowed_are_checked(session: Session) -> None:
    assert [item.n for item in session.all(ALL.where(nested(MAX_DEPTH)))] == [1]


@pytest.mark.parametrize("depth", [MAX_DEPTH + 1, 2000])
def test_deeper_conditions_are_refused(depth: int) -> None:
    with pytest.raises(QueryError, match="nested too deep"):
        ALL.where(nested(depth))


def test_a_condition_negated_again_and_again_is_as_deep_as_one(session: Session) -> None:
    condition: Condition = Item.a == 1
    for _ in range(2000):
        condition = ~condition

    assert [item.n for item in session.all(ALL.where(condition))] == [1]
    assert [item.n for item in session.all(ALL.where(~condition))] == [2]


def test_one_of_a_statement_limited_to_one_is_its_first_row(session: Session) -> None:
    assert session.one(ALL.limit(1)).n == 1
    with pytest.raises(MultipleRowsError):
        session.one(ALL)
