"""Two objects of one row in a session, sessions that are gone, and streams that nobody closed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property

import pytest

from hbase_orm import (
    Engine,
    Family,
    Key,
    Mapped,
    Model,
    Session,
    Version,
    codecs,
    column,
    connect,
    key,
    select,
    version,
)
from hbase_orm.errors import FlushConflictError, ValidationError


class Account(Model, table="second_accounts"):
    d = Family()
    number: Key[int] = key()
    amount: Mapped[int] = column(d, default=0)
    tags: Mapped[list[str]] = column(d, codec=codecs.json(list[str]), default_factory=list)
    revision: Version = version(d)

    @cached_property
    def long_tags(self) -> list[str]:
        return [tag for tag in self.tags if len(tag) > 3]


class Order(Model, table="second_orders"):
    d = Family()
    number: Key[int] = key()
    lines: Mapped[list[dict[str, int]]] = column(
        d, codec=codecs.json(list[dict[str, int]]), default_factory=list
    )

    @cached_property
    def by_number(self) -> dict[int, dict[str, int]]:
        return dict(enumerate(self.lines))


class Noisy(Model, table="second_noisy"):
    d = Family()
    number: Key[int] = key()
    value: Mapped[int] = column(d, default=0)

    def after_put(self) -> None:
        raise _FAILURES[self.number]


_FAILURES: dict[int, BaseException] = {1: ZeroDivisionError(), 2: KeyboardInterrupt()}


def _by_number(session: Session, number: int) -> dict[int, dict[str, int]]:
    order = session.get(Order, number=number)
    assert order is not None
    return order.by_number


@pytest.fixture
def engine() -> Iterator[Engine]:
    with connect("memory://") as engine:
        engine.create_tables(Account, Order, Noisy)
        with engine.session() as session:
            session.add(Account(number=1, amount=1))
        yield engine


def _set(obj: Account) -> None:
    obj.amount = 50


def _append(obj: Account) -> None:
    obj.tags.append("mine")


@pytest.mark.parametrize("change", [_set, _append])
@pytest.mark.parametrize("is_streamed", [False, True], ids=["new", "streamed"])
def test_a_change_stays_on_its_version_though_another_object_of_the_row_was_written(
    engine: Engine, change: Callable[[Account], None], *, is_streamed: bool
) -> None:
    with engine.session() as session, engine.session() as other:
        first = Account(number=1, amount=7)
        if is_streamed:
            (first,) = session.stream(select(Account).allow_full_scan())
            first.amount = 7
        session.add(first)
        second = session.get(Account, number=1)
        assert second is not None
        change(second)
        with pytest.raises(FlushConflictError):
            session.flush()

        other.update(Account, lambda account: setattr(account, "amount", 1000), number=1)
        with pytest.raises(FlushConflictError):
            session.flush()
        session.expunge(second)

        stored = other.get(Account, number=1)
        assert stored is not None
        assert (stored.amount, stored.tags) == (1000, [])


def test_an_object_of_a_session_that_is_gone_is_taken_by_another_one(engine: Engine) -> None:
    account = engine.session().get(Account, number=1)
    assert account is not None
    account.amount = 3

    with engine.session() as session:
        session.add(account)

    with engine.session() as session:
        stored = session.get(Account, number=1)
    assert stored is not None
    assert stored.amount == 3


def test_an_interrupt_from_a_hook_is_not_replaced_by_what_another_hook_raised(
    engine: Engine,
) -> None:
    session = engine.session()
    session.add_all([Noisy(number=1), Noisy(number=2)])

    with pytest.raises(KeyboardInterrupt):
        session.flush()


def test_parts_of_values_that_only_their_own_object_refers_to_are_let_go(engine: Engine) -> None:
    with engine.session() as session:
        session.add_all(Order(number=n, lines=[{"a": n}]) for n in range(1, 1201))
        session.flush()
        for number in range(1, 1201):
            assert _by_number(session, number) == {0: {"a": number}}
        session.flush()

        assert len(session._state.tracker) == 0


def test_a_part_that_the_program_took_from_an_attribute_is_still_held(engine: Engine) -> None:
    with engine.session() as session:
        session.add(Order(number=1, lines=[{"a": 1}]))
        session.flush()
        by_number = _by_number(session, 1)
        session._state.tracker.prune()
        by_number[0]["a"] = 2
        session.flush()

    with engine.session() as session:
        stored = session.get(Order, number=1)
    assert stored is not None
    assert stored.lines == [{"a": 2}]


@pytest.mark.parametrize("verb", ["add", "delete"])
def test_an_object_that_one_session_is_to_write_is_refused_by_another(
    engine: Engine, verb: str
) -> None:
    with engine.session() as session:
        account = session.get(Account, number=1)
        assert account is not None
    first, second = engine.session(), engine.session()
    getattr(first, verb)(account)

    with pytest.raises(ValidationError, match="belongs to another session"):
        second.add(account)

    first.expunge(account)
    second.add(account)
