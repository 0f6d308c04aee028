"""Alterations that are killed, refused, or lose an answer, at each of their requests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import pytest

from hbase_orm import Engine, TableChange, connect
from hbase_orm.errors import (
    ConflictError,
    ConnectionLostError,
    RejectedError,
)
from hbase_orm.gateway.base import Gateway
from hbase_orm.ops import (
    AddFamily,
    CheckAndMutate,
    DescribeTable,
    FamilyDescriptor,
    ModifyFamily,
    ModifyTable,
    Operation,
)
from tests.support.altered_shop import first_release, later_release
from tests.support.recording import FailsBeforeSending, LosesAnswers, gateway_of
from tests.support.stepping import CrashedError, drive
from tests.support.store import Store

R = TypeVar("R")

CHANGES = (AddFamily, ModifyFamily, ModifyTable, CheckAndMutate)
STEPS = 8
"""One family added, three of data, guards and entries, two tables, and the record."""


@pytest.fixture
def store() -> Iterator[Store]:
    with connect("memory://") as engine:
        engine.create_tables(first_release())
        yield Store.on(engine)


def alter(engine: Engine) -> list[TableChange]:
    return engine.alter_tables(later_release(), allow_data_loss=True)


def alter_through(gateway: Gateway, store: Store) -> list[TableChange]:
    """Alter the tables through a gateway; pauses take no time."""
    alteration = store.engine._alteration(
        (later_release(),), None, lambda _: None, allow_data_loss=True
    )
    return drive(alteration, gateway)


def assert_is_finished(engine: Engine) -> None:
    """Alter what is left, and check that the tables are as declared then."""
    alter(engine)
    assert not any(check.differences for check in engine.check_tables(later_release()))


class _DiesAt:
    """Raises at the n-th change, before or after it is sent."""

    def __init__(self, number: int, *, is_sent: bool, inner: Any) -> None:
        self.number, self.is_sent, self.inner, self.count = number, is_sent, inner, 0

    @property
    def features(self) -> Any:
        return self.inner.features

    def execute(self, operation: Operation[R], /) -> R:
        if not isinstance(operation, CHANGES):
            answer: R = self.inner.execute(operation)
            return answer
        self.count += 1
        if self.count == self.number and not self.is_sent:
            raise CrashedError
        answer = self.inner.execute(operation)
        if self.count == self.number:
            raise CrashedError
        return answer

    def close(self) -> None:
        pass


def test_the_alteration_has_as_many_steps_as_are_interrupted_here(store: Store) -> None:
    alter(store.engine)

    changes = [type(each).__name__ for each in store.sent.requests if isinstance(each, CHANGES)]
    assert changes == [
        "AddFamily",
        *["ModifyFamily"] * 4,
        *["ModifyTable"] * 2,
        "CheckAndMutate",
    ]
    assert len(changes) == STEPS


@pytest.mark.parametrize("is_sent", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("number", range(1, STEPS + 1))
def test_a_killed_alteration_is_finished_by_the_next_one(
    store: Store, number: int, *, is_sent: bool
) -> None:
    dying = store.through(_DiesAt(number, is_sent=is_sent, inner=gateway_of(store.engine)))
    with pytest.raises(CrashedError):
        alter(dying)

    assert_is_finished(store.another().engine)


@pytest.mark.parametrize("number", range(1, STEPS + 1))
def test_a_lost_answer_interrupts_nothing(store: Store, number: int) -> None:
    seen: list[Operation[Any]] = []

    def loses(operation: Operation[Any]) -> bool:
        if isinstance(operation, CHANGES):
            seen.append(operation)
        return isinstance(operation, CHANGES) and len(seen) == number

    alter_through(LosesAnswers(gateway_of(store.engine), loses), store)

    assert not any(check.differences for check in store.engine.check_tables(later_release()))


def failing_at(number: int, error: Exception) -> Callable[[Operation[Any]], Exception | None]:
    seen: list[Operation[Any]] = []

    def error_of(operation: Operation[Any]) -> Exception | None:
        if isinstance(operation, CHANGES):
            seen.append(operation)
        return error if isinstance(operation, CHANGES) and len(seen) >= number else None

    return error_of


@pytest.mark.parametrize("number", range(1, STEPS + 1))
def test_a_refusal_names_what_was_made_and_what_is_left(store: Store, number: int) -> None:
    planned = list(map(str, store.engine.table_changes(later_release())))
    error = RejectedError("access is denied", fix="ask for the permission", who="me")
    engine = store.failing(failing_at(number, error)).engine

    with pytest.raises(RejectedError) as caught:
        alter(engine)

    assert caught.value.text == "access is denied"
    assert caught.value.who == "me"
    assert [*caught.value.made, *caught.value.left] == planned
    assert (caught.value.made == []) == (number == 1)
    assert caught.value.fix.startswith("ask for the permission; then repeat the alteration")
    assert_is_finished(store.another().engine)


def test_a_gateway_that_never_answers_ends_the_alteration(store: Store) -> None:
    recorder = FailsBeforeSending(
        gateway_of(store.engine), failing_at(2, ConnectionLostError("no answer"))
    )

    with pytest.raises(ConnectionLostError) as caught:
        alter_through(recorder, store)

    assert caught.value.made == ["orders: add family e"]
    assert sum(isinstance(each, ModifyFamily) for each in recorder.requests) == 8


class _UndoesFamilies(FailsBeforeSending):
    """Another program that takes back each change of a family."""

    def execute(self, operation: Operation[R], /) -> R:
        before = None
        if isinstance(operation, ModifyFamily):
            before = self.inner.execute(DescribeTable(operation.table))
        answer = super().execute(operation)
        if before is not None and isinstance(operation, ModifyFamily):
            (family,) = [f for f in before.families if f.name == operation.family]
            old = {name: getattr(family, name) for name in operation.options}
            self.inner.execute(ModifyFamily(operation.table, operation.family, old))
        return answer


def test_another_program_that_takes_changes_back_is_noticed(store: Store) -> None:
    undoing = _UndoesFamilies(gateway_of(store.engine), lambda _: None)

    with pytest.raises(ConflictError, match="does not have the change"):
        alter_through(undoing, store)

    assert_is_finished(store.another().engine)


def test_a_family_that_another_program_adds_meanwhile_is_used(store: Store) -> None:
    family = later_release().__schema__.families[1]

    def adds(operation: Operation[Any]) -> Exception | None:
        if isinstance(operation, AddFamily) and operation.family == family:
            gateway_of(store.engine).execute(operation)
        return None

    engine = store.failing(adds).engine

    alter(engine)

    assert_is_finished(store.another().engine)


def test_a_family_that_another_program_adds_otherwise_is_a_refusal(store: Store) -> None:
    def adds(operation: Operation[Any]) -> Exception | None:
        if isinstance(operation, AddFamily):
            gateway_of(store.engine).execute(AddFamily("orders", FamilyDescriptor(b"e")))
        return None

    engine = store.failing(adds).engine

    with pytest.raises(RejectedError, match="exists already"):
        alter(engine)

    assert_is_finished(store.another().engine)
