"""Increments of programs that stand still while the rows move: none is acknowledged and then lost.

The rows keep their keys' fields, so that a counter can move although its row does not exist.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeVar
from uuid import uuid4

import pytest

from hbase_orm import Counter, Engine, Family, Key, Model, counter, key
from hbase_orm.binding.dictionaries import in_namespace
from hbase_orm.errors import ConnectionLostError, RegionUnavailableError
from hbase_orm.gateway.base import Gateway
from hbase_orm.index.catalog.catalog import CATALOG_TABLE, change_entry
from hbase_orm.migrate.errors import MigrationStoppedError
from hbase_orm.migrate.operations.copies import RekeyTable
from hbase_orm.ops import GetRows, Increment, Operation
from tests.support.migrated_tables import (
    SHORT_LEASE_S,
    Revision,
    Saved,
    with_short_lease,
    with_short_waits,
)
from tests.support.moved_pages import (
    ROWS,
    AnswersLate,
    StandsStill,
    check,
    filled,
    new_class,
    old_class,
    phase,
    place,
)
from tests.support.recording import RecordsRequests, gateway_of, through

pytestmark = pytest.mark.only_on("memory")

R = TypeVar("R")

EXISTING: Final = 2
ABSENT: Final = ROWS
CLASSES: Final = pytest.mark.parametrize("is_old", [False, True], ids=["new class", "old class"])
STOPPED: Final = pytest.mark.parametrize("stopped", [StandsStill, AnswersLate])
UNKNOWN: Final = "unknown whether the amounts were added"


def prepare(_: Engine) -> None:
    """Make no table: each test has its own."""


@dataclass
class Move:
    """A move of pages that stops where a test wants."""

    engine: Engine
    name: str

    def __post_init__(self) -> None:
        self.old, self.new = old_class(self.name), new_class(f"{self.name}_2")
        self.ledger = filled(self.engine, self.old)
        self._made = Revision(self.engine, (self.old,), (self.new,))
        self._saved = Saved()

    def go_on(self, stop_before: str | None = None) -> None:
        """Wait until the leases have ended, and move on to a phase, or to the end."""
        time.sleep(SHORT_LEASE_S)
        migration = self._made.migration(stop_before=stop_before, gateway_timeout_s=0.0)
        operation = RekeyTable(self.name, new_table=f"{self.name}_2")
        if stop_before is None:
            operation.run(migration, self._saved)
            return
        with pytest.raises(MigrationStoppedError):
            operation.run(migration, self._saved)

    def program(self, gateway: Gateway) -> Engine:
        return with_short_lease(through(gateway, self.engine))

    def increment(self, gateway: Gateway, row: int, *, is_old: bool) -> int:
        model: Any = self.old if is_old else self.new
        with self.program(gateway).session() as session:
            (value,) = session.increment(model, model.hits.by(5), **place(row))
        return value

    def hits(self, row: int) -> int:
        """Return a counter of the new table, and insert its row if it is absent."""
        with self.program(gateway_of(self.engine)).session() as session:
            if session.get(self.new, **place(row)) is None:
                session.add(self.new(**place(row), title="late"))
                session.flush()
            obj: Any = session.get(self.new, **place(row))
            session.refresh(obj)
        hits: int = obj.hits
        return hits

    def check(self) -> None:
        time.sleep(SHORT_LEASE_S)
        check(self.program(gateway_of(self.engine)), self.new, self.ledger)


@pytest.fixture
def move(engine: Engine) -> Move:
    return Move(with_short_waits(engine), f"pages_{uuid4().hex[:8]}")


@STOPPED
@CLASSES
def test_an_increment_of_an_absent_row_through_the_whole_move_has_an_unknown_outcome(
    move: Move, stopped: Callable[[Gateway, Callable[[], None]], Gateway], *, is_old: bool
) -> None:
    move.go_on("prepared")

    with pytest.raises(ConnectionLostError, match=UNKNOWN) as caught:
        move.increment(stopped(gateway_of(move.engine), move.go_on), ABSENT, is_old=is_old)

    assert caught.value.table.endswith(move.name)
    assert move.hits(ABSENT) == (0 if stopped is StandsStill else 5)


def test_so_has_one_of_a_program_that_has_never_seen_the_move(move: Move) -> None:
    with pytest.raises(ConnectionLostError, match=UNKNOWN):
        move.increment(StandsStill(gateway_of(move.engine), move.go_on), ABSENT, is_old=True)

    assert move.hits(ABSENT) == 0


@CLASSES
def test_an_increment_of_an_existing_row_whose_answer_comes_after_the_move_is_acknowledged(
    move: Move, *, is_old: bool
) -> None:
    move.go_on("prepared")
    before = move.ledger[EXISTING][0]

    gateway = AnswersLate(gateway_of(move.engine), move.go_on)
    value = move.increment(gateway, EXISTING, is_old=is_old)

    move.ledger[EXISTING][0] += 5
    assert value == before + 5
    move.check()


@pytest.mark.parametrize(
    ("stopped", "row", "is_old"),
    [
        (StandsStill, ABSENT, False),
        (StandsStill, ABSENT, True),
        (StandsStill, EXISTING, False),  # the old class is refused: the row is sealed
        (AnswersLate, ABSENT, False),
        (AnswersLate, ABSENT, True),
        (AnswersLate, EXISTING, False),
        (AnswersLate, EXISTING, True),
    ],
)
def test_an_increment_that_stood_still_until_moving_is_acknowledged_and_counted(
    move: Move,
    stopped: Callable[[Gateway, Callable[[], None]], Gateway],
    row: int,
    *,
    is_old: bool,
) -> None:
    move.go_on("prepared")
    before = move.ledger.get(row, [0])[0]

    def meanwhile() -> None:
        move.go_on("new")
        assert phase(move.engine, f"{move.name}_2") == "MOVING"

    value = move.increment(stopped(gateway_of(move.engine), meanwhile), row, is_old=is_old)

    assert value == before + 5
    move.go_on()
    assert move.hits(row) == before + 5


@pytest.mark.parametrize(
    ("stop", "is_old"),
    [("indexing", True), ("prepared", True), ("prepared", False), ("moving", False)],
)
def test_an_absent_row_is_incremented_as_ever_if_only_the_lease_has_ended(
    move: Move, stop: str, *, is_old: bool
) -> None:
    move.go_on(stop)
    gateway = AnswersLate(gateway_of(move.engine), lambda: time.sleep(SHORT_LEASE_S))

    assert move.increment(gateway, ABSENT, is_old=is_old) == 5

    move.go_on()
    assert move.hits(ABSENT) == 5


def plain_class(table: str) -> Any:
    class Visits(Model, table=table):
        d = Family()
        site: Key[str] = key()
        hits: Counter = counter(d)

    return Visits


@pytest.mark.parametrize("is_known", [False, True], ids=["unknown to the catalog", "known"])
def test_a_plain_table_is_incremented_as_ever_if_the_lease_has_ended(
    engine: Engine, *, is_known: bool
) -> None:
    plain = plain_class(f"visits_{uuid4().hex[:8]}")
    engine.create_tables(plain)
    if not is_known:
        engine._runtime.run(change_entry(in_namespace_of(engine, plain), lambda _: None))
    gateway = AnswersLate(gateway_of(engine), lambda: time.sleep(SHORT_LEASE_S))

    with with_short_lease(through(gateway, engine)).session() as session:
        assert list(session.increment(plain, plain.hits.by(5), site="a")) == [5]
        assert list(session.increment(plain, plain.hits.by(5), site="a")) == [10]


def in_namespace_of(engine: Engine, model: Any) -> str:
    return in_namespace(model.__schema__.table, engine.options.namespace)


class LosesTheCatalog(RecordsRequests):
    """Does not answer reads of the catalog after an increment."""

    def __init__(self, inner: Gateway, error: Exception) -> None:
        super().__init__(inner)
        self._error = error
        self.increments = 0

    def execute(self, request: Operation[R], /) -> R:
        if self.increments and isinstance(request, GetRows) and request.table == CATALOG_TABLE:
            raise self._error
        answer = super().execute(request)
        if isinstance(request, Increment):
            self.increments += 1
            time.sleep(SHORT_LEASE_S)
        return answer


@CLASSES
@pytest.mark.parametrize("error", [ConnectionLostError("gone"), RegionUnavailableError("busy")])
def test_an_increment_is_not_repeated_if_the_catalog_does_not_answer_afterwards(
    move: Move, error: Exception, *, is_old: bool
) -> None:
    move.go_on("prepared")
    gateway = LosesTheCatalog(gateway_of(move.engine), error)

    with pytest.raises(ConnectionLostError, match=UNKNOWN):
        move.increment(gateway, EXISTING, is_old=is_old)

    assert gateway.increments == 1
